"""The models of a specification, from their definitions."""
