"""The command line: it parses and calls the library, and nothing else."""

from repshape.cli.app import app, main, run

__all__ = ["app", "main", "run"]
