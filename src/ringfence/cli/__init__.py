"""The command line: each command builds a specification, calls a verb, and shows what came out.

Exit codes: 0 done, or the promise holds; 1 the promise does not hold; 2 bad input, or it could not be judged; 3 no
release can satisfy the specification; 4 a mistake of ours; 130 interrupted.
"""

from ringfence.cli.entry import app, main

__all__ = ["app", "main"]
