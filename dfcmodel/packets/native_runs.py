"""Native rules of a run: their states, the checks of what they decide, what they report, and records of their calls."""

from __future__ import annotations

import ctypes
import itertools
import struct
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.native_rules import ABI, Config, Control, Library
from dfcmodel.packets.kernel.layout import NATIVE, NATIVE_RULE, SENT_PACKET
from dfcmodel.packets.kernel.tcp.native_decisions import FAULTS, RING, find_fault
from dfcmodel.packets.kernel.tcp.native_rules import FUNCTIONS
from hopflow.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["ALLOWED", "CALLBACK", "MAGIC", "NativeFlows", "begin_connection", "begin_native", "refusal"]

MAGIC = b"hopflow-cc 1\n"
"""First line of a record of calls."""
CONTROL, EVENT = (NATIVE_RULE.fields[name][1] for name in ("window", "now"))  # type: ignore[index]
EVENT_SIZE = NATIVE_RULE.fields["state"][1] - EVENT  # type: ignore[index]
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
ALLOWED = {
    "window": "at least one packet, or above 0 with a pacing rate, and at most 1e15 packets",
    "ssthresh": "at least 0",
    "pacing_rate": "a finite number, at least 0",
    "departure": "a finite time, at least 0",
    "timer": "a later time than that of the call, or 0, and needs on_timer",
    "send_quantum": "a finite number, at least 0",
}
"""Allowed values of what a rule decides."""


def refusal(where: str, function: str, what: str, library: Library, row: Any) -> str:
    """Return the error message on an invalid decision ``what`` of a rule's ``function``, with the event before it.

    Parameters
    ----------
    where, function
        The rule and the time; the function that decided.
    what
        One of `ALLOWED`.
    library, row
        The library, and the row of `NATIVE_RULE` after the decision.
    """
    value, allowed = row[what], ALLOWED[what]
    if what in ("departure", "timer") and library.counts_nanoseconds:
        what, value = f"{what}_ns", row[f"{what}_ns"]
    unit = ""
    if what in ("window", "ssthresh", "send_quantum"):
        unit = " bytes" if library.counts_bytes else " packets"
    event = (
        f"{row['acked_count']} packets acknowledged, {row['lost_count']} lost, {row['in_flight']} in flight, "
        f"latest RTT {row['latest_rtt']:g} s, flags {row['flags']}"
    )
    return f"{where}: {function} answers {what} = {value:g}{unit}: must be {allowed}. The event: {event}"


@dataclass
class NativeFlows:
    """The flows of a run with native rules.

    Attributes
    ----------
    plan
        Of the run.
    rows
        Rows of `NATIVE_RULE`.
    flows
        The flow of each row.
    labels, numbers
        By flow: the name of the state and the observed numbers at the end of each sample.
    """

    plan: PacketPlan
    rows: Any
    flows: list[int]
    labels: dict[int, list[str]] = field(default_factory=dict)
    numbers: dict[int, list[list[float]]] = field(default_factory=dict)
    _references: list[Any] = field(default_factory=list)  # what machine code refers to

    @property
    def observes(self) -> bool:
        """Whether any rule reports numbers."""
        return any(self._library(f).functions["observe"] for f in self.flows)

    def _library(self, f: int) -> Library:
        """Return the loaded library of flow f's rule."""
        rule: Any = self.plan.scenario.flows[f].source
        loaded: Library = rule.loaded
        return loaded

    def begin(self, flow: Any, rule: Any) -> None:
        """Begin the connections, and set their first windows and rates in the rows of flows and of their rules."""
        for n, f in enumerate(self.flows):
            self._begin_flow(self.rows[n : n + 1], f, flow[f : f + 1], rule[flow["rule"][f]])

    def _begin_flow(self, row: Any, f: int, flow: Any, of_rule: Any) -> None:
        """Begin flow f's connection; set its rows, also of its rule and `NATIVE_RULE`; RuleError if it has no state."""
        plan, spec, library = self.plan, self.plan.scenario.flows[f], self._library(f)
        requested = [0.0 if value is None else float(value) for value in (spec.initial_window, spec.ssthresh)]
        delay = plan.method.ack_delay if plan.delays_acks[f] else 0.0
        config = Config(f, round(plan.sizes[0]), float(spec.max_window), *requested, float(delay))
        seed = int(plan.seeds[len(plan.ports) + f])
        rule: Any = spec.source
        name = f"{plan.scenario.name}-{spec.name}"
        state, control, record = begin_connection(library, config, seed, rule.record, name)
        if not state:
            raise RuleError(f"{self._where(f)}: init returns null: it has no state for this connection")
        weakref.finalize(self, library.destroy, state)
        row["state"] = state
        first = np.frombuffer(bytes(control), np.uint8)
        row.view(np.uint8)[CONTROL : CONTROL + len(first)] = first
        self._apply_first(row, f, flow, of_rule)
        if record is not None:
            weakref.finalize(self, record.file.close)
            for name in FUNCTIONS:
                if row[name][0]:
                    callback = CALLBACK(record.wrap(FUNCTIONS.index(name), int(row[name][0])))
                    self._references.append(callback)
                    row[name] = ctypes.cast(callback, ctypes.c_void_p).value

    def _apply_first(self, row: Any, f: int, flow: Any, of_rule: Any) -> None:
        """Check flow f's first window, ssthresh and rate, and write them to its rows; RuleError if one is invalid."""
        unit = row["unit"][0]
        window, ssthresh, rate = (float(row[name][0]) / unit for name in ("window", "ssthresh", "pacing_rate"))
        wrong = FAULTS[find_fault(rate, window, ssthresh)]
        spec = self.plan.scenario.flows[f]
        for name, answer in (("initial_window", window), ("ssthresh", ssthresh)):
            value = getattr(spec, name)
            if value is not None and not wrong and answer != float(value):
                msg = f"the flow has {name} = {value:g}, and init answers {answer:g} packets; see hopflow_cc_config"
                raise RuleError(f"{self._where(f)}: {msg}")
        if wrong:
            raise RuleError(f"{self._where(f)}: init answers {wrong} = {row[wrong][0]:g}: must be {ALLOWED[wrong]}")
        flow["cwnd"] = row["last_window"] = window
        flow["ssthresh"] = row["last_ssthresh"] = ssthresh
        flow["paced"] = rate > 0.0
        of_rule["rule_state"][0] = rate if rate > 0.0 else np.inf

    def set_addresses(self, slot: Any) -> None:
        """Write the addresses of the reported packets, rows of ``slot``, to the rows of the native rules."""
        first, size = slot.ctypes.data, SENT_PACKET.itemsize
        self.rows["slots"] = first
        for name in ("acked", "lost"):
            self.rows[name] = first + size * self.rows[f"{name}_at"]

    def check(self) -> None:
        """Raise RuleError for the first invalid decision of a rule, with the event before it."""
        failed = np.flatnonzero(self.rows["failed"])
        if not len(failed):
            return
        n = int(failed[np.argmin(self.rows["failed_at"][failed])])
        row, f = self.rows[n], self.flows[n]
        what, function = FAULTS[row["failed"]], FUNCTIONS[row["failed_in"]]
        where = f"{self._where(f)}, t = {row['failed_at']:g} s"
        if row["failed"] == RING:
            raise RuleError(f"{where}: more transmissions are in flight than the simulation keeps; reduce max_window")
        raise RuleError(refusal(where, function, what, self._library(f), row))

    def _where(self, f: int) -> str:
        """Return the rule, flow f's name and the scenario's, for messages."""
        flow = self.plan.scenario.flows[f]
        return f"{flow.source!r} of flow {flow.name!r} in {self.plan.scenario.name}"

    def observe(self) -> None:
        """Append each rule's present label and numbers, as it reports them, to ``labels`` and ``numbers``."""
        for n, f in enumerate(self.flows):
            library = self._library(f)
            if library.functions["observe"]:
                label, numbers = library.observe(int(self.rows["state"][n]))
                self.labels.setdefault(f, []).append(label)
                self.numbers.setdefault(f, []).append(numbers)

    def observed(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the reports of rules, {flow: {"state" or name of a number: values}}, a value per call of `observe`."""
        result = {}
        for f, numbers in self.numbers.items():
            table = np.array(numbers).reshape(len(numbers), -1)
            columns = {name: table[:, n] for n, name in enumerate(self._library(f).observed)}
            result[self.plan.scenario.flows[f].name] = {"state": np.array(self.labels[f]), **columns}
        return result


def begin_native(plan: PacketPlan, arrays: dict[str, Any]) -> NativeFlows:
    """Return the flows with native rules, at least one, as their connections begin; sets rows of ``arrays``."""
    flow = arrays["flow"]
    flows = np.flatnonzero(flow["listed"] == NATIVE)
    result = NativeFlows(plan, arrays["native"], flows[np.argsort(flow["native"][flows])].tolist())
    result.set_addresses(arrays["slot"])
    result.begin(flow, arrays["rule"])
    return result


_counter = itertools.count(1)


def begin_connection(
    library: Library, config: Config, seed: int, folder: str | None, name: str
) -> tuple[int, Control, Recorder | None]:
    """Begin a library's connection; return (state, 0 for null; first decision; record in ``folder``, or None)."""
    if folder is None:
        return *library.begin(config, seed), None
    record = Recorder(folder, name)
    return *record.begin(library, config, seed), record


class Recorder:
    """Writer of a binary file with the calls of a native rule by one connection; it opens the file.

    After `MAGIC` a file has the structures of the header, as they are in memory: ``hopflow_cc_config``, the seed, and
    the first ``hopflow_cc_control``. Of each call follow the index of its function in `FUNCTIONS` as uint64, the event,
    the acknowledged and the lost packets, at `on_sent` the packet before the call, and what was decided before and
    after. Pointers in it have no meaning. What a function is called with is written before the call, without a buffer:
    a record ends within the call that ended the process.
    """

    def __init__(self, folder: str, name: str) -> None:
        top = Path(folder)
        top.mkdir(parents=True, exist_ok=True)
        safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        while True:
            path = top / f"{safe}-{next(_counter)}.hcc"
            try:
                self.file: Any = path.open("xb", buffering=0)
                break
            except FileExistsError:
                continue

    def begin(self, library: Library, config: Config, seed: int) -> tuple[int, Control]:
        """Begin a connection (`Library.begin`), and record it; return its state and its first decision."""
        self.file.write(MAGIC + struct.pack("=Q", ABI) + bytes(config) + struct.pack("=Q", seed))
        state, control = library.begin(config, seed)
        self.file.write(bytes(control))
        return state, control

    def wrap(self, function: int, address: int) -> Callable[[int, int, int], None]:
        """Return a function that calls ``address`` and records the call as number ``function`` of `FUNCTIONS`."""
        call, size = CALLBACK(address), ctypes.sizeof(Control)
        fields = {name: NATIVE_RULE.fields[name][1] - EVENT for name in ("acked_count", "packet")}  # type: ignore[index]

        def record(state: int, event: int, control: int) -> None:
            content = ctypes.string_at(event, EVENT_SIZE)
            acked, lost, *arrays = struct.unpack_from("=4Q", content, fields["acked_count"])
            (packet,) = struct.unpack_from("=Q", content, fields["packet"])
            parts = [struct.pack("=Q", function), content]
            for count, array in zip((acked, lost), arrays, strict=True):
                parts.append(ctypes.string_at(array, count * SENT_PACKET.itemsize))
            if packet:
                parts.append(ctypes.string_at(packet, SENT_PACKET.itemsize))
            parts.append(ctypes.string_at(control, size))
            self.file.write(b"".join(parts))
            call(state, event, control)
            self.file.write(ctypes.string_at(control, size))

        return record
