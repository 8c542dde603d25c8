"""Ensembles side by side: means with intervals in one table, bands in one figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from dfcmodel.results.ensembles import Ensemble, estimate_text
from dfcmodel.results.run_comparisons import RunComparison, total_goodput
from dfcmodel.results.summaries import first_flows
from hopflow.checks import count_of
from hopflow.fork_safety import cached_property
from hopflow.results import SideBySide, figure, stack_datasets

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["EnsembleComparison"]


@dataclass(frozen=True, repr=False, eq=False)
class EnsembleComparison(SideBySide[Ensemble]):
    """Ensembles side by side, as `compare` returns them.

    The table has means over seeds and starts, each with the half width of Student's 95 % interval, and the range of
    single runs, which contains one further run in 95 % of cases. Both contain chance alone.

    Attributes
    ----------
    compared
        The ensembles by label, in the order of the columns.

    Examples
    --------
    >>> from dfcmodel import RunSettings, compare, ensemble, takano2006
    >>> options = RunSettings(duration=0.1)
    >>> scenarios = [takano2006("1", dfc=dfc) for dfc in (False, True)]
    >>> comparison = compare([ensemble(each, runs=3, level="fluid", options=options) for each in scenarios])
    >>> comparison.summary()["lost (packets)"]["takano2006/1: DFC, Tahoe"]
    '0 ± 0, single runs 0 to 0'
    >>> comparison.to_xarray().efficiency.dims
    ('ensemble', 'estimate', 'flow')
    """

    CALLED: ClassVar[str] = "ensembles"

    @staticmethod
    def names_of(results: Sequence[Ensemble]) -> list[str]:
        """Return labels of ensembles: the labels of their first runs."""
        return RunComparison.names_of([ensemble.runs[0] for ensemble in results])

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """Texts by ensemble and row: goodput of the first flows and of all, losses, queue, timeouts; with intervals."""
        shown = first_flows(ensemble.scenario for ensemble in self.compared.values())
        return {label: _column(ensemble, shown) for label, ensemble in self.compared.items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw all flows' goodput, below `Ensemble.plot` of each ensemble unless ``ax`` is given; return its Axes.

        Lines are medians of the runs; bands contain the middle 50 % and 90 % of them, below 90 %.

        Parameters
        ----------
        ax
            Axes to draw only the goodput on; None creates a new figure.

        Returns
        -------
        The Axes of the goodput.
        """
        if ax is None:
            count = len(self.compared)
            fig, panels = figure(1.0 + 4.0 * count, 6.4, nrows=2, ncols=count, sharex=True, squeeze=False)
            for panel, (label, ensemble) in zip(panels[0], self.compared.items(), strict=True):
                ensemble.plot(panel).set(title=f"{label}, {count_of(len(ensemble), 'run')}", xlabel="")
                panel.tick_params(labelbottom=True)
            for panel in panels[0, 1:]:
                panel.set_ylabel("")
            grid = panels[1, 0].get_gridspec()
            for panel in panels[1]:
                panel.remove()
            ax = fig.add_subplot(grid[1, :], sharex=panels[0, 0])
        for n, (label, ensemble) in enumerate(self.compared.items()):
            time = total_goodput(ensemble.runs[0])[0]
            low, middle, high = np.quantile([total_goodput(run)[1] for run in ensemble.runs], (0.05, 0.5, 0.95), axis=0)
            (line,) = ax.plot(time, middle, lw=1.0, ls=("-", "--", ":")[n % 3], label=label)
            ax.fill_between(time, low, high, color=line.get_color(), alpha=0.15, lw=0)
        ax.set(xlabel="time (s)", ylabel="goodput of all flows (packets/s)")
        ax.set_ylim(bottom=0)
        ax.legend(fontsize=8)
        return ax

    def animate(self) -> NoReturn:
        """Raise TypeError: an ensemble has many runs, and the message says how to animate one of each.

        Raises
        ------
        TypeError
            Always; runs are animated side by side.
        """
        remedy = "compare(*(each.runs[0] for each in found.compared.values())).animate()"
        raise TypeError(f"animate: an ensemble has many runs; {remedy} shows the first of each")

    def to_xarray(self) -> xr.Dataset:
        """Return the ensembles' `Ensemble.intervals`, with ``ensemble`` as their first dimension.

        Raises
        ------
        ValueError
            For ensembles whose flows or nodes differ.
        """
        remedy = "found.compared[LABEL].intervals() has those of one ensemble"
        data = {label: ensemble.intervals() for label, ensemble in self.compared.items()}
        return stack_datasets(data, "ensemble", remedy)


def _column(ensemble: Ensemble, shown: Sequence[str]) -> dict[str, str]:
    """Return the cells of an ensemble's column, texts by names of the rows; only flows in ``shown`` have rows."""
    runs, first = ensemble.runs, ensemble.runs[0]
    goodput = ensemble.goodput.to_numpy()
    rows = {
        f"goodput of {flow.name} (packets/s)": estimate_text(goodput[:, f])
        for f, flow in enumerate(ensemble.scenario.flows)
        if flow.name in shown
    }
    if len(ensemble.scenario.flows) > 1:
        rows["goodput of all flows (packets/s)"] = estimate_text(goodput.sum(axis=1))
    return rows | {
        "lost (packets)": estimate_text(np.array([run.lost.sum() for run in runs], dtype=float)),
        "loss events": estimate_text(np.array([run.loss_events.sum() for run in runs], dtype=float)),
        "timeouts": estimate_text(np.array([run.timeouts.sum() for run in runs], dtype=float)),
        "largest queue (packets)": estimate_text(np.array([run.peak_queue.max() for run in runs], dtype=float)),
        "runs": f"{len(ensemble)} ({ensemble.distinct} distinct), seed {ensemble.seed}",
        "interval": "±: of the mean over seeds and starts; both Student's, 95 %, of chance alone",
        "status": str(ensemble.status),
        "level": "packets" if first.step == 0.0 else f"fluid, step {first.step:g} s",
        "simulated (s)": f"{ensemble.time[-1]:g}",
    }
