"""Searches: one module per family. Each decides on a census alone and returns its answer with the proof's figures."""
