"""Kernels of searches that cut item trees."""
