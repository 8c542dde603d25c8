"""Templates of kernels that count the fill-in of a factorization from the pattern alone.

J. R. Gilbert, E. G. Ng, B. W. Peyton, An efficient algorithm to compute row and column counts for sparse
Cholesky factorization, SIAM J. Matrix Anal. Appl. 15, 1994: nearly linear in the number of entries.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["column_counts", "elimination_tree", "postorder"]


def elimination_tree(indptr, indices, parent, ancestor):
    """Write the elimination tree of a symmetric pattern into ``parent``: each column's parent, -1 for a root."""
    for k in range(len(parent)):
        parent[k] = -1
        ancestor[k] = -1
        for p in range(indptr[k], indptr[k + 1]):
            i = indices[p]
            while i != -1 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above == -1:
                    parent[i] = k
                i = above


def postorder(parent, child, sibling, post, stack):
    """Write the columns of an elimination tree into ``post``, children before their parents."""
    n = len(parent)
    for j in range(n):
        child[j] = -1
    for step in range(n):
        j = n - 1 - step
        if parent[j] != -1:
            sibling[j] = child[parent[j]]
            child[parent[j]] = j
    done = 0
    for root in range(n):
        if parent[root] != -1:
            continue
        top = 0
        stack[0] = root
        while top >= 0:
            j = stack[top]
            if child[j] == -1:
                post[done] = j
                done += 1
                top -= 1
            else:
                top += 1
                stack[top] = child[j]
                child[j] = sibling[child[j]]


def column_counts(indptr, indices, parent, workspace, counts):
    """Write into ``counts`` the number of entries in each column of the factor L, the diagonal included.

    ``workspace`` has eight rows, with an entry per column each.
    """
    n = len(parent)
    child, sibling, post, first = workspace[0], workspace[1], workspace[2], workspace[3]
    deepest, latest, ancestor, stack = workspace[4], workspace[5], workspace[6], workspace[7]
    for j in range(n):
        first[j] = deepest[j] = latest[j] = -1
        ancestor[j] = j
    postorder(parent, child, sibling, post, stack)
    for k in range(n):
        j = post[k]
        counts[j] = 1 if first[j] == -1 else 0
        while j != -1 and first[j] == -1:
            first[j] = k
            j = parent[j]
    for k in range(n):
        j = post[k]
        if parent[j] != -1:
            counts[parent[j]] -= 1
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            if i <= j or first[j] <= deepest[i]:
                continue
            deepest[i] = first[j]
            former = latest[i]
            latest[i] = j
            counts[j] += 1
            if former != -1:  # the subtrees of two leaves of row i meet in q
                q = former
                while q != ancestor[q]:
                    q = ancestor[q]
                while former != q:
                    above = ancestor[former]
                    ancestor[former] = q
                    former = above
                counts[q] -= 1
        if parent[j] != -1:
            ancestor[j] = parent[j]
    for j in range(n):
        if parent[j] != -1:
            counts[parent[j]] += counts[j]
