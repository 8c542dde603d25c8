"""Ports of rules to C answer drawn sequences of events as the rules in Python do: windows and rates are equal."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfcmodel.network.endpoints.native_rules import Config, Control
from dfcmodel.packets.kernel.layout import NATIVE_RULE, SENT_PACKET
from responsefn import BBR, CUBIC, Delivery, NewReno
from responsefn.dynamics import Event

pytestmark = pytest.mark.compilers

PORTS = {"newreno.c": NewReno(), "cubic.c": CUBIC(), "bbr.c": BBR()}
STARTS_RECOVERY, IN_RECOVERY, MARK_EVENT, REPAIRING = 1, 2, 32, 64
SEED = 88172645463325252
NAMES = list(NATIVE_RULE.names or ())
EVENT = np.dtype([(name, NATIVE_RULE[name]) for name in NAMES[NAMES.index("now") : NAMES.index("state")]])
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Step(NamedTuple):
    """What happens: time since the last event in s, and numbers of packets.

    ``kind`` is "send", "ack", "timeout" or "mark". An ACK loses ``lost`` packets and acknowledges the next ``acked``.
    """

    kind: str
    wait: float
    acked: int
    lost: int


KINDS = [*["send"] * 6, *["ack"] * 12, "timeout", "mark"]
STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(KINDS),
        st.floats(1e-4, 1.0) | st.floats(1e-4, 0.02),
        st.integers(1, 40),
        st.sampled_from([0, 0, 0, 0, 0, 1, 2, 9]),
    ),
    min_size=20,
    max_size=100,
)


class Native:
    """A connection of a library, whose functions are called one by one."""

    def __init__(self, library: Any) -> None:
        config = Config(0, 1500, 1e6, 10.0, 0.0, 0.0)
        self.library = library
        self.state, self.control = library.begin(config, SEED)
        self.event = np.zeros(1, EVENT)
        self.calls = {name: CALLBACK(address) for name, address in library.functions.items() if address}

    def call(self, function: str, **fields: Any) -> None:
        """Call a function with an event; arrays of packets are passed by their addresses."""
        self.event[:] = 0
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                self.event[name] = value.ctypes.data
                if name != "packet":
                    self.event[f"{name}_count"] = len(value)
            else:
                self.event[name] = value
        if function in self.calls:
            self.calls[function](self.state, self.event.ctypes.data, ctypes.addressof(self.control))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.library.destroy(self.state)


def uniform(state: int) -> tuple[int, float]:
    """Return the next state of a flow's generator and its number."""
    mask = 2**64 - 1
    state ^= (state << 13) & mask
    state ^= state >> 7
    state ^= (state << 17) & mask
    return state, (state >> 11) / 2.0**53


class Sent(NamedTuple):
    """A transmission, with the counts of the connection when it was sent (draft-ietf-ccwg-bbr, Sect. 4.5.2.2)."""

    row: Any
    first_sent: float
    delivered_at: float
    delivered: float
    lost: float
    in_flight: float


class Connection:
    """A sender without a network: it draws what is acknowledged and lost, and calls both forms of a rule."""

    def __init__(self, rule: Any, native: Native) -> None:
        self.rule, self.native = rule, native
        self.state = rule.State()._replace(cwnd=10.0)
        self.now, self.rtt, self.number = 0.0, 0.1, 0
        self.sent: list[Sent] = []
        self.delivered = self.lost = self.delivered_at = self.first_sent = 0.0
        self.repaired_at = -1  # up to this transmission the data of the last event are not acknowledged
        self.random = SEED
        self.grown = self.reduced = 0

    @property
    def follows_deliveries(self) -> bool:
        return hasattr(self.rule, "on_delivery")

    def answer(self, function: str, event: Any) -> None:
        self.state = getattr(self.rule, function)(self.state, self.rule.params, event)

    def call(self, function: str, **fields: Any) -> None:
        """Call the library, whose times and round-trip times are those of the connection."""
        times = {"now": self.now, "now_ns": round(1e9 * self.now), "latest_rtt": self.rtt}
        self.native.call(function, **times, in_flight=len(self.sent), **fields)

    def send(self) -> None:
        if not self.sent:
            self.first_sent = self.delivered_at = self.now
        row = np.zeros(1, SENT_PACKET)
        row[["number", "data", "bytes", "sent"]] = (self.number, self.number, 1500, self.now)
        counts = (self.first_sent, self.delivered_at, self.delivered, self.lost, float(len(self.sent) + 1))
        before = len(self.sent)
        self.sent.append(Sent(row, *counts))
        self.number += 1
        self.call("on_sent", in_flight_before=before, packet=row)

    def take(self, count: int) -> list[Sent]:
        """Take the earliest packets from those in flight."""
        taken, self.sent = self.sent[:count], self.sent[count:]
        return taken

    def ack(self, step: Step) -> None:
        """Acknowledge packets behind lost ones."""
        before = len(self.sent)
        lost = self.take(min(step.lost, max(before - 1, 0)))
        acked = self.take(step.acked)
        if not acked:
            return
        newest = acked[-1]
        self.rtt = self.now - float(newest.row["sent"][0])
        first = int((lost or acked)[0].row["number"][0])
        starts = bool(lost) and first > self.repaired_at
        if starts:
            self.repaired_at = self.number - 1
        reached = int(newest.row["number"][0])
        repairing = reached <= self.repaired_at
        growth = 0 if repairing else 1 + (len(acked) > 1)
        flags = STARTS_RECOVERY * starts + (IN_RECOVERY + REPAIRING) * repairing
        self.call("on_ack", in_flight_before=before, flags=flags, growth=growth, acked=joined(acked), lost=joined(lost))
        if self.follows_deliveries:
            self.answer("on_delivery", self.sample(newest, acked, lost, repairing))
            return
        if starts:
            self.answer("on_loss", Event(self.now, self.rtt))
        for _ in range(growth):
            self.answer("on_ack", Event(self.now, self.rtt))

    def sample(self, newest: Sent, acked: list[Sent], lost: list[Sent], repairing: bool) -> Delivery:
        """Return the sample of an ACK (Sect. 4.5.2.3), and count what it reports."""
        lost_with = lost_in_flight = 0.0
        for packet in lost:
            self.lost += 1.0
            lost_in_flight, lost_with = packet.in_flight, self.lost - packet.lost
        self.delivered += len(acked)
        sent = float(newest.row["sent"][0])
        interval = max(sent - newest.first_sent, self.now - newest.delivered_at)
        self.first_sent, self.delivered_at = sent, self.now
        self.random, random = uniform(self.random)
        return Delivery(
            self.now, self.rtt, float(len(acked)), float(len(lost)), 0.0, self.delivered, newest.delivered, interval,
            float(len(self.sent)), newest.in_flight, self.lost - newest.lost, lost_in_flight, lost_with,
            float(repairing), random,
        )  # fmt: skip

    def expire(self) -> None:
        """Lose all packets in flight."""
        lost = self.take(len(self.sent))
        self.repaired_at = self.number - 1
        self.lost += len(lost)
        self.call("on_timeout", in_flight_before=len(lost), lost=joined(lost))
        self.answer("on_timeout", Event(self.now, self.rtt))

    def mark(self) -> None:
        """Receive a congestion mark, which counts as a loss without a lost packet."""
        if self.follows_deliveries:  # its packets are not ECN-capable
            return
        self.repaired_at = self.number - 1
        self.call("on_ack", flags=MARK_EVENT + REPAIRING, marked=1)
        self.answer("on_loss", Event(self.now, self.rtt, 1.0))

    def run(self, steps: list[Step]) -> None:
        """Do the steps, and compare what both forms decide after each."""
        for step in steps:
            window = self.state.cwnd
            self.now += step.wait
            if step.kind == "send":
                for _ in range(step.acked):
                    self.send()
                    self.now += 1e-4
            elif step.kind == "ack":
                self.ack(step)
            elif step.kind == "timeout":
                self.expire()
            else:
                self.mark()
            assert decided(self.native.control) == expected(self.state), (step, self.state)
            self.grown += self.state.cwnd > window
            self.reduced += self.state.cwnd < window


def joined(packets: list[Sent]) -> Any:
    """Return packets as an array of the header's records."""
    return np.concatenate([packet.row for packet in packets]) if packets else np.zeros(0, SENT_PACKET)


def decided(control: Control) -> tuple[float, float, float]:
    """Return window, threshold and pacing rate of the library."""
    return control.window, control.ssthresh, control.pacing_rate


def expected(state: Any) -> tuple[float, float, float]:
    """Return those of a rule in Python."""
    return float(state.cwnd), float(state.ssthresh), float(getattr(state, "pacing_rate", 0.0))


def compare(source: str, library: Any, examples: int) -> tuple[int, int]:
    """Compare drawn sequences; return how many steps have reduced and increased the window."""
    reduced = grown = 0

    @settings(max_examples=examples)  # derandomized
    @given(STEPS)
    def run(steps: list[Step]) -> None:
        nonlocal reduced, grown
        with Native(library) as connection:
            both = Connection(PORTS[source], connection)
            both.run(steps)
            reduced += both.reduced
            grown += both.grown

    run()
    return reduced, grown


@pytest.mark.parametrize("source", PORTS)
def test_a_port_answers_sequences_of_events_as_its_rule(source, native) -> None:
    assert min(compare(source, native(source).loaded, 20)) > 20


@pytest.mark.slow
@pytest.mark.parametrize("source", PORTS)
def test_a_port_answers_five_hundred_sequences_of_events_as_its_rule(source, native) -> None:
    assert min(compare(source, native(source).loaded, 500)) > 500
