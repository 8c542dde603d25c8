"""What each flow and each link of a run did: goodput, loss, utilisation, occupancy, delays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.results.records import Records

__all__ = ["QUANTILES", "measures"]

QUANTILES = (0.5, 0.95, 0.99)


def measures(run: Records) -> xr.Dataset:
    """Return measures of every flow, of every node that sends, and of their pairs.

    Means count every step of the run: ``mean_queue``, ``queueing_delay`` (by Little's law, of what a
    node sent of a flow) and ``utilisation``. Quantiles are over the run's records, so that ``sample``
    says how fine they are: ``round_trip_queueing`` is the round-trip time less the propagation there
    and back, as acknowledgements tell it; ``drain_time`` what waits at a node over its link's rate,
    which is the wait of what comes where the order is that of arrival. Where flows leave a node over
    several links, these count together.

    Parameters
    ----------
    run
        The trajectory: F flows, L nodes that send.

    Returns
    -------
    xarray.Dataset
        Over ``flow`` (F,): goodput (packets/s), loss_ratio, round_trip_queueing (with ``quantile``, s).
        Over ``node`` (L,): utilisation, mean_occupancy and peak_queue (packets), packets_lost,
        drain_time (with ``quantile``, s). Over both: mean_queue (packets), queueing_delay (s).
        nan where nothing was sent, or told.
    """
    import xarray as xr

    scenario, seconds = run.scenario, float(run.time[-1])
    used = {link for flow in scenario.flows for link in scenario.path(flow)}
    rate = np.array([sum(k.rate for k in used if k.source == n) for n in scenario.senders])
    base = np.array([scenario.base_rtt(flow) for flow in scenario.flows])
    lost, delivered = run.lost.sum(axis=(1, 2)), run.delivered[:, -1]
    told = np.full((len(QUANTILES), len(base)), np.nan)
    for f, trips in enumerate(run.round_trip):
        if (known := trips[np.isfinite(trips)]).size:
            told[:, f] = np.quantile(known, QUANTILES) - base[f]
    drained = np.quantile(run.queued / rate[:, np.newaxis], QUANTILES, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: dict[str, tuple[Any, Any, str]] = {
            "goodput": ("flow", delivered / seconds, "packets/s"),
            "loss_ratio": ("flow", lost / (lost + delivered), "1"),
            "round_trip_queueing": (("quantile", "flow"), told, "s"),
            "utilisation": ("node", run.carried.sum(axis=0) / (rate * seconds), "1"),
            "mean_occupancy": ("node", run.mean_queue.sum(axis=0), "packets"),
            "peak_queue": ("node", run.peak_queue, "packets"),
            "packets_lost": ("node", run.lost.sum(axis=(0, 2)), "packets"),
            "drain_time": (("quantile", "node"), drained, "s"),
            "mean_queue": (("flow", "node"), run.mean_queue, "packets"),
            "queueing_delay": (("flow", "node"), run.mean_queue * seconds / run.carried, "s"),
        }
    return xr.Dataset(
        {name: (dims, values, {"units": units}) for name, (dims, values, units) in found.items()},
        coords={**run.to_xarray()[["flow", "node"]].coords, "quantile": list(QUANTILES)},
    )
