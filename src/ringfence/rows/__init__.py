"""Rows: where they lie, how they are read, counted, rewritten and written."""
