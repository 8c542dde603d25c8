"""Performance measures of flows and links in a run: goodput, loss, utilisation, occupancy, delay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.results.records import Records

__all__ = ["QUANTILES", "measures"]

QUANTILES = (0.5, 0.95, 0.99)


def measures(run: Records) -> xr.Dataset:
    """Return measures of every flow, of every sending node, and of their pairs.

    Means are over every step of the run: ``mean_queue``, ``queueing_delay`` (by Little's law, for the
    packets of a flow that a node sent) and ``utilisation``. Quantiles are over the records, at the
    resolution of ``sample``: ``round_trip_queueing`` is the round-trip time less the propagation
    delay, measured at acknowledgements; ``drain_time`` is the queue of a node divided by its link
    rate, which for FIFO is the waiting time of an arrival. Links out of the same node count together.

    Parameters
    ----------
    run
        The records of a run: F flows, L sending nodes.

    Returns
    -------
    xarray.Dataset
        Over ``flow`` (F,): goodput (packets/s), loss_ratio, round_trip_queueing (with ``quantile``, s).
        Over ``node`` (L,): utilisation, mean_occupancy and peak_queue (packets), packets_lost,
        drain_time (with ``quantile``, s), and if buffers count bytes peak_queue_bytes. Over both: mean_queue (packets),
        queueing_delay (s). NaN if no packet was sent, or no round-trip time measured.
    """
    import xarray as xr

    scenario, seconds = run.scenario, float(run.time[-1])
    used = {link for flow in scenario.flows for link in scenario.path(flow)}
    rate = np.array([sum(k.rate for k in used if k.source == n) for n in scenario.senders])
    base = np.array([scenario.base_rtt(flow) for flow in scenario.flows])
    measured = np.full((len(QUANTILES), len(base)), np.nan)
    for f, trips in enumerate(run.round_trip):
        if (finite := trips[np.isfinite(trips)]).size:
            measured[:, f] = np.quantile(finite, QUANTILES) - base[f]
    with np.errstate(divide="ignore", invalid="ignore"):  # a node whose links no flow crosses: nan
        drained = np.quantile(run.queued / rate[:, np.newaxis], QUANTILES, axis=1)
        variables: dict[str, tuple[Any, Any, str]] = {
            "goodput": ("flow", run.mean_goodput(), "packets/s"),
            "loss_ratio": ("flow", run.counts().loss_ratio, "1"),
            "round_trip_queueing": (("quantile", "flow"), measured, "s"),
            "utilisation": ("node", run.carried.sum(axis=0) / (rate * seconds), "1"),
            "mean_occupancy": ("node", run.mean_queue.sum(axis=0), "packets"),
            "peak_queue": ("node", run.peak_queue, "packets"),
            "packets_lost": ("node", run.lost.sum(axis=(0, 2)), "packets"),
            "drain_time": (("quantile", "node"), drained, "s"),
            "mean_queue": (("flow", "node"), run.mean_queue, "packets"),
            "queueing_delay": (("flow", "node"), run.mean_queue * seconds / run.carried, "s"),
        }
    if run.peak_bytes is not None:
        variables["peak_queue_bytes"] = "node", run.peak_bytes, "bytes"
    return xr.Dataset(
        {name: (dims, values, {"units": units}) for name, (dims, values, units) in variables.items()},
        coords={**run.to_xarray()[["flow", "node"]].coords, "quantile": list(QUANTILES)},
    )
