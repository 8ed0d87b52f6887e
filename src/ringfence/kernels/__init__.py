"""Compiled functions on integer arrays: no Python objects, no input or output. Each has a slow twin in the tests."""
