"""Searches for the cut of an item tree that makes baskets k^m-anonymous at the least loss."""
