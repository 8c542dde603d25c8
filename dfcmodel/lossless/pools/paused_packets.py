"""Packets above the pause thresholds of a packet run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.engine import PacketRun

__all__ = ["PausedPackets"]


class PausedPackets:
    """Packets above the thresholds of ports: one threshold per port with `Pause`, one per ingress and class with `PFC`.

    Parameters
    ----------
    run
        Any run of the plan.
    ports
        Indices of the links whose thresholds count.
    """

    def __init__(self, run: PacketRun, ports: list[int]) -> None:
        arrays, plan = run.layout.arrays, run.plan
        port_rows, feeder, hop = (arrays[name] for name in ("port", "feeder", "hop"))
        by_class = np.array([plan.ports[p].discipline.pauses == "class" for p in ports])
        counted = np.array(ports)
        self.pause_ports = counted[~by_class]
        of_class = np.flatnonzero(np.isin(hop["port"], counted[by_class]))
        rows, first = np.unique(hop["ingress"][of_class], return_index=True)
        lossless = feeder["priority"][rows] >= 0
        self.rows: NDArray[np.int64] = rows[lossless]
        self.port = np.concatenate([self.pause_ports, hop["port"][of_class[first[lossless]]]])
        self.unit = float(plan.sizes[0])  # of what PFC counts, bytes
        high: Any = port_rows["high"][self.port].astype(np.float64)
        high[len(self.pause_ports) :] /= self.unit
        self.high: NDArray[np.float64] = high

    def above(self, run: PacketRun) -> NDArray[np.float64]:
        """Return the packets above each threshold now, (N,): ports with `Pause` first, in order."""
        ports, feeders = (run.layout.arrays[name] for name in ("port", "feeder"))
        waiting = ports["waiting"][self.pause_ports] + ports["held"][self.pause_ports]
        counted = feeders["count"][self.rows] / self.unit
        above: NDArray[np.float64] = np.maximum(0.0, np.append(waiting, counted) - self.high)
        return above
