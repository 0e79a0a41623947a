"""Distances between many networks: plan, tiles, store, threads, Dask and polish.

The functions are in `repshape.pairwise.run`. Nothing is imported here, so that loading the package
costs nothing.
"""
