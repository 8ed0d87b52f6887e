"""The audit: judges a release by what it says, with no code in common with the searches that made it."""
