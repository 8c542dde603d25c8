"""Completion times of transfers, and slowdowns by size: completion times relative to an empty network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.results.completions.lower_bounds import empty_network_times, transfer_sizes, transfers
from dfcmodel.results.records import Records
from hopflow.checks import count_of, format_value, instance, number
from hopflow.parameters import in_packets_of
from hopflow.results import Result, figure
from hopflow.units import quantities

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Slowdowns", "completion_times", "slowdowns"]

QUANTILES = {"median": 0.5, "95 %": 0.95, "99 %": 0.99}
MAX_BINS = 10
"""Groups of sizes where no limits are given."""


def transferred_packets(run: Records) -> Floats:
    """Return the packets of each flow's transfer, (F,): its size, or what a complete one delivered at packet level."""
    sizes = transfer_sizes(run.scenario)
    if run.step:  # in the fluid no flow finishes before its size is delivered
        return sizes
    return np.where(np.isnan(run.finished), sizes, np.minimum(sizes, run.delivered[:, -1]))


def completion_times(run: Records) -> xr.Dataset:
    """Return the completion times of the transfers of a run as `Trajectory.completion_times` does."""
    import xarray as xr

    table = run.scenario.table
    finite = np.flatnonzero(transfers(run.scenario))
    times = (run.finished - run.started)[finite]
    sizes = transferred_packets(run)
    ideal = empty_network_times(run.scenario, sizes, forwards_whole_packets=run.step == 0.0)[finite]
    columns = {
        "size": (sizes[finite], "packets"),
        "start": (run.started[finite], "s"),
        "finished": (run.finished[finite], "s"),
        "completion_time": (times, "s"),
        "ideal_time": (ideal, "s"),
        "slowdown": (times / ideal, "1"),
        "delivered": (run.delivered[finite, -1], "packets"),
    }
    return xr.Dataset(
        {name: ("flow", values, {"units": units}) for name, (values, units) in columns.items()},
        coords={"flow": [table.name(f) for f in finite.tolist()]},
    )


@dataclass(frozen=True, repr=False, eq=False)
class Slowdowns(Result):
    """Slowdowns of a run's transfers, (N,), and limits of the groups by size, (G + 1,), as `slowdowns` returns them.

    Attributes
    ----------
    scenario
        Name of the scenario.
    flows, sizes, values
        Name, packets and slowdown of each complete transfer within the limits, in the order of the flows, shape (N,).
    limits
        Limits of the groups in packets, increasing, shape (G + 1,): a group has sizes above one and up to the next.
    unfinished
        Transfers within the limits that were not complete at the end of the run.
    outside
        Transfers whose size is outside of the limits, complete or not.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Packets, Scenario, chain, simulate, slowdowns
    >>> links = chain(2, rate=1e4, delay=1e-3, buffer=200)
    >>> flows = [Flow(f"{n}", (1, 2), CBR(1e4), size=n) for n in (10, 40)]
    >>> result = slowdowns(simulate(Scenario("two", links, flows, duration=0.1), Packets(seed=1)))
    >>> result.sizes.tolist(), result.values.round(1).tolist()
    ([10.0, 40.0], [1.5, 1.2])
    """

    scenario: str
    sizes: Floats
    values: Floats
    limits: Floats
    unfinished: int
    outside: int
    flows: NDArray[np.str_]
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "flows": ("transfer",), "sizes": ("transfer",), "values": ("transfer",), "limits": ("limit",),
    }  # fmt: skip
    ROW_DIMENSIONS: ClassVar[tuple[str, ...]] = ("transfer",)
    FIELD_UNITS: ClassVar[Mapping[str, str]] = {"sizes": "packets", "values": "1", "limits": "packets"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled result, also of a release without the names of flows, which are then ""."""
        self.__dict__.update({"flows": np.full(len(state["sizes"]), "")} | state)

    @property
    def group(self) -> NDArray[np.int64]:
        """Index of the group of each transfer, shape (N,)."""
        return np.searchsorted(self.limits[1:-1], self.sizes)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each non-empty group: number of transfers, largest size in packets, and quantiles."""
        import pandas as pd

        rows = []
        for g in np.unique(self.group).tolist():
            values = self.values[self.group == g]
            quantiles = dict(zip(QUANTILES, np.quantile(values, [*QUANTILES.values()]), strict=True))
            largest = float(self.sizes[self.group == g].max())
            rows.append({"transfers": len(values), "up to": largest, **quantiles, "largest": values.max()})
        return pd.DataFrame(rows)

    def summary(self) -> dict[str, object]:
        """Return texts by name: numbers of transfers, and quantiles of the slowdown of each group by size."""
        rows: dict[str, object] = {
            "scenario": self.scenario,
            "transfers": f"{len(self.values)} complete, {self.unfinished} not",
        }
        if self.outside:
            rows["left out"] = f"{count_of(self.outside, 'transfer')} of other sizes"
        for _, row in self.table.iterrows():
            quantiles = ", ".join(f"{name} {row[name]:.3g}" for name in (*QUANTILES, "largest"))
            rows[f"up to {row['up to']:g} packets"] = f"{quantiles} ({row['transfers']:.0f})"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw quantiles of the slowdown over the size of transfers; return the Axes."""
        axes = figure()[1] if ax is None else ax
        table = self.table
        for name in QUANTILES if len(table) else ():
            axes.plot(table["up to"], table[name], marker="o", markersize=3, label=name)
        axes.set(xscale="log", yscale="log", xlabel="size up to (packets)", ylabel="slowdown")
        axes.set_title(self.scenario)
        if len(table):
            axes.legend()
        return axes


@quantities(limits="amount")
def slowdowns(run: Records, limits: ArrayLike | None = None) -> Slowdowns:
    """Return slowdowns of a run's transfers, times over those in an empty network, by size; ``limits``: packets.

    Parameters
    ----------
    run
        A run with flows of finite size.
    limits
        Limits of the groups in packets, or bytes such as ``"10 kB"``, increasing, at least two: a group has the sizes
        above one limit and up to the next. Transfers of other sizes are counted separately. None: at most ten groups of
        equal numbers of transfers, as far as their sizes differ.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values; for a run without transfers.

    Examples
    --------
    >>> from dfcmodel import PFC, Fabric, Packets, TrafficOptions, random_traffic, simulate, slowdowns
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 2, hosts=4), discipline=PFC(counts="switch"))
    >>> traffic = {"source": FixedRate(), "links": fabric.links}
    >>> flows = random_traffic(fabric.hosts, "web search", 0.3, 2e-3, **traffic, options=TrafficOptions(seed=1))
    >>> run = simulate(fabric.scenario("web search", flows, duration=0.02), Packets(seed=1))
    >>> result = slowdowns(run, limits=[0, 100, 1000, 1e5])
    >>> len(result.values) == len(flows), bool(result.values.min() > 0.999)
    (True, True)
    """
    instance("run", run, Records, "a run, as simulate returns it")
    times = completion_times(run)
    if not times.sizes["flow"]:
        raise ValueError(f"run of {run.scenario.name!r}: has no flow of finite size")
    sizes, values = times["size"].to_numpy(), times["slowdown"].to_numpy()
    complete = np.isfinite(values)
    within = np.ones(len(sizes), dtype=bool)
    if limits is None:
        groups = _equal_groups(sizes[complete])
    else:
        entries = tuple(limits) if isinstance(limits, (list, tuple)) else limits
        in_packets = in_packets_of(entries, run.scenario.packet_size)
        groups = number("limits", in_packets, at_least=0.0, hint="in packets")
        if groups.ndim != 1 or len(groups) < 2 or (np.diff(groups) <= 0).any():
            raise ValueError(f"limits = {format_value(limits)}: must be two or more, increasing")
        within = (sizes > groups[0]) & (sizes <= groups[-1])
    counted = complete & within
    return Slowdowns(
        run.scenario.name, sizes[counted], values[counted], groups,
        unfinished=int((within & ~complete).sum()), outside=int((~within).sum()),
        flows=times["flow"].to_numpy()[counted].astype(np.str_),
    )  # fmt: skip


def _equal_groups(sizes: Floats) -> Floats:
    """Return the limits of at most `MAX_BINS` groups with about equal numbers of transfers, from 0 on, packets."""
    if not len(sizes):
        return np.array([0.0, 1.0])
    upper_limits = np.quantile(sizes, np.linspace(0, 1, MAX_BINS + 1)[1:], method="higher")
    return np.concatenate([[0.0], np.unique(upper_limits)])
