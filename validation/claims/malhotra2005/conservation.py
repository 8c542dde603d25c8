"""Flow is conserved, and the three throughput expressions agree (M01)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from markov import SparseLU, stationary
from validation.checks import claim
from validation.claims.malhotra2005 import bundled, chain
from validation.claims.malhotra2005.bundled import runs
from validation.display.drawing import figure, label, legend_above
from validation.judgements.verdicts import Judgement, Sides, Verdict, model_only
from validation.statistics import LEVEL, Values, mostly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES = (bundled.THRESHOLDS, bundled.GRANULARITY, bundled.LOW_THRESHOLD, bundled.OFF)
EXACT = 1e-12
"""Relative rounding error of a sum of some thousand terms."""


@dataclass(frozen=True)
class Conservation:
    """The chain's answers, and the packets counted in every run.

    Attributes
    ----------
    methods
        Largest relative difference of the throughput by sparse LU from that by GTH, over a sample.
    sets
        The packet runs by parameter set.
    """

    settings: tuple[chain.Setting, ...]
    answers: tuple[chain.Answer, ...]
    methods: float
    sampled: int
    sets: tuple[bundled.Run, ...]
    agreement: bundled.Agreement

    @property
    def defects(self) -> Values:
        """Relative spread of the three expressions in the chain, by setting."""
        return np.array([spread(answer.expressions) for answer in self.answers])

    @property
    def flows(self) -> Values:
        """Relative defect of the flow balance in the chain, by setting."""
        accepted, passed, lost = (
            np.array([answer[name] for answer in self.answers])
            for name in ("effective_rate_1", "effective_rate_2", "loss_rate_2")
        )
        return np.asarray(np.abs(accepted - passed - lost) / accepted)

    def read(self, key: tuple[str, str]) -> Conservation:
        """Return what was found in the settings of one of the `chain.READINGS`."""
        chosen = [n for n, setting in enumerate(self.settings) if setting == setting.read(key)]
        return replace(
            self,
            settings=tuple(self.settings[n] for n in chosen),
            answers=tuple(self.answers[n] for n in chosen),
        )

    @property
    def printed_defects(self) -> Values:
        """Relative spread of the three expressions with lambda_effec,2 as printed in the chain, by setting."""
        return np.array([spread(answer.printed_expressions) for answer in self.answers])

    @property
    def printed(self) -> dict[str, float]:
        """The largest of these, by the pausing rule at j = T1."""
        return {
            rule: max(float(self.read(key).printed_defects.max()) for key in chain.READINGS if key[1] == rule)
            for rule in ("exclusive", "both")
        }

    @property
    def counts(self) -> list[Mapping[Any, Any]]:
        """The packets counted in every run."""
        return [counts for run in self.sets for counts in run.seeds]

    @property
    def conserved(self) -> list[bool]:
        """Whether every packet is accounted for, by run."""
        return list(map(balances, self.counts))

    @property
    def apart(self) -> Values:
        """Difference of the three expressions in packets, by run."""
        return np.array([np.ptp(expressions(n)) for n in self.counts])

    @property
    def delivered(self) -> Values:
        """Packets delivered, by run."""
        return np.array([n["delivered"] for n in self.counts], float)

    @property
    def explained(self) -> list[bool]:
        """Whether the expressions differ by no more than the packets left, by run."""
        left = np.array([n["left_1"] + n["left_2"] for n in self.counts])
        return [bool(each) for each in self.apart <= left + 1e-6]


def spread(values: Sequence[float]) -> float:
    """Return the largest less the smallest, relative to the largest."""
    return (max(values) - min(values)) / max(values)


def balances(n: Mapping[Any, Any]) -> bool:
    """Return whether the counts of a run balance, packet for packet."""
    return bool(
        n["arrivals"] == n["accepted_1"] + n["dropped_1"]
        and n["accepted_1"] == n["sent_1"] + n["left_1"]
        and n["sent_1"] == n["accepted_2"] + n["dropped_2"]
        and n["accepted_2"] == n["sent_2"] + n["left_2"]
        and n["sent_2"] == n["delivered"]
        and 0 <= n["left_1"] <= chain.B1
        and 0 <= n["left_2"] <= chain.B2
    )


def expressions(n: Mapping[Any, Any]) -> tuple[float, float, float]:
    """Return the three throughput expressions in counts: packets instead of packets/s."""
    lost = n["dropped_2"] / n["sent_1"]
    return n["accepted_2"], n["accepted_1"] * (1.0 - lost), n["delivered"]


@claim("M01", cases=CASES)
def measure() -> Conservation:
    """Solve the chain over a grid of parameters, and read the counts of the packet runs."""
    grid = tuple(
        chain.Setting(rates, high, low, rtt, paused_rate, *reading)
        for rates, reading, (high, low), (rtt, paused_rate) in product(
            (chain.LIGHT, chain.THREE),
            chain.READINGS,
            ((2, None), (15, None), (15, 1), (20, 5)),
            ((0.1, 0.5), (1.0, 2.0), (20.0, 50.0)),
        )
    )
    sample = grid[:: len(grid) // 8]
    ratios = [stationary(s.model, SparseLU()).throughput / chain.solve(s).throughput for s in sample]
    sets = tuple(run for case in CASES for run in runs(case).values())
    answers = tuple(map(chain.solve, grid))
    worst = max(abs(ratio - 1.0) for ratio in ratios)
    return Conservation(grid, answers, worst, len(sample), sets, bundled.agreement(sets))


measure.constants_of(chain)


@measure.judge
def judge(found: Conservation, *, exact: float = EXACT) -> Judgement:
    """Judge the chain by rounding, in the default reading of its rules, and the packets by those left in the queues."""
    model = _by_rounding(found.read(chain.READINGS[0]), exact)
    packets = {"expressions": _in_every_run(found.explained), "balance": _in_every_run(found.conserved)}
    return {key: Sides(verdict, packets[key]) for key, verdict in model.items()}


@measure.readings
def readings(found: Conservation, *, exact: float = EXACT) -> dict[str, Judgement]:
    """Judge the chain in the other readings of its rules, and with lambda_effec,2 as printed where both rules fire."""
    others = {chain.reading(key): _by_rounding(found.read(key), exact) for key in chain.READINGS[1:]}
    others |= {
        f"{chain.reading(key)}, lambda_effec,2 as printed": _by_rounding(found.read(key), exact, printed=True)
        for key in chain.READINGS
        if key[1] == chain.AS_PRINTED[1]
    }
    return {name: {key: model_only(verdict) for key, verdict in judged.items()} for name, judged in others.items()}


def _by_rounding(found: Conservation, exact: float, printed: bool = False) -> dict[str, Verdict]:
    """Return whether the expressions agree and the flow balances in the chain; ``printed``: with lambda_effec,2 as printed."""
    defects = found.printed_defects if printed else found.defects
    return {
        "expressions": Verdict.of(bool(defects.max() <= exact)),
        "balance": Verdict.of(bool(found.flows.max() <= exact)),
    }


def _in_every_run(identity: Sequence[bool], level: float = LEVEL) -> Verdict:
    """Return whether an identity of counts holds: one run contradicts it, and too few decide nothing."""
    return Verdict.of(all(identity) and mostly(identity, level) is Verdict.HOLDS, not all(identity))


@measure.draw
def disagreement(found: Conservation) -> Figure:
    """Draw the relative disagreements over the throughput."""
    fig, ax = figure()
    throughput = [answer.throughput for answer in found.answers]
    floor = 1e-17
    values = np.maximum(found.defects, floor)
    ax.plot(throughput, values, "o", ms=4, label="chain: three expressions")
    values = np.maximum(found.flows, floor)
    ax.plot(throughput, values, "x", ms=5, label="chain: flow balance")
    rates = [run.estimates["throughput"].value for run in found.sets for _ in run.seeds]
    drawn = np.maximum(found.apart, 1e-3) / found.delivered
    ax.plot(rates, drawn, "^", ms=4, label="packets: three expressions")
    ax.axhline(EXACT, color="black", ls="--", lw=1)
    ax.text(14.9, EXACT * 1.6, "tolerance of the chain", ha="right", fontsize=8)
    label(ax, "throughput (packets/s)", "relative disagreement", log="y", ylim=(5e-18, 1e-3))
    legend_above(ax)
    return fig
