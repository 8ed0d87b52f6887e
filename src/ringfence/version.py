"""Which version this is: that of the tag it was built from, or so many commits after it."""

from importlib.metadata import version

__version__ = version("ringfence")
