"""Stores: numbers on disk that are written piece by piece and survive interruptions.

One format serves tiles of a matrix, blocks between two sets of networks, parts of an inference and
the solved pairs of a neighbour search. A store is a Zarr group. Its attributes say what it holds
(``kind``), in which version of the format, and what the numbers belong to: the metric and the
networks. Each of its arrays is a `repshape.store.arrays.SealedArray`: a chunk is one file, which is
complete and sealed, or absent, and NaN means "not computed yet".
"""
