"""Kernels of searches that recode values."""
