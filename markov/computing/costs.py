"""Predicted costs in seconds, by which methods are chosen.

One place for all constants. They were fitted by hand to CPU seconds of each part (orders, layout, elimination,
factors, multigrid, proofs) on the chains `FITTED` of ``benchmarks.choice``, on one core of an Intel Xeon at 2.0 to
2.5 GHz with AVX-512; ``python -m benchmarks choice`` judges what is chosen by them, on others that were set
aside. Only their ratios matter, and those hold within a factor of about 1.5 between machines.

Costs are those of a process that has loaded the compiled kernels, so that a method does not depend on what a process
did before. Without Numba, what needs it costs inf.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

__all__ = [
    "GRACE",
    "LENIENT",
    "LOADING",
    "LOADING_CODE",
    "MEMORY",
    "by_numpy",
    "elimination",
    "has_numba",
    "is_loaded",
    "layout",
    "levels",
    "levels_work",
    "multigrid",
    "multigrid_proof",
    "order",
    "plain_elimination",
    "plain_layout",
    "plain_products",
    "plain_substitution",
    "plain_symbolic",
    "sparse_lu",
    "substitutions",
]

LOADING = 1.0
"""To import Numba and to load some kernels from their cache."""
LOADING_CODE = 0.1
"""To load some kernels from files of their machine code, and LLVM's library, which takes two thirds of it."""
MEMORY = 4e9
"""Bytes of factors that are never exceeded by a choice, only on request."""

GRACE = 5e-2
"""Seconds more than multigrid takes that are spent on an elimination, whose every entry is right."""
LENIENT = 1.25
"""Times the cost of multigrid that may be spent on a method with factors, which is more accurate."""

PER_STATE, PER_STATE_BLOCKED = 3e-7, 6e-6
PER_PRODUCT, PER_PRODUCT_BLOCKED = 4.2e-10, 1.3e-10
PLAIN_STATE, PLAIN_STATE_BLOCKED = 1.2e-5, 3e-5
PLAIN_PRODUCT, PLAIN_PRODUCT_BLOCKED = 3e-9, 3e-10
PER_LEVEL, PER_LEVEL_PRODUCT = 3.3e-4, 1.5e-10
PER_FACTOR_ENTRY, PER_FACTOR_PRODUCT = 4e-8, 2.5e-10
PER_SUBSTITUTION = 8e-9
PLAIN_SUBSTITUTION = 4e-6
LAYOUT, PLAIN_LAYOUT = 1e-7, 2e-7
ORDERING, SYMBOLIC, PLAIN_SYMBOLIC = 1e-6, 2e-7, 6e-6
MULTIGRID, MULTIGRID_STATE, MULTIGRID_ENTRY = 6e-3, 1e-6, 4.2e-7
SHARED_PROOF, OWN_PROOF = 0.25, 0.6  # of the time of a solution by multigrid
PLAIN_ENTRY = 1e-6


def by_numpy(seconds: float, kernel: Callable[[], Any]) -> bool:
    """Return whether to use NumPy for work of ``seconds``, since loading a kernel, an `Entry`, takes longer.

    That is its machine code, or Numba where it was not compiled before. Work that NumPy has done counts too: a sweep
    over many small chains loads it once they have taken as long as that, and so never takes twice as long as with the better choice.
    """
    if not has_numba():
        return True
    if is_loaded():
        return False
    spent = _spent["by NumPy"] + seconds
    if spent >= LOADING_CODE and (spent >= LOADING or kernel().is_compiled):
        return False
    _spent["by NumPy"] = spent
    return True


_spent = {"by NumPy": 0.0}


@cache
def has_numba() -> bool:
    """Return whether Numba is installed."""
    return find_spec("numba") is not None


def is_loaded() -> bool:
    """Return whether this process has loaded Numba."""
    return "numba" in sys.modules


def plain_elimination(n: int, work: float, blocked: bool) -> float:
    """Return the seconds that NumPy takes to eliminate n states by ``work`` multiplications."""
    if blocked:
        return n * PLAIN_STATE_BLOCKED + work * PLAIN_PRODUCT_BLOCKED
    return n * PLAIN_STATE + work * PLAIN_PRODUCT


def plain_substitution(n: int) -> float:
    """Return the seconds that NumPy takes for a solve with the factors of an elimination of n states."""
    return n * PLAIN_SUBSTITUTION


def elimination(n: int, work: float, blocked: bool) -> float:
    """Return the seconds of the same by compiled kernels, or by NumPy where Numba is not installed."""
    if not has_numba():
        return plain_elimination(n, work, blocked)
    if blocked:
        return n * PER_STATE_BLOCKED + work * PER_PRODUCT_BLOCKED
    return n * PER_STATE + work * PER_PRODUCT


def levels(count: int, work: float) -> float:
    """Return the seconds of a level reduction of ``count`` levels by ``work`` multiplications."""
    return count * PER_LEVEL + work * PER_LEVEL_PRODUCT if has_numba() else math.inf


def levels_work(seconds: float) -> float:
    """Return how many multiplications a level reduction makes in a time in s."""
    return seconds / PER_LEVEL_PRODUCT


def layout(entries: int) -> float:
    """Return the seconds to find an order of few places per transition."""
    return entries * LAYOUT


def plain_layout(entries: int) -> float:
    """Return the seconds of NumPy to see how far transitions reach in an order."""
    return entries * PLAIN_LAYOUT


def order(entries: int) -> float:
    """Return the seconds to find an order for sparse LU, and its fill-in."""
    return entries * (ORDERING + (SYMBOLIC if has_numba() else PLAIN_SYMBOLIC))


def plain_symbolic(entries: int) -> float:
    """Return the seconds of plain Python to count the entries of the factors of a matrix."""
    return entries * PLAIN_SYMBOLIC


def sparse_lu(fill: float, work: float) -> float:
    """Return the seconds of a sparse factorization with ``fill`` entries by ``work`` multiplications."""
    return fill * PER_FACTOR_ENTRY + work * PER_FACTOR_PRODUCT


def substitutions(entries: float) -> float:
    """Return the seconds of a proof's solves with factors of ``entries`` entries."""
    return entries * PER_SUBSTITUTION


def multigrid(n: int, entries: int) -> float:
    """Return the seconds of multigrid for pi, some thirty cycles."""
    if not has_numba():
        return math.inf
    return MULTIGRID + n * MULTIGRID_STATE + entries * MULTIGRID_ENTRY


def multigrid_proof(n: int, entries: int, shared: bool) -> float:
    """Return the seconds of multigrid for a bound, with the levels of the solution or others."""
    return (SHARED_PROOF if shared else OWN_PROOF) * multigrid(n, entries)


def plain_products(entries: int) -> float:
    """Return the seconds of a product with a generator in double-double by NumPy."""
    return entries * PLAIN_ENTRY
