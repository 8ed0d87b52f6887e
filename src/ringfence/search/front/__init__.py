"""Searches for every k at once."""
