"""Predicted costs in seconds, by which methods are chosen.

All constants are in this module. They were fitted by hand to CPU seconds of each part (orders, layout, elimination,
factors, multigrid, proofs) on the chains `FITTED` of ``benchmarks.choice``, on one core of an Intel Xeon at 2.0 to
2.5 GHz with AVX-512; ``python -m benchmarks choice`` evaluates the choice on other chains. Only the ratios matter,
which vary by a factor of about 1.5 between machines.

Costs hold for a process that has loaded the compiled kernels. So the method depends on the chain alone, and not on
earlier calls.
"""

from __future__ import annotations

__all__ = [
    "GRACE",
    "LENIENT",
    "MEMORY",
    "accurate_products",
    "elimination",
    "level_reduction",
    "level_reduction_work",
    "multigrid",
    "multigrid_proof",
    "order_by_bandwidth",
    "order_by_fill",
    "sparse_lu",
    "substitutions",
]

MEMORY = 4e9
"""Largest memory of factors in bytes that a choice may take; a request may take more."""

GRACE = 5e-2
"""Time in s by which an elimination, whose entries are all accurate, may exceed multigrid."""
LENIENT = 1.25
"""Largest cost of a method with factors, which is more accurate, as a multiple of the cost of multigrid."""

PER_STATE, PER_STATE_BLOCKED = 3e-7, 6e-6
PER_PRODUCT, PER_PRODUCT_BLOCKED = 4.2e-10, 1.3e-10
PER_LEVEL, PER_LEVEL_PRODUCT = 3.3e-4, 1.5e-10
PER_FACTOR_ENTRY, PER_FACTOR_PRODUCT = 4e-8, 2.5e-10
PER_SUBSTITUTION = 8e-9
LAYOUT = 1e-7
ORDERING, SYMBOLIC = 1e-6, 2e-7
MULTIGRID, MULTIGRID_STATE, MULTIGRID_ENTRY = 6e-3, 1e-6, 4.2e-7
SHARED_PROOF, SEPARATE_PROOF = 0.25, 0.6  # fraction of the time of a solution by multigrid
ACCURATE_ENTRY = 1e-6


def elimination(n: int, work: float, blocked: bool) -> float:
    """Predict the seconds to eliminate n states one by one with ``work`` multiplications, in blocks or not."""
    if blocked:
        return n * PER_STATE_BLOCKED + work * PER_PRODUCT_BLOCKED
    return n * PER_STATE + work * PER_PRODUCT


def level_reduction(count: int, work: float) -> float:
    """Predict the seconds to eliminate ``count`` levels of a block-tridiagonal chain with ``work`` multiplications."""
    return count * PER_LEVEL + work * PER_LEVEL_PRODUCT


def level_reduction_work(seconds: float) -> float:
    """Return the number of multiplications that a level reduction can make in a predicted time in s."""
    return seconds / PER_LEVEL_PRODUCT


def order_by_bandwidth(entries: int) -> float:
    """Predict the seconds to compute an order of small bandwidth for a matrix with ``entries`` entries."""
    return entries * LAYOUT


def order_by_fill(entries: int) -> float:
    """Predict the seconds to compute a fill-reducing order of a matrix with ``entries`` entries, and its fill-in."""
    return entries * (ORDERING + SYMBOLIC)


def sparse_lu(fill: float, work: float) -> float:
    """Predict the seconds of a sparse LU factorization whose factors have ``fill`` entries, by ``work`` products."""
    return fill * PER_FACTOR_ENTRY + work * PER_FACTOR_PRODUCT


def substitutions(entries: float) -> float:
    """Predict the seconds of all triangular solves of one error bound, with factors of ``entries`` entries."""
    return entries * PER_SUBSTITUTION


def multigrid(n: int, entries: int) -> float:
    """Predict the seconds to solve pi Q = 0 by multigrid, about thirty cycles, on n states with ``entries`` rates."""
    return MULTIGRID + n * MULTIGRID_STATE + entries * MULTIGRID_ENTRY


def multigrid_proof(n: int, entries: int, shared: bool) -> float:
    """Predict the seconds to bound the error by multigrid, on the levels of the solution (shared) or new levels."""
    return (SHARED_PROOF if shared else SEPARATE_PROOF) * multigrid(n, entries)


def accurate_products(entries: int) -> float:
    """Predict the seconds of one product of a generator with ``entries`` entries and a vector in double-double."""
    return entries * ACCURATE_ENTRY
