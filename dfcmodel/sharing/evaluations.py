"""The criteria of RFC 9743 for new congestion control, as far as packets at one bottleneck show them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.endpoints.native_rules import full_name
from dfcmodel.network.queueing.disciplines import FIFO, Discipline
from dfcmodel.sharing.bottlenecks import Bottleneck, validate_rules, within_limits
from dfcmodel.sharing.convergence import WIDTH, run_seeds, seeds_text
from dfcmodel.sharing.rfc9743_measures import MEASURES, Bench, Measure
from dfcmodel.sharing.rfc9743_verdicts import NOMINAL_LEVEL, SectionVerdict, differences, judge
from hopflow.checks import instance, instances, integer, one_number
from hopflow.deprecations import accept_old_names
from hopflow.intervals import half_width, prediction_half_width, spawn_seeds
from hopflow.progress import progress_bar
from hopflow.results import Result, figure
from hopflow.units import WithUnit, quantities
from responsefn import NewReno, WindowRule

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Evaluation", "PathSet", "evaluate_rfc9743"]

NOT_JUDGED = {
    "5.3 Other Criteria": "deviations from RFC 2914 and incremental deployment are matters of text",
    "6.2 Tunnel Behavior": "no tunnels, which would have to hand on marks",
    "7.2 Network Circuit Breakers": "not modelled",
    "7.4 Internet of Things": "the cost of computing and control packets is not modelled",
    "7.6 Misbehaving Nodes": "all nodes comply",
    "7.10 Multipath Transport": "one path per flow",
}
"""Reasons by section of the RFC that the model cannot judge."""
PARTLY_MEASURED = {
    "6.4 Wireless Paths": "losses, capacity and jitter each alone; "
    "retransmission by the link layer as jitter, no contention",
    "7.1 Active Queue Management": "RED, CoDel and PIE; others, and queues that mark, by discipline=",
    "7.3 Paths with Varying Delay": "steps and an alternation of the minimum delay; no preemption by a higher priority",
    "7.7 Extreme Packet Reordering": "with the recovery of a fixed threshold of duplicates, in the forward direction",
    "7.8 Transient Events": "onset of congestion and interruptions; no mobility",
    "7.11 Data Centers": "only a path of 1 ms with drop-tail, no incast and no marks",
}
"""Measured part by section of the RFC."""
MAX_DRAWN_FACTOR = 1e3
"""Largest ratio of a value to the end of its interval in the figure."""
MIN_SEEDS = 5
"""Smallest number of seeds of a row: the interval of three runs of a skewed measure, such as Jain's index near 1, is
often narrow by chance."""
MIN_ROUND_TRIPS = 500.0
"""Smallest duration of a run in round trips."""


class PathSet(NamedTuple):
    """A named path: bandwidth in packets/s, round-trip propagation delay in s, and buffer in packets.

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
        """Bandwidth-delay product of the path, packets."""
        return self.bandwidth * self.rtt


PATHS = (
    PathSet("12 Mb/s, 20 ms, 1 BDP", 1000.0, 0.02, 20),
    PathSet("24 Mb/s, 40 ms, 1 BDP", 2000.0, 0.04, 80),
    PathSet("24 Mb/s, 40 ms, 4 BDP", 2000.0, 0.04, 320),
    PathSet("60 Mb/s, 80 ms, 0.25 BDP", 5000.0, 0.08, 100),
    PathSet("12 Mb/s, 600 ms, 1 BDP (7.5, high delay)", 1000.0, 0.6, 600),
    PathSet("120 Mb/s, 1 ms, 4 BDP (7.11, data center)", 10000.0, 0.001, 40),
)
"""A range of bandwidths, delays and buffers, as Sect. 6 requires."""


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Result):
    """Measures of a rule by section of RFC 9743, beside the measures of NewReno in its place.

    The RFC states criteria without thresholds. The reading here is that a proposal must not do worse than NewReno, the
    standard rule, on the same path with the same seeds: `verdicts` says by section whether that holds.

    Attributes
    ----------
    rule
        The evaluated rule.
    table
        One row per section, measure and path: section, measure, path, unit, value, the mean over seeds, half_width of
        its 95 % interval, low and high (the interval within the range of the measure), prediction_half_width of the 95
        % interval of one further run, and newreno, its mean; then difference, difference_low and difference_high: the
        advantage of the rule in percentage points of a share, otherwise as a part of NewReno's value, with its 95 %
        interval over paired seeds; and seeds, their number. Intervals of one seed are NaN.
    not_covered
        Reasons by section that the model cannot judge, or only in part.
    runs
        The budget: largest number of seeds per row.

    Examples
    --------
    >>> from dfcmodel import evaluate_rfc9743
    >>> from responsefn import CUBIC
    >>> evaluation = evaluate_rfc9743(CUBIC())  # doctest: +SKIP
    >>> evaluation.table.query("section.str.startswith('5.2.1')")  # doctest: +SKIP
    """

    rule: WindowRule
    table: pd.DataFrame
    not_covered: dict[str, str]
    runs: int

    @property
    def verdicts(self) -> tuple[SectionVerdict, ...]:
        """Verdict on each section of RFC 9743, with the reason.

        ``"holds"``: in all rows of the section the interval of the difference to NewReno is above minus five points.
        ``"contradicted"``: in some row it is below altogether, also at the level at which all rows of the section
        together have 95 %. ``"undecided"``: neither, with the seeds of the budget. ``"not judged"``: the model lacks
        the subject of the section. Each answer for a section is wrong in at most 2.5 % of cases, by chance.
        `not_covered` has the missing parts of judged sections.
        """
        return judge(self.table, NOT_JUDGED)

    @property
    def wide(self) -> pd.DataFrame:
        """Rows of the table whose interval is NaN or wider than 0.05 after all seeds, with a finite NewReno."""
        width = self.table["difference_high"] - self.table["difference_low"]
        rows: pd.DataFrame = self.table[~(width <= WIDTH) & np.isfinite(self.table["newreno"])]
        return rows

    def to_xarray(self) -> Any:
        """Return the table of measures as an xarray Dataset over ``row``."""
        return self.table.rename_axis("row").to_xarray()

    def summary(self) -> dict[str, object]:
        """Return texts by name: verdicts on sections, their measures on all paths, and partly measured sections."""
        about = f"{full_name(self.rule)}; means over seeds, their 95 % intervals in [], NewReno's means in ()"
        rows: dict[str, object] = {
            "rule": about,
            "seeds": f"{seeds_text(self.table['seeds'].to_numpy())} per row, until the interval of the difference "
            f"to NewReno is at most five points wide; {len(self.wide)} of {len(self.table)} rows "
            f"are wider after {self.runs}",
        }
        for verdict in self.verdicts:
            rows[f"verdict on {verdict.section}"] = f"{verdict.answer}: {verdict.why}"
        for (section, measure), part in self.table.groupby(["section", "measure"], sort=False):
            texts = (
                f"{row.value:.3g}{_interval_text(row.low, row.high)} ({row.newreno:.3g}) {row.unit} at {row.path}"
                for row in part.itertuples()
            )
            rows[f"{section}: {measure}"] = "; ".join(texts)
        return rows | {f"in part: {name}": why for name, why in PARTLY_MEASURED.items()}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw each value with its interval over NewReno's, a row per measure and path; return the Axes.

        Points are open if the interval includes NewReno's value, or if there is no interval.
        """
        axes: Axes = figure(8.0, 0.22 * len(self.table) + 1.0)[1] if ax is None else ax
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio, low, high = (
                (self.table[name] / self.table["newreno"]).to_numpy(dtype=float) for name in ("value", "low", "high")
            )
        positions = np.arange(len(ratio))
        ratio = np.where((ratio > 0.0) & np.isfinite(ratio), ratio, np.nan)
        differs = (low > 1.0) | (high < 1.0)
        axes.hlines(
            positions,
            np.maximum(low, ratio / MAX_DRAWN_FACTOR),
            np.minimum(high, ratio * MAX_DRAWN_FACTOR),
            color="0.6",
        )
        axes.plot(
            ratio[differs],
            positions[differs],
            "o",
            color="C0",
            label="interval without NewReno's value",
        )
        axes.plot(
            ratio[~differs],
            positions[~differs],
            "o",
            color="C0",
            mfc="white",
            label="with it, or none",
        )
        axes.legend(fontsize=6)
        axes.axvline(1.0, color="0.5", linewidth=0.8)
        names = self.table["section"].str.split().str[0] + " " + self.table["measure"]
        axes.set_yticks(positions, names + ", " + self.table["path"], fontsize=6)
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="value over that of NewReno", title=str(self.rule))
        return axes


def _interval_text(low: Any, high: Any) -> str:
    """Return an interval as a string, such as " [0.1 .. 0.2]"; "" if it is not finite."""
    return f" [{low:.3g} .. {high:.3g}]" if np.isfinite(low) and np.isfinite(high) else ""


@accept_old_names(seconds="duration")
@quantities(duration="time")
def evaluate_rfc9743(
    rule: WindowRule,
    *,
    paths: Iterable[PathSet] = PATHS,
    duration: WithUnit = 60.0,
    runs: int = 8,
    seed: int | np.random.Generator = 0,
    discipline: Discipline | None = None,
) -> Evaluation:
    """Return measures of RFC 9743 (BCP 133) for a window rule and NewReno, by packet-level simulation.

    On every path, with drop-tail queues (Sect. 6.1) or queues of ``discipline``: the answer to heavy random losses
    (5.1.1), queueing delay alone (5.1.2), losses of 8 flows (5.1.3), Jain's index of 2 and 8 flows and the exponent of
    the RTT unfairness (5.1.4), short flows beside a long one of the rule (5.1.5, 5.2.3), the rate of a flow of NewReno
    or CUBIC beside the rule over its rate beside its own kind (5.2.1), loss and delay of a constant-rate flow (5.2.2),
    utilisation alone (6.3), with losses at random and in bursts, a capacity that changes and jitter (6.4), the
    utilisation and the queueing delay of two flows with RED, CoDel and PIE (7.1), the cost of changes of the minimum
    delay (7.3), reordering (7.7), interruptions and a sudden constant-rate flow (7.8), and sudden changes of the
    capacity and of the route (7.9). Each difference to NewReno gets seeds until its interval is at most five percentage
    points wide or the budget is spent, and each section a verdict.

    Parameters
    ----------
    rule
        The rule, also one's own; one that answers marks with a ``discipline`` that marks.
    paths
        The measured paths.
    duration
        Simulated time of each run, at least 500 round trips; the first fifth is not measured.
    runs
        The budget: largest number of seeds per measure and path; from five on, fewer if the interval is narrow. With
        the default paths a seed of all measures costs some 15 s of CPU.
    seed
        Integer >= 0 or a `numpy.random.Generator`, from which the seeds of the runs are spawned.
    discipline
        Discipline of the bottleneck's queue, except in 7.1's rows; None is drop-tail. `DualPI2`, for example, is L4S's.

    Raises
    ------
    TypeError, ValueError
        For a duration, a number of runs or a seed outside its range.

    Examples
    --------
    >>> from dfcmodel import evaluate_rfc9743
    >>> from responsefn import HTCP
    >>> print(evaluate_rfc9743(HTCP()))  # doctest: +SKIP
    """
    import pandas as pd

    if discipline is not None:
        instance("discipline", discipline, Discipline, "a discipline, such as CoDel() or DualPI2()")
    (chosen,) = validate_rules((rule,), discipline)
    runs = integer("runs", runs, 1, 10_000)
    seeds = spawn_seeds(seed, runs).tolist()
    duration = one_number("duration", duration, above=0.0, hint="in s")
    rows = []
    settings = list(itertools.product(instances("paths", paths, PathSet), MEASURES))
    for path, measure in progress_bar(settings, desc="RFC 9743", unit="measure"):
        run_duration = max(duration, MIN_ROUND_TRIPS * path.rtt)
        link = Bottleneck(
            path.bandwidth, path.rtt, path.buffer, duration=run_duration, warm_up=0.2 * run_duration,
            discipline=discipline or FIFO(),
        )  # fmt: skip
        unit = measure.quantity.unit
        rows.append((measure.section, measure.name, path.name, unit, *_measure_row(link, measure, chosen, seeds)))
    columns = [
        "section",
        "measure",
        "path",
        "unit",
        "value",
        "half_width",
        "low",
        "high",
        "prediction_half_width",
        "newreno",
        "difference",
        "difference_low",
        "difference_high",
        "seeds",
    ]
    table = pd.DataFrame(rows, columns=columns).sort_values("section", kind="stable")
    return Evaluation(chosen, table.reset_index(drop=True), NOT_JUDGED | PARTLY_MEASURED, runs)


def _measure_row(link: Bottleneck, measure: Measure, rule: WindowRule, seeds: Any) -> tuple[float, ...]:
    """Run seeds until the interval of rule less NewReno is narrow; return the row's columns from ``value`` on."""

    def run_pair(seed: int) -> tuple[float, float]:
        return measure.run(Bench(link, seed), rule), measure.run(Bench(link, seed), NewReno())

    def is_narrow(runs: list[tuple[float, float]]) -> bool:
        values = differences(measure.quantity, *zip(*runs, strict=True))
        if len(runs) < MIN_SEEDS:
            return False
        return values.high - values.low <= WIDTH or values.high == -np.inf

    runs = run_seeds(run_pair, seeds, is_narrow)
    values, reference = map(list, zip(*runs, strict=True))
    value, half = float(np.mean(values)), float(half_width(values, NOMINAL_LEVEL))
    interval = within_limits(value, half, *measure.quantity.limits).tolist()
    difference = differences(measure.quantity, values, reference)
    single = float(prediction_half_width(values))
    return (value, half, *interval, single, float(np.mean(reference)), *difference, len(runs))
