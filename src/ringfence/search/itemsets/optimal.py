"""The cheapest cut that is k^m-anonymous, proven: backbone, lifted clauses, exact covering."""

from dataclasses import dataclass

import numpy as np

from ringfence.hierarchy import Ints
from ringfence.kernels.covering import TAKEN
from ringfence.search.itemsets.covering import cheapest_cover
from ringfence.search.itemsets.cuts import Flags, ItemTree
from ringfence.search.itemsets.supports import Supports
from ringfence.search.progress import Watch

DEBUG = False


def backbone(tree: ItemTree, supports: Supports, k: int, m: int, watch: Watch) -> Flags:
    h = tree.hierarchy
    forced = np.zeros(len(h.labels), bool)
    cut = tree.tops.copy()
    stack = [int(v) for v in np.unique(cut)[::-1] if v >= h.leaves]
    stack = [(v, False) for v in stack]
    while stack and not watch.expired():
        v, done = stack.pop()
        if done:
            cut[h.first[v] : h.stop[v]] = v
            continue
        for child in tree.children(v).tolist():
            cut[h.first[child] : h.stop[child]] = child
        watch.tick(None)
        if supports.rare_set(cut, k, m, v) is not None:
            forced[tree.below(v)] = True
            cut[h.first[v] : h.stop[v]] = v
        else:
            stack.append((v, True))
            stack.extend((c, False) for c in tree.children(v)[::-1].tolist() if c >= h.leaves)
    return forced


class Optimal:
    def __init__(self, tree, supports, k, m, watch):
        self.tree, self.supports, self.k, self.m, self.watch = tree, supports, k, m, watch
        import time
        t=time.process_time()
        self.forced = backbone(tree, supports, k, m, watch)
        self.t_backbone=time.process_time()-t
        h = tree.hierarchy
        inner = np.arange(len(h.labels)) >= h.leaves
        self.free = np.flatnonzero(inner & tree.may_stand & ~self.forced).astype(np.int32)
        self.index = np.full(len(h.labels), -1, np.int32)
        self.index[self.free] = np.arange(len(self.free))
        parents = h.parent[self.free]
        self.above = np.where(parents == self.free, -1, self.index[parents]).astype(np.int32)
        self.clauses = {}
        self.best = tree.generalized(tree.tops)
        self.best_cost = tree.cost(self.best)
        self.lifts=0

    def run(self):
        import time
        tree = self.tree
        base = tree.cost(self.forced)
        weights = tree.weights[self.free]
        rounds = 0; tm=ts=tp=0
        generalized = self.forced.copy()
        while True:
            rounds += 1
            t=time.process_time()
            known = self.best[self.free].astype(np.int8)
            if self.clauses:
                choice = cheapest_cover(self.above, weights, self.clauses, known, self.watch)
                generalized = self.forced.copy()
                generalized[self.free] = choice.taken == TAKEN
                self.bound = base + choice.bound
            tm+=time.process_time()-t
            t=time.process_time()
            sets = self.rare(generalized)
            ts+=time.process_time()-t
            if len(sets) == 0:
                break
            t=time.process_time()
            n=len(self.clauses)
            self.patch(generalized, sets)
            cost=tree.cost(generalized)
            if cost<self.best_cost: self.best,self.best_cost=generalized.copy(),cost
            tp+=time.process_time()-t
            if DEBUG: print('  round',rounds,'bound',getattr(self,'bound',base)/tree.scale,'ub',self.best_cost/tree.scale,'clauses',len(self.clauses),'new',len(self.clauses)-n,'lifts',self.lifts,'master',round(tm,3),'scan',round(ts,3),'patch',round(tp,3))
        self.best = generalized
        if DEBUG: print('  rounds',rounds,'clauses',len(self.clauses),'master',round(tm,3),'scan',round(ts,3),'patch',round(tp,3))
        return generalized

    def rare(self, generalized):
        cut = self.tree.cut(generalized)
        for size in range(1, self.m + 1):
            sets = self.supports.rare_sets(cut, self.k, size)
            if len(sets):
                return sets
        return sets

    def patch(self, generalized, sets):
        tree=self.tree; parent = tree.hierarchy.parent
        while len(sets):
            while len(sets):
                best=None
                for turn in range(sets.shape[1]):
                    clause = self.lift(sets[0].tolist(), turn)
                    self.clauses[clause]=None
                    for i in clause:
                        v=int(self.free[i]); 
                        mask=np.zeros(len(generalized),bool); mask[tree.below(v)]=True
                        hits=int(mask[parent[sets]].any(axis=1).sum())
                        score=(tree.extra(generalized,v)/hits,v)
                        if best is None or score<best: best=score
                generalized[tree.below(best[1])]=True
                sets = sets[~generalized[parent[sets]].any(axis=1)]
            sets = self.rare(generalized)

    def lift(self, members, turn):
        self.lifts+=1
        tree=self.tree; h=tree.hierarchy; n=len(members)
        for r in range(n):
            i=(turn+r)%n
            while True:
                old=members[i]; up=int(h.parent[old])
                if up==old or not tree.may_stand[up]: break
                members[i]=up
                if self.supports.support(members,self.k)>=self.k:
                    members[i]=old; break
        lits={int(h.parent[v]) for v in members if v!=h.root and tree.may_stand[h.parent[v]]}
        keep=[u for u in lits if not any(x!=u and tree.lowest_inner[u]<=x<u for x in lits)]
        return tuple(sorted(int(self.index[u]) for u in keep))
