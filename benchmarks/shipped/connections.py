"""Whole connections of quinn-proto as the second judge: the suites' cases on a released connection in virtual time.

``quinn_connection.rs`` runs client and server of an unmodified release over a simulated path, and prints what the
connection tells its congestion control. A case that feeds events to a rule gets a `WholeConnection`: its losses and
timeouts are datagrams that the path drops, chosen by number, and the connection detects them itself.
"""

from __future__ import annotations

import datetime as dt
import math
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.shipped.builds import Unit
from dfcmodel import NativeRule, conformance
from dfcmodel.sharing.suites.cases import NotJudged
from dfcmodel.sharing.suites.connections import connect
from dfcmodel.sharing.suites.fed_connections import Connection
from dfcmodel.sharing.suites.incidents import BottleneckPath, PathSamples, sample_path
from dfcmodel.sharing.suites.judging import FAILED, SuiteVerdict, judge_suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SUITES", "Comparison", "ConnectionPath", "Program", "Row", "WholeConnection", "compare"]

PACKET_BYTES, PAYLOAD, DATA = 1500, 1472, 1430
"""Bytes of a packet; of them those that windows count, a size that `quinn_connection.rs` fixes, and, about, those of
the application."""
FIRST_DATA = 2
"""Datagrams of the client before its first full one: those of the handshake."""
LONGEST_RUN = 4000.0
"""Time until which a case can wait for an event, s."""
SUITES = "rfc5681", "rfc9438", "incidents"
"""Suites whose cases a connection can be put through; `robustness` changes units and sizes of packets."""
SAMPLE, SETTLED, REDUCTION, SHOWN = 4e-3, 5.0, 0.95, 6
"""Of the comparison on a path: time between samples, and from which on the window is averaged, s; ratio of two windows
below which the window was reduced; number of reductions whose values are shown."""
QUANTITIES = {
    "share of 60 s": 0.01, "mean window from 5 s on": 0.02, "reductions": 0.1, "window after over window before": 0.03,
    "window before a reduction": 0.05,
}  # fmt: skip
"""Quantities of the comparison, windows in packets, and the relative difference within which they agree. In slow start
a window of 320 packets grows by 8 between two samples."""
MAX_THRESHOLD = 1e15
"""Packets above which a threshold stands for none: the largest number of 64 bits, in bytes."""
REORDERING = 3
"""Later datagrams by which a loss is detected."""
OUTAGE = 10.0
"""Round trips that are lost for a timeout, beyond a second: more than the three probe timeouts of persistent
congestion (RFC 9002, Sect. 7.6.1), each of a round trip and at most 0.2 s here, and the next probe."""


class Row(NamedTuple):
    """A row of the program: times in s; window, threshold and amount in flight in packets."""

    time: float
    event: str
    packet: int
    window: float
    threshold: float
    in_flight: float
    rtt: float
    lost: int

    @classmethod
    def read(cls, line: str) -> Row:
        """Return the row of a line."""
        time, event, packet, window, threshold, in_flight, rtt, lost = line.split(",")
        amounts = int(window) / PAYLOAD, int(threshold) / PAYLOAD, int(in_flight) / PAYLOAD
        return cls(1e-9 * int(time), event, int(packet), *amounts, 1e-9 * int(rtt), int(lost))


@dataclass(frozen=True)
class ConnectionPath:
    """A bottleneck: packets/s, round-trip time in s, and packets of buffer; by default nothing but a delay."""

    rtt: float
    rate: float = 1e6
    buffer: int = 10**9


@dataclass(frozen=True)
class Program:
    """A compiled ``quinn_connection.rs`` with an algorithm, in place of a rule; ``claims`` is that of the adapter."""

    State: ClassVar[type] = NativeRule.State  # cases ask rules whether they pace

    file: Path
    algorithm: str
    claims: str

    def run(
        self, path: ConnectionPath, duration: float, data: str = "-", drops: Iterable[tuple[int, int]] = ()
    ) -> Iterator[Row]:
        """Yield the rows of a run as it goes on; ``drops``: first and last numbers of lost datagrams."""
        ranges = ",".join(f"{first}-{last}" for first, last in drops) or "-"
        rate, delay = round(path.rate * PACKET_BYTES), round(0.5e9 * path.rtt)
        arguments = (self.algorithm, rate, delay, path.buffer, duration, data, ranges)
        with subprocess.Popen([self.file, *map(str, arguments)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield from map(Row.read, process.stdout)
                if process.wait() != 0:
                    raise RuntimeError(f"{self.file} ended with status {process.returncode}")
            finally:
                process.kill()


class WholeConnection(Connection):
    """A connection of a released stack to whose events a case steps; windows in packets.

    Runs are deterministic: a case that reports a loss lets the connection run again without a datagram, and steps to
    the congestion event. ACKs of datagrams that were sent before the last reduction are passed over, since the
    connections of suites end recoveries at once.
    """

    def __init__(
        self, program: Program, rtt: float = 0.1, packet_bytes: int = PACKET_BYTES, window: float = 0.0
    ) -> None:
        super().__init__(program, rtt, 0.0)  # type: ignore[arg-type]  # in place of a rule
        if packet_bytes != PACKET_BYTES or window > 0.0:
            raise NotJudged(f"connections begin with their own window, in packets of {PACKET_BYTES} bytes")
        self._path = ConnectionPath(rtt)
        self._drops: list[tuple[int, int]] = []
        self._begin()
        self._step_to("ack")

    def _begin(self) -> None:
        """Run from the beginning, with the present losses."""
        self._run: Iterator[Row] = self.rule.run(self._path, LONGEST_RUN, drops=self._drops)
        self._row: Row = next(self._run)
        self._sent = 0  # datagrams so far
        self._acked: list[int] = []  # datagrams that were sent and acknowledged since the last reduction
        self._first = FIRST_DATA  # the first datagram after the last reduction

    @property
    def window(self) -> float:
        """Congestion window, packets."""
        return self._row.window

    @property
    def ssthresh(self) -> float:
        """Slow-start threshold, packets."""
        return self._row.threshold if self._row.threshold < MAX_THRESHOLD else math.inf

    @property
    def pacing_rate(self) -> float:
        """Not reported."""
        raise NotJudged("a connection does not report its pacing rate")

    def limit_application(self, packets: float) -> None:
        """Refuse a limit in packets in flight, which an application does not set."""
        if packets < math.inf:
            raise NotJudged("the application of a connection does not limit packets in flight")

    def ack_round_trip(self, limit: float = math.inf, packets: int = 1) -> None:
        """Acknowledge a window, rounded up to whole datagrams, or less if the window has ``limit`` packets."""
        for _ in range(math.ceil(self.window / packets)):
            if self.window >= limit:
                break
            self.ack(packets)

    def _on_ack(self, packets: int) -> None:
        """Step over datagrams that are acknowledged outside of recoveries."""
        for _ in range(packets):
            self._step_to("ack")

    def _on_loss(self) -> None:
        """Drop a datagram so that its loss is detected next, and step to the congestion event.

        Three later datagrams tell of a loss (RFC 9002, Sect. 6.1.1), by which the window grows.
        """
        dropped = self._acked[-REORDERING:][0] if self._acked else self._first
        self._drops.append((dropped, dropped))
        self._begin()
        self._step_to("loss", dropped)

    def _lose_in_recovery(self) -> None:
        """Refuse a further loss in a recovery."""
        raise NotJudged("one datagram is dropped at a time")

    def _on_timeout(self) -> None:
        """Drop all datagrams for some time, from the next one on, and step to the persistent congestion."""
        first, end = max(self._first, self._row.packet + 1), self.now + OUTAGE * self.rtt + 1.0
        rows = self.rule.run(self._path, end, drops=[*self._drops, (first, 2**62)])
        self._drops.append((first, max(row.packet for row in rows if row.event == "sent")))
        self._begin()
        self._step_to("persistent")

    def _step_to(self, event: str, packet: int = 0) -> None:
        """Step to an event that is about this datagram or a later one, and was sent after the last reduction."""
        for row in self._run:
            self._row = row
            if row.event == "sent":
                self._sent = row.packet + 1
            elif row.packet >= self._first:
                if row.event == "ack":
                    self._acked.append(row.packet)
                else:
                    self._first, self._acked = self._sent, []
                if row.event == event and row.packet >= packet:
                    self.now = row.time
                    return
        raise NotJudged(f"no such event of the connection within {LONGEST_RUN:g} s")


def sample_connection(program: Program, path: BottleneckPath, times: Floats, seed: int = 0) -> PathSamples:
    """Run a connection over the path of an incident, and sample it at times, s."""
    bottleneck, data = ConnectionPath(path.rtt, path.rate, path.buffer), "-"
    if path.arrivals is not None:
        packets = np.broadcast_to(path.arrivals.packets, len(path.arrivals.times))
        batches = zip(path.arrivals.times, packets, strict=True)
        data = ",".join(f"{round(1e3 * time)},{round(DATA * count)}" for time, count in batches).removeprefix("0,")
    elif math.isfinite(path.size):
        data = str(round(DATA * path.size))
    drops: list[tuple[int, int]] = []
    for element in path.elements:
        probability, end = (getattr(element, name, None) for name in ("probability", "end"))
        if probability is None or end is None or getattr(element, "begin", 0.0) > 0.0:
            raise NotJudged(f"the path of a connection has no {element}")
        draws = np.random.default_rng(seed).random(round(path.rate * end))
        numbers = np.flatnonzero(draws < probability).tolist()
        first_run = program.run(bottleneck, end, data, zip(numbers, numbers, strict=True))
        last = max(row.packet for row in first_run if row.event == "sent")
        drops += [(number, number) for number in numbers if number <= last]
    rows = list(program.run(bottleneck, path.duration, data, drops))
    at = np.searchsorted([row.time for row in rows], times, side="right")
    sent, acknowledged = (np.cumsum([row.event == event for row in rows])[at - 1] for event in ("sent", "ack"))
    window = np.array([row.window for row in rows])[at - 1]
    finished = rows[-1].time if rows[-1].in_flight < 1.0 else math.inf
    return PathSamples(window, sent.astype(float), acknowledged.astype(float), finished, True)


connect.register(Program, WholeConnection)
sample_path.register(Program, sample_connection)


class Comparison(NamedTuple):
    """Adapter and whole connection on a case or on a quantity of a path; ``witness``: what the connection says."""

    stack: str
    release: str
    sha256: str
    algorithm: str
    case: str
    adapter: str
    connection: str
    witness: str
    date: str


def compare(unit: Unit, library: Path, file: Path) -> Iterator[Comparison]:
    """Yield what adapter and connection do: failed cases, those with different verdicts, counts of others, one path.

    Parameters
    ----------
    unit, library, file
        The algorithm of a release, the adapter's library, and the program that runs connections.
    """
    rule = NativeRule(library)
    program = Program(file, unit.algorithm, rule.claims)
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    for row in (*compare_cases(rule, program), *compare_paths(rule, program)):
        yield Comparison(unit.stack, unit.release, unit.sha256[:12], unit.algorithm, *row, today)


def compare_cases(rule: NativeRule, program: Program) -> Iterator[tuple[str, str, str, str]]:
    """Yield case, verdicts of adapter and connection, and what the connection says about that of the adapter."""
    result: Any = conformance(rule, suite=list(SUITES))
    for adapter in result.suites:
        if not adapter.applies:
            continue
        connection = judge_suite(adapter.suite, program, {})  # type: ignore[arg-type]  # in place of a rule
        equal = 0
        for verdict, second in zip(adapter.verdicts, connection.verdicts, strict=True):
            agrees = verdict.verdict == second.verdict
            if agrees and verdict.verdict != FAILED:
                equal += 1
                continue
            witness = "agrees" if agrees else "disagrees" if second.is_judged else "cannot show it"
            yield verdict.name, describe(verdict), describe(second), witness
        yield f"{adapter.suite.name}, {equal} other cases", "no failure", "no failure", "agrees"


def describe(verdict: SuiteVerdict) -> str:
    """Return a verdict as a string, with what was found."""
    if not verdict.is_judged:
        return f"{verdict.verdict}: {verdict.reason}"
    return f"{verdict.verdict}: {verdict.found}, expected {verdict.expected}, {verdict.event}"


def compare_paths(rule: NativeRule, program: Program) -> Iterator[tuple[str, str, str, str]]:
    """Yield quantities of a minute of one path: of the adapter in the simulation, and of the connection."""
    path = BottleneckPath()
    times = np.arange(1, round(path.duration / SAMPLE) + 1) * SAMPLE
    measured = []
    for sender in (rule, program):
        run = path.run(sender, times)  # type: ignore[arg-type]
        factors = run.window[1:] / run.window[:-1]
        at = np.flatnonzero(factors < REDUCTION)
        measured.append((
            run.acknowledged[-1:] / (path.rate * path.duration), run.window[times > SETTLED].mean(keepdims=True),
            np.array([len(at)]), factors[at], run.window[at],
        ))  # fmt: skip
    for (name, tolerance), first, second in zip(QUANTITIES.items(), *measured, strict=True):
        count = min(len(first), len(second))
        agrees = np.allclose(first[:count], second[:count], rtol=tolerance, atol=0.0)
        adapter, connection = (" ".join(f"{value:.4g}" for value in values[:SHOWN]) for values in (first, second))
        yield f"path, {name}", adapter, connection, "agrees" if agrees else "disagrees"
