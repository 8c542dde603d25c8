"""Responsiveness and aggressiveness of TCP(a, b) and TFRC (Z19)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from responsefn import AIMD, TFRC, LossHistory, aggressiveness, loss_events, responsiveness
from validation import evidence
from validation.checks import claim
from validation.claims.effect_claims import where
from validation.claims.zheng2002.loss_sweeps import REFERENCE, RULES
from validation.display.drawing import figure, label, legend_beside, points, reference
from validation.judgements.verdicts import Judgement, Sides, Verdict, packets_only
from validation.statistics import LEVEL, Estimate, difference, everywhere, of_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRACE = "zheng2002/tfrc-receiver-trace"
WINDOW = 100
"""Packets: the window from which the metrics are counted."""
LEAST_DISCOUNT = 0.5
"""ns-2's bound of the discount."""
STEP, MORE_STEPS = "zheng2002/step-response", "zheng2002/step-response-seeds"
STARTS, STOPS, SPAN = 40.0, 65.0, 10.0
"""When a constant rate starts and stops, and how long the flows are observed after, s."""
ROUNDING = 0.5e-5
"""ns-2 prints p to five decimals."""


@dataclass(frozen=True)
class Replay:
    """Agreement of the loss history with a receiver: its reports, and its loss events.

    Attributes
    ----------
    reports, met, error
        Reports of ns-2's receiver with as many loss intervals as there are weights; those met to the
        printed digits; the largest difference.
    early, below
        Reports before; the largest part by which ns-2's p is below RFC 5348's there.
    events, found
        ns-2's loss events; those that begin at the same packet by the trace of packets alone.
    """

    reports: int
    met: int
    error: float
    early: int
    below: float
    events: int
    found: int


@dataclass(frozen=True)
class Reactions:
    """The two metrics by rule, and the replayed receiver by seed.

    ``down`` is round trips of a loss each until the rate is halved, ``up`` the largest growth of the
    window in a round trip without loss, packets. ``missing`` and ``surplus`` are packets of ns-2 by
    rule, see `step_response`; ``windows`` is by how much they are more of TFRC than of TCP, by other spans in s.
    """

    down: dict[str, float]
    up: dict[str, float]
    replays: dict[int, Replay]
    missing: dict[str, Estimate]
    surplus: dict[str, Estimate]
    windows: dict[float, tuple[Estimate, Estimate]]

    @property
    def slower(self) -> tuple[Estimate, Estimate]:
        """By how many packets TFRC misses more than TCP, and has more in excess."""
        return _more_of_tfrc(self.missing, self.surplus)

    @property
    def most_below(self) -> float:
        """Largest part by which ns-2's p is below RFC 5348's while there are few intervals."""
        return max(replay.below for replay in self.replays.values())

    def total(self, name: str) -> int:
        """Return a count of all seeds together."""
        return sum(getattr(replay, name) for replay in self.replays.values())


def replay(seed: int) -> Replay:
    """Feed a seed's loss intervals to the loss history, and compare it with ns-2's reports.

    As long as there are fewer intervals than weights ns-2 weighs one more beside the open interval
    than RFC 5348, Sect. 5.4, does: these reports are counted apart.

    The history gets ns-2's first interval, the intervals of its loss events as they come, and the
    open interval of each report.
    """
    tables = (evidence.frame(TRACE, name) for name in ("reports", "events", "packets"))
    reports, events, packets = (table[table["seed"] == seed] for table in tables)
    history = LossHistory(float(reports["interval_1"].iloc[0]), least_discount=LEAST_DISCOUNT)
    times, lengths = events["time"].to_numpy(), events["interval"].to_numpy()
    known, errors, early = 0, [], []
    for time, since, p in reports[["time", "interval_0", "p"]].to_numpy(dtype=np.float64)[1:]:
        while known < len(times) and times[known] <= time + 1e-9:
            history.close(float(lengths[known]))
            known += 1
        rate = history.rate(float(since))
        if known + 1 < len(history.weights):
            early.append(1.0 - float(p) / rate)
        else:
            errors.append(abs(rate - float(p)))
    met = sum(error <= ROUNDING * 1.0001 for error in errors)
    lost, arrived = packets[packets["lost"] == 1], packets[packets["lost"] == 0]
    rtt = 2 * float((arrived["arrived"] - arrived["sent"]).median())
    first = loss_events(lost["sequence"].to_numpy(), lost["sent"].to_numpy(), rtt)
    found = int(events["sequence"].isin(first).sum())
    return Replay(len(errors), met, max(errors), len(early), max(early), len(events), found)


ByRule = dict[str, Estimate]
SPANS = (1.0, 5.0)
"""Other times for which the flows are observed after a step, s."""


def _more_of_tfrc(missing: ByRule, surplus: ByRule) -> tuple[Estimate, Estimate]:
    """Return by how many packets TFRC misses more than TCP, and has more in excess."""
    up, down = (difference(packets["TFRC"], packets[REFERENCE]) for packets in (missing, surplus))
    return up, down


def step_response(span: float = SPAN) -> tuple[ByRule, ByRule]:
    """Return the packets of eight flows that the link carries too few and too many of after a step, by rule.

    A constant-rate source occupies half of the link for 25 s. Missing: packets of the ``span`` before
    it starts less those of the ``span`` after it stops. Surplus: packets of the ``span`` after it starts
    less those of the last ``span`` before it stops.
    """
    frame = pd.concat([where(case, "series", reading="1-b") for case in (STEP, MORE_STEPS)])
    frame = frame[frame["kind"] != "cbr"]

    def packets(since: float) -> pd.Series:
        chosen = frame[(frame["time"] > since) & (frame["time"] <= since + span)]
        return chosen.groupby(["rule", "seed"])["departures"].sum()

    missing = packets(STARTS - span) - packets(STOPS)
    surplus = packets(STARTS) - packets(STOPS - span)
    return tuple(
        {str(rule): of_runs(seeds.to_numpy()) for rule, seeds in each.groupby("rule")} for each in (missing, surplus)
    )  # type: ignore[return-value]


@claim("Z19", cases=(TRACE, STEP, MORE_STEPS))
def measure() -> Reactions:
    """Compute the metrics that zheng2002 names, and replay ns-2's TFRC receiver."""
    rules = {name: AIMD(*values) for name, values in RULES.items()} | {"TFRC": TFRC()}
    return Reactions(
        {name: responsiveness(rule) for name, rule in rules.items()},
        {name: aggressiveness(rule) for name, rule in rules.items()},
        {seed: replay(seed) for seed in evidence.provenance(TRACE)["seeds"]},
        *step_response(),
        {span: _more_of_tfrc(*step_response(span)) for span in SPANS},
    )


@measure.judge
def judge(found: Reactions, *, level: float = LEVEL) -> Judgement:
    """Judge whether TFRC reacts slower than TCP, both ways, and whether its loss history is ns-2's.

    The history is exact: it is computed from ns-2's own intervals, without noise, and one report that is not met contradicts.
    """
    missing, surplus = found.slower
    met = found.total("met") == found.total("reports")
    return {
        "up": Sides(Verdict.of(found.up["TFRC"] < found.up[REFERENCE]), everywhere([missing], level)),
        "down": Sides(Verdict.of(found.down["TFRC"] > found.down[REFERENCE]), everywhere([surplus], level)),
        "history": packets_only(Verdict.of(met)),
    }


@measure.draw
def after_a_step(found: Reactions) -> Figure:
    """Draw the packets that are missing and in excess after a step, by kind."""
    fig, ax = figure(6.4, 3.4)
    each = {"half of the link gets free": found.missing, "half of it is taken": found.surplus}
    for n, (name, values) in enumerate(each.items()):
        places = [k + 0.1 * n for k in range(len(values))]
        points(ax, places, list(values.values()), n, label=name)
    ax.set_xticks(range(len(found.missing)), list(found.missing))
    label(ax, "kind of flow", f"packets in the {SPAN:g} s after")
    reference(ax)
    legend_beside(ax)
    return fig
