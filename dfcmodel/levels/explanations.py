"""The gap between a fluid and packets, refinement by refinement: the result of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.contributions import in_order, shapley_values
from dfcmodel.results.ensembles import mean_interval
from hopflow.checks import choice
from hopflow.results import Result
from hopflow.status import Status
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

UNEXPLAINED = "unexplained"
LEVEL = 0.95
"""Confidence level of the intervals in texts and figures."""


@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Result):
    """The gap between the bare fluid and packets, divided among refinements, as `explain` returns it.

    R runs, n refinements of the fluid, k of packets, Q quantities. In every run

        packets - bare fluid = contributions in the fluid + unexplained + contributions in packets:

    the first lead from the bare fluid to the one with all refinements, the last from packets without
    their refinements to packets; what lies between those two is unexplained.

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
    usual
        Which of the 2^n subsets is the fluid as `simulate` runs it.
    statuses
        Statuses of all runs.
    seed
        Seed from which those of the runs are spawned.
    jitter
        Upper end of the delays of the flows' starts, s.
    seconds
        Wall-clock time in s.

    Examples
    --------
    >>> from dfcmodel import explain, takano2006
    >>> found = explain(takano2006("1", dfc=False), "first_loss", runs=2, duration=0.13)
    >>> table = found.table().set_index("row")
    >>> bool(table.loc["transmission times", "mean"] > 0.0)  # without them losses come too early
    True
    """

    scenario: Scenario
    quantities: tuple[Quantity, ...]
    refinements: tuple[Refinement, ...]
    fluid: Floats
    packets: Floats
    usual: int
    statuses: tuple[Status, ...]
    seed: int
    jitter: float
    seconds: float

    @property
    def status(self) -> Status:
        """Status of the first run that failed, or COMPLETED."""
        return next((status for status in self.statuses if not status.ok), Status.COMPLETED)

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
    def _counts(self) -> tuple[int, int]:
        n = self.fluid.shape[1].bit_length() - 1
        return n, len(self.refinements) - n

    @cached_property
    def gap(self) -> Floats:
        """Packets less the bare fluid, in each run, shape (R, Q)."""
        return np.asarray(self.packets[:, -1] - self.fluid[:, 0])

    @cached_property
    def contributions(self) -> Floats:
        """Shapley values of the parts in each run, shape (R, n + 1 + k, Q); they add up to `gap`."""
        return self._divided(
            shapley_values(by_subset(self.fluid)), shapley_values(by_subset(self.packets))
        )

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
        ``contribution`` (part, quantity, estimate), ``gap``, ``bare_fluid``, ``fluid``, ``packets``
        (quantity, estimate) with the estimates mean, low and high.
        """
        import xarray as xr

        level = in_units("level", level, "share")
        of_runs = {
            "contribution": (("part", "quantity"), self.contributions),
            "gap": (("quantity",), self.gap),
            "bare_fluid": (("quantity",), self.fluid[:, 0]),
            "fluid": (("quantity",), self.fluid[:, -1]),
            "packets": (("quantity",), self.packets[:, -1]),
        }
        variables = {}
        for name, (dims, values) in of_runs.items():
            rows = [values.mean(axis=0), *mean_interval(values, level)]
            variables[name] = ((*dims, "estimate"), np.stack(rows, axis=-1))
        return xr.Dataset(
            variables,
            coords={
                "part": list(self.parts),
                "quantity": [each.name for each in self.quantities],
                "units": ("quantity", [each.units for each in self.quantities]),
                "estimate": ["mean", "low", "high"],
            },
            attrs={"scenario": self.scenario.name, "runs": self.runs, "level": level},
        )

    @declares(level="share")
    def table(self, level: WithUnit = LEVEL) -> pd.DataFrame:
        """Return the waterfall as a table: bare fluid, the parts, packets; a row for each, by quantity.

        Columns: quantity, units, row, mean, low and high (the ends of Student's interval).
        """
        import pandas as pd

        data = self.to_xarray(level)
        rows = []
        for q, quantity in enumerate(self.quantities):
            steps = {"bare fluid": data["bare_fluid"].to_numpy()[q]}
            steps |= dict(zip(self.parts, data["contribution"].to_numpy()[:, q], strict=True))
            steps["packets"] = data["packets"].to_numpy()[q]
            rows += [(quantity.name, quantity.units, name, *each) for name, each in steps.items()]
        return pd.DataFrame(rows, columns=["quantity", "units", "row", "mean", "low", "high"])

    def text(self) -> str:
        """Return the explanation in sentences, one line for each quantity; what is not significant comes last."""
        return "\n".join(self._sentence(q) for q in range(len(self.quantities)))

    def _sentence(self, q: int) -> str:
        quantity, n = self.quantities[q], self._counts[0]
        gap, parts = self.gap[:, q], self.contributions[:, :, q]
        if not np.isfinite(gap).all():
            return f"{quantity.name}: not defined in every run"
        order = sorted(range(len(self.parts)), key=lambda i: (i == n, -abs(parts[:, i].mean())))
        texts = {i: f"{self._said(i)} {interval_text(parts[:, i])}" for i in order}
        clear = [i for i in order if _differs(parts[:, i])]
        units = "" if quantity.units in ("", "1") else f" {quantity.units}"
        bare, fluid, packets = (
            self.fluid[:, 0, q],
            self.fluid[:, self.usual, q],
            self.packets[:, -1, q],
        )
        levels = (
            f"{quantity.name}: {packets.mean():.4g}{units} in packets, {fluid.mean():.4g} in the fluid as "
            f"`simulate` runs it; difference {interval_text(packets - fluid)}"
        )
        levels += f"; from the bare fluid, {bare.mean():.4g}, it is {interval_text(gap)}"
        said = [levels]
        if clear:
            said.append("of which " + ", ".join(texts[i] for i in clear))
        if doubtful := [texts[i] for i in order if i not in clear]:
            said.append(f"too uncertain to tell from 0: {', '.join(doubtful)}")
        return "; ".join(said)

    def _bare_fluid(self) -> str:
        """Return what the bare fluid is, in words."""
        names = self.parts[: self._counts[0]]
        without = f": without {', '.join(names)}" if names else ""
        return (
            f"windows, queues and propagation delays alone{without}; the parts are counted from it"
        )

    def _said(self, part: int) -> str:
        """Return the name of a part in a sentence."""
        return "not explained" if part == self._counts[0] else self.parts[part]

    def summary(self) -> dict[str, object]:
        """Return status, scenario, a line for each quantity, and how the numbers are to be read."""
        rows: dict[str, object] = {"status": self.status, "scenario": self.scenario.name}
        if self.refinements and not _differs(self.contributions).any():
            rows["parts"] = f"{self.runs} runs are too few to tell any part from 0: give more runs"
        for q, quantity in enumerate(self.quantities):
            rows[quantity.name] = self._sentence(q).removeprefix(f"{quantity.name}: ")
        rows["bare fluid"] = self._bare_fluid()
        rows["parts are"] = (
            "what each refinement changes when it is switched on, averaged over all orders (Shapley values)"
        )
        settings = (
            f"{self.fluid.shape[1]} settings of the fluid and {self.packets.shape[1]} of packets"
        )
        rows["runs"] = (
            f"{self.runs} of each of {settings}, seed {self.seed}, starts within {self.jitter:g} s; "
            f"± is half of Student's {100 * LEVEL:.0f} % interval"
        )
        rows["time"] = f"{self.seconds:.2f} s"
        return rows

    def plot(self, ax: Any = None, *, quantity: str | None = None) -> Any:
        """Draw the waterfall from the bare fluid to packets, with intervals.

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
        from hopflow.waterfalls import draw_waterfall

        names = [each.name for each in self.quantities]
        chosen = choice("quantity", names[0] if quantity is None else quantity, names)
        return draw_waterfall(self.to_xarray().sel(quantity=chosen), ax)


def _differs(values: Floats) -> Any:
    """Return where Student's interval of the mean over runs excludes 0."""
    low, high = mean_interval(values, LEVEL)
    return (low > 0.0) | (high < 0.0)


def by_subset(values: Floats) -> Floats:
    """Return (R, subsets, Q) as (subsets, R, Q)."""
    return np.moveaxis(values, 1, 0)


def interval_text(values: Floats) -> str:
    """Return the mean over runs and half of its interval as text."""
    low, high = mean_interval(values, LEVEL)
    return f"{values.mean():+.3g} ± {(high - low) / 2:.2g}"
