"""The formulas in plain code: one readable body each, for arrays of NumPy and of PyTorch.

The tests compare the compiled solvers with them, and `repshape.pytorch.pairwise` computes with them
on any device. Open `repshape.reference.gaussian` first.
"""
