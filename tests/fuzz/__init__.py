"""Hostile random inputs for every public function: run ``python -m tests.fuzz --help``."""
