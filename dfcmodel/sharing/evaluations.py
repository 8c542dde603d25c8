"""The criteria of RFC 9743 for new congestion control, as far as packets at one bottleneck show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.flows import CBR
from dfcmodel.network.managers import RED
from dfcmodel.sharing.bottlenecks import Bottleneck, checked_rules, mean_of
from hopflow.checks import listed, one_number, whole
from hopflow.progress import progress_bar
from hopflow.results import Result, figure
from responsefn import CUBIC, NewReno, WindowRule

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Evaluation", "PathSet", "evaluate_rfc9743"]

NOT_COVERED = {
    "5.3 Other Criteria": "deviations from RFC 2914 and incremental deployment are matters of text",
    "6.2 Tunnel Behavior": "no tunnels; the queue of these runs marks no packets",
    "6.4 Wireless Paths": "random losses only: the capacity does not vary, links send nothing again",
    "7.1 Active Queue Management": "RED only: neither CoDel, FQ-CoDel, PIE nor L4S",
    "7.2 Network Circuit Breakers": "not modelled",
    "7.3 Paths with Varying Delay": "the propagation delay is constant",
    "7.4 Internet of Things": "the cost of computing and control packets is not modelled",
    "7.6 Misbehaving Nodes": "all nodes comply",
    "7.7 Extreme Packet Reordering": "FIFO paths keep the order",
    "7.8, 7.9 Transient Events, Sudden Changes": "routes and capacities are constant",
    "7.10 Multipath Transport": "one path per flow",
    "7.11 Data Centers": "only a path of 1 ms with drop-tail, no incast and no marks",
}
"""Sections of the RFC of which nothing or only a part can be had here, and why."""
REAL_TIME = 0.05
"""Share of the bandwidth that the constant-rate flow sends."""
SHORT = 50.0
"""Packets of a short flow."""
MANY = 8
TRIPS = 500.0
"""Round trips that a run lasts at least."""


class PathSet(NamedTuple):
    """A path by bandwidth in packets/s, propagation there and back in s, and buffer in packets.

    Examples
    --------
    >>> PathSet("wired", 1000.0, 0.02, 20).product
    20.0
    """

    name: str
    bandwidth: float
    rtt: float
    buffer: int

    @property
    def product(self) -> float:
        """Bandwidth-delay product in packets."""
        return self.bandwidth * self.rtt


PATHS = (
    PathSet("12 Mb/s, 20 ms, 1 BDP", 1000.0, 0.02, 20),
    PathSet("24 Mb/s, 40 ms, 1 BDP", 2000.0, 0.04, 80),
    PathSet("24 Mb/s, 40 ms, 4 BDP", 2000.0, 0.04, 320),
    PathSet("60 Mb/s, 80 ms, 0.25 BDP", 5000.0, 0.08, 100),
    PathSet("12 Mb/s, 600 ms, 1 BDP (7.5, high delay)", 1000.0, 0.6, 600),
    PathSet("120 Mb/s, 1 ms, 4 BDP (7.11, data center)", 10000.0, 0.001, 40),
)
"""A range of bandwidths, delays and buffers, as Sect. 6 wants it."""


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Result):
    """Measures of a rule by section of RFC 9743, beside those of NewReno in its place.

    The RFC states criteria without thresholds; so there is no verdict here, but the number of the
    standard rule on the same path with the same seeds.

    Attributes
    ----------
    rule
        What was evaluated.
    table
        One row per section, measure and path: section, measure, path, unit, value, half_width (95 %, over
        the seeds) and newreno.
    not_covered
        Sections of which nothing or only a part can be had here, and why.
    runs
        Seeds per row.

    Examples
    --------
    >>> from dfcmodel import evaluate_rfc9743
    >>> from responsefn import CUBIC
    >>> found = evaluate_rfc9743(CUBIC())  # doctest: +SKIP
    >>> found.table.query("section.str.startswith('5.2.1')")  # doctest: +SKIP
    """

    rule: WindowRule
    table: pd.DataFrame
    not_covered: dict[str, str]
    runs: int

    def to_xarray(self) -> Any:
        """Return the table over ``row`` as a Dataset."""
        return self.table.rename_axis("row").to_xarray()

    def summary(self) -> dict[str, object]:
        """Return each section's measures, on all paths, and what is not covered."""
        rows: dict[str, object] = {"rule": f"{self.rule!r}, {self.runs} seeds; NewReno in brackets"}
        for (section, measure), part in self.table.groupby(["section", "measure"], sort=False):
            texts = (
                f"{row.value:.3g} ({row.newreno:.3g}) {row.unit} at {row.path}"
                for row in part.itertuples()
            )
            rows[f"{section}: {measure}"] = "; ".join(texts)
        return rows | {f"not covered: {name}": why for name, why in self.not_covered.items()}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw each value over NewReno's, a row per measure and path; return the Axes."""
        axes: Axes = figure(8.0, 0.22 * len(self.table) + 1.0)[1] if ax is None else ax
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (self.table["value"] / self.table["newreno"]).to_numpy(dtype=float)
        places = np.arange(len(ratio))
        axes.plot(np.where((ratio > 0.0) & np.isfinite(ratio), ratio, np.nan), places, "o")
        axes.axvline(1.0, color="0.5", linewidth=0.8)
        names = self.table["section"].str.split().str[0] + " " + self.table["measure"]
        axes.set_yticks(places, names + ", " + self.table["path"], fontsize=6)
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="value over that of NewReno", title=repr(self.rule))
        return axes


def evaluate_rfc9743(
    rule: WindowRule,
    *,
    paths: Iterable[PathSet] = PATHS,
    seconds: float = 60.0,
    runs: int = 2,
    seed: int = 0,
) -> Evaluation:
    """Return the measures of RFC 9743 (BCP 133) for a window rule, by packet-level simulation.

    On every path, with drop-tail queues (Sect. 6.1): the answer to heavy random losses (5.1.1), queueing
    delay alone (5.1.2), losses of 8 flows (5.1.3), Jain's index of 2 and 8 flows and the exponent of the
    RTT unfairness (5.1.4), short flows beside a long one of the rule (5.1.5, 5.2.3), the rate that a flow
    of NewReno or CUBIC keeps beside the rule over the one that it keeps beside its own kind (5.2.1), loss
    and delay of a constant-rate flow (5.2.2), utilisation alone (6.3), under 1 % random loss (6.4, in
    part) and with RED (7.1, in part).

    Parameters
    ----------
    rule
        The rule, also one's own.
    paths
        Where it is measured.
    seconds
        Simulated time of each run, at least 500 round trips; the first fifth is not measured.
    runs
        Seeds per measure.
    seed
        The first of the seeds.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and what is allowed.

    Examples
    --------
    >>> from dfcmodel import evaluate_rfc9743
    >>> from responsefn import HTCP
    >>> print(evaluate_rfc9743(HTCP()))  # doctest: +SKIP
    """
    import pandas as pd

    (own,) = checked_rules((rule,))
    first, runs = whole("seed", seed, 0, 2**30), whole("runs", runs, 1, 10_000)
    seeds = range(first, first + runs)
    seconds = one_number("seconds", seconds, above=0.0, hint="in s")
    rows = []
    paths = listed("paths", paths, PathSet)
    for path in progress_bar(paths, desc="RFC 9743", unit="path"):
        lasting = max(seconds, TRIPS * path.rtt)
        link = Bottleneck(
            path.bandwidth, path.rtt, path.buffer, seconds=lasting, warm_up=0.2 * lasting
        )
        for section, measure, unit, function in MEASURES:
            found = [function(_Bench(link, each), own) for each in seeds]
            same = [function(_Bench(link, each), NewReno()) for each in seeds]
            value, half = mean_of(found)
            rows.append((section, measure, path.name, unit, value, half, float(np.mean(same))))
    columns = ["section", "measure", "path", "unit", "value", "half_width", "newreno"]
    table = pd.DataFrame(rows, columns=columns).sort_values("section", kind="stable")
    return Evaluation(own, table.reset_index(drop=True), dict(NOT_COVERED), runs)


class _Bench(NamedTuple):
    """A path with a seed."""

    link: Bottleneck
    seed: int

    def run(self, *sources: WindowRule | CBR, link: Bottleneck | None = None, **more: Any) -> Any:
        return (link or self.link).run(sources, seed=self.seed, **more)


def _heavy_loss(at: _Bench, rule: WindowRule) -> float:
    return float(at.run(rule, link=at.link.changed(loss=0.1)).rate[0] * at.link.rtt)


def _queueing(at: _Bench, rule: WindowRule) -> float:
    return 1e3 * float(at.run(rule).delay)


def _losses(at: _Bench, rule: WindowRule) -> float:
    return float(at.run(*[rule] * MANY).loss.mean())


def _fairness(flows: int) -> Callable[[_Bench, WindowRule], float]:
    return lambda at, rule: float(at.run(*[rule] * flows).jain)


def _rtt_exponent(at: _Bench, rule: WindowRule) -> float:
    short, long = at.run(rule, rule, rtts=[at.link.rtt, 2.0 * at.link.rtt]).rate
    return math.log2(short / long) if short > 0.0 < long else math.inf


def _short_flow(short: WindowRule | None) -> Callable[[_Bench, WindowRule], float]:
    """Time of a short flow, of the rule itself where None, beside a long one of the rule."""

    def measure(at: _Bench, rule: WindowRule) -> float:
        later = [0.0, 0.5 * at.link.seconds]
        run = at.run(rule, short or rule, starts=later, sizes=[math.inf, SHORT])
        return float(run.finished[1] / at.link.rtt)

    return measure


def _kept(standard: WindowRule) -> Callable[[_Bench, WindowRule], float]:
    """Rate of a standard flow beside the rule over its rate beside its own kind."""

    def measure(at: _Bench, rule: WindowRule) -> float:
        among = float(at.run(standard, standard).rate.mean())
        return float(at.run(standard, rule).rate[0]) / among

    return measure


def _real_time(at: _Bench, rule: WindowRule) -> float:
    return float(at.run(rule, CBR(REAL_TIME * at.link.bandwidth)).loss[1])


def _used(at: _Bench, rule: WindowRule) -> float:
    return float(at.run(rule).utilisation)


def _used_with_loss(at: _Bench, rule: WindowRule) -> float:
    return float(at.run(rule, link=at.link.changed(loss=0.01)).utilisation)


def _used_with_red(at: _Bench, rule: WindowRule) -> float:
    low = max(2.0, at.link.buffer / 8.0)
    link = at.link.changed(discipline=RED(low=low, high=3.0 * low))
    return float(at.run(rule, rule, link=link).utilisation)


MEASURES: tuple[tuple[str, str, str, Callable[[_Bench, WindowRule], float]], ...] = (
    ("5.1.1 congestion collapse", "rate at 10 % random loss", "packets per RTT", _heavy_loss),
    ("5.1.2 bufferbloat", "queueing delay of one flow", "ms", _queueing),
    ("5.1.3 high packet loss", "losses of 8 flows", "of packets", _losses),
    ("5.1.4 fairness within", "Jain's index of 2 flows", "", _fairness(2)),
    ("5.1.4 fairness within", "Jain's index of 8 flows", "", _fairness(MANY)),
    ("5.1.4 fairness within", "RTT exponent, R and 2R", "", _rtt_exponent),
    ("5.1.5 short flows", "50 packets of the rule beside it", "RTTs", _short_flow(None)),
    ("5.2.1 existing control", "rate that NewReno keeps", "of its own", _kept(NewReno())),
    ("5.2.1 existing control", "rate that CUBIC keeps", "of its own", _kept(CUBIC())),
    ("5.2.2 real-time", "losses of a constant-rate flow", "of packets", _real_time),
    ("5.2.3 short and long flows", "50 packets of CUBIC beside it", "RTTs", _short_flow(CUBIC())),
    ("6.3 wired paths", "utilisation alone", "", _used),
    ("6.4 wireless, in part", "utilisation at 1 % random loss", "", _used_with_loss),
    ("7.1 AQM, in part", "utilisation of 2 flows with RED", "", _used_with_red),
)
