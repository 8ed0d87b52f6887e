"""Searches that decide row by row which are published alike."""
