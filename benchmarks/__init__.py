"""Measurements: seeded workloads, each beside a peer or a baseline. Run as `python -m benchmarks [name ...]`."""
