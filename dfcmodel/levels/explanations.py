"""The gap between a fluid and packets, refinement by refinement: the result of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.contributions import in_order, shapley_values
from dfcmodel.network.flows import recovery_of
from dfcmodel.results.ensembles import mean_interval
from dfcmodel.results.flow_recoveries import repairs_of
from dfcmodel.results.limits import messages_by_topic
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
"""Largest number of runs that the summary advises, to tell the largest part from 0."""
MIN_PHASE_EFFECT = 0.1
"""Smallest reported phase effect: difference between packets with and without random times, over the value."""


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Result):
    """The gap between a fluid and packets, divided among refinements, as `explain` returns it.

    R runs, n refinements of the fluid, k of packets, Q quantities. In every run

        packets - fluid = contributions in the fluid + unexplained + contributions in packets:

    the first lead from the fluid without the n refinements to the fluid with all, the last from packets without
    their refinements to packets; the gap between the two is unexplained. The fluid without the n refinements
    is that of `simulate`, unless some refinements are `shared`.

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
        Values of the quantities in packets by run and subset of refinements, (R, 2^k, Q).
    stack
        Parts of the flows' stack (`dfcmodel.Flow`), each of which was switched off in turn; P names.
    without
        Quantities of packets without each of them, (R, P, Q).
    usual
        Index of the subset, of 2^n, with which `simulate` runs the fluid.
    statuses
        Statuses of all runs.
    limits_of_fluid
        Known limits of the fluid that `simulate` runs (`Trajectory.limits`), with the number of runs that have one.
    seed
        Seed from which the seeds of the runs are spawned.
    jitter
        Upper end of the delays of the flows' starts, s.
    packet_jitter
        Upper end of the random times before packets at both levels, s, which no refinement changes.
    seconds
        Wall-clock time in s.

    Examples
    --------
    >>> from dfcmodel import RandomRuns, default_refinements, explain, takano2006
    >>> scenario = takano2006("1", dfc=False, tcp="newreno")
    >>> all_parts = default_refinements(scenario, shared=True)
    >>> explanation = explain(scenario, "first_loss", refinements=all_parts, runs=2, options=RandomRuns(duration=0.13))
    >>> explanation.shared
    ('transmission times', 'recovery', 'timeouts')
    >>> table = explanation.table().set_index("row")
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
        """Status of the first run that failed, otherwise of the first that is not completed; COMPLETED if all are."""
        return worst(self.statuses)

    @property
    def runs(self) -> int:
        """Number R of runs at each setting."""
        return len(self.fluid)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts of the gap: n refinements of the fluid, ``unexplained``, k refinements of packets."""
        names = [refinement.name for refinement in self.refinements]
        n = self._counts[0]
        return (*names[:n], UNEXPLAINED, *names[n:])

    @property
    def shared(self) -> tuple[str, ...]:
        """Names of the refinements that both levels have; `simulate` switches them on in the fluid."""
        return tuple(self.refinements[i].name for i in range(self._counts[0]) if self.usual >> i & 1)

    @property
    def _start(self) -> str:
        """Name of the waterfall's first bar: the fluid, or without shared refinements the bare fluid."""
        return "bare fluid" if self.shared else "fluid"

    @property
    def _counts(self) -> tuple[int, int]:
        """Numbers of the refinements of the fluid, n, and of packets, k."""
        n = self.fluid.shape[1].bit_length() - 1
        return n, len(self.refinements) - n

    @cached_property
    def gap(self) -> Floats:
        """Packets with all refinements less the fluid without any, in each run, shape (R, Q)."""
        return np.asarray(self.packets[:, -1] - self.fluid[:, 0])

    @cached_property
    def contributions(self) -> Floats:
        """Shapley values of the parts in each run, shape (R, n + 1 + k, Q); they add up to `gap`."""
        return self._join(shapley_values(by_subset(self.fluid)), shapley_values(by_subset(self.packets)))

    @property
    def stack_effects(self) -> Floats:
        """Packets less packets without each of the P parts of the stack, in each run, shape (R, P, Q).

        Each is the effect of a part in the presence of all others. Parts interact, so that the effects do not add up to
        the effect of the stack.
        """
        packets = self.packets[:, -1:]
        return np.asarray(packets - self.without) if self.stack else packets[:, :0]

    def in_order(self, order: Sequence[str]) -> Floats:
        """Return contributions in a chosen order instead of Shapley values, shape (R, n + 1 + k, Q).

        Parameters
        ----------
        order
            The names of all refinements in the order in which they are switched on; the fluid and packets have separate
            orders.

        Raises
        ------
        ValueError
            Where ``order`` is not the names of the refinements.
        """
        names = [refinement.name for refinement in self.refinements]
        if sorted(order) != sorted(names):
            raise ValueError(f"order = {list(order)!r}: must have each of {', '.join(names)} once")
        n, _ = self._counts
        indices = [names.index(name) for name in order]
        return self._join(
            in_order(by_subset(self.fluid), [i for i in indices if i < n]),
            in_order(by_subset(self.packets), [i - n for i in indices if i >= n]),
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """Limits as messages: phase effects of the packet runs, if measured, and known limits of the fluid.

        Phase effects decide a quantity if packets with and without random times differ in its mean or its variance by
        at least a tenth of its value, by Student's and Fisher's test. The tests of all quantities together are at 95 %
        (Bonferroni).
        """
        phases = self.phase_effects
        return ((phases,) if phases else ()) + self.limits_of_fluid

    @property
    def phase_effects(self) -> str:
        """Message on the quantities that phase effects decide in packets, with the remedy; "" if there are none."""
        of_packets = self.refinements[self._counts[0] :]
        effects = []
        for i, refinement in enumerate(of_packets):
            if refinement.random_time > 0.0:
                full = len(self.packets[0]) - 1
                with_phases, at_random = self.packets[:, full], self.packets[:, full ^ 1 << i]
                effects += [
                    f"{quantity.name} {effect}"
                    for q, quantity in enumerate(self.quantities)
                    if (effect := _phase_effect_clause(with_phases[:, q], at_random[:, q], 2 * len(self.quantities)))
                ]
        if not effects:
            return ""
        return (
            f"phase effects: {'; '.join(effects)}: packets that meet in the same order again and again decide, as on "
            "no real network. Set packet_jitter='1pkt' in simulate, RunSettings and RandomRuns (--packet-jitter 1pkt)"
        )

    def _join(self, fluid: Floats, packets: Floats) -> Floats:
        """Return (R, n + 1 + k, Q): contributions in the fluid, (n, R, Q), unexplained, in packets, (k, R, Q)."""
        unexplained = self.packets[:, 0] - self.fluid[:, -1]
        return np.moveaxis(np.concatenate([fluid, unexplained[np.newaxis], packets]), 0, 1)

    @declares(level="share")
    def to_xarray(self, level: WithUnit = LEVEL) -> xr.Dataset:
        """Return means with Student's intervals over the runs: of parts, gap and both levels, by part and quantity.

        Parameters
        ----------
        level
            Confidence level, 0 < level < 1.

        Returns
        -------
        ``contribution`` (part, quantity, estimate), ``gap``, ``start``, ``fluid``, ``packets`` (quantity, estimate)
        with the estimates mean, low, high, prediction_low and prediction_high. ``low`` to ``high`` is the interval of
        the mean over infinitely many seeds, ``prediction_low`` to ``prediction_high`` that of one further run. With a
        stack there is also ``stack_effect`` (stack_part, quantity, estimate). ``fluid`` is the fluid as `simulate` runs
        it, ``start`` the fluid without the refinements: the same unless some are `shared`.
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
                "quantity": [quantity.name for quantity in self.quantities],
                "units": ("quantity", [quantity.units for quantity in self.quantities]),
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

        The parts are the shared refinements, the others, and the unexplained part; in each group the largest comes
        first. The rows after packets, ``with`` a part of the stack, are the effects of that part on packets. Columns:
        quantity, units, row, mean, low and high (Student's interval of the mean over seeds), prediction_low and
        prediction_high (the interval of one further run).
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
                steps |= {f"with {self.stack[i]}": effects[i] for i in self._stack_parts_by_effect(q)}
            rows += [(quantity.name, quantity.units, name, *estimates) for name, estimates in steps.items()]
        return pd.DataFrame(rows, columns=["quantity", "units", "row", *ESTIMATES])

    def _by_size(self, q: int) -> list[int]:
        """Return indices of `parts`: shared, others, unexplained; each by falling size of its mean for quantity q."""
        sizes = np.nan_to_num(np.abs(self.contributions[:, :, q].mean(axis=0)))
        shared, unexplained = set(self.shared), self._counts[0]
        return sorted(range(len(sizes)), key=lambda i: (i == unexplained, self.parts[i] not in shared, -sizes[i]))

    def _stack_parts_by_effect(self, q: int) -> list[int]:
        """Return indices of the parts of the protocol stack by falling absolute effect on quantity q."""
        sizes = np.nan_to_num(np.abs(self.stack_effects[:, :, q].mean(axis=0)))
        return [int(i) for i in np.argsort(-sizes, kind="stable")]

    def text(self) -> str:
        """Return the explanation as a string, one line for each quantity.

        The significant parts that the levels do not share come first, the largest first. Parts that are not significant
        and parts of both levels follow.
        """
        return "\n".join(self._sentence(q) for q in range(len(self.quantities)))

    def _sentence(self, q: int) -> str:
        """Return the line on quantity q: the gap, the parts that contribute most, and the remaining parts."""
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
        texts = {i: f"{self._label(i)} {interval_text(parts[:, i])}" for i in self._by_size(q)}
        distinct = [i for i in texts if self.parts[i] not in self.shared]
        groups = {
            "of which ": [texts[i] for i in distinct if _differs(parts[:, i])],
            "too uncertain to tell from 0: ": [
                texts[i] for i in distinct if parts[:, i].any() and not _differs(parts[:, i])
            ],
            "nothing in any run: ": [self._label(i) for i in distinct if not parts[:, i].any()],
            "both levels have: ": [texts[i] for i in texts if i not in distinct],
            "of the stack ": [
                f"{self.stack[i]} {interval_text(effects[:, i])}"
                for i in self._stack_parts_by_effect(q)
                if effects[:, i].any()
            ],
            "no effect of the stack's ": [
                name for name, effect in zip(self.stack, effects.T, strict=True) if not effect.any()
            ],
        }
        return "; ".join([levels, *(head + ", ".join(items) for head, items in groups.items() if items)])

    def _more_runs(self) -> str:
        """Return advice on the runs that tell the largest part from 0; "" if all are 0 or not finite."""
        parts: dict[int, str] = {}
        for q, quantity in enumerate(self.quantities):
            values = self.contributions[:, :, q]
            means = np.abs(values.mean(axis=0))
            part = int(np.argmax(np.where(np.isfinite(means), means, 0.0)))
            if 0.0 < means[part] < np.inf:
                name = f"{self._label(part)} ({quantity.name})"
                parts.setdefault(_runs_to_differ(values[:, part]), name)
        if not parts:
            return ""
        runs = min(parts)
        if runs > MAX_ADVISED_RUNS:
            return f"the largest one, {parts[runs]}, needs more than {MAX_ADVISED_RUNS}"
        return f"by their spread, runs={runs} would tell the largest one, {parts[runs]}"

    def _label(self, part: int) -> str:
        """Return the name of the part with this index of `parts`, as in sentences."""
        return "not explained" if part == self._counts[0] else self.parts[part]

    def summary(self) -> dict[str, object]:
        """Return status and texts by name: scenario, a line for each quantity, and an explanation of the numbers."""
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
        recoveries = [recovery_of(flow, None) for flow in self.scenario.flows]
        if repairs := repairs_of(self.scenario.flows, recoveries):
            rows["recovery of the rules"] = repairs
        rows.update(messages_by_topic(self.limits))
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
            f"± is the half width of Student's {100 * LEVEL:.0f} % interval of the mean over seeds and starts; "
            f"the range of single runs contains one further run in {100 * LEVEL:.0f} %"
        )
        rows["time"] = f"{self.seconds:.2f} s"
        return rows

    def plot(self, ax: Any = None, *, quantity: str | None = None) -> Any:
        """Draw the waterfall of one quantity (None: the first) from fluid to packets with intervals; return the Axes.

        Parameters
        ----------
        ax
            Axes to draw on; None creates new axes.
        quantity
            Name of the quantity; None: the first.

        Returns
        -------
        The Axes.
        """
        names = [item.name for item in self.quantities]
        chosen = choice("quantity", names[0] if quantity is None else quantity, names)
        data = self.to_xarray().sel(quantity=chosen)
        return draw_waterfall(data.isel(part=self._by_size(names.index(chosen))), ax)


def _differs(values: Floats, level: float = LEVEL) -> Any:
    """Return flags where Student's interval at ``level`` of the mean over runs, the first axis, excludes 0."""
    low, high = mean_interval(values, level)
    return (low > 0.0) | (high < 0.0)


def _runs_to_differ(values: Floats) -> int:
    """Return how many runs, R + 1 or more, Student's interval of values (R,) needs to exclude 0; limit + 1: too many.

    Mean and deviation of the values, (R,), are assumed to stay. `MAX_ADVISED_RUNS` + 1 stands for any larger number.
    """
    runs = np.arange(len(values) + 1, MAX_ADVISED_RUNS + 1)
    half = t_quantile(runs - 1, LEVEL) * values.std(ddof=1) / np.sqrt(runs)
    enough = runs[half < abs(values.mean())]
    return int(enough[0]) if len(enough) else MAX_ADVISED_RUNS + 1


def _phase_effect_clause(with_phases: Floats, at_random: Floats, tests: int) -> str:
    """Return a clause on the change of a quantity, (R,), by phase effects; ``tests``: number of tests; "": too small.

    The arguments are the values of the quantity in packets with phase effects and with random times, (R,), and the
    number of simultaneous tests.
    """
    from scipy.stats import f as fisher

    means = with_phases.mean(), at_random.mean()
    if not np.isfinite(means).all():
        return ""
    threshold = MIN_PHASE_EFFECT * max(map(abs, means))
    difference = with_phases - at_random
    level = 1.0 - (1.0 - LEVEL) / tests
    if _differs(difference, level) and abs(difference.mean()) > threshold:
        return f"is {means[0]:.3g} in packets, {means[1]:.3g} with random times before them"
    spread, other = with_phases.std(ddof=1), at_random.std(ddof=1)
    times = np.sqrt(fisher.ppf(level, len(difference) - 1, len(difference) - 1))
    if spread <= max(threshold, times * other):
        return ""
    return (
        f"has a standard deviation over the runs of {spread:.2g} in packets, {other:.2g} with random times before them"
    )


def by_subset(values: Floats) -> Floats:
    """Return values of shape (R, subsets, Q) with the subsets first, shape (subsets, R, Q)."""
    return np.moveaxis(values, 1, 0)


def interval_text(values: Floats) -> str:
    """Return mean and half width of the interval over runs as a string, such as "+0.1 ± 0.02"."""
    low, high = mean_interval(values, LEVEL)
    return f"{values.mean():+.3g} ± {(high - low) / 2:.2g}"


def _single_runs(values: Floats) -> str:
    """Return the interval of one further run as a string, such as "single runs -0.1 to +0.2"."""
    mean, half = float(values.mean()), float(prediction_half_width(values, LEVEL))
    return f"single runs {mean - half:+.3g} to {mean + half:+.3g}"
