"""Itemsets: the cut of an item tree that makes baskets k^m-anonymous at the least loss."""

from ringfence.search.itemsets.find import SEARCHES, CutResult, find_cut
from ringfence.search.itemsets.supports import RareSet

__all__ = ["SEARCHES", "CutResult", "RareSet", "find_cut"]
