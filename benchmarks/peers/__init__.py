"""Other tools beside ours, each in an environment of its own: `python -m benchmarks.peers`, and docs/benchmarks.md."""
