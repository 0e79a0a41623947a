"""The demonstration: `repshape demo`."""

from repshape.demo.run import Demo, DemoPanel, run_demo, save_demo

__all__ = ["Demo", "DemoPanel", "run_demo", "save_demo"]
