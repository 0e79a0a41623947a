"""The formulas in plain NumPy: readable definitions that the tests compare the solvers with."""
