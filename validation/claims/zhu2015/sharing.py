"""The parking lot (Q01, Q02) and the victim flow (Q03, Q04), with PFC alone and with DCQCN."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfcmodel import PFC, Scenario
from responsefn import FixedRate
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.networks.further_seeds import CASE, LATER, over_seeds
from validation.statistics import of_runs

C = fabric_runs.line(40)
FAIR = C / 4
LEAVES = tuple(itertools.product(("L3", "L4"), repeat=3))
"""Choices of the leaf over which each of the three senders reaches the receiver's switch."""
FURTHER = (0, 1, 2)
"""Senders under the other switch."""


def parking_lot(leaves: tuple[str, ...], rule: PFC, source: Any, end: float, seed: int) -> Scenario:
    """Return Fig. 3: three senders over the uplinks ``leaves`` of the receiver's switch T4, and one beside the receiver."""
    one, two, three = leaves
    paths = [
        ("H1", "T1", "L1", "S1", one, "T4", "R"),
        ("H2", "T2", "L2", "S2", two, "T4", "R"),
        ("H3", "T3", three, "T4", "R"),
        ("H4", "T4", "R"),
    ]
    return fabric_runs.paths_scenario(paths, [source] * 4, rule, end, begins=fabric_runs.starts(4, seed))


EVEN = (0, 1, 0, 1, 0, 1)
"""Uplinks of the senders that spread them evenly: four of T1, two of T3."""


def victim(further: int, rule: PFC, source: Any, end: float, seed: int, *, uplinks: tuple[int, ...] = EVEN) -> Scenario:
    """Return Fig. 4: four senders of T1 and ``further`` of T3 to R, and the victim from T1 to a host of T2, the last flow."""
    paths: list[tuple[str, ...]] = [
        (f"H1{n}", "T1", f"L{1 + k}", f"S{1 + k}", f"L{3 + k}", "T4", "R") for n, k in enumerate(uplinks[:4])
    ]
    paths += [(f"H3{n}", "T3", f"L{3 + k}", "T4", "R") for n, k in enumerate(uplinks[4 : 4 + further])]
    paths.append(("VS", "T1", "L1", "T2", "VR"))
    count = len(paths)
    return fabric_runs.paths_scenario(paths, [source] * count, rule, end, begins=fabric_runs.starts(count, seed))


@kept
def lot_rates() -> list[list[list[float]]]:
    """Return the rates of the four senders over the link's with PFC alone, for each seed and choice of uplinks."""
    return [
        [
            (
                fabric_runs.packets(
                    parking_lot(each, fabric_runs.pfc(), FixedRate(), 2e-3, seed), seed, 5e-4, 1e-4
                ).rates
                / C
            ).tolist()
            for each in LEAVES
        ]
        for seed in fabric_runs.SEEDS
    ]


def _lot_rates_of_dcqcn(seed: int, end: float, after: float) -> list[float]:
    """Return the same with DCQCN after ``after`` s, seed by seed another choice of uplinks."""
    rule, leaves = (
        replace(fabric_runs.pfc(), manager=fabric_runs.MARKS),
        LEAVES[(seed - fabric_runs.SEEDS[0]) % len(LEAVES)],
    )
    run = fabric_runs.packets(parking_lot(leaves, rule, fabric_runs.ROCE, end, seed), seed, after, 1e-4)
    rates: list[float] = (run.rates / C).tolist()
    return rates


@over_seeds(range(fabric_runs.SEEDS[0], fabric_runs.SEEDS[0] + len(LEAVES)))
def lot_rates_of_dcqcn(seed: int) -> list[float]:
    """Return the same from 30 to 50 ms."""
    return _lot_rates_of_dcqcn(seed, 0.05, 0.03)


@over_seeds(range(fabric_runs.SEEDS[0], fabric_runs.SEEDS[0] + len(LEAVES)))
def settled_lot_rates_of_dcqcn(seed: int) -> list[float]:
    """Return the same at `fabric_runs.SETTLED`."""
    return _lot_rates_of_dcqcn(seed, *fabric_runs.SETTLED)


@over_seeds(fabric_runs.SEEDS)
def victim_rates(seed: int) -> list[float]:
    """Return the victim's rate over the link's with PFC alone by number of further senders."""
    return [
        float(
            fabric_runs.packets(victim(n, fabric_runs.pfc(), FixedRate(), 3e-3, seed), seed, 1e-3, 1e-4).rates[-1] / C
        )
        for n in FURTHER
    ]


def _settled_rate(further: int, seed: int, uplinks: tuple[int, ...]) -> float:
    """Return the victim's rate over the link's with DCQCN at `fabric_runs.SETTLED`."""
    rule, (end, after) = replace(fabric_runs.pfc(), manager=fabric_runs.MARKS), fabric_runs.SETTLED
    scenario = victim(further, rule, fabric_runs.ROCE, end, seed, uplinks=uplinks)
    return float(fabric_runs.packets(scenario, seed, after, 1e-4).rates[-1] / C)


@over_seeds(fabric_runs.SIX_SEEDS)
def settled_victim_rates(seed: int) -> list[float]:
    """Return the victim's rate over the link's with DCQCN without further senders and with two."""
    return [_settled_rate(n, seed, EVEN) for n in FURTHER[::2]]


CHOICES = [[(near, joined) for near in range(5) for joined in range(further + 1)] for further in FURTHER]
"""By number of further senders, the settings that a hash of uplinks gives: senders of T1 on the victim's leaf, and those of T3 on L3."""
WEIGHTS = [[math.comb(4, near) * math.comb(n, joined) for near, joined in CHOICES[n]] for n in FURTHER]
"""Of 2^(4 + n) equally likely choices of uplinks, those with each setting."""


def chosen(further: int, near: int, joined: int) -> tuple[int, ...]:
    """Return uplinks, as of `victim`, of a setting in `CHOICES`."""
    return tuple([0] * near + [1] * (4 - near) + [0] * joined + [1] * (further - joined))


def _by_choice(seed: int) -> list[list[Scenario]]:
    """Return the scenarios with PFC alone by number of further senders, for each setting in `CHOICES`."""
    pfc = fabric_runs.pfc()
    return [
        [victim(n, pfc, FixedRate(), 3e-3, seed, uplinks=chosen(n, *choice)) for choice in CHOICES[n]] for n in FURTHER
    ]


@over_seeds(fabric_runs.SEEDS)
def victim_rates_by_choice(seed: int) -> list[list[float]]:
    """Return the victim's rate over the link's by number of further senders, for each setting in `CHOICES`."""
    return [
        [float(fabric_runs.packets(each, seed, 1e-3, 1e-4).rates[-1] / C) for each in scenarios]
        for scenarios in _by_choice(seed)
    ]


@kept
def victim_rates_of_fluid_by_choice() -> list[list[float]]:
    """Return the same of the fluid."""
    return [
        [float(fabric_runs.fluid(each, 1e-3, 1e-4).rates[-1] / C) for each in scenarios]
        for scenarios in _by_choice(fabric_runs.SEEDS[0])
    ]


def of_all_choices(
    runs: Sequence[Sequence[Sequence[float]]], statistic: Callable[[Any], Any] = np.median
) -> NDArray[np.float64]:
    """Return a statistic of the victim's rate over all choices of uplinks, shape (runs, numbers of further senders)."""
    return np.array(
        [[statistic(np.repeat(rates, w)) for rates, w in zip(by_number, WEIGHTS, strict=True)] for by_number in runs]
    )


@over_seeds(fabric_runs.SEEDS)
def victim_rates_of_dcqcn(seed: int) -> list[float]:
    """Return the victim's rate over the link's with DCQCN without further senders and with two."""
    rule = replace(fabric_runs.pfc(), manager=fabric_runs.MARKS)
    return [
        float(fabric_runs.packets(victim(n, rule, fabric_runs.ROCE, 0.04, seed), seed, 0.02, 1e-4).rates[-1] / C)
        for n in FURTHER[::2]
    ]


def drawn_choice(seed: int, further: int) -> tuple[int, int]:
    """Return the setting in `CHOICES` that a hash drawn with this seed gives; senders of T1 have the same uplinks for each number."""
    uplinks = np.random.default_rng(seed).integers(0, 2, 4 + FURTHER[-1])
    return int((uplinks[:4] == 0).sum()), int((uplinks[4 : 4 + further] == 0).sum())


@over_seeds(fabric_runs.SIX_SEEDS)
def settled_victim_rates_by_hash(seed: int) -> list[list[float]]:
    """Return seed by seed another choice of uplinks: the victim's rate with DCQCN, and with PFC alone, over the link's.

    Shape (2, numbers of further senders), without further senders and with two.
    """
    pfc, numbers = fabric_runs.pfc(), FURTHER[::2]
    uplinks = [chosen(n, *drawn_choice(seed, n)) for n in numbers]
    alone = [victim(n, pfc, FixedRate(), 3e-3, seed, uplinks=each) for n, each in zip(numbers, uplinks, strict=True)]
    return [
        [_settled_rate(n, seed, each) for n, each in zip(numbers, uplinks, strict=True)],
        [float(fabric_runs.packets(each, seed, 1e-3, 1e-4).rates[-1] / C) for each in alone],
    ]


@kept
def lot_rates_of_fluid() -> list[list[float]]:
    """Return the rates of the four senders over the link's in the fluid with PFC alone, for each choice of uplinks."""
    return [
        (
            fabric_runs.fluid(parking_lot(each, fabric_runs.pfc(), FixedRate(), 1e-3, seed), 4e-4, 1e-4).rates / C
        ).tolist()
        for seed, each in enumerate(LEAVES, fabric_runs.SEEDS[0])
    ]


@kept
def victim_rates_of_fluid() -> list[float]:
    """Return the victim's rate over the link's in the fluid with PFC alone, by number of further senders."""
    return [
        float(fabric_runs.fluid(victim(n, fabric_runs.pfc(), FixedRate(), 2e-3, 1), 1e-3, 1e-4).rates[-1] / C)
        for n in FURTHER
    ]


NAMES = ("H1", "H2", "H3", "H4")
SHARE = "rate over the link's"


def _shares(rates: Any) -> list[Any]:
    return [of_runs(column) for column in np.transpose(rates)]


@fabric_runs.on_fabrics("Q01", equal=0.05, least=0.1)
def parking_lot_pfc() -> Effects:
    """Measure the rates of the parking lot with PFC alone."""
    rates = np.array(lot_rates())
    model = np.array(lot_rates_of_fluid())

    def statements(own: Any) -> Any:
        others = own[..., :3]
        return own[..., 3] / others.mean(axis=-1) - 1.0, own[..., 3] - others.max(axis=-1)

    more, each = (found.mean(axis=1) for found in statements(rates))
    more_model, each_model = statements(model)
    return Effects(
        {
            "more": Statement(
                model=fabric_runs.over(fabric_runs.exact(more_model.mean())[0]),
                level=fabric_runs.over(of_runs(more)),
            ),
            "each": Statement(
                model=fabric_runs.over(fabric_runs.exact(each_model.mean())[0], threshold="margin", sign=-1.0),
                level=fabric_runs.over(of_runs(each), threshold="margin", sign=-1.0),
            ),
        },
        {"PFC alone": Curve(NAMES, model=model.mean(axis=0).tolist(), level=_shares(rates.mean(axis=1)))},
        ("sender", SHARE),
    )


@fabric_runs.on_fabrics("Q02", cases=(CASE, LATER), equal=0.1)
def parking_lot_dcqcn() -> Effects:
    """Measure the rates of the parking lot with DCQCN."""
    rates, late = np.array(lot_rates_of_dcqcn()), np.array(settled_lot_rates_of_dcqcn())
    paused = np.array(lot_rates()).mean(axis=1)
    relative = rates / rates.mean(axis=1, keepdims=True)
    late_relative = late / late.mean(axis=1, keepdims=True)
    return Effects(
        {"equal": Statement(level=fabric_runs.deviations(relative, 1.0), equal=True)},
        {"DCQCN": Curve(NAMES, level=_shares(rates)), "PFC alone": Curve(NAMES, level=_shares(paused))},
        ("sender", SHARE),
        values={"spread": of_runs(relative.max(axis=1) - relative.min(axis=1))},
        readings={
            fabric_runs.WHEN_SETTLED: {
                "equal": Statement(level=fabric_runs.deviations(late_relative, 1.0), equal=True)
            }
        },
    )  # fmt: skip


@fabric_runs.on_fabrics("Q03", cases=(CASE,), equal=0.1, least=0.02)
def victim_pfc() -> Effects:
    """Measure the victim's rate with PFC alone."""
    rates, model = np.array(victim_rates()), victim_rates_of_fluid()
    by_choice = victim_rates_by_choice()
    drawn, means = of_all_choices(by_choice), of_all_choices(by_choice, np.mean)
    drawn_model = of_all_choices([victim_rates_of_fluid_by_choice()])
    return Effects(
        {
            "falls": Statement(
                model=fabric_runs.over(*fabric_runs.steps([[-rate for rate in model]])),
                level=fabric_runs.over(*fabric_runs.steps(-rates)),
            ),
            "half": Statement(
                model=fabric_runs.exact(model[0] / 0.25 - 1.0),
                level=fabric_runs.deviations(rates[:, 0], 0.25),
                equal=True,
            ),
        },
        {
            "uplinks spread evenly": Curve(FURTHER, model=model, level=_shares(rates)),
            "uplinks by a hash, median": Curve(FURTHER, model=drawn_model[0].tolist(), level=_shares(drawn)),
            "uplinks by a hash, mean": Curve(FURTHER, level=_shares(means)),
        },
        ("further senders", SHARE),
        values={
            "second": of_runs(rates[:, 1] - rates[:, 2]),
            "drawn": of_runs(drawn[:, 1] - drawn[:, 2]),
        },
        readings={
            "uplinks by a hash": {
                "falls": Statement(
                    model=fabric_runs.over(*fabric_runs.steps(-drawn_model)),
                    level=fabric_runs.over(*fabric_runs.steps(-drawn)),
                ),
                "half": Statement(
                    model=fabric_runs.deviations(drawn_model[:, 0], 0.25),
                    level=fabric_runs.deviations(drawn[:, 0], 0.25),
                    equal=True,
                ),
            }
        },
    )


RISE = "a rise counts as well"
"""The reading in which the victim's rate must not change in either direction."""


@fabric_runs.on_fabrics("Q04", cases=(CASE, LATER), equal=0.1, least=0.02)
def victim_dcqcn() -> Effects:
    """Measure the victim's rate with DCQCN."""
    early, early_paused = np.array(victim_rates_of_dcqcn()), np.array(victim_rates())[:, ::2]
    rates, paused = (np.array(each) for each in fabric_runs.common(settled_victim_rates(), early_paused.tolist()))
    hashed, hashed_paused = np.moveaxis(np.array(settled_victim_rates_by_hash()), 1, 0)
    change, hashed_change = (fabric_runs.gain(each[:, 1], each[:, 0]) for each in (rates, hashed))

    def undiminished(change: Any) -> Statement:
        return Statement(level=fabric_runs.over(change, threshold="margin", sign=-1.0))

    def above(rates: Any, paused: Any) -> Statement:
        return Statement(level=fabric_runs.over(*(of_runs(each) for each in (rates - paused).T)))

    return Effects(
        {
            "steady": Statement(level=(fabric_runs.gain(early[:, 1], early[:, 0]),), equal=True),
            "higher": above(early, early_paused),
            "undiminished": undiminished(change),
            "above_pfc": above(rates, paused),
        },
        {
            "DCQCN": Curve(FURTHER[::2], level=_shares(rates)),
            "PFC alone": Curve(FURTHER[::2], level=_shares(paused)),
            "DCQCN, uplinks by a hash": Curve(FURTHER[::2], level=_shares(hashed)),
        },
        ("further senders", SHARE),
        values={"change": change, "hashed": hashed_change},
        readings={
            RISE: {"undiminished": Statement(level=(change,), equal=True), "above_pfc": above(rates, paused)},
            "uplinks by a hash": {
                "undiminished": undiminished(hashed_change),
                "above_pfc": above(hashed, hashed_paused),
            },
        },
    )
