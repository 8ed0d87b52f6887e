"""Releases: a run from its source to its files."""
