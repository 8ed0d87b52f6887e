"""Kernels of fronts."""
