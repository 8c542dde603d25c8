"""Connections that feed events to a native rule, by calls of the functions of its library."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dfcmodel.network.endpoints.native_rules import Config, Control
from dfcmodel.packets.kernel.layout import NATIVE_RULE, SENT_PACKET
from dfcmodel.packets.kernel.tcp.native_decisions import FAULTS, find_fault, find_time_fault
from dfcmodel.packets.kernel.tcp.native_rules import (
    APP_LIMITED,
    DEVIATION,
    FUNCTIONS,
    IN_RECOVERY,
    REPAIRING,
    SMOOTHING,
    STARTS_RECOVERY,
    WINDOW_LIMITED,
)
from dfcmodel.packets.native_runs import CALLBACK, begin_connection, refusal
from dfcmodel.sharing.suites.fed_connections import Connection
from hopflow.errors import RuleError
from hopflow.kernels import engine

if TYPE_CHECKING:
    from dfcmodel.network.endpoints.native_rules import NativeRule

__all__ = ["CurrentCall", "NativeConnection", "load_loop", "share_current_call"]

MAX_FLIGHT = 2**17
"""Largest number of packets in flight, which is the window of the receiver, of a connection that does not begin with a
larger window: windows of rules that follow deliveries grow without a limit, since fed events do not limit them."""
MAX_TIMERS = 1_000_000
"""Largest number of calls of `on_timer` of a connection."""
GAP = 1e-6
"""Time from a loss or a timeout to the next packets, s: stacks compare when a packet was sent with when the recovery
began. At high rates half of the time between two ACKs."""
KERNEL = "dfcmodel.sharing.suites.kernel"
MIN_COMPILED_PACKETS = 1000
"""Minimum number of packets in a row that the compiled loop sends: a connection with fewer does not load it."""
MAX_COMPILED_PACKETS = 2**16
"""Maximum number of packets of a call of the compiled loop: between two calls Python reports that no call lasts."""
SEED = 1
"""Seed of each connection: equal events give equal windows."""
as_structure: Any = np.ctypeslib.as_ctypes_type
BEFORE_CALLS, INIT = 0, 1


class CurrentCall(ctypes.Structure):
    """The call of a library that a connection makes: function, number on its connection, time of its event, s.

    Calls are numbered from 0, as in a record. Its memory may be a file's, which another process reads after a crash.
    """

    _fields_ = (("function", ctypes.c_uint64), ("number", ctypes.c_uint64), ("time", ctypes.c_double))

    def __str__(self) -> str:
        if self.function == BEFORE_CALLS:
            return ""
        if self.function == INIT:
            return "init"
        return f"{FUNCTIONS[self.function - INIT - 1]} at t = {self.time:.6g} s, call {self.number} of the connection"


current_call = CurrentCall()
"""The call that is being made; ``function`` is `BEFORE_CALLS` between calls."""
Row, Packet = as_structure(NATIVE_RULE), as_structure(SENT_PACKET)
CONTROL_SIZE = ctypes.sizeof(Control)
EVENT, PACKET_SIZE = Row.now.offset, ctypes.sizeof(Packet)


def share_current_call(memory: Any) -> None:
    """Store `current_call`, the call in progress, in a writable buffer from now on."""
    global current_call
    current_call = CurrentCall.from_buffer(memory)


def load_loop() -> None:
    """Load the compiled loop of connections that send many packets in a row, which is compiled if it has to be."""
    _run_loop(np.zeros(1, NATIVE_RULE), np.zeros(1, SENT_PACKET), 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0)


def _run_loop(rules: Any, packets: Any, *numbers: float) -> int:
    """Run the compiled loop on rules, packets and ``numbers``, its other arguments; return how many packets it sent."""
    calls = np.frombuffer(cast("Any", current_call), CurrentCall)
    return int(engine(KERNEL)(rules, calls, packets, *numbers))


class NativeConnection(Connection):
    """A connection of a native rule.

    The library is called as the packet engine calls it: `on_sent` for each packet as it leaves, then `on_ack` for each
    ACK. Packets leave as soon as the window allows it, by neither rate nor departure time; those of the first window
    are evenly spaced over the round trip before the connection's time 0. At a loss the oldest packet is lost, and one
    more call acknowledges all others, in recovery. After a timeout as many packets as were lost repair it.

    Parameters
    ----------
    rule, rtt
        The rule, and the round-trip time, s.
    packet_bytes
        Bytes of a packet.
    window
        First window, packets, which the library is asked for; 0: its own.

    Raises
    ------
    RuleError
        For a decision that cannot be, with the event that led to it.
    """

    def __init__(self, rule: NativeRule, rtt: float = 0.1, packet_bytes: int = 1500, window: float = 0.0) -> None:
        super().__init__(rule, rtt, 0.0)
        self._library = rule.loaded
        self._unit = float(packet_bytes) if self._library.counts_bytes else 1.0
        self._bytes = packet_bytes
        self._clock = 0.0  # of the rule: a round trip ahead of the time of the connection
        self._timers = self._transmissions = self._first = self._last = self._number = 0
        self._unsent = self._unrepaired = 0  # lost packets to send again; packets from before the last reduction
        self._packets = np.zeros(1024, SENT_PACKET)  # in flight: from ``_first`` to before ``_last``
        self._at = self._packets.ctypes.data
        self._numbers = np.zeros(1, NATIVE_RULE)
        self._row = Row.from_buffer(self._numbers)
        self._event = ctypes.addressof(self._row) + EVENT
        self._most = max(MAX_FLIGHT, 2 * int(window))
        config = Config(0, packet_bytes, float(self._most), window, 0.0, 0.0)
        current_call.function = INIT
        state, control, record = begin_connection(self._library, config, SEED, rule.params.record, "events")
        current_call.function = BEFORE_CALLS
        if not state:
            raise RuleError(f"{rule!r}: init returns null: it has no state for this connection")
        weakref.finalize(self, self._library.destroy, state)
        self._row.state = state
        ctypes.memmove(ctypes.addressof(self._row), ctypes.addressof(control), CONTROL_SIZE)
        self._calls = {name: self._library.functions[name] for name in FUNCTIONS}
        functions: dict[str, Any] = {name: CALLBACK(call) for name, call in self._calls.items() if call}
        if record is not None:
            weakref.finalize(self, record.file.close)
            functions = {name: record.wrap(FUNCTIONS.index(name), self._calls[name]) for name in functions}
        self._functions = functions
        self._is_compiled = "on_sent" in functions and record is None
        row = self._row
        row.on_sent, row.on_timer = self._calls["on_sent"] or 0, self._calls["on_timer"] or 0
        row.unit, row.nanoseconds = self._unit, int(self._library.counts_nanoseconds)
        self._check("init")
        self._send(spread=rtt)

    @property
    def window(self) -> float:
        """Congestion window, packets."""
        return float(self._row.window) / self._unit

    @property
    def pacing_rate(self) -> float:
        """Packets/s; infinity for a rule that does not pace."""
        return float(self._row.pacing_rate) / self._unit or math.inf

    @property
    def ssthresh(self) -> float:
        """Slow-start threshold, packets."""
        return float(self._row.ssthresh) / self._unit

    def limit_application(self, packets: float) -> None:
        """Set the packets in flight for which the application has data, and send what a higher limit allows."""
        super().limit_application(packets)
        self._send()

    def _packets_in_flight(self) -> int:
        """Return the number of packets sent, and neither acknowledged nor lost, even beyond the present window."""
        return self._last - self._first

    def _on_ack(self, packets: int) -> None:
        """Acknowledge the oldest packets in flight, and send what the window and the application allow."""
        self._advance(self.now + self.rtt)
        flags, growth = (APP_LIMITED, 0) if self.is_limited else (self._window_flag(), packets)
        self._unrepaired = max(0, self._unrepaired - packets)
        self._report(acked=packets, lost=0, flags=flags, growth=growth)
        self._send()

    def _on_loss(self) -> None:
        """Lose the oldest packet in flight, which starts a recovery."""
        self._unsent += 1
        self._unrepaired = self._unsent + self._last - self._first - 1
        self._report(acked=0, lost=1, flags=STARTS_RECOVERY | IN_RECOVERY | self._window_flag(), growth=0)

    def _lose_in_recovery(self) -> None:
        """Lose the oldest packet in flight, which was sent before the recovery."""
        if self._last > self._first:
            self._unsent += 1
            self._report(acked=0, lost=1, flags=IN_RECOVERY, growth=0)

    def _retransmit(self) -> None:
        """Send the lost packet again, a little after the loss."""
        self._wait()
        if self._last == len(self._packets):
            self._make_room(1)
        self._send_one(0.0, 0)

    def _end_recovery(self) -> None:
        """Acknowledge all packets in flight in recovery, then the lost ones, and send what the window allows."""
        if self._last > self._first:
            self._report(acked=self._last - self._first, lost=0, flags=IN_RECOVERY, growth=0)
        self._unsent = self._unrepaired = 0
        self._wait()
        self._send()

    def _on_timeout(self) -> None:
        """Lose all packets in flight, and send what the window allows."""
        self._unsent += self._last - self._first
        self._unrepaired = self._unsent
        self._report(acked=0, lost=self._last - self._first, flags=0, growth=0, function="on_timeout")
        self._wait()
        self._send()

    def _window_flag(self) -> int:
        """Return the flag of a window without room for another packet."""
        return WINDOW_LIMITED if self._last - self._first + 1 > int(self.window) else 0

    def _wait(self) -> None:
        """Let the clock of the rule go on a little, as it does before the next packets after a loss."""
        gap = min(GAP, 0.5 * self.rtt / max(1.0, self.window))
        self._advance(self._clock + max(gap, 1e-9))

    def _advance(self, until: float) -> None:
        """Set the rule's clock to ``until``, s, after the calls of `on_timer` that are due."""
        while True:
            due = 1e-9 * self._row.timer_ns if self._library.counts_nanoseconds else self._row.timer
            if not 0.0 < due <= until:
                break
            self._timers += 1
            if self._timers > MAX_TIMERS:
                raise ArithmeticError(f"{self.rule!r}: {MAX_TIMERS:,} calls of on_timer until {self._clock:g} s")
            self._clock = max(due, self._clock)
            self._row.timer, self._row.timer_ns = 0.0, 0
            self._begin_event(self._last - self._first, 0)
            self._call("on_timer")
        self._clock = max(until, self._clock)

    def _begin_event(self, before: int, flags: int) -> None:
        """Set the fields that all events have; ``before``: packets in flight before this event."""
        row = self._row
        row.now, row.now_ns = self._clock, int(1e9 * self._clock + 0.5)
        row.in_flight_before, row.in_flight = before, self._last - self._first
        row.marked = row.growth = row.acked_count = row.lost_count = row.packet = 0
        row.flags = flags | (REPAIRING if self._unrepaired else 0)

    def _report(self, acked: int, lost: int, flags: int, growth: int, function: str = "on_ack") -> None:
        """Report the oldest packets as acknowledged or lost, ``growth`` of which may grow the window."""
        row = self._row
        before = self._last - self._first
        first = self._at + PACKET_SIZE * self._first
        self._first += acked + lost
        if acked:
            self._update_rtt()
        self._begin_event(before, flags)
        row.growth, row.acked_count, row.lost_count, row.acked, row.lost = growth, acked, lost, first, first
        self._call(function)

    def _update_rtt(self) -> None:
        """Update the round-trip times by a sample (RFC 9002, 5.2 and 5.3)."""
        row, rtt = self._row, self.rtt
        if row.smoothed_rtt == 0.0:
            row.smoothed_rtt, row.rtt_variance, row.min_rtt = rtt, 0.5 * rtt, rtt
        else:
            row.min_rtt = min(row.min_rtt, rtt)
            row.rtt_variance += DEVIATION * (abs(row.smoothed_rtt - rtt) - row.rtt_variance)
            row.smoothed_rtt += SMOOTHING * (rtt - row.smoothed_rtt)
        row.latest_rtt = rtt

    def _send(self, spread: float = 0.0) -> None:
        """Send what the window and the application allow, at least one in flight; evenly over ``spread`` s."""
        allowed = int(min(self.window, self._available, self._most))
        count = max(1, allowed) - (self._last - self._first)
        if count > len(self._packets) - self._last:
            self._make_room(count)
        if not self._calls["on_sent"] and count > 1:
            self._send_at_once(count, spread)
            return
        step = spread / count if spread else 0.0
        end = self._last + count
        while self._last < end:
            remaining = end - self._last
            many = remaining >= MIN_COMPILED_PACKETS and not self._unrepaired
            sent = self._send_compiled(remaining, step, allowed) if many else 0
            if sent == 0:
                self._send_one(step, allowed)

    def _send_one(self, step: float, allowed: int) -> None:
        """Send a packet in ``step`` s; flag it as application-limited only with ``allowed`` packets in flight."""
        if step:
            self._advance(self._clock + step)
        packet = Packet.from_address(self._at + PACKET_SIZE * self._last)
        packet.number = packet.data = self._transmissions
        packet.bytes = self._bytes
        packet.sent, packet.sent_ns = self._clock, int(1e9 * self._clock + 0.5)
        ctypes.memset(ctypes.addressof(packet) + Packet.slot.offset, 0, Packet.slot.size)
        self._transmissions += 1
        self._last += 1
        self._unsent = max(0, self._unsent - 1)
        if self._calls["on_sent"]:
            flags = APP_LIMITED if self.is_limited and self._last - self._first >= allowed else 0
            self._begin_event(self._last - self._first - 1, flags)
            self._row.packet = ctypes.addressof(packet)
            self._call("on_sent")

    def _send_compiled(self, count: int, step: float, allowed: int) -> int:
        """Send up to ``count`` packets by the compiled loop until a timer is due; return how many left; 0: no loop."""
        if not self._is_compiled:
            return 0
        current_call.number = self._number
        current_call.function = INIT + 1 + FUNCTIONS.index("on_sent")
        sent = _run_loop(
            self._numbers, self._packets, self._at, self._first, self._last, min(count, MAX_COMPILED_PACKETS),
            self._transmissions, self._bytes, APP_LIMITED, allowed, float(self._available), step, self._clock,
        )  # fmt: skip
        current_call.function = BEFORE_CALLS
        self._transmissions += sent
        self._last += sent
        self._number += sent
        if sent:
            self._clock = self._row.now
            self._check("on_sent")
        return sent

    def _send_at_once(self, count: int, spread: float) -> None:
        """Send packets without calls of the library, evenly over ``spread`` s."""
        times = self._clock + spread / count * np.arange(1, count + 1)
        self._advance(self._clock + spread)
        packets = self._packets[self._last : self._last + count]
        packets["number"] = packets["data"] = self._transmissions + np.arange(count)
        packets["bytes"], packets["slot"] = self._bytes, 0
        packets["sent"], packets["sent_ns"] = times, 1e9 * times + 0.5
        self._transmissions += count
        self._last += count
        self._unsent = max(0, self._unsent - count)

    def _make_room(self, count: int) -> None:
        """Move the packets in flight to the front, of a larger array if half of it has no room for ``count`` more."""
        inside = self._packets[self._first : self._last].copy()
        if 2 * (len(inside) + count) > len(self._packets):
            self._packets = np.zeros(2 * (len(inside) + count), SENT_PACKET)
            self._at = self._packets.ctypes.data
        self._packets[: len(inside)] = inside
        self._first, self._last = 0, len(inside)

    def _call(self, function: str) -> None:
        """Call a function of the library, and check what it decides."""
        if self._calls[function]:
            current_call.number, current_call.time = self._number, self._clock
            current_call.function = INIT + 1 + FUNCTIONS.index(function)
            self._functions[function](self._row.state, self._event, ctypes.addressof(self._row))
            current_call.function = BEFORE_CALLS
            self._number += 1
            self._check(function)

    def _check(self, function: str) -> None:
        """Raise RuleError for an invalid decision of ``function``, as the packet engine does."""
        row, unit = self._row, self._unit
        wrong = find_fault(row.pacing_rate / unit, row.window / unit, row.ssthresh / unit)
        departure, timer = row.departure, row.timer
        if self._library.counts_nanoseconds:
            departure, timer = 1e-9 * row.departure_ns, 1e-9 * row.timer_ns
        earliest = self._clock if function == "on_timer" else 0.0  # `on_timer` sets a later time than its own
        wrong = wrong or find_time_fault(departure, timer, row.send_quantum, earliest, bool(self._calls["on_timer"]))
        if wrong:
            where = f"{self.rule!r}, t = {self._clock:g} s of a connection that is fed events"
            raise RuleError(refusal(where, function, FAULTS[wrong], self._library, self._numbers[0]))
