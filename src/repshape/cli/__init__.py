"""The command line: it parses arguments and calls the library."""

from repshape.cli.app import app, main, run

__all__ = ["app", "main", "run"]
