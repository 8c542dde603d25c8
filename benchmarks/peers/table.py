"""The table of the results of all programs, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

CONVERGED = 1e-10
FASTER, SMALLER = 3.0, 5.0

Found = Mapping[str, Any]
"""What a cell found: ``seconds``, ``wall`` (s), ``memory`` (bytes), ``residual`` ...; or ``failure``."""

HEAD = [
    "| program | CPU time | ratio | wall | memory | ratio | residual | smallest entry | |",
    "|:--|--:|--:|--:|--:|--:|--:|--:|:--|",
]


def power(number: float) -> str:
    """Return a power of ten in short."""
    return f"{number:.0e}".replace("e+0", "e")


def line(program: str, found: Found, unit: Found) -> str:
    """Return one program's line, ratios being to ``unit``."""
    if "seconds" not in found:
        return f"| {program} | | | | | | | | {found['failure']} |"
    ratios = found["seconds"] / unit["seconds"], found["memory"] / unit["memory"]
    return (
        f"| {program} | {_short(found['seconds'])} s | {_short(ratios[0])} | {_short(found['wall'])} s "
        f"| {found['memory'] / 1e6:.0f} MB | {_short(ratios[1])} | {found['residual']:.0e} "
        f"| {found['smallest']:.0e} | {', '.join(_faults(found))} |"
    )


def _short(number: float) -> str:
    """Return three digits, never as a power of ten."""
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def _faults(found: Found) -> list[str]:
    faults = []
    if not found["residual"] <= CONVERGED:
        faults.append("not converged" if math.isfinite(found["residual"]) else "not finite")
    if found["smallest"] < 0:
        faults.append("negative entries")
    return faults


def verdict(cells: Mapping[str, Found]) -> str:
    """Return the ratios of the first program to the best of the other kinds of programs."""
    ours, *_ = cells
    unit = cells[ours]
    others = {
        name: found
        for name, found in cells.items()
        if not name.startswith(ours) and found.get("residual", math.inf) <= CONVERGED
    }
    if "seconds" not in unit or not others:
        return "Nothing to compare."
    fast = min(others, key=lambda name: others[name]["seconds"])
    small = min(others, key=lambda name: others[name]["memory"])
    faster = others[fast]["seconds"] / unit["seconds"]
    smaller = others[fast]["memory"] / unit["memory"]
    least = others[small]["memory"] / unit["memory"]
    return (
        f"Of the converged others {_named(fast, others)} was the fastest: {faster:.3g} times the time "
        f"of {ours} ({_asked(faster, FASTER)}), {smaller:.3g} times its memory "
        f"({_asked(smaller, SMALLER)}). {_named(small, others)} took the least memory, {least:.3g} "
        f"times that of {ours}."
    )


def _named(name: str, others: Mapping[str, Found]) -> str:
    faults = _faults(others[name])
    return f"{name} ({', '.join(faults)})" if faults else name


def _asked(ratio: float, aim: float) -> str:
    return f"{'reaches' if ratio >= aim else 'misses'} the aim of {aim:g}"
