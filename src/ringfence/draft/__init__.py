"""Drafts: look at a table, guess roles and hierarchies, and write them down with the reasons."""
