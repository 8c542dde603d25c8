"""The compiled engine: arrays of a plan, the loop, its records, and the final tables that follow from them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dfcmodel.network.callback_events import (
    ELEMENT_EVENTS,
    LAW_EVENTS,
    PROGRAM_EVENTS,
    agent_events_of,
    law_events_of,
    manager_events_of,
    program_events_of,
)
from dfcmodel.network.endpoints.arrivals import Arrival, ArrivalProcess
from dfcmodel.network.endpoints.receivers import ANSWER, ReceiverAgent, check_answer
from dfcmodel.network.flows import rules_of
from dfcmodel.network.links import constant
from dfcmodel.network.notifications import notifications_of
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import ALL, PFC, ByClass
from dfcmodel.network.queueing.disciplines import Pause
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.network.run_tables import DROPPED, EXCESS, LAST_PART, WAITING, drop_rows, excess_rows
from dfcmodel.packets.kernel import layout as kernel
from dfcmodel.packets.kernel.calendar_queue import CROWDED, DETECTED, FAULT, SWITCHED, TRACED, WRONG
from dfcmodel.packets.kernel.codes import CUT, WAKE
from dfcmodel.packets.kernel.layout import NATIVE, ON_ACK, ON_DELIVERY, ON_LOSS, ON_MARK, ON_TIMEOUT, RATED
from dfcmodel.packets.kernel.links.laws import FIELDS as LAW_FIELDS
from dfcmodel.packets.kernel.links.path_elements import FIELDS as ELEMENT_FIELDS
from dfcmodel.packets.kernel.links.ports import INTERFACE
from dfcmodel.packets.kernel.queues.programs import FIELDS
from dfcmodel.packets.kernel.tcp.arrivals import CALLED
from dfcmodel.packets.kernel.tcp.recovery import FAILED_AT
from dfcmodel.packets.layouts.agents import agent_signatures
from dfcmodel.packets.layouts.arrays import lay_out, trace_ports
from dfcmodel.packets.layouts.laws import law_signatures
from dfcmodel.packets.layouts.managers import signatures_of_managers
from dfcmodel.packets.layouts.memory import CONSTANT, Layout, grow
from dfcmodel.packets.layouts.programs import program_signatures
from dfcmodel.packets.layouts.senders import redraw_periods
from dfcmodel.packets.methods import recovery_named
from dfcmodel.packets.native_runs import NativeFlows, begin_native
from dfcmodel.packets.plan import ENDLESS
from dfcmodel.packets.recoveries.base import check_sender
from dfcmodel.packets.recoveries.compilation import recovery_events, sender_of
from dfcmodel.packets.refusals import (
    MAX_WINDOW,
    check_arrival,
    check_numbers,
    check_rate,
    check_window,
    refuse_element,
    refuse_law,
    refuse_program,
)
from dfcmodel.results.records import FLOW_COUNTS
from hopflow.fork_safety import cached_property
from hopflow.kernels import engine
from hopflow.progress import may_show_bar, parts, progress_bar
from responsefn import Delivery, DeliveryRule, Elapsed, Feedback, RateRule
from responsefn.rule_events import (
    RuleSignature,
    event_of,
    event_of_samples,
    events_of,
    parameters_at,
    refuse_fault,
    signatures_of,
)
from responsefn.rules.base import WindowRule
from responsefn.rules.deliveries.delivery_rule import answers_marks
from responsefn.rules.rates.rate_rule import sees_telemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = [
    "PacketRun",
    "Records",
    "begin_run",
    "dropped_packets",
    "exceeded_rooms",
    "has_pauses",
    "run_engine",
    "sender_events",
    "trace_engine",
    "waiting_rows",
    "watch_engine",
    "with_room",
]
T = TypeVar("T")

KERNEL = "dfcmodel.packets.kernel"
PARTS_WITHOUT_PROGRESS = 3
"""Parts of a run that are over before a bar would be shown."""

GROUPS = tuple(itemgetter(*group._fields) for group in (kernel.Network, kernel.Senders, kernel.Records))
"""Functions that return the fields of each group of arrays from a dictionary of all."""


SWITCHES = 2**15
"""Pauses and resumes for which there is room: half of them in one window. Memory is that of the rows in use."""
NO_LINK = np.iinfo(np.int64).min
"""In place of a link: a mirror of one, for ACKs."""


def sender_events(signatures: tuple[RuleSignature, ...]) -> Any:
    """Return addresses of rules' events, (rules, 5), a row per signature, at least one; 0: the rule lacks the event.

    The columns are an ACK, a loss, a timeout, a mark, deliveries. A mark is `on_mark` of rules that have one, of
    others `on_loss`; a loss is `on_drop` of rules whose signal is a mark. Of a rate rule the first is
    `on_feedback`, the third `on_time`, the last `on_telemetry`; of an arrival process the first is `next`.
    """
    table = np.zeros((max(1, len(signatures)), 5), dtype=np.uint64)
    for row, signature in zip(table, signatures, strict=False):
        rule, fields = signature[0], Feedback._fields
        if issubclass(rule, RateRule):
            row[ON_ACK] = event_of(signature, rule.on_feedback, fields, True)
            row[ON_TIMEOUT] = event_of(signature, rule.on_time, Elapsed._fields, True)
            if sees_telemetry(rule):
                row[ON_DELIVERY] = event_of_samples(signature, "on_telemetry", rule.telemetry_event()._fields)
            continue
        if issubclass(rule, ArrivalProcess):
            row[ON_ACK] = event_of(signature, rule.next, Arrival._fields, True)
            continue
        row[:ON_MARK] = events_of((signature,), several=False)[0]
        row[ON_MARK] = row[ON_LOSS]
        if issubclass(rule, DeliveryRule):
            row[ON_DELIVERY] = event_of_samples(signature, "on_delivery", Delivery._fields)
        if rule.signal == "mark":
            row[ON_LOSS] = event_of(signature, rule.on_drop, fields, True)
        if answers_marks(rule):
            row[ON_MARK] = event_of(signature, rule.on_mark, fields, True)
    return table


@dataclass
class PacketRun:
    """A run of the packet engine, which stops at the end of any sample and can be copied and continued.

    Attributes
    ----------
    plan, layout, records
        The plan, the state of the run, and its records.
    addresses
        Addresses of compiled events by their names in the kernel: of rules, of loss recoveries, and, where there are
        any, of managers, switch programs, receiver agents and laws between the ends of links.
    done
        Samples that have been completed.
    keeps
        Whether pauses are stored in the records; False for a copy by `fork`.
    traces
        Tables of `dfcmodel.packets.kernel.layout.TRACE`, of the ports that are traced.
    bar
        Progress bar over samples; None: no bar.
    native
        Flows with native rules; None without any.
    """

    plan: PacketPlan
    layout: Layout
    records: Records
    addresses: dict[str, Any]
    done: int = 0
    keeps: bool = True
    traces: list[NDArray[Any]] = field(default_factory=list)
    bar: Any = None
    native: NativeFlows | None = None
    _bound: tuple[tuple[tuple[Any, ...], ...], Any] | None = field(default=None, init=False, repr=False)

    def advance(self, until: int) -> bool:
        """Advance to the end of sample ``until``; False: needs larger arrays; raises for invalid values or no memory.

        Raises
        ------
        MemoryError
            When there are more packets in the network than links and windows can hold.
        """
        plan, arrays, records = self.plan, self.layout.arrays, self.records
        counters, run = arrays["counters"], None
        observed = self.native if self.native is not None and self.native.observes else None
        for last in parts(self, until, 1 if observed is not None else plan.samples_of_part):
            if run is None:
                groups = self.groups()
                if self._bound is None or not all(map(_same_items, groups, self._bound[0])):  # arrays were replaced
                    self._bound = groups, engine(KERNEL).bind(*groups, self.layout.ahead, self.done, last)
                run = self._bound[1]
            before, self.done = self.done, run(self.done, last)
            if self.native is not None:
                self.native.check()
            if observed is not None and self.done > before:
                observed.observe()
            self._check_rules()
            if counters[WRONG]:
                self._refuse_sender(int(counters[WRONG]) - 1)
            self._check_callbacks()
            if counters[FAULT]:
                if counters[CROWDED] or len(arrays["packet"]) < self.layout.max_elements:
                    return False
                where = f"{plan.scenario.name}, t = {self.done * plan.sample:g} s"
                msg = "more packets in the network than links and windows can hold"
                raise MemoryError(f"{where}: {msg}")
            if self._sets_rates:
                self._check_rates()
            if self._asks_arrivals:
                self._check_arrivals()
            if self.keeps and records.take_switches(int(counters[SWITCHED])):
                run = None
            counters[SWITCHED] = 0
            if counters[TRACED]:
                self.traces.append(arrays["trace"][: counters[TRACED]].copy())
                counters[TRACED] = 0
            if counters[CROWDED]:
                grow(arrays, self.layout.max_elements)
                run = None
        return True

    @cached_property
    def _asks_arrivals(self) -> bool:
        """Whether any source is an arrival process that the kernel calls."""
        return bool((self.layout.arrays["flow"]["onoff"][self.plan.active] == CALLED).any())

    @cached_property
    def _sets_rates(self) -> bool:
        """Whether any rule sets a rate, of its flow or of the packets of its window."""
        flow = self.layout.arrays["flow"]
        return bool(self.plan.is_paced.any() or (flow["recovery"] == RATED).any())

    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """Return the fields of the kernel's three groups of arrays, as three tuples."""
        arrays = {**self.layout.arrays, **self.addresses, **self.records.rows()}
        return tuple(fields(arrays) for fields in GROUPS)

    def _refuse_sender(self, f: int) -> None:
        """Raise ValueError for the value that the recovery of flow f, or its receiver agent, returned."""
        arrays, plan = self.layout.arrays, self.plan
        numbers = arrays["exchange"]
        name = plan.scenario.flows[f].name
        if plan.scenario.flows[f].receiver is not None:
            *answer, now, event = numbers[: len(ANSWER) + 2].tolist()
            kind = ("on_packet", "on_timer")[int(event)]
            where = f"{plan.scenario.name}, {kind} of the receiver of flow {name!r}"
            check_answer(ReceiverAgent.State(*answer), now, where, kind == "on_timer")
        where = f"{plan.scenario.name}, t = {numbers[FAILED_AT]:g} s, flow {name!r}"
        recovery = plan.recoveries[f]
        check_sender(recovery, sender_of(recovery_named(recovery), numbers), where)
        raise AssertionError(f"{where}: {numbers}")  # the kernel and Python decide alike

    def _check_callbacks(self) -> None:
        """Raise ArithmeticError for the first invalid value of a switch program, a link law or a path element."""
        arrays = self.layout.arrays
        for name in ("program", "law", "element"):
            failed = np.flatnonzero(arrays[name]["failed"])
            if not failed.size:
                continue
            n = int(failed[arrays[name]["failed_at"][failed].argmin()])
            it = arrays[name][n]
            field, value, now = int(it["failed"]), float(it["failed_value"]), float(it["failed_at"])
            if name == "program":
                returned = PROGRAM_EVENTS[it["failed_in"]], FIELDS[field], value
                refuse_program(self.plan, n, int(it["failed_flow"]), now, returned)
            elif name == "law":
                returned = LAW_EVENTS[it["failed_in"]], LAW_FIELDS[field], value
                refuse_law(self.plan, int(arrays["feeder"]["port"][n]), int(it["asks"]), now, returned)
            else:
                refuse_element(self.plan, n, now, (ELEMENT_EVENTS[it["failed_in"]], ELEMENT_FIELDS[field], value))

    def _check_rules(self) -> None:
        """Raise RuleError for the first window rule that has returned an invalid window."""
        rule, scenario = self.layout.arrays["rule"], self.plan.scenario
        numbers = rule.view(np.float64).reshape(len(rule), -1)
        if not np.isnan(numbers[:, self._fault_columns]).any():
            return
        for f, row in enumerate(self.layout.arrays["flow"]["rule"].tolist()):
            source = scenario.flows[f].source
            if row >= 0 and isinstance(source, WindowRule):
                refuse_fault(source, numbers[row], f"{scenario.name}, flow {scenario.flows[f].name!r}")

    @cached_property
    def _fault_columns(self) -> list[int]:
        """Indices, each once, of the first parameter in records of the classes of window rules; NaN after a fault."""
        sources = dict.fromkeys(map(type, self.plan.scenario.table.columns["source"].values))
        return sorted({parameters_at(kind) for kind in sources if issubclass(kind, WindowRule)})

    def _check_rates(self) -> None:
        """Raise ArithmeticError for a rule that has set a rate or a window to NaN."""
        flow, rule, now = self.layout.arrays["flow"], self.layout.arrays["rule"], self.done * self.plan.sample
        if not any(np.isnan(numbers).any() for numbers in (flow["cwnd"], flow["ssthresh"], rule["rule_state"])):
            return
        sets_pace = (flow["paced"] == 1) & (flow["pace_start"] == 0.0)
        rates = np.where(flow["recovery"] == RATED, flow["cwnd"], 0.0)
        rates = np.where(sets_pace, rule["rule_state"][flow["rule"], 0], rates)
        windows = np.where(flow["bound"] == 1, flow["ssthresh"], np.inf)
        inner = flow["bound"] > 1
        if inner.any():
            windows[inner] = rule["rule_state"][flow["rule"][inner], flow["bound"][inner] - 2]
        for f in np.flatnonzero(np.isnan(rates) | np.isnan(windows)).tolist():
            check_rate(self.plan.scenario, f, float(rates[f]), now, float(windows[f]))

    def _check_arrivals(self) -> None:
        """Raise ArithmeticError for an arrival process that has returned an invalid time or number."""
        flow, rule = self.layout.arrays["flow"], self.layout.arrays["rule"]
        rows = np.flatnonzero((flow["onoff"] == CALLED) & (flow["since"] > 0) & (flow["due"] == np.inf))
        for f in rows.tolist():
            it, process = flow[f], rule[flow[f]["source"]]
            arrival = process["cwnd"], process["ssthresh"]
            check_arrival(self.plan.scenario, f, arrival, it["clocked"], it["since"] == 1)

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays of the run by their names in the kernel."""
        return self.layout.arrays

    def finish(self) -> Records:
        """Return the records of the run, which must be at its end, after validation.

        Raises
        ------
        OverflowError
            Where sequence numbers are used up.
        ArithmeticError
            Where a window is not a number.
        """
        plan, flow, begun = self.plan, self.layout.arrays["flow"], self.plan.active
        used_up = np.zeros(len(flow), dtype=np.bool_)
        used_up[begun] = np.maximum(flow["snd_nxt"][begun], flow["sent"][begun]) >= ENDLESS
        check_numbers(plan.scenario, used_up & (plan.all_packets > ENDLESS), plan.end)
        window = self.records.window
        if not (window <= MAX_WINDOW).all():
            row, f = np.argwhere(~(window <= MAX_WINDOW))[0].tolist()
            check_window(plan.scenario, f, float(window[row, f]), (row + 1) * plan.sample)
        self.records.take_in(self.layout.arrays)
        if self.native is not None:
            self.records.observed = self.native.observed()
        return self.records

    def fork(self, rng: np.random.Generator) -> PacketRun:
        """Return a copy of the run that continues with other random numbers; ValueError with native rules.

        The rest of exponential periods is drawn again. The copy overwrites the records, which are
        meaningless afterwards, unlike its state.
        """
        if self.native is not None:
            msg = "a native rule keeps its state in a library, which cannot copy it; use a rule in Python"
            raise ValueError(f"{self.plan.scenario.name}: {msg}")
        arrays = {name: array if name in CONSTANT else array.copy() for name, array in self.layout.arrays.items()}
        arrays["stream"][:] = rng.integers(1, 2**63, size=len(arrays["stream"]))
        redraw_periods(arrays, self.done * self.plan.sample, rng)
        layout = dataclasses.replace(self.layout, arrays=arrays)
        return dataclasses.replace(self, layout=layout, keeps=False, bar=None)


def begin_run(plan: PacketPlan, spare: int = 1) -> PacketRun:
    """Return the run of a plan at t = 0; arrays that can grow begin ``spare`` times as large as usual."""
    table = plan.scenario.table
    signatures = signatures_of(rules_of(table))
    addresses = {
        "events": sender_events(signatures),
        "recoveries": recovery_events(plan.recovery_kinds),
    }
    if plan.has_managers and (managers := signatures_of_managers(plan)):
        addresses["managers"] = manager_events_of(managers)
    if plan.has_discipline(SwitchProgram):
        addresses["programs"] = program_events_of(program_signatures(plan))
    if table.given("receiver").any():
        addresses["agents"] = agent_events_of(agent_signatures(plan))
    if plan.has_discipline(LinkLaw):
        addresses["laws"] = law_events_of(law_signatures(plan))
    layout, records = lay_out(plan, signatures, spare), Records(plan)
    if plan.idle.any():
        records.window[:, plan.idle] = layout.arrays["first_windows"]
    native = begin_native(plan, layout.arrays) if (layout.arrays["flow"]["listed"] == NATIVE).any() else None
    return PacketRun(plan, layout, records, addresses, native=native)


def run_engine(plan: PacketPlan) -> Records:
    """Run a plan from t = 0 to its end and return its records.

    Parameters
    ----------
    plan
        The plan of the run.

    Raises
    ------
    MemoryError
        When there are more packets in the network than links and windows can hold.
    OverflowError
        When a flow sends more packets than there are sequence numbers, 2^31 - 2, or its window at the end of a sample
        is more.
    ArithmeticError
        When a window or a rate is not a number.

    Notes
    -----
    No event is in the past: rules set windows and rates. A packet leaves at the later of the present and of the last
    departure plus 1 / rate, which is not negative.
    """
    return _whole_run(plan, ()).records


def trace_engine(plan: PacketPlan, ports: Sequence[int]) -> tuple[Records, NDArray[Any]]:
    """Run a plan to its end; return its records, and a row per packet that left the queues of these ports."""
    run = _whole_run(plan, ports)
    return run.records, np.concatenate([run.layout.arrays["trace"][:0], *run.traces])


def _same_items(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Return whether two tuples have the same objects, by identity."""
    return all(map(is_, first, second))


def watch_engine(plan: PacketPlan) -> tuple[Records, NDArray[Any]]:
    """Run a plan to its end; return its records, and the storms that its watchdogs declared, rows of `STORM`."""
    run = _whole_run(plan, ())
    arrays = run.layout.arrays
    return run.records, arrays["detected"][: arrays["counters"][DETECTED]]


def with_room(plan: PacketPlan, work: Callable[[PacketRun, int], T | None]) -> T:
    """Return work(run, spare) for the run of a plan, which begins again with larger arrays as long as that is None.

    Parameters
    ----------
    plan
        The plan of the run.
    work
        Called with the run at t = 0 and the factor on the first size of arrays that grow; returns None where
        `PacketRun.advance` returned False.
    """
    spare = 1
    while True:
        run = begin_run(plan, spare)
        if plan.samples > PARTS_WITHOUT_PROGRESS * plan.samples_of_part and may_show_bar():
            run.bar = progress_bar(total=plan.samples, desc=plan.scenario.name, unit="sample")
        result = work(run, spare)
        if run.bar is not None:
            run.bar.close()
        if result is not None:
            return result
        spare *= 4


def _whole_run(plan: PacketPlan, traced: Sequence[int]) -> PacketRun:
    """Return the run of a plan at its end; packets at the ports ``traced`` are recorded."""

    def to_the_end(run: PacketRun, spare: int) -> PacketRun | None:
        if traced:
            trace_ports(run.layout.arrays, traced, spare)
        return run if run.advance(plan.samples) else None

    run = with_room(plan, to_the_end)
    run.finish()
    return run


# Records.


class Records:
    """Recorded arrays of a packet run with F flows, P ports, S samples and H hops.

    Parameters
    ----------
    plan
        The plan of the run.
    is_lossless
        Whether the fabric kernel runs it, which loses nothing and has no windows: an array that it never writes has one
        value.

    Notes
    -----
    The rows of hops of a flow are the hops of its packets, its receiver, the hops of its ACKs, and its sender.

    Attributes
    ----------
    window, round_trip, acked, loss_count
        Values at the ends of the samples, (S, F): congestion window in packets; round-trip time of
        the last ACK in s (nan: none); highest cumulatively acknowledged packet (-1: none); loss events so far.
    delivered
        Packets delivered in order in each sample, (S + 1, F); the last row is beyond the end.
    started
        Packets whose transmission started at each hop in each sample, less those at the hop before, (S + 1, H); of the
        packet kernel, see `starts`.
    counts
        The result of `starts`, (S, H), where a kernel counts it; otherwise None.
    lost
        Packets dropped at each hop in each sample, (S + 1, H).
    causes, first_drops
        Packets dropped at each hop until the end, and the time of the first in s (0 where none was), by cause
        (`Scenario.drop_causes`), (H, CAUSES).
    left
        Packets that wait at each hop in a lane at the end, (H,); of the compiled engine.
    excess
        Of each port, the class and the port over which they came (-1 - flow: from a sender; both ALL: all of a port
        with 802.3x) the most packets without room in one pause; only those above 0.
    remaining
        Packets that wait at the end at ports that are paused or pause others (`dfcmodel.network.run_tables.WAITING`).
    emitted, inside
        Packets that each sender sent, and packets and ACKs in the network at the end, delayed ACKs among them, (F,).
    waiting
        Change of the number of queued packets from one end of a sample to the next, (S + 1, P).
    queued_bytes, peak_bytes
        Change of the bytes that wait at ports whose buffers count bytes, (S + 1, P), and the most of them, (P,); of one
        port where none does.
    at_hosts
        Packets of each flow that wait at an access link that several flows may share, (S, F); one row where there is
        none.
    peak, drops
        Largest number of queued packets; dropped packets and ACKs, (P,).
    waited
        Sum of the queueing delays of the packets at each hop in s, (H,).
    first_loss, finished
        Time of the first loss and of the complete delivery in s; nan: none, (F,).
    timeouts, loss_events
        Number of retransmission timeouts, and of loss events, which are losses, marks or timeouts that a rule answers,
        (F,).
    marks
        Packets that reached the receiver with congestion experienced, (F,).
    notifications
        Congestion notifications of each flow, (F,); None where no rule counts them.
    imbalance
        Packets not accounted for, relative to those emitted, (F,).
    counted
        Counts of the elements of paths (`PathElement.counts`) at the end, element by element.
    all_switches
        Whether `switched` has all pauses.
    observed
        Variables that native rules report at the ends of samples, by name of the flow and the variable, (S,) each.
    """

    timeouts: NDArray[np.int64]
    loss_events: NDArray[np.int64]
    marks: NDArray[np.int64]

    def __init__(self, plan: PacketPlan, is_lossless: bool = False) -> None:
        F, P, S = len(plan.forward), len(plan.ports), plan.samples
        self.plan = plan
        self.observed: dict[str, dict[str, NDArray[Any]]] = {}
        self.scale = 1.0 / plan.sample
        H = len(plan.hops.port) + 2 * F
        all_of: Any = constant if is_lossless else _full
        self.window, self.round_trip = all_of(0.0, (S, F)), all_of(np.nan, (S, F))
        self.acked, self.loss_count = all_of(np.int64(-1), (S, F)), all_of(np.int32(0), (S, F))
        self.delivered = np.zeros((S + 1, F))
        self.lost = all_of(np.int32(0), (S + 1, H))
        causes = len(plan.scenario.drop_causes)
        self.causes = all_of(np.int32(0), (H, causes))
        self.first_drops = all_of(0.0, (H, causes))
        self.left = all_of(np.int32(0), (H,))
        self.counts: NDArray[np.int32] | None = None
        self.started = all_of(np.int32(0), (S + 1, H))
        self.waiting = np.zeros((S + 1, P), dtype=np.int32)
        self.counts_bytes = plan.cells > 0
        shape = (S + 1, P) if self.counts_bytes.any() else (1, 1)
        self.queued_bytes, self.peak_bytes = np.zeros(shape), np.zeros(shape[1])
        first = plan.forward.first
        self.shares_host = plan.at_senders[first] & (first >= len(plan.scenario.links))  # an interface that is no link
        self.at_hosts = np.zeros((S + 1, F) if self.shares_host.any() else (1, 1), dtype=np.int32)
        self.peak, self.drops = np.zeros(P, dtype=np.int64), np.zeros(P, dtype=np.int64)
        self.waited = all_of(0.0, (H,))
        self.first_loss, self.finished = all_of(np.nan, (F,)), all_of(np.nan, (F,))
        for name in FLOW_COUNTS:
            setattr(self, name, all_of(np.int64(0), (F,)))
        self.notifications: NDArray[np.int64] | None = None
        self.switch_tables: list[Any] = []  # rows of pauses, in order of time
        self.all_switches = True
        self.switches = np.empty((SWITCHES if plan.pauses[0].size else 0, 5))
        self.total = np.zeros(F)
        self.excess: dict[tuple[int, int, int], float] = {}
        self.remaining = np.zeros(0, dtype=WAITING)
        self.emitted, self.inside = np.zeros(F), np.zeros(F)
        self.imbalance = np.zeros(F)
        self.counted: list[float] = []

    def rows(self) -> dict[str, Any]:
        """Return the arrays that the engine fills in place, by their names in the kernel."""
        return {
            "window": self.window, "round_trip": self.round_trip, "acked": self.acked,
            "loss_count": self.loss_count,
            "delivered": self.delivered, "started": self.started, "waiting": self.waiting,
            "lost": self.lost, "causes": self.causes, "first_drops": self.first_drops,
            "queued_bytes": self.queued_bytes, "peak_bytes": self.peak_bytes, "at_hosts": self.at_hosts,
            "left": self.left, "switches": self.switches, "scale": self.scale,
            "sample": self.plan.sample,
        }  # fmt: skip

    def take_switches(self, count: int) -> bool:
        """Store ``count`` rows that the engine wrote to ``switches``; return whether ``switches`` is a new array now.

        A part of them is copied, and a large one kept as it is: ``switches`` is another array then, and True is
        returned.
        """
        self.all_switches &= count <= len(self.switches)
        if 4 * count >= len(self.switches) > 0:
            self.switch_tables.append(self.switches[:count])
            self.switches = np.empty_like(self.switches)
            return True
        if count:
            self.switch_tables.append(self.switches[:count].copy())
        return False

    @property
    def switched(self) -> NDArray[np.float64]:
        """Switches of pauses: time, asking port, whether it begins, paused port and class, (N, 5).

        The columns are the time in s, the port that asked for it, 1 for a pause, the port that feeds it and for
        which it is, and the class (ALL: all of them).
        """
        if len(self.switch_tables) == 1:
            return np.asarray(self.switch_tables[0])
        return np.vstack(self.switch_tables) if self.switch_tables else np.empty((0, 5))

    def take_in(self, arrays: dict[str, Any]) -> None:
        """Copy or compute the records that the engine does not write in place; once, at the end of a run."""
        flow, hop, P = arrays["flow"], arrays["hop"], len(self.plan.ports)

        def column(name: str, of_idle: float = 0) -> NDArray[Any]:
            """Return a field of the flows; of flows that have not begun, whose memory is not read, ``of_idle``."""
            if isinstance(self.plan.active, slice):
                return np.array(flow[name])
            values = np.full(len(flow), of_idle, dtype=flow.dtype[name])
            values[self.plan.active] = flow[name][self.plan.active]
            return values

        self.peak = arrays["port"]["peak"][:P].astype(np.int64)
        self.waited = arrays["waited"]
        if self.shares_host.any():
            self.at_hosts[:, ~self.shares_host] = 0  # interfaces that are links: see ``waiting``
        data, inside = _packets_inside(arrays)
        rows = np.flatnonzero(self.lost.any(axis=0))  # the hops at which packets or ACKs were dropped
        flow_rows = self.plan.end_rows
        owner = np.searchsorted(flow_rows.first, rows, side="right") - 1
        is_ack = rows > flow_rows.receiver[owner]
        if self.plan.spraying is not None:
            owner = self.plan.spraying.owner[owner]
        after = self.lost[-1, rows]
        later = np.bincount(owner, after, minlength=len(flow))
        if len(arrays["trimmed"]) > 1:
            later -= _headers_answered(arrays)
        self.lost[-1] = 0  # drops beyond the end of the simulation, which were processed ahead
        dropped = self.lost[:, rows].sum(axis=0)
        self.drops = np.bincount(hop["port"][rows], dropped, minlength=P).astype(np.int64)
        if self.plan.has_discipline(Pause, ByClass, BFC):
            self.excess = _largest_excess(self.plan, arrays)
            self.remaining = _remaining_packets(self.plan, arrays, self.left)
        self.emitted = column("emitted").astype(float)
        self.inside = inside + later
        lost = np.bincount(owner[~is_ack], (dropped + after)[~is_ack], minlength=len(flow))
        # a packet whose ACK is delayed has arrived
        copied = self._copies_by_flow(arrays["passing"]["copied"]) if self.plan.scenario.all_elements else 0
        missing = self.emitted + copied - column("arrived") - data + (column("pending", -1) >= 0) - lost
        self.imbalance = np.abs(missing) / np.maximum(self.emitted, 1)
        done = self.delivered[:-1].sum(axis=0) + np.bincount(owner, dropped, minlength=len(flow))
        one_way = self.plan.backward.counts == 0
        self.inside[one_way] = (self.emitted + copied - done)[one_way]  # arrivals after the end are processed
        for row, element in zip(arrays["element"], self.plan.scenario.all_elements, strict=False):
            self.counted += element.read_counts([row["drop"], row["mark"], *row["state"]])
        table = self.plan.scenario.table
        if table.of_kind(RateRule).any():
            self.notifications = notifications_of(table, arrays["rule"], column("rule"))
        if self.notifications is not None:
            self.notifications[self.plan.idle] = 0
        self.first_loss, self.finished = (
            column("first_loss", math.nan),
            column("finished", math.nan),
        )
        for name in (*FLOW_COUNTS, "total"):
            setattr(self, name, column(name))

    def _copies_by_flow(self, at_hops: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the copies of packets, without ACKs, of each flow that elements of paths made, (F,)."""
        hops = self.plan.hops
        of_data = np.flatnonzero(~hops.is_ack)
        copies = np.bincount(hops.flow[of_data], at_hops[hops.row[of_data]], minlength=len(self.plan.forward))
        return copies.astype(np.int64)

    def starts(self) -> NDArray[np.int32]:
        """Return the number of transmissions that started at each hop in each sample, (S, H)."""
        if self.counts is not None:
            return self.counts
        return np.cumsum(self.started[:-1], axis=1, dtype=np.int32)

    @cached_property
    def carried(self) -> NDArray[np.int64]:
        """Number of transmissions that started at each hop during the run, (H,)."""
        return np.asarray(self.starts().sum(axis=0, dtype=np.int64))

    @cached_property
    def transit(self) -> NDArray[np.float64]:
        """Sum of the propagation delays of transmissions started in each sample, by flow, s, (S + 1, F)."""
        counts, hops = self.starts(), self.plan.hops
        span = np.where(self.plan.ports.link >= 0, self.plan.delays, 0.0)[hops.port]
        span[hops.is_ack] = 0.0
        begins = np.flatnonzero(hops.begins & ~hops.is_ack)
        times = np.add.reduceat(counts[:, self.plan.crosses_port] * span, begins, axis=1)
        transit = np.zeros((self.plan.samples + 1, len(self.plan.forward)))
        transit[:-1, hops.flow[begins]] = times
        return transit


def _full(value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a new, writable array of a shape, filled with one value."""
    return np.full(shape, value) if value else np.zeros(shape, type(value))


def _headers_answered(arrays: dict[str, Any]) -> NDArray[np.int64]:
    """Return the number of trimmed headers of each flow whose answer is under way at the end of the run, (F,)."""
    flow, used = arrays["flow"], arrays["packet"][: arrays["counters"][1]]
    headers = used[(used["number"] >= WAKE) & (used["ecn"] & CUT > 0)]
    headers = headers[headers["hop"] > flow["turn"][headers["flow"]]]
    return np.bincount(headers["flow"], minlength=len(flow))


def _packets_inside(arrays: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the packets in the network at the end of a run by flow, first without ACKs, then with them, (F,) each."""
    turn, used = arrays["flow"]["turn"], arrays["packet"][: arrays["counters"][1]]
    number, flow, hop = used["number"], used["flow"], used["hop"]
    rows = np.flatnonzero(number >= 0)
    events = np.flatnonzero(number == WAKE)  # timers, and ACKs of nothing
    answers = flow[events[hop[events] > turn[flow[events]]]]
    owner = flow[rows]
    data = np.bincount(owner[hop[rows] <= turn[owner]], minlength=len(turn))
    inside = np.bincount(np.append(owner, answers), minlength=len(turn)).astype(np.float64)
    return data, inside


# Final tables: drops, packets that wait at ports with pauses, and rooms that were too small.


def _link_numbers(plan: PacketPlan) -> NDArray[np.int64]:
    """Return, by port, its link; -1 - flow for an access link, NO_LINK for a mirror, (P,)."""
    links = np.where(plan.ports.link >= 0, plan.ports.link, NO_LINK)
    first = plan.forward.first
    hosts = np.flatnonzero(links[first] < 0)
    links[first[hosts]] = -1 - hosts  # of several flows at an interface the last one
    return links


def dropped_packets(plan: PacketPlan, causes: NDArray[np.int32], first_drops: NDArray[np.float64]) -> Any:
    """Return `DROPPED` rows, one per flow, link and cause, from fields of `Records` by hop, (H, CAUSES) each."""
    if not causes.any():
        return np.zeros(0, dtype=DROPPED)
    hops, links = plan.hops, _link_numbers(plan)
    losing = np.flatnonzero(causes[hops.row].any(axis=1))  # few of all hops, whose times of drops are copied
    rows, link = hops.row[losing], links[hops.port[losing]]
    return drop_rows(hops.flow[losing], link, hops.is_ack[losing], causes[rows], first_drops[rows])


def has_pauses(plan: PacketPlan) -> NDArray[np.bool_]:
    """Return flags, (P,), of ports that pause others or can be paused."""
    takes_part = np.zeros(len(plan.ports), dtype=np.bool_)
    takes_part[plan.pauses[1]] = True
    takes_part[plan.ports_under(Pause, ByClass, BFC)] = True
    return takes_part


def waiting_rows(plan: PacketPlan, waiting: Mapping[tuple[int, int, bool, bool], int]) -> Any:
    """Return rows of `WAITING`; ``waiting`` maps (flow, index in its route, is ACK, has not moved) to packets."""
    if not waiting:
        return np.zeros(0, dtype=WAITING)
    links, rows = _link_numbers(plan), []
    for (f, index, is_ack, still), packets in waiting.items():
        route = (plan.backward if is_ack else plan.forward)[f]
        before = -1 - f if index == 0 else int(links[route[index - 1]])
        if is_ack and index == 0:
            before = int(links[plan.forward[f][-1]])
        n = int(links[route[index]])
        if n != NO_LINK:
            rows.append((n, before, f, int(is_ack), int(still), float(packets)))
    return np.array(sorted(rows), dtype=WAITING)


def _remaining_packets(plan: PacketPlan, arrays: dict[str, Any], in_lanes: NDArray[np.int32]) -> Any:
    """Return the packets that wait at ports with pauses at the end of a run, rows of `WAITING`.

    ``in_lanes`` has the packets that wait in lanes at each hop, by rows of `HOP`, (H,).
    """
    if not in_lanes.any():
        return np.zeros(0, dtype=WAITING)
    hops, until = plan.hops, (1.0 - LAST_PART) * plan.end
    rows = hops.row
    waits = np.flatnonzero((in_lanes[rows] > 0) & has_pauses(plan)[hops.port])
    port = arrays["port"][hops.port[waits]]
    lane = arrays["lane"][arrays["hop"]["lane"][rows[waits]]]
    of_class = (port["kind"] == INTERFACE) & (lane["level"] > 0)
    paused_lane = np.where(of_class, arrays["lane"][lane["level"]], lane)
    in_queues = plan.by_discipline(lambda rule: getattr(rule, "queues", 0) > 0)[hops.port[waits]]
    still = in_queues | (arrays["packet"]["time"][lane["head"]] <= until)
    still &= paused_lane["left"] <= until
    still &= (paused_lane["paused"] > 0) | (port["paused"] > 0) | (port["free"] <= until)
    first = np.maximum.accumulate(np.where(hops.begins, np.arange(len(rows)), 0))
    columns = hops.flow[waits], waits - first[waits], hops.is_ack[waits], still
    keys = zip(*(column.tolist() for column in columns), strict=True)
    return waiting_rows(plan, dict(zip(keys, in_lanes[rows[waits]].tolist(), strict=True)))


def _largest_excess(plan: PacketPlan, arrays: dict[str, Any]) -> dict[tuple[int, int, int], float]:
    """Return the most packets without room in one pause, by (port, feeder or -1 - flow, class), as `Records.excess`."""
    excess: dict[tuple[int, int, int], float] = {}
    port, feeder, hop = arrays["port"], arrays["feeder"], arrays["hop"]
    for p in plan.ports_under(Pause):
        if port["feeders"][p] > 0:
            packets = float(feeder["most_excess"][port["feeder"][p]])
            excess |= {(p, ALL, ALL): packets} if packets > 0.0 else {}
    if not feeder["most_excess"].any():
        return excess
    hops = plan.hops
    rows = hop["ingress"][hops.row]
    by_class = np.zeros(len(plan.ports), dtype=np.bool_)
    by_class[plan.ports_under(PFC)] = True
    counted = (rows >= 0) & (feeder["priority"][rows] != ALL) & by_class[hops.port] & ~hops.is_ack
    before = np.where(hops.begins, -1 - hops.flow, hops.before)
    for h in np.flatnonzero(counted & (feeder["most_excess"][rows] > 0)).tolist():
        counter = plan.counting[int(hops.port[h])][0]
        key = counter, int(before[h]), int(feeder["priority"][rows[h]])
        excess[key] = float(feeder["most_excess"][rows[h]])
    return excess


def exceeded_rooms(plan: PacketPlan, excess: dict[tuple[int, int, int], float]) -> Any:
    """Return rows of `EXCESS` for links of the scenario, from ``excess`` of `Records`."""
    if not excess:
        return np.zeros(0, dtype=EXCESS)
    port, before, priority = np.array(sorted(excess), dtype=np.int64).reshape(-1, 3).T
    links = _link_numbers(plan)
    via = np.where((priority != ALL) & (before >= 0), links[np.maximum(before, 0)], before)
    return excess_rows(links[port], via, priority, np.array([excess[key] for key in sorted(excess)]))
