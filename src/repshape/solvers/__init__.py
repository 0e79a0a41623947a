"""Solvers besides the compiled core: starting points, transport plans, quadratic programs."""
