"""Every formula in plain NumPy: the readable statement, and the oracle of the tests."""
