"""Warm-up calls of the kernels of first answers, which `hopflow.kernels.build` compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from responsefn.response import Response

__all__ = ["short_calls"]


def short_calls() -> Mapping[str, Callable[[], Any]]:
    """Return warm-up calls by name: rates of each rule and law, an inverse, a simulation of one flow."""
    from responsefn import CUBIC, catalogue, invert, simulate_rule

    entries = [*catalogue("rule").entries, *catalogue("law").entries]
    return {
        **{f"rates of {entry!r}": partial(_rates, entry) for entry in entries},
        "inverse rates": partial(invert, CUBIC(), [100.0, 1000.0], 0.04),
        "a rule by simulation": partial(simulate_rule, CUBIC(), 1e-3, 0.04, events=50),
    }


def _rates(entry: Response) -> None:
    entry.rate([5e-4, 1e-3], 0.04, bandwidth=800.0)  # at fewer losses some cycles take seconds
