"""Attacks on a release by someone who has the original but for its sensitive values."""
