"""The papers' tables and figures made anew: `python -m benchmarks papers.frontier` and so on; see docs/papers."""
