"""Variational autoencoders (the paper's section 3.3): hundreds of networks, trained and scored.

Only `networks`, `objectives`, `training` and `encoding` import PyTorch; everything else works
without it.
"""
