"""Traces: every packet at chosen links, as a table, a time-sequence figure or a packet capture."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.flows import random_starts
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.packets.engine import trace_engine
from dfcmodel.packets.kernel.layout import OF_RATE
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario, trajectory
from hopflow.checks import choice, instance, instances, one_number
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import Result, figure
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["PacketTrace", "trace_packets"]

EVENT = np.dtype(
    [
        ("link", np.int32),
        ("flow", np.int32),
        ("number", np.int64),
        ("ack", bool),
        ("bytes", np.float64),
        ("marked", bool),
        ("arrived", np.float64),
        ("sent", np.float64),
        ("received", np.float64),
        ("drop_time", np.float64),
        ("blocks", np.int32, (3, 2)),
    ]
)
COLUMNS = [name for name in EVENT.names or () if name != "blocks"]
UNITS = {"bytes": "bytes", "arrived": "s", "sent": "s", "received": "s", "drop_time": "s"}


@dataclass(frozen=True, repr=False, eq=False)
class PacketTrace(Result):
    """Events of every packet and ACK at chosen links, as `trace_packets` returns them.

    Attributes
    ----------
    links
        Names of the traced links.
    events
        A row for each packet at each link, in the order of arrival, a structured array: link (index in
        ``links``); flow (index); number, of the packet, or the last one that an ACK acknowledges; ack;
        bytes; marked (ECN); arrived, sent, received: when it came to the queue, when its transmission
        began and when it came to the other end, s; the latter two are nan for a dropped packet, and drop_time
        (s) for the others; blocks: up to three pairs of first and last packet + 1 of a selective
        acknowledgement, -1 where there are less. Packets that wait at the end of the run have no row.
    run
        The records of the run.

    Examples
    --------
    >>> from dfcmodel import Packets, takano2006, trace_packets
    >>> first = takano2006("1", dfc=False)
    >>> trace = trace_packets(first, "1->2", Packets(seed=1), duration=0.01)
    >>> len(trace), bool(trace.to_pandas()["dropped"].any())
    (3, False)
    """

    links: tuple[str, ...]
    events: Any  # of a structured array NumPy's stubs know no fields
    run: Trajectory

    def __len__(self) -> int:
        return len(self.events)

    def to_pandas(self) -> pd.DataFrame:
        """Return the events as a DataFrame, names for links and flows; ``dropped`` is a column of flags."""
        import pandas as pd

        flows = [flow.name for flow in self.run.scenario.flows]
        table = pd.DataFrame({name: self.events[name] for name in COLUMNS})
        table["link"] = np.array(self.links, dtype=object)[self.events["link"]]
        table["flow"] = np.array(flows, dtype=object)[self.events["flow"]]
        table["dropped"] = np.isnan(self.events["sent"])
        return table

    def to_xarray(self) -> xr.Dataset:
        """Return the events as an xarray Dataset over ``event``, with units."""
        data = self.to_pandas().rename_axis("event").to_xarray()
        for name, unit in UNITS.items():
            data[name].attrs["units"] = unit
        return data

    def to_pcap(self, path: str | Path, node: Hashable) -> Path:
        """Write a capture of the packets that a node sends and receives over traced links; return its path.

        Needs Scapy, ``pip install 'hopflow[capture]'``; see `dfcmodel.packets.exports.captures.write_capture`.

        Parameters
        ----------
        path
            The file; times are in nanoseconds.
        node
            Node of the capture, an end of a traced link.

        Raises
        ------
        ImportError
            Without Scapy.
        ValueError
            For a node that no traced link leaves or enters, or packets without room for data.
        """
        from dfcmodel.packets.exports.captures import write_capture

        nodes = [name.split("->") for name in self.links]
        choice("node", str(node), sorted({end for pair in nodes for end in pair}))
        out, into = (np.array([pair[side] == str(node) for pair in nodes]) for side in (0, 1))
        link = self.events["link"]
        times = np.where(out[link], self.events["sent"], np.where(into[link], self.events["received"], np.nan))
        return write_capture(Path(path), self.run.scenario, times, self.events)

    def summary(self) -> dict[str, object]:
        """Return status and texts by name: scenario, and for each link its packets, ACKs, drops and queueing delay."""
        rows: dict[str, object] = {"status": self.run.status, "scenario": self.run.scenario.name}
        for n, name in enumerate(self.links):
            events = self.events[self.events["link"] == n]
            lost = np.isnan(events["sent"])
            wait = events["sent"][~lost] - events["arrived"][~lost]
            queued = f", mean queueing delay {1e3 * wait.mean():.3g} ms" if len(wait) else ""
            acks = int(events["ack"].sum())
            rows[name] = f"{len(events) - acks} packets and {acks} ACKs, {lost.sum()} dropped{queued}"
        rows["time"] = f"{self.run.time[-1]:g} s simulated in {self.run.seconds:.2f} s"
        return rows

    def plot(self, ax: Any = None, *, link: str | None = None) -> Any:
        """Draw packet numbers over time at a link (None: the first), dropped packets as crosses.

        Returns
        -------
        The Axes.
        """
        ax = figure()[1] if ax is None else ax
        name = choice("link", self.links[0] if link is None else link, self.links)
        at_link = self.events[self.events["link"] == self.links.index(name)]
        for f, flow in enumerate(self.run.scenario.flows):
            of_flow = at_link[at_link["flow"] == f]
            if not len(of_flow):
                continue
            lost = np.isnan(of_flow["sent"])
            sent = of_flow[~lost]
            (dots,) = ax.plot(sent["sent"], sent["number"], ".", ms=2, label=flow.name)
            drops = of_flow[lost]
            ax.plot(drops["drop_time"], drops["number"], "x", ms=5, color=dots.get_color())
        ax.set(xlabel="time (s)", ylabel="packet", title=f"{name}; crosses are dropped packets")
        ax.legend(fontsize=8)
        return ax


@quantities(duration="time", jitter="time", packet_jitter="time")
def trace_packets(
    scenario: Scenario,
    links: Iterable[str] | str | None = None,
    method: Packets | None = None,
    *,
    duration: WithUnit | None = None,
    jitter: WithUnit = 0.0,
    packet_jitter: WithUnit = 0.0,
) -> PacketTrace:
    """Simulate a scenario packet by packet and return every packet at chosen links, as `PacketTrace`.

    The run is that of `simulate` with this method, by either engine: their traces are the same, bit for bit. A packet
    at a traced link takes about a microsecond, and some 300 bytes of memory while the trace is made, 82 in it.

    Parameters
    ----------
    scenario
        The scenario to simulate.
    links
        Names such as ``"a->b"``, one or several; for the ACKs on their way back the same the other way
        round. None: the links of the scenario.
    method
        Packet-level method; None: ``Packets(seed=1)``.
    duration, jitter, packet_jitter
        As for `simulate`.

    Raises
    ------
    ValueError
        For a link that the packets and ACKs do not cross, and as `simulate` with ``Packets``.

    Examples
    --------
    >>> from dfcmodel import Flow, Scenario, chain, trace_packets
    >>> from responsefn import NewReno
    >>> links = chain(2, rate=1000.0, delay=0.01, buffer=20)
    >>> one = Scenario("one link", links, [Flow("flow", (1, 2), NewReno(), max_window=64.0)], duration=0.3)
    >>> trace_packets(one, ["1->2", "2->1"]).to_pandas()[["link", "number", "ack", "sent"]].head(3)
       link  number    ack      sent
    0  1->2       0  False  0.000000
    1  2->1       0   True  0.011000
    2  1->2       1  False  0.021027
    """
    instance("scenario", scenario, Scenario)
    method = Packets(seed=1) if method is None else method
    if not isinstance(method, Packets):
        raise ValueError(f"method = {method!r}: a fluid has no packets, use Packets()")  # noqa: TRY004
    end = run_end(scenario, duration)
    jitter = one_number("jitter", jitter, at_least=0.0, at_most=end, hint="in s")
    packet_jitter = one_number("packet_jitter", packet_jitter, at_least=0.0, at_most=end)
    random = np.random.default_rng(method.seed or 0)  # as of `simulate`
    starts = random_starts(scenario.table, jitter, random) if jitter else None
    plan = plan_scenario(
        scenario,
        method.with_seed(random),
        duration=end,
        sample=end / 100.0,
        starts=starts,
        packet_jitter=packet_jitter,
    )
    by_name = {port.name: p for p, port in enumerate(plan.ports) if port.link >= 0 or port.mirror}
    names = [link.name for link in scenario.links]
    if links is not None:
        names = list(instances("links", [links] if isinstance(links, str) else links, str, "the name of a link"))
    for name in names:
        choice("links", name, list(by_name))
    watch, ports = Stopwatch(), [by_name[name] for name in names]
    records, rows = trace_engine(plan, ports)
    run = trajectory(plan, records, watch.seconds())
    return PacketTrace(links=tuple(names), events=_events(plan, rows, ports), run=run)


def _events(plan: PacketPlan, rows: NDArray[Any], ports: Sequence[int]) -> NDArray[Any]:
    """Return events of a trace, one per packet that left a queue of ``ports`` before the end, sorted by arrival."""
    left = np.fmin(rows["sent"], rows["dropped"])  # one of them is nan
    rows = _in_order(rows[left < plan.samples * plan.sample])  # the compiled engine looks ahead
    link = np.zeros(len(plan.ports), dtype=np.int32)
    link[ports] = np.arange(len(ports))
    events = np.zeros(len(rows), EVENT)
    for name in ("flow", "number", "ack", "marked", "arrived", "sent"):
        events[name] = rows[name]
    events["link"], events["bytes"] = link[rows["port"]], plan.sizes[rows["size"]]
    events["received"] = rows["sent"] + rows["longer"] + plan.passage[rows["port"], rows["size"]]
    events["drop_time"], events["blocks"] = rows["dropped"], -1
    for k in range(3):
        has_block = np.flatnonzero((rows["size"] > k + 1) & (rows["size"] < OF_RATE))
        events["blocks"][has_block, k] = rows["blocks"][has_block, 2 * k : 2 * k + 2]
    return events


def _in_order(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows of a trace, (rows,), sorted by arrival, then departure, port, flow, kind and number."""
    rows = rows[np.argsort(rows["arrived"], kind="stable")]
    same = rows["arrived"][1:] == rows["arrived"][:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    few = rows[tied]
    last = [few[name] for name in ("number", "ack", "flow", "port")]
    left = np.fmin(few["sent"], few["dropped"])
    rows[tied] = few[np.lexsort([*last, left, few["arrived"]])]
    return rows
