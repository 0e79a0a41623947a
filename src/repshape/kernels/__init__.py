"""Kernels: thin Python over the native code, and the same functions in plain NumPy."""
