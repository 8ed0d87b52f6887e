"""Kernels of searches that group rows."""
