"""The gap between a fluid and packets, refinement by refinement: the result of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.contributions import in_order, shapley_values
from dfcmodel.network.endpoints.flow_recoveries import repairs_of
from dfcmodel.network.flows import recovery_of
from dfcmodel.results.ensembles import mean_interval
from dfcmodel.results.limits import said_by_topic
from hopflow.checks import choice, count_of
from hopflow.fork_safety import cached_property
from hopflow.intervals import prediction_half_width, t_quantile
from hopflow.results import UNEXPLAINED, Result, Status, draw_waterfall, of_several, worst
from hopflow.units import WithUnit, declares, in_units

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.levels.quantities import Quantity
    from dfcmodel.levels.refinements import Refinement
    from dfcmodel.network.networks import Scenario

    Floats = NDArray[np.float64]

__all__ = ["UNEXPLAINED", "Explanation"]

ESTIMATES = ("mean", "low", "high", "prediction_low", "prediction_high")
LEVEL = 0.95
"""Confidence level of the intervals in texts and figures."""
MAX_ADVISED_RUNS = 10_000
"""Number of runs up to which the summary names how many would tell the largest part from 0."""
MIN_PHASE_EFFECT = 0.1
"""Difference between packets with and without random times, over the value, from which phase effects are named."""


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Result):
    """The gap between a fluid and packets, divided among refinements, as `explain` returns it.

    R runs, n refinements of the fluid, k of packets, Q quantities. In every run

        packets - fluid = contributions in the fluid + unexplained + contributions in packets:

    the first lead from the fluid without the n refinements to the one with all, the last from packets without
    their refinements to packets; what lies between those two is unexplained. The fluid without the n refinements
    is the one that `simulate` runs, unless some of them are `shared`.

    Attributes
    ----------
    scenario
        The compared scenario.
    quantities
        The Q quantities.
    refinements
        The n of the fluid, then the k of packets.
    fluid
        Quantities of the fluid with every subset of its refinements, (R, 2^n, Q): the bits of the index
        say which are on, the first refinement is bit 0.
    packets
        The same of packets, (R, 2^k, Q).
    stack
        Parts of the flows' stack (`dfcmodel.Flow`), each of which was switched off in turn; P names.
    without
        Quantities of packets without each of them, (R, P, Q).
    usual
        Which of the 2^n subsets is the fluid as `simulate` runs it.
    statuses
        Statuses of all runs.
    limits_of_fluid
        Known limits of the fluid that `simulate` runs (`Trajectory.limits`), with the number of runs that have one.
    seed
        Seed from which those of the runs are spawned.
    jitter
        Upper end of the delays of the flows' starts, s.
    packet_jitter
        Upper end of the random times before packets at both levels, s, which no refinement changes.
    seconds
        Wall-clock time in s.

    Examples
    --------
    >>> from dfcmodel import default_refinements, explain, takano2006
    >>> scenario = takano2006("1", dfc=False, tcp="newreno")
    >>> all_parts = default_refinements(scenario, shared=True)
    >>> found = explain(scenario, "first_loss", refinements=all_parts, runs=2, duration=0.13)
    >>> found.shared
    ('transmission times', 'recovery', 'timeouts')
    >>> table = found.table().set_index("row")
    >>> bool(table.loc["transmission times", "mean"] > 0.0)  # without them losses come too early
    True
    """

    scenario: Scenario
    quantities: tuple[Quantity, ...]
    refinements: tuple[Refinement, ...]
    fluid: Floats
    packets: Floats
    stack: tuple[str, ...]
    without: Floats
    usual: int
    statuses: tuple[Status, ...]
    limits_of_fluid: tuple[str, ...]
    seed: int
    jitter: float
    packet_jitter: float
    seconds: float

    @property
    def status(self) -> Status:
        """Of the first run that failed, or that is not completed; COMPLETED: all are."""
        return worst(self.statuses)

    @property
    def runs(self) -> int:
        """Number R of runs at each setting."""
        return len(self.fluid)

    @property
    def parts(self) -> tuple[str, ...]:
        """What the gap is divided into: refinements of the fluid, ``unexplained``, those of packets."""
        names = [each.name for each in self.refinements]
        n = self._counts[0]
        return (*names[:n], UNEXPLAINED, *names[n:])

    @property
    def shared(self) -> tuple[str, ...]:
        """The refinements that the fluid has as `simulate` runs it: the levels do not differ in them."""
        return tuple(self.refinements[i].name for i in range(self._counts[0]) if self.usual >> i & 1)

    @property
    def _start(self) -> str:
        """Name of the fluid that the parts are counted from."""
        return "bare fluid" if self.shared else "fluid"

    @property
    def _counts(self) -> tuple[int, int]:
        n = self.fluid.shape[1].bit_length() - 1
        return n, len(self.refinements) - n

    @cached_property
    def gap(self) -> Floats:
        """Packets less the fluid without the refinements, in each run, shape (R, Q)."""
        return np.asarray(self.packets[:, -1] - self.fluid[:, 0])

    @cached_property
    def contributions(self) -> Floats:
        """Shapley values of the parts in each run, shape (R, n + 1 + k, Q); they add up to `gap`."""
        return self._divided(shapley_values(by_subset(self.fluid)), shapley_values(by_subset(self.packets)))

    @property
    def stack_effects(self) -> Floats:
        """Packets less packets without each part of the stack, in each run, shape (R, P, Q).

        What a part changes beside all others; as parts act on each other, the sum is not what the stack changes as a whole.
        """
        packets = self.packets[:, -1:]
        return np.asarray(packets - self.without) if self.stack else packets[:, :0]

    def in_order(self, order: Sequence[str]) -> Floats:
        """Return contributions in an order of your own instead, shape (R, n + 1 + k, Q).

        Parameters
        ----------
        order
            The names of all refinements in the order in which they are switched on; those of the fluid and
            those of packets are separate.

        Raises
        ------
        ValueError
            Where ``order`` is not the names of the refinements.
        """
        names = [each.name for each in self.refinements]
        if sorted(order) != sorted(names):
            raise ValueError(f"order = {list(order)!r}: must have each of {', '.join(names)} once")
        n, _ = self._counts
        places = [names.index(name) for name in order]
        return self._divided(
            in_order(by_subset(self.fluid), [i for i in places if i < n]),
            in_order(by_subset(self.packets), [i - n for i in places if i >= n]),
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """Phase effects of the packet runs where they were measured, and the known limits of the fluid.

        Phase effects decide a quantity if packets with and without random times differ in its mean or its variance by at least
        a tenth of its value, by Student's and Fisher's test. The tests of all quantities together are at 95 % (Bonferroni).
        """
        phases = self.phase_effects
        return ((phases,) if phases else ()) + self.limits_of_fluid

    @property
    def phase_effects(self) -> str:
        """Which quantities phase effects decide in packets, and what to write against them; "" where they decide none."""
        own = self.refinements[self._counts[0] :]
        found = []
        for i, each in enumerate(own):
            if each.random_time > 0.0:
                full = len(self.packets[0]) - 1
                with_phases, at_random = self.packets[:, full], self.packets[:, full ^ 1 << i]
                found += [
                    f"{quantity.name} {said}"
                    for q, quantity in enumerate(self.quantities)
                    if (said := _effect(with_phases[:, q], at_random[:, q], 2 * len(self.quantities)))
                ]
        if not found:
            return ""
        return (
            f"phase effects: {'; '.join(found)}: packets that meet in the same order again and again decide, as on no "
            "real network. Set packet_jitter='1pkt' in simulate, ensemble and explain (--packet-jitter 1pkt)"
        )

    def _divided(self, fluid: Floats, packets: Floats) -> Floats:
        rest = self.packets[:, 0] - self.fluid[:, -1]
        return np.moveaxis(np.concatenate([fluid, rest[np.newaxis], packets]), 0, 1)

    @declares(level="share")
    def to_xarray(self, level: WithUnit = LEVEL) -> xr.Dataset:
        """Return means and Student's intervals over the runs.

        Parameters
        ----------
        level
            Confidence level, 0 < level < 1.

        Returns
        -------
        ``contribution`` (part, quantity, estimate), ``gap``, ``start``, ``fluid``, ``packets`` (quantity, estimate)
        with the estimates mean, low, high, prediction_low and prediction_high: ``low`` to ``high`` is the interval of the mean
        over infinitely many seeds, the last two are the ends of that of one further run. With a stack there is also
        ``stack_effect`` (stack_part, quantity, estimate). ``fluid`` is the fluid as `simulate` runs it, ``start`` the one
        without the refinements: the same without `shared` ones.
        """
        import xarray as xr

        level = in_units("level", level, "share")
        of_runs = {
            "contribution": (("part", "quantity"), self.contributions),
            "gap": (("quantity",), self.gap),
            "start": (("quantity",), self.fluid[:, 0]),
            "fluid": (("quantity",), self.fluid[:, self.usual]),
            "packets": (("quantity",), self.packets[:, -1]),
        }
        if self.stack:
            of_runs["stack_effect"] = (("stack_part", "quantity"), self.stack_effects)
        variables = {}
        for name, (dims, values) in of_runs.items():
            mean, single = values.mean(axis=0), prediction_half_width(values, level)
            rows = [mean, *mean_interval(values, level), mean - single, mean + single]
            variables[name] = ((*dims, "estimate"), np.stack(rows, axis=-1))
        of_stack = {"stack_part": list(self.stack)} if self.stack else {}
        return xr.Dataset(
            variables,
            coords={
                **of_stack,
                "part": list(self.parts),
                "quantity": [each.name for each in self.quantities],
                "units": ("quantity", [each.units for each in self.quantities]),
                "estimate": list(ESTIMATES),
            },
            attrs={
                "scenario": self.scenario.name,
                "runs": self.runs,
                "level": level,
                "start": self._start,
            },
        )

    @declares(level="share")
    def table(self, level: WithUnit = LEVEL) -> pd.DataFrame:
        """Return the waterfall as a table: fluid, the parts, packets; a row for each, by quantity.

        The parts are those that the levels share, those that they do not share, and what is unexplained; the largest
        first. The rows after packets, ``with`` a part of the stack, are what that part changes in them. Columns: quantity,
        units, row, mean, low and high (the ends of Student's interval of the mean over seeds), prediction_low and
        prediction_high (those of the interval of one further run).
        """
        import pandas as pd

        data = self.to_xarray(level)
        rows = []
        for q, quantity in enumerate(self.quantities):
            steps = {self._start: data["start"].to_numpy()[q]}
            parts = data["contribution"].to_numpy()[:, q]
            steps |= {self.parts[i]: parts[i] for i in self._by_size(q)}
            steps["packets"] = data["packets"].to_numpy()[q]
            if self.stack:
                effects = data["stack_effect"].to_numpy()[:, q]
                steps |= {f"with {self.stack[i]}": effects[i] for i in self._stack_by_size(q)}
            rows += [(quantity.name, quantity.units, name, *each) for name, each in steps.items()]
        return pd.DataFrame(rows, columns=["quantity", "units", "row", *ESTIMATES])

    def _by_size(self, q: int) -> list[int]:
        """Return the places of the parts: the shared ones, the others, what is unexplained; the largest first."""
        sizes = np.nan_to_num(np.abs(self.contributions[:, :, q].mean(axis=0)))
        shared, rest = set(self.shared), self._counts[0]
        return sorted(range(len(sizes)), key=lambda i: (i == rest, self.parts[i] not in shared, -sizes[i]))

    def _stack_by_size(self, q: int) -> list[int]:
        """Return the places of the parts of the stack, the largest first."""
        sizes = np.nan_to_num(np.abs(self.stack_effects[:, :, q].mean(axis=0)))
        return [int(i) for i in np.argsort(-sizes, kind="stable")]

    def text(self) -> str:
        """Return the explanation in sentences, one line for each quantity.

        The parts that the levels do not share come first, the largest first; then those that are not significant, and
        those that both levels have.
        """
        return "\n".join(self._sentence(q) for q in range(len(self.quantities)))

    def _sentence(self, q: int) -> str:
        quantity = self.quantities[q]
        gap, parts = self.gap[:, q], self.contributions[:, :, q]
        effects = self.stack_effects[:, :, q]
        if not np.isfinite(gap).all():
            return f"{quantity.name}: not defined in every run"
        units = "" if quantity.units in ("", "1") else f" {quantity.units}"
        fluid, packets = self.fluid[:, self.usual, q], self.packets[:, -1, q]
        levels = (
            f"{quantity.name}: {packets.mean():.4g}{units} in packets, {fluid.mean():.4g} in the fluid as "
            f"`simulate` runs it; difference {interval_text(packets - fluid)}, {_single_runs(packets - fluid)}"
        )
        if not _differs(packets - fluid):
            levels += ", which may be none"
        if self.shared:
            bare = self.fluid[:, 0, q].mean()
            levels += f"; from the bare fluid, {bare:.4g}, it is {interval_text(gap)}"
        texts = {i: f"{self._said(i)} {interval_text(parts[:, i])}" for i in self._by_size(q)}
        own = [i for i in texts if self.parts[i] not in self.shared]
        groups = {
            "of which ": [texts[i] for i in own if _differs(parts[:, i])],
            "too uncertain to tell from 0: ": [
                texts[i] for i in own if parts[:, i].any() and not _differs(parts[:, i])
            ],
            "nothing in any run: ": [self._said(i) for i in own if not parts[:, i].any()],
            "both levels have: ": [texts[i] for i in texts if i not in own],
            "of the stack ": [
                f"{self.stack[i]} {interval_text(effects[:, i])}" for i in self._stack_by_size(q) if effects[:, i].any()
            ],
            "no effect of the stack's ": [
                name for name, effect in zip(self.stack, effects.T, strict=True) if not effect.any()
            ],
        }
        return "; ".join([levels, *(head + ", ".join(found) for head, found in groups.items() if found)])

    def _more_runs(self) -> str:
        """Return how many runs would tell the largest part of a quantity from 0, by the spread of these; "": all are 0, or not finite."""
        found: dict[int, str] = {}
        for q, quantity in enumerate(self.quantities):
            values = self.contributions[:, :, q]
            means = np.abs(values.mean(axis=0))
            part = int(np.argmax(np.where(np.isfinite(means), means, 0.0)))
            if 0.0 < means[part] < np.inf:
                name = f"{self._said(part)} ({quantity.name})"
                found.setdefault(_runs_to_differ(values[:, part]), name)
        if not found:
            return ""
        runs = min(found)
        if runs > MAX_ADVISED_RUNS:
            return f"the largest one, {found[runs]}, needs more than {MAX_ADVISED_RUNS}"
        return f"by their spread, runs={runs} would tell the largest one, {found[runs]}"

    def _said(self, part: int) -> str:
        """Return the name of a part in a sentence."""
        return "not explained" if part == self._counts[0] else self.parts[part]

    def summary(self) -> dict[str, object]:
        """Return status, scenario, a line for each quantity, and how the numbers are to be read."""
        rows: dict[str, object] = {
            "status": of_several(self.statuses),
            "scenario": self.scenario.name,
        }
        if self.refinements and not _differs(self.contributions).any() and (more := self._more_runs()):
            rows["parts"] = f"{self.runs} runs are too few to tell any part from 0: {more}"
        for q, quantity in enumerate(self.quantities):
            rows[quantity.name] = self._sentence(q).removeprefix(f"{quantity.name}: ")
        if any(quantity.is_share for quantity in self.quantities):
            rows["shares are"] = "goodput over the rate of the slowest link of a flow's path"
        own = [recovery_of(flow, None) for flow in self.scenario.flows]
        if repairs := repairs_of(self.scenario.flows, own):
            rows["recovery of the rules"] = repairs
        rows.update(said_by_topic(self.limits))
        if self.shared:
            rows["bare fluid"] = f"without {', '.join(self.shared)}, which both levels have"
        rows["parts are"] = (
            "what each refinement changes when it is switched on, averaged over all orders (Shapley values)"
        )
        settings = f"{self.fluid.shape[1]} settings of the fluid and {self.packets.shape[1]} settings of packets"
        if self.stack:
            settings += f", packets without {count_of(len(self.stack), 'part')} of the stack in turn"
        waits = f", up to {self.packet_jitter:.3g} s before packets at both levels" if self.packet_jitter else ""
        rows["runs"] = (
            f"{self.runs} of each of {settings}, seed {self.seed}, starts within {self.jitter:g} s{waits}; "
            f"± is the half width of Student's {100 * LEVEL:.0f} % interval of the mean over seeds and starts; the range of "
            f"single runs contains one further run in {100 * LEVEL:.0f} %"
        )
        rows["time"] = f"{self.seconds:.2f} s"
        return rows

    def plot(self, ax: Any = None, *, quantity: str | None = None) -> Any:
        """Draw the waterfall from the fluid to packets, with intervals; parts in the order of `table`.

        Parameters
        ----------
        ax
            Axes to draw on; None makes new ones.
        quantity
            Name of the quantity; None: the first.

        Returns
        -------
        The Axes.
        """
        names = [each.name for each in self.quantities]
        chosen = choice("quantity", names[0] if quantity is None else quantity, names)
        data = self.to_xarray().sel(quantity=chosen)
        return draw_waterfall(data.isel(part=self._by_size(names.index(chosen))), ax)


def _differs(values: Floats, level: float = LEVEL) -> Any:
    """Return where Student's interval of the mean over runs excludes 0."""
    low, high = mean_interval(values, level)
    return (low > 0.0) | (high < 0.0)


def _runs_to_differ(values: Floats) -> int:
    """Return the least number of runs at which Student's interval excludes 0 if mean and deviation stay; one more than `MAX_ADVISED_RUNS`: more."""
    runs = np.arange(len(values) + 1, MAX_ADVISED_RUNS + 1)
    half = t_quantile(runs - 1, LEVEL) * values.std(ddof=1) / np.sqrt(runs)
    enough = runs[half < abs(values.mean())]
    return int(enough[0]) if len(enough) else MAX_ADVISED_RUNS + 1


def _effect(with_phases: Floats, at_random: Floats, tests: int) -> str:
    """Return what phase effects change of a quantity, by its values in packets with and without them, (R,); "": too little.

    ``tests`` is the number of tests that are made together.
    """
    from scipy.stats import f as fisher

    means = with_phases.mean(), at_random.mean()
    if not np.isfinite(means).all():
        return ""
    least = MIN_PHASE_EFFECT * max(map(abs, means))
    difference = with_phases - at_random
    level = 1.0 - (1.0 - LEVEL) / tests
    if _differs(difference, level) and abs(difference.mean()) > least:
        return f"is {means[0]:.3g} in packets, {means[1]:.3g} with random times before them"
    spread, other = with_phases.std(ddof=1), at_random.std(ddof=1)
    times = np.sqrt(fisher.ppf(level, len(difference) - 1, len(difference) - 1))
    if spread <= max(least, times * other):
        return ""
    return (
        f"has a standard deviation over the runs of {spread:.2g} in packets, {other:.2g} with random times before them"
    )


def by_subset(values: Floats) -> Floats:
    """Return (R, subsets, Q) as (subsets, R, Q)."""
    return np.moveaxis(values, 1, 0)


def interval_text(values: Floats) -> str:
    """Return the mean over runs and half of its interval as text."""
    low, high = mean_interval(values, LEVEL)
    return f"{values.mean():+.3g} ± {(high - low) / 2:.2g}"


def _single_runs(values: Floats) -> str:
    """Return the interval of one further run as text."""
    mean, half = float(values.mean()), float(prediction_half_width(values, LEVEL))
    return f"single runs {mean - half:+.3g} to {mean + half:+.3g}"
