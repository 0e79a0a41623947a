"""The demonstration: `repshape demo`."""

from repshape.demo.run import Demo, DemoPanel, run_demo, save_demo
from repshape.demo.vaes import VaeDemo, run_vae_demo, save_vae_demo, vaes_available

__all__ = [
    "Demo",
    "DemoPanel",
    "VaeDemo",
    "run_demo",
    "run_vae_demo",
    "save_demo",
    "save_vae_demo",
    "vaes_available",
]
