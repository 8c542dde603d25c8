"""Warm-up calls of the kernels of first answers, which `hopflow.kernels.build` compiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from responsefn.response import Response

__all__ = ["short_calls"]


def short_calls() -> Mapping[str, Callable[[], Any]]:
    """Return warm-up calls by name: rates of each rule and law, an inverse, simulations of one flow.

    Simulations are those of CUBIC, Reno and the rules of earlier kernels, which packet simulators run.
    """
    from responsefn import CUBIC, Reno, catalogue, invert

    rules = catalogue("rule").entries
    older = [type(rule)(kernel=kernel) for rule in rules for kernel in vars(type(rule)).get("older", ())]
    return {
        **{f"rates of {entry!r}": partial(_rates, entry) for entry in (*rules, *catalogue("law").entries)},
        "inverse rates": partial(invert, CUBIC(), [100.0, 1000.0], 0.04),
        **{f"{rule!r} by simulation": partial(_simulate, rule) for rule in (CUBIC(), Reno(), *older)},
    }


def _rates(entry: Response) -> None:
    entry.rate([5e-4, 1e-3], 0.04, bandwidth=800.0)  # at fewer losses some cycles take seconds


def _simulate(rule: Any) -> None:
    """Simulate one flow at a loss rate at which blocks of ACKs are compared with single ones."""
    from responsefn import DirectSimulation, simulate_rule

    simulate_rule(rule, 5e-5, 0.04, events=50, options=DirectSimulation(bandwidth=800.0))
