"""Shape metrics: a ground metric between distributions, minimised over a group."""
