"""Traces: every packet at chosen links, as a table, a time-sequence figure or a packet capture."""

from __future__ import annotations

import time as clock
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.networks import Scenario
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.records import Records
from dfcmodel.packets.reference import Simulation
from dfcmodel.packets.simulation import plan_scenario, trajectory
from hopflow.checks import choice, instance, listed, one_number
from hopflow.progress import progress_bar
from hopflow.results import Result, figure

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dfcmodel.packets.plans import Plan
    from dfcmodel.packets.reference_receivers import Packet
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
    ]
)
UNITS = {"bytes": "bytes", "arrived": "s", "sent": "s", "received": "s"}


@dataclass(frozen=True, repr=False, eq=False)
class PacketTrace(Result):
    """Every packet and ACK that came to chosen links, as `trace_packets` returns it.

    Attributes
    ----------
    links
        Names of the traced links.
    events
        A row for each packet at each link, in the order of arrival, a structured array: link (index in
        ``links``); flow (index); number, of the packet, or the last one that an ACK acknowledges; ack;
        bytes; marked (ECN); arrived, sent, received: when it came to the queue, when its transmission
        began and when it came to the other end, s, nan for a dropped packet. Packets that wait at the
        end of the run have no row.
    blocks
        The blocks of each row's selective acknowledgement, pairs of first and last packet + 1.
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
    blocks: tuple[tuple[tuple[int, int], ...], ...]
    run: Trajectory

    def __len__(self) -> int:
        return len(self.events)

    def to_pandas(self) -> pd.DataFrame:
        """Return the events with the names of links and flows; ``dropped`` is a column of its own."""
        import pandas as pd

        flows = [flow.name for flow in self.run.scenario.flows]
        table = pd.DataFrame({name: self.events[name] for name in EVENT.names or ()})
        table["link"] = np.array(self.links, dtype=object)[self.events["link"]]
        table["flow"] = np.array(flows, dtype=object)[self.events["flow"]]
        table["dropped"] = np.isnan(self.events["sent"])
        return table

    def to_xarray(self) -> xr.Dataset:
        """Return the same over ``event``, with units."""
        data = self.to_pandas().rename_axis("event").to_xarray()
        for name, unit in UNITS.items():
            data[name].attrs["units"] = unit
        return data

    def to_pcap(self, path: str | Path, node: Hashable) -> Path:
        """Write a capture at a node: what it sends over traced links, and what comes to it over them.

        Needs Scapy, ``pip install 'hopflow[capture]'``; see `dfcmodel.packets.captures.write_capture`.

        Parameters
        ----------
        path
            The file; times are in nanoseconds.
        node
            An end of a traced link.

        Raises
        ------
        ImportError
            Without Scapy.
        ValueError
            For a node that no traced link leaves or enters, or packets without room for data.
        """
        from dfcmodel.packets.captures import write_capture

        ends = [name.split("->") for name in self.links]
        choice("node", str(node), sorted({end for pair in ends for end in pair}))
        out, into = (np.array([pair[side] == str(node) for pair in ends]) for side in (0, 1))
        of = self.events["link"]
        times = np.where(
            out[of], self.events["sent"], np.where(into[of], self.events["received"], np.nan)
        )
        return write_capture(Path(path), self.run.scenario, times, self.events, self.blocks)

    def summary(self) -> dict[str, object]:
        """Return the packets, ACKs and drops of each link."""
        rows: dict[str, object] = {"status": self.run.status, "scenario": self.run.scenario.name}
        for n, name in enumerate(self.links):
            own = self.events[self.events["link"] == n]
            lost = np.isnan(own["sent"])
            wait = own["sent"][~lost] - own["arrived"][~lost]
            queued = f", mean queueing delay {1e3 * wait.mean():.3g} ms" if len(wait) else ""
            acks = int(own["ack"].sum())
            rows[name] = f"{len(own) - acks} packets and {acks} ACKs, {lost.sum()} dropped{queued}"
        rows["time"] = f"{self.run.time[-1]:g} s simulated in {self.run.seconds:.2f} s"
        return rows

    def plot(self, ax: Any = None, *, link: str | None = None) -> Any:
        """Draw packet numbers over time at a link (None: the first), dropped ones as crosses.

        Returns
        -------
        The Axes.
        """
        ax = figure()[1] if ax is None else ax
        name = choice("link", self.links[0] if link is None else link, self.links)
        own = self.events[self.events["link"] == self.links.index(name)]
        for f, flow in enumerate(self.run.scenario.flows):
            of_flow = own[own["flow"] == f]
            if not len(of_flow):
                continue
            lost = np.isnan(of_flow["sent"])
            rest = of_flow[~lost]
            (dots,) = ax.plot(rest["sent"], rest["number"], ".", ms=2, label=flow.name)
            drops = of_flow[lost]
            ax.plot(drops["arrived"], drops["number"], "x", ms=5, color=dots.get_color())
        ax.set(xlabel="time (s)", ylabel="packet", title=f"{name}; crosses are dropped packets")
        ax.legend(fontsize=8)
        return ax


def trace_packets(
    scenario: Scenario,
    links: Iterable[str] | str | None = None,
    method: Packets | None = None,
    *,
    duration: float | None = None,
    jitter: float = 0.0,
    packet_jitter: float = 0.0,
) -> PacketTrace:
    """Simulate a scenario packet by packet and keep every packet at chosen links.

    It runs the reference engine, which gives the same as the compiled one, bit for bit, some thousand
    times slower: about 50 microseconds for a packet and a hop. Trace short runs.

    Parameters
    ----------
    scenario
        The scenario to simulate.
    links
        Names such as ``"a->b"``, one or several; for the ACKs on their way back the same the other way
        round. None: the links of the scenario.
    method
        None: ``Packets(seed=1)``.
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
    asked = scenario.duration if duration is None else duration
    end = one_number("duration", asked, above=0.0, at_most=1e5, hint="in s")
    jitter = one_number("jitter", jitter, at_least=0.0, at_most=end, hint="in s")
    packet_jitter = one_number("packet_jitter", packet_jitter, at_least=0.0, at_most=end)
    if method.seed is None and not method.is_ns2:
        method = replace(method, seed=1)
    plan = plan_scenario(
        scenario,
        method,
        duration=end,
        sample=end / 100.0,
        jitter=jitter,
        packet_jitter=packet_jitter,
    )
    known = {port.name: p for p, port in enumerate(plan.ports) if port.link >= 0 or port.mirror}
    given = [links] if isinstance(links, str) else links
    names = [link.name for link in scenario.links]
    if given is not None:
        names = list(listed("links", given, str, "the name of a link"))
    for name in names:
        choice("links", name, list(known))
    began = clock.perf_counter()
    simulation = Simulation(plan)
    simulation.records = records = _Recorder(plan, {known[name]: n for n, name in enumerate(names)})
    with records.bar:
        simulation.run()
    rows = sorted(zip(records.kept, records.blocks, strict=True), key=lambda each: each[0][6])
    return PacketTrace(
        links=tuple(names),
        events=np.array([row for row, _ in rows], dtype=EVENT),
        blocks=tuple(blocks for _, blocks in rows),
        run=trajectory(plan, records, clock.perf_counter() - began),
    )


class _Recorder(Records):
    """Records that keep each packet at chosen ports too, and show the progress of a long run."""

    def __init__(self, plan: Plan, links: dict[int, int]) -> None:
        super().__init__(plan)
        self.links = links
        self.kept: list[tuple[Any, ...]] = []
        self.blocks: list[tuple[tuple[int, int], ...]] = []
        name = plan.scenario.name
        self.bar = progress_bar(total=plan.samples, desc=name)

    def _keep(self, p: int, packet: Packet, *times: float) -> None:
        if p in self.links:
            size = float(self.plan.sizes[packet.size])
            what = (packet.flow, packet.number, packet.is_ack, size, packet.marked)
            self.kept.append((self.links[p], *what, *times))
            self.blocks.append(packet.blocks)

    def transmit(self, p: int, packet: Packet, came: float, now: float) -> None:
        """Record the start of a transmission."""
        super().transmit(p, packet, came, now)
        self._keep(p, packet, came, now, now + float(self.plan.passage[p, packet.size]))

    def drop(self, p: int, packet: Packet, now: float) -> None:
        """Record a drop."""
        super().drop(p, packet, now)
        self._keep(p, packet, now, np.nan, np.nan)

    def look(self, n: int, senders: Any) -> None:
        """Record the end of a sample."""
        super().look(n, senders)
        self.bar.update()
