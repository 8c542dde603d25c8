"""What waits above the pause thresholds of a packet run, and what the pauses under way will still let in."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.flows import CBR, OnOff
from dfcmodel.packets.engine import PacketRun
from hopflow.kernels import build

__all__ = ["PausedPackets", "measure"]


class PausedPackets:
    """What waits above the thresholds of some ports: one of a port with `Pause`, with `PFC` one per ingress and class.

    Parameters
    ----------
    run
        Any run of the plan.
    ports
        Indices of the links.
    """

    def __init__(self, run: PacketRun, ports: list[int]) -> None:
        arrays, plan = run.layout.arrays, run.plan
        port_rows, feeder, hop = (arrays[name] for name in ("port", "feeder", "hop"))
        by_class = np.array([isinstance(plan.ports[p].discipline, PFC) for p in ports])
        counted = np.array(ports)
        whole = counted[~by_class]
        of_class = np.flatnonzero(np.isin(hop["port"], counted[by_class]))
        rows, place = np.unique(hop["ingress"][of_class], return_index=True)
        lossless = feeder["priority"][rows] >= 0
        rows, own = rows[lossless], hop["port"][of_class[place[lossless]]]
        self.port = np.concatenate([whole, own])
        self.row = np.concatenate([np.full(len(whole), -1), rows])
        self.unit = float(plan.sizes[0])  # of what PFC counts, bytes
        units = np.where(self.row < 0, 1.0, self.unit)
        self.high = port_rows["high"][self.port] / units
        feeds = [
            range(port_rows["feeder"][p], port_rows["feeder"][p] + port_rows["feeders"][p])
            for p in whole
        ]
        feeds += [range(row, row + 1) for row in rows]
        pairs = [(n, k) for n, each in enumerate(feeds) for k in each if feeder["port"][k] >= 0]
        self.gauge, self.feed = np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()
        before = feeder["port"][self.feed].astype(np.int64)
        self.response = port_rows["delay"][self.port] + port_rows["signalling"][self.port]
        self.most = self.response[self.gauge] / plan.transmission[before, 0]
        self.sender, self.of, self.worth = self._senders(run, before)
        self._measure = build(measure)

    def _senders(self, run: PacketRun, before: Any) -> tuple[Any, Any, Any]:
        """Return the flows without a window whose first link feeds a threshold, as which pair, and their packets."""
        flow, hop = (run.layout.arrays[name] for name in ("flow", "hop"))
        found = []
        for f, given in enumerate(run.plan.scenario.flows):
            source = given.source
            if not isinstance(source, (CBR, OnOff)):
                continue
            way = flow["way"][f]
            for pair in np.flatnonzero(before == hop["port"][way]).tolist():
                row, port = self.row[self.gauge[pair]], self.port[self.gauge[pair]]
                if hop["port"][way + 1] != port or (row >= 0 and hop["ingress"][way + 1] != row):
                    continue
                sent = source.rate * self.response[self.gauge[pair]]
                found.append((f, pair, min(sent, self.most[pair])))
        table = np.array(found).reshape(-1, 3)
        return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2].copy()

    def measure(self, run: PacketRun) -> tuple[float, float]:
        """Return the packets above thresholds, and the same with what is on its way or will still come: at least that.

        Senders that send now are expected to go on until a pause takes effect, as they do where pools overflow, and
        what waits at the ports before to be sent, as far as there is time; nothing comes from a port that is paused.
        """
        above, ahead = self._levels(run)
        return float(above.sum()), ahead

    def above(self, run: PacketRun) -> Any:
        """Return the packets above each threshold; those of a `Pause` first, in the order of the ports."""
        return self._levels(run)[0]

    def _levels(self, run: PacketRun) -> tuple[Any, float]:
        """Return the packets above each threshold, and all with what is expected."""
        arrays = run.layout.arrays
        names, above = ("port", "lane", "flow", "feeder"), np.empty(len(self.port))
        ahead = self._measure(
            *(arrays[name] for name in names), run.done * run.plan.sample, self.port, self.row, self.high,
            self.gauge, self.feed, self.most, self.sender, self.of, self.worth, self.unit,
            above, np.empty(len(self.port)),
        )  # fmt: skip
        return above, ahead


def measure(  # type: ignore[no-untyped-def]
    port_rows,
    lane,
    flow,
    feeder,
    now,
    port,
    row,
    high,
    gauge,
    feed,
    most,
    sender,
    of,
    worth,
    unit,
    above,
    level,
):
    """Template: write the packets above each threshold; return all with what is expected (`PausedPackets.measure`)."""
    for n in range(len(port)):
        p = port_rows[port[n]]
        if row[n] < 0:
            level[n] = float(p.waiting + p.held) - high[n]
            above[n] = max(0.0, level[n])
            level[n] += float(p.count)
        else:
            level[n] = feeder[row[n]].count / unit - high[n]
            above[n] = max(0.0, level[n])
    for k in range(len(gauge)):
        it = feeder[feed[k]]
        q = port_rows[it.port]
        if q.paused == 0 and (it.lane < 0 or lane[it.lane].paused == 0):
            level[gauge[k]] += min(float(q.waiting), most[k])
    for n in range(len(sender)):
        it = feeder[feed[of[n]]]
        s = flow[sender[n]]
        if port_rows[it.port].paused > 0 or (it.lane >= 0 and lane[it.lane].paused > 0):
            continue
        if s.due >= 0.0 and s.due <= now + s.gap and s.sent < s.size:
            level[gauge[of[n]]] += worth[n]
    ahead = 0.0
    for n in range(len(port)):
        ahead += max(0.0, level[n])
    return ahead
