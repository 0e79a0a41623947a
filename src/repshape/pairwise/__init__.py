"""Distances between many networks: plan, tiles, store, threads, Dask and polish.

The public functions are in `repshape.pairwise.run` and `repshape.pairwise.cross`; to follow a run,
start at `repshape.pairwise.run.Job.run`. Nothing is imported here, so that loading the package
costs nothing.
"""
