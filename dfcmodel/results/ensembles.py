"""Ensembles: runs of one scenario with different random numbers, their means and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.results.flow_recoveries import repairs_of
from dfcmodel.results.limits import limits_of_several, messages_by_topic
from dfcmodel.results.plots import goodput_over_time
from dfcmodel.results.records import Recorded, samples_until
from dfcmodel.results.summaries import level_of
from hopflow.checks import count_of, integer, number
from hopflow.fork_safety import cached_property
from hopflow.intervals import half_width, prediction_half_width
from hopflow.results import Result, Status, figure, names_beside, of_several, worst
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["Ensemble", "estimate_text", "mean_interval"]


def mean_interval(values: NDArray[np.float64], level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of Student's interval of the mean over runs, the first axis of ``values``, as (low, high).

    Parameters
    ----------
    values
        One entry per run, shape (R, ...).
    level
        Probability that the interval covers the mean of normally distributed values; 0 < level < 1.

    Returns
    -------
    low, high
        Shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> low, high = mean_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(float(low), 3), round(float(high), 3)
    (-0.484, 4.484)
    """
    number("level", level, above=0.0, below=1.0)
    integer("runs", len(values), 2, 2**31, why="one run has no spread")
    middle, half = np.mean(values, axis=0), half_width(values, level)
    return middle - half, middle + half


def estimate_text(values: NDArray[np.float64], low: float = 0.0, high: float = np.inf) -> str:
    """Return a text: mean of independent runs, its 95 % interval, and that of one further run in [low, high].

    Parameters
    ----------
    values
        One entry per run, shape (R,), R at least 2.
    low, high
        Smallest and largest possible value, which limit the range of single runs.

    Examples
    --------
    >>> import numpy as np
    >>> estimate_text(np.array([1.0, 2.0, 3.0]), low=0.0)
    '2 ± 2.5, single runs 0 to 6.968'
    """
    mean, single = float(np.mean(values)), float(prediction_half_width(values))
    limits = max(low, mean - single), min(high, mean + single)
    return f"{mean:.4g} ± {half_width(values):.2g}, single runs {limits[0]:.4g} to {limits[1]:.4g}"


@dataclass(frozen=True, repr=False, eq=False)
class Ensemble(Recorded, Result):
    """Runs of one scenario with different random numbers, as `ensemble` returns them.

    R runs, F flows, L sending nodes, T samples.

    Attributes
    ----------
    scenario
        The simulated scenario.
    runs
        The R trajectories, in the order of their seeds.
    jitter
        Upper end of the uniform distribution of the delays of flow starts, in s.
    seed
        Seed from which the seeds of the runs are spawned.
    seconds
        Wall time of the ensemble in s, without the loading and compilation of kernels in this process.
    packet_jitter
        Upper end of the random time before each packet, in s.
    method
        Method of the runs, a `Fluid` or `Packets`; None: not recorded.

    Examples
    --------
    >>> from dfcmodel import RunSettings, ensemble, takano2006
    >>> many = ensemble(takano2006("1", dfc=False), runs=3, level="fluid", options=RunSettings(duration=0.05))
    >>> dict(many.occupancy.sizes)
    {'run': 3, 'node': 29, 'time': 5}
    """

    COMPARED_BY: ClassVar[str] = "dfcmodel.results.ensemble_comparisons:EnsembleComparison"
    scenario: Scenario
    runs: tuple[Trajectory, ...]
    jitter: float
    seed: int
    seconds: float
    packet_jitter: float = 0.0
    method: object = None

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def status(self) -> Status:
        """Status of the first run that failed, otherwise of the first that is not completed; COMPLETED if all are."""
        return worst([run.status for run in self.runs])

    @property
    def limits(self) -> tuple[str, ...]:
        """Limits of the level that apply to any run, as messages, with the number of runs unless all have it."""
        return limits_of_several([run.limits for run in self.runs])

    @property
    def time(self) -> NDArray[np.float64]:
        """Ends of the sampling intervals in s, shape (T,)."""
        return self.runs[0].time

    @property
    def distinct(self) -> int:
        """Number of distinct runs; if it is below R, the random times are small compared with the step."""
        return len({run.in_transit.tobytes() for run in self.runs})

    @cached_property
    def _data(self) -> xr.Dataset:
        """The runs' recorded quantities, with ``run`` as first dimension."""
        import xarray as xr

        data = xr.concat([run.to_xarray() for run in self.runs], "run", combine_attrs="override")
        data = data.assign_coords(run=np.arange(len(self.runs)))
        for name in ("timeouts", "loss_events", "notifications"):
            if getattr(self.runs[0], name) is None:
                continue
            counts = np.stack([getattr(run, name) for run in self.runs])
            data[name] = ("run", "flow"), counts, {"long_name": name.replace("_", " ")}
        data.attrs.update(jitter=self.jitter, seed=self.seed)
        return data

    @cached_property
    def goodput(self) -> xr.DataArray:
        """Packets per second that each flow delivered over each run, shape (R, F)."""
        import xarray as xr

        runs = xr.concat([run.goodput for run in self.runs], "run", combine_attrs="override")
        return runs.assign_coords(run=np.arange(len(self.runs)))

    @quantities(since="time", until="time")
    def mean_efficiency(self, since: WithUnit = 0.0, until: WithUnit = np.inf) -> NDArray[np.float64]:
        """Return each run's efficiency averaged over ``since`` < time <= ``until`` in s, (R, F)."""
        return np.stack([run.mean_efficiency(since, until) for run in self.runs])

    @quantities(since="time", until="time")
    def mean_goodput(self, since: WithUnit = 0.0, until: WithUnit = np.inf) -> NDArray[np.float64]:
        """Return each run's packets/s delivered over ``since`` < time <= ``until`` in s, (R, F)."""
        return np.stack([run.mean_goodput(since, until) for run in self.runs])

    @quantities(since="time", until="time", level="share")
    def intervals(self, since: WithUnit = 0.0, until: WithUnit = np.inf, level: WithUnit = 0.95) -> xr.Dataset:
        """Return goodput, efficiency, losses and queues over the runs: mean, interval, range of single runs.

        ``low`` to ``high`` is the interval of the mean over infinitely many seeds and starts; ``prediction_low`` to
        ``prediction_high`` is that of one further run. Both contain chance alone: with more runs the first becomes
        narrower, but not the error of the model. `dfcmodel.share_intervals` has goodput shares with both.

        Parameters
        ----------
        since, until
            Interval over which goodput, efficiency and occupancy are averaged and losses summed, s.
        level
            Confidence level of Student's intervals, 0 < level < 1.

        Returns
        -------
        ``goodput`` (flow, packets/s), ``efficiency`` (flow), ``losses`` (flow, node), ``occupancy`` (node) and
        ``peak_queue`` (node, over the whole run), with the dimension ``estimate`` of mean, low, high, the standard
        deviation ``std`` of single runs, prediction_low and prediction_high.

        Raises
        ------
        ValueError
            For a level out of range, or no sample between ``since`` and ``until``.
        """
        import xarray as xr

        goodput = self.goodput.copy(data=self.mean_goodput(since, until))  # raises without samples
        data = self._data
        limits = np.array([since, until], dtype=np.float64)
        part = data.isel(time=slice(*samples_until(self.time, limits).tolist()))
        lengths = xr.DataArray(np.diff(self.time, prepend=0.0), {"time": self.time}, "time")
        lengths = lengths.sel(time=part["time"])
        of_runs = {
            "goodput": goodput,
            "efficiency": part["efficiency"].weighted(lengths).mean("time"),
            "losses": part["losses"].sum("time"),
            "occupancy": part["occupancy"].mean("time"),
            "peak_queue": data["peak_queue"],
        }
        estimates = {}
        for name, values in of_runs.items():
            low, high = mean_interval(values.values, level)
            single = prediction_half_width(values.values, level)
            mean = values.values.mean(axis=0)
            rows = [mean, low, high, values.values.std(axis=0, ddof=1), mean - single, mean + single]
            attributes = data[name].attrs if name in data else values.attrs
            estimates[name] = (("estimate", *values.dims[1:]), np.stack(rows), attributes)
        names = ["mean", "low", "high", "std", "prediction_low", "prediction_high"]
        coords = {"estimate": names, "flow": data["flow"], "node": data["node"]}
        return xr.Dataset(estimates, coords=coords, attrs={"level": level})

    def plot(self, ax: Any = None) -> Any:
        """Draw flows' goodput over their slowest links' rates over time, without ``ax`` also means; return the Axes.

        Of the scenarios of takano2006 its efficiency is drawn. The line is the median of the runs; the bands contain
        the middle 50 % and 90 % of them.

        Parameters
        ----------
        ax
            Axes to draw only the course over time on; None creates a new figure with both panels.

        Returns
        -------
        The Axes of the course over time.
        """
        histogram = None
        if ax is None:
            _, (ax, histogram) = figure(8.0, 3.6, ncols=2, width_ratios=(2, 1), sharey=True)
        rates = np.asarray(self.scenario.slowest_rates)
        efficient = self.scenario.has_efficiency
        means = self.mean_efficiency() if efficient else self.goodput.to_numpy() / rates
        for f, flow in enumerate(self.scenario.flows):
            if efficient:
                time, values = self.time, np.stack([run.efficiency.values[f] for run in self.runs])
            else:
                rows = [goodput_over_time(run) for run in self.runs]
                time, values = rows[0][0], np.stack([goodput[f] / rates[f] for _, goodput in rows])
            (line,) = ax.plot(time, np.median(values, axis=0), lw=1.0, label=flow.name)
            for part, alpha in ((0.5, 0.3), (0.9, 0.12)):
                band = np.quantile(values, (0.5 - part / 2, 0.5 + part / 2), axis=0)
                ax.fill_between(time, *band, color=line.get_color(), alpha=alpha, lw=0)
            if histogram is not None:
                style = {"orientation": "horizontal", "alpha": 0.6, "color": line.get_color()}
                histogram.hist(means[:, f], bins=np.linspace(0, 1, 41), **style)
        title = f"{self.scenario.name}, {count_of(len(self), 'run')}"
        ax.set(
            xlabel="time (s)",
            ylabel="efficiency" if efficient else "goodput / slowest link",
            ylim=(0, 1.05 if efficient else None),
            title=title,
        )
        ax.legend(fontsize=8)
        if histogram is not None:
            histogram.set(xlabel="runs", title="mean of each run")
        return ax

    def summary(self) -> dict[str, object]:
        """Return texts by name: status, runs, each flow's goodput and losses, step, imbalance, efficiency."""
        rows: dict[str, object] = {
            "status": of_several([run.status for run in self.runs]),
            "scenario": self.scenario.name,
            "runs": f"{len(self)} ({self.distinct} of them distinct), starts within "
            f"{self.jitter:g} s, seed {self.seed}",
            "level": level_of(self.runs[0]),
        }
        if self.packet_jitter:
            rows["packet jitter"] = f"up to {self.packet_jitter:.3g} s before each packet"
        goodput = self.goodput.to_numpy()
        means = self.mean_efficiency() if self.scenario.has_efficiency else None
        lost, total = np.array([run.lost_by_flow for run in self.runs]), goodput.sum()
        flows: dict[str, object] = {}
        for f, flow in enumerate(self.scenario.flows):
            values = goodput[:, f]
            share = f", {values.sum() / total:.1%} of all flows" if total else ""
            share = f" ({values.mean() / self.scenario.slowest_rates[f]:.3f} of the slowest link{share})"
            flows[flow.name] = (
                f"{type(flow.source).__name__}: goodput {estimate_text(values, high=self.scenario.slowest_rates[f])} "
                f"packets/s{share}; "
                + (
                    ""
                    if means is None
                    else f"mean efficiency {means[:, f].mean():.3f} of the path's bandwidth-delay product; "
                )
                + f"lost {lost[:, f].mean():.0f} packets ({lost[:, f].min():.0f} to {lost[:, f].max():.0f})"
            )
        after: dict[str, object] = {}
        if repairs := repairs_of(self.scenario.flows, self.runs[0].recoveries or ()):
            after["recovery"] = repairs
        after["interval"] = (
            "± is the half width of Student's 95 % interval of the mean over seeds and starts, of chance alone; "
            "the range of single runs contains one further run in 95 %. With the error of the model: share_intervals"
        )
        worst = max(run.imbalance.max() for run in self.runs)
        after["imbalance"] = f"{worst:.1e} of the packets emitted"
        step, took = self.runs[0].step, f"{self.time[-1]:g} s simulated"
        after |= {"step": f"{step:g} s, {took}"} if step else {"packet by packet": took}
        after["time"] = f"{self.seconds:.2f} s"
        after |= {f"limit, {topic}": text for topic, text in messages_by_topic(self.limits).items()}
        names = names_beside(flows, {*rows, *after}, "flow")
        return {**rows, **{names[name]: text for name, text in flows.items()}, **after}
