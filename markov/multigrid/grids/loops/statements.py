"""Parts of statements for the cells of frequent kinds: places, sums, and constants.

Whole numbers are unsigned, ``_k3`` is three.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markov.multigrid.grids.loops.patterns import Pattern, Term

__all__ = ["at", "constants", "one_of", "plus", "rows", "sources", "sum_of"]


def one_of(
    patterns: Sequence[Pattern],
    statements: Callable[[Pattern], list[str]],
    special: str = "frequent.special[number]",
) -> str:
    """Return the statements of the pattern that a kind has."""
    lines: list[str] = []
    for number, pattern in enumerate(patterns, 1):
        lines.append(f"{'if' if number == 1 else 'elif'} {special} == _k{number}:")
        lines += [f"    {line}" for line in statements(pattern)]
    return "\n".join(constants(lines)) if lines else "pass"


def constants(lines: list[str]) -> list[str]:
    """Return statements with their constants before them: whole numbers without a sign."""
    used = sorted({int(n) for n in re.findall(r"\b_k(\d+)\b", "\n".join(lines))})
    return [*(f"_k{n} = uint64({n})" for n in used), *lines]


def rows(pattern: Pattern) -> list[str]:
    """Return statements for the distances to other rows, by an entry that leads there."""
    lines, number = ["_b = grid.begin[base]"], 0
    entry: dict[tuple[int, ...], tuple[int, int]] = {}
    for r, terms in enumerate(pattern.sums):
        for term in terms:
            entry.setdefault(term.lead, (number, term.offset - r))
            number += 1
    for d, lead in enumerate(pattern.leads):
        e, offset = entry[lead]
        lines.append(f"_w{d} = {plus(f'grid.step[_b + _k{e}]', -offset)}")
    return lines


def sources(pattern: Pattern) -> list[str]:
    """Return the same for the parts of flows."""
    lines, number = ["_b = parts.part_begin[parts.begins[kind]]"], 0
    entry: dict[tuple[int, ...], tuple[int, int]] = {}
    for terms in pattern.sums:
        for term in terms:
            entry.setdefault(term.lead, (number, term.offset))
            number += 1
    for d, lead in enumerate(pattern.leads):
        p, offset = entry[lead]
        lines.append(f"_w{d} = {plus(f'parts.source[_b + _k{p}]', -offset)}")
    return lines


def at(pattern: Pattern, term: Term, s: str) -> str:
    """Return the place of a term's state."""
    base = f"_p{pattern.leads.index(term.lead)}" if any(term.lead) else s
    return plus(base, term.offset)


def plus(base: str, number: int) -> str:
    """Return a place so many states further on."""
    if number == 0:
        return base
    return f"{base} + _k{number}" if number > 0 else f"{base} - _k{-number}"


def sum_of(terms: Sequence[str]) -> str:
    """Return a sum whose last term is added last: it is the one that has just been computed."""
    return " + ".join(terms) if terms else "0.0"
