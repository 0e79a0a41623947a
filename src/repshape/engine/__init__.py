"""Distances between many networks: plan, tiles, store, threads, Dask and polish.

The public functions are in `repshape.engine.run` and `repshape.engine.cross`; to follow a run,
start at `repshape.engine.run.Job.run`. Nothing is imported here, so that loading the package
costs nothing.
"""
