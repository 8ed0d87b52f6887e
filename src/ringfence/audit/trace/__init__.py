"""A release beside its original: which rows may be which, and what that tells."""
