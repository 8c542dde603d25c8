"""The loops that choose aggregates of states and find the flows between them, as templates of kernels."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Aggregates", "Pattern", "match", "merge", "moves"]

STRONG_RATIO = 0.25


class Pattern(NamedTuple):
    """Where the entries of a matrix are, by rows."""

    indptr: Any
    indices: Any


class Aggregates(NamedTuple):
    """The label of each state, the states by label, and where each label begins."""

    labels: Any
    order: Any
    bounds: Any


def moves(component, indptr, indices, flows):
    """Return the flow of the transitions that change a component, and of those that do by one."""
    total = 0.0
    by_one = 0.0
    for s in range(len(component)):
        value = component[s]
        for k in range(indptr[s], indptr[s + 1]):
            distance = abs(component[indices[k]] - value)
            if distance > 0:
                total += flows[k]
                if distance == 1:
                    by_one += flows[k]
    return total, by_one


def match(pattern, flows, mass, min_share, strongest, labels):
    """Pair each state with its most strongly coupled neighbour that is free.

    The coupling is the exchange relative to the smaller mass; what is below a share ``min_share`` of the
    strongest of either, now or ``strongest`` before, does not count. A state with a neighbour four times
    as strong that is not free joins the pair of that one. Returns the number of labels; they are -1
    before.
    """
    indptr, indices = pattern.indptr, pattern.indices
    for s in range(len(labels)):
        for k in range(indptr[s], indptr[s + 1]):
            coupling = flows[k] / min(mass[s], mass[indices[k]])
            if coupling > strongest[s] and indices[k] != s:
                strongest[s] = coupling
    count = 0
    for s in range(len(labels)):
        if labels[s] >= 0:
            continue
        free, free_coupling, near, near_coupling = -1, 0.0, -1, 0.0
        for k in range(indptr[s], indptr[s + 1]):
            other = indices[k]
            if other == s:
                continue
            coupling = flows[k] / min(mass[s], mass[other])
            if coupling < min_share * max(strongest[s], strongest[other]):
                continue
            if labels[other] < 0 and coupling > free_coupling:
                free, free_coupling = other, coupling
            if labels[other] >= 0 and coupling > near_coupling:
                near, near_coupling = other, coupling
        if free >= 0 and free_coupling >= STRONG_RATIO * near_coupling:
            labels[s] = count
            labels[free] = count
            count += 1
        elif near >= 0:
            labels[s] = labels[near]
        else:
            labels[s] = count
            count += 1
    return count


def merge(aggregates, pattern, target, coarse, entry_of):
    """Find the entries of the aggregates, and of which of them each entry is a part.

    ``aggregates`` has the label of each state, the states by aggregate (``order``) and where each aggregate begins
    (``bounds``). ``coarse`` gets the pattern of the aggregates. ``target`` gets -1 for entries within an aggregate;
    ``entry_of`` is -1 for each aggregate before. Returns the number of entries.
    """
    labels, order, bounds = aggregates.labels, aggregates.order, aggregates.bounds
    indptr, indices = pattern.indptr, pattern.indices
    count = 0
    for a in range(len(bounds) - 1):
        begin = count
        for p in range(bounds[a], bounds[a + 1]):
            s = order[p]
            for k in range(indptr[s], indptr[s + 1]):
                b = labels[indices[k]]
                if b == a:
                    target[k] = -1
                    continue
                entry = entry_of[b]
                if entry < begin:
                    entry = count
                    entry_of[b] = count
                    coarse.indices[count] = b
                    count += 1
                target[k] = entry
        coarse.indptr[a + 1] = count
    return count
