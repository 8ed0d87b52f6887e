"""Searches that recode each value the same way everywhere."""
