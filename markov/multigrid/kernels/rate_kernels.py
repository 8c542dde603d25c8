"""Rates that are the same in all cells of a kind: nothing is written before a cell is processed.

`markov.multigrid.kernels.count_kernels` has functions of the same names for rates that depend on counts.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

__all__ = ["at_cell", "at_row"]


def at_row(counts, kind, row):
    """Do nothing before a row of cells is processed: rates do not depend on counts."""
    pass  # a docstring is not compiled  # noqa: PIE790


def at_cell(counts, kind, cell):
    """Do nothing before a cell is processed: rates do not depend on counts."""
    pass  # a docstring is not compiled  # noqa: PIE790
