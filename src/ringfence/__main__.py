"""`python -m ringfence`."""

from ringfence.cli import main

main()
