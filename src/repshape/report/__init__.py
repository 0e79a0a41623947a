"""One self-contained page that shows a cohort: `repshape.write_report` and ``repshape report``."""

from repshape.report.write import Report, write_report

__all__ = ["Report", "write_report"]
