"""The compiled engine: arrays of a plan, the loop, records."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dfcmodel.network.callback_events import (
    LAW_EVENTS,
    PROGRAM_EVENTS,
    agent_events_of,
    law_events_of,
    manager_events_of,
    program_events_of,
)
from dfcmodel.network.endpoints.arrivals import Arrival, ArrivalProcess
from dfcmodel.network.endpoints.receivers import ANSWER, ReceiverAgent, check_answer
from dfcmodel.network.flows import rules_among
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.packets.kernel import layout as kernel
from dfcmodel.packets.kernel.calendar_queue import CROWDED, DETECTED, FAULT, SWITCHED, TRACED, WRONG
from dfcmodel.packets.kernel.layout import ON_ACK, ON_DELIVERY, ON_LOSS, ON_MARK, ON_TIMEOUT, RATED
from dfcmodel.packets.kernel.links.laws import FIELDS as LAW_FIELDS
from dfcmodel.packets.kernel.queues.programs import FIELDS
from dfcmodel.packets.kernel.tcp.arrivals import CALLED
from dfcmodel.packets.kernel.tcp.recovery import FAILED_AT
from dfcmodel.packets.layouts.agents import agent_signatures
from dfcmodel.packets.layouts.arrays import lay_out, trace_ports
from dfcmodel.packets.layouts.laws import law_signatures
from dfcmodel.packets.layouts.managers import called_managers
from dfcmodel.packets.layouts.memory import CONSTANT, Layout, grow
from dfcmodel.packets.layouts.programs import program_signatures
from dfcmodel.packets.layouts.senders import redraw_periods
from dfcmodel.packets.native_runs import NativeFlows, begin_native
from dfcmodel.packets.plan import ENDLESS
from dfcmodel.packets.planning import (
    LARGEST,
    check_arrival,
    check_law,
    check_numbers,
    check_program,
    check_rate,
    check_window,
)
from dfcmodel.packets.records import Records
from dfcmodel.packets.recoveries import recovery_named
from dfcmodel.packets.recoveries.checks import check_sender
from dfcmodel.packets.recoveries.compilation import recovery_events, sender_of
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
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = [
    "PacketRun",
    "begin_run",
    "run_engine",
    "sender_events",
    "trace_engine",
    "watch_engine",
    "with_room",
]
T = TypeVar("T")

KERNEL = "dfcmodel.packets.kernel"
PARTS_WITHOUT_PROGRESS = 3
"""Parts of a run that are over before a bar would be shown."""

GROUPS = tuple(itemgetter(*group._fields) for group in (kernel.Network, kernel.Senders, kernel.Records))
"""Functions that return the fields of each group of arrays from a dictionary of all."""


def sender_events(signatures: tuple[RuleSignature, ...]) -> Any:
    """Return the addresses of the events of rules, shape (rules, 5).

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
    """A run of the compiled engine, which can be stopped at the end of any sample, copied and continued.

    Attributes
    ----------
    plan, layout, records
        The plan, the state of the run, and its records.
    addresses
        Addresses of compiled events by their names in the kernel: of rules, of loss recoveries, of managers, and of
        switch programs, receiver agents and laws between the ends of links where there are any.
    done
        Samples that have been completed.
    keeps
        Whether its pauses are kept in the records, unlike the pauses of a copy.
    traces
        Tables of `dfcmodel.packets.kernel.layout.TRACE`, of the ports that are traced.
    bar
        Of progress, over samples; None shows none.
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

    def advance(self, until: int) -> bool:
        """Go on to the end of a sample; False where more came in one window than the arrays had room for.

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
                run = engine(KERNEL).bind(*self.groups(), self.layout.ahead, self.done, last)
            before, self.done = self.done, run(self.done, last)
            if self.native is not None:
                self.native.check()
            if observed is not None and self.done > before:
                observed.observe()
            self._check_rules()
            if counters[WRONG]:
                self._refuse_sender(int(counters[WRONG]) - 1)
            self._check_programs()
            self._check_laws()
            if counters[FAULT]:
                if counters[CROWDED] or len(arrays["packet"]) < self.layout.max_elements:
                    return False
                where = f"{plan.scenario.name}, t = {self.done * plan.sample:g} s"
                msg = "more packets in the network than links and windows can hold"
                raise MemoryError(f"{where}: {msg}")
            self._check_rates()
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
        """Whether any source is an arrival process; in a run a source may become constant."""
        return bool((self.layout.arrays["flow"]["onoff"][self.plan.active] == CALLED).any())

    @cached_property
    def _sets_rates(self) -> bool:
        """Whether any rule sets a rate, of its flow or of the packets of its window."""
        flow = self.layout.arrays["flow"]
        return bool(self.plan.is_paced.any() or (flow["recovery"] == RATED).any())

    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """Return the fields of the kernel's three groups; `grow` may replace arrays between two calls."""
        arrays = {**self.layout.arrays, **self.addresses, **self.records.rows()}
        return tuple(fields(arrays) for fields in GROUPS)

    def _refuse_sender(self, f: int) -> None:
        """Raise ValueError for the value that the recovery of flow f, or the agent of its receiver, has returned."""
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

    def _check_programs(self) -> None:
        """Raise ArithmeticError for the first invalid value that a switch program returned."""
        for p, it in _first_failed(self.layout.arrays["program"]):
            function, field = PROGRAM_EVENTS[it["failed_in"]], FIELDS[it["failed"]]
            returned = function, field, float(it["failed_value"])
            check_program(self.plan, p, int(it["failed_flow"]), float(it["failed_at"]), returned)

    def _check_laws(self) -> None:
        """Raise ArithmeticError for the first invalid value that a law between the ends of a link returned."""
        for k, it in _first_failed(self.layout.arrays["law"]):
            q = int(self.layout.arrays["feeder"]["port"][k])
            function, field = LAW_EVENTS[it["failed_in"]], LAW_FIELDS[it["failed"]]
            returned = function, field, float(it["failed_value"])
            check_law(self.plan, q, int(it["asks"]), float(it["failed_at"]), returned)

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
        """Places of the first parameters in the records of window rules, which are NaN after a fault."""
        sources = dict.fromkeys(map(type, self.plan.scenario.table.columns["source"].values))
        return sorted({parameters_at(kind) for kind in sources if issubclass(kind, WindowRule)})

    def _check_rates(self) -> None:
        """Raise ArithmeticError where a rule has set its rate, that of its packets, or its window, to no number."""
        if not self._sets_rates:
            return
        flow, now = self.layout.arrays["flow"], self.done * self.plan.sample
        sets_pace = (flow["paced"] == 1) & (flow["pace_start"] == 0.0)
        rates = np.where(flow["recovery"] == RATED, flow["cwnd"], 0.0)
        rule = self.layout.arrays["rule"]
        rates = np.where(sets_pace, rule["rule_state"][flow["rule"], 0], rates)
        windows = np.where(flow["bound"] == 1, flow["ssthresh"], np.inf)
        inner = flow["bound"] > 1
        if inner.any():
            windows[inner] = rule["rule_state"][flow["rule"][inner], flow["bound"][inner] - 2]
        for f in np.flatnonzero(np.isnan(rates) | np.isnan(windows)).tolist():
            check_rate(self.plan.scenario, f, float(rates[f]), now, float(windows[f]))

    def _check_arrivals(self) -> None:
        """Raise ArithmeticError where an arrival process has returned no wait, or no number of packets."""
        if not self._asks_arrivals:
            return
        flow, rule = self.layout.arrays["flow"], self.layout.arrays["rule"]
        rows = np.flatnonzero((flow["onoff"] == CALLED) & (flow["since"] > 0) & (flow["due"] == np.inf))
        for f in rows.tolist():
            it, process = flow[f], rule[flow[f]["source"]]
            arrival = process["cwnd"], process["ssthresh"]
            check_arrival(self.plan.scenario, f, arrival, it["clocked"], it["since"] == 1)

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays of the layout by their names in the kernel."""
        return self.layout.arrays

    def finish(self) -> Records:
        """Return the records of the run at its end, checked.

        Raises
        ------
        OverflowError
            Where sequence numbers are used up.
        ArithmeticError
            Where a window is not a number.
        """
        plan, flow, begun = self.plan, self.arrays["flow"], self.plan.active
        used_up = np.zeros(len(flow), dtype=np.bool_)
        used_up[begun] = np.maximum(flow["snd_nxt"][begun], flow["sent"][begun]) >= ENDLESS
        check_numbers(plan.scenario, used_up & (plan.all_packets > ENDLESS), plan.end)
        window = self.records.window
        if not (window <= LARGEST).all():
            row, f = np.argwhere(~(window <= LARGEST))[0].tolist()
            check_window(plan.scenario, f, float(window[row, f]), (row + 1) * plan.sample)
        self.records.take_in(self.arrays)
        if self.native is not None:
            self.records.observed = self.native.observed()
        return self.records

    def fork(self, rng: np.random.Generator) -> PacketRun:
        """Return a copy of the state that goes on with other random numbers.

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


def _first_failed(rows: NDArray[Any]) -> list[tuple[int, Any]]:
    """Return the first program or law that returned an invalid value, with its number; [] if all are valid."""
    failed = np.flatnonzero(rows["failed"])
    if not len(failed):
        return []
    order = np.argsort(rows["failed_at"][failed], kind="stable")
    return [(n, rows[n]) for n in failed[order][:1].tolist()]


def begin_run(plan: PacketPlan, spare: int = 1) -> PacketRun:
    """Return the run of a plan at t = 0; arrays that grow are ``spare`` times as large at first."""
    table = plan.scenario.table
    sources = (*table.columns["source"].values, *table.columns["arrivals"].values)
    signatures = signatures_of(rules_among(sources))
    addresses = {
        "events": sender_events(signatures),
        "recoveries": recovery_events(plan.recovery_kinds),
    }
    if plan.has_managers and (managers := called_managers(plan)):
        addresses["managers"] = manager_events_of(managers)
    if plan.has(SwitchProgram):
        addresses["programs"] = program_events_of(program_signatures(plan))
    if table.given("receiver").any():
        addresses["agents"] = agent_events_of(agent_signatures(plan))
    if plan.has(LinkLaw):
        addresses["laws"] = law_events_of(law_signatures(plan))
    layout, records = lay_out(plan, signatures, spare), Records(plan)
    if plan.idle.any():
        records.window[:, plan.idle] = layout.arrays["first_windows"]
    return PacketRun(plan, layout, records, addresses, native=begin_native(plan, layout.arrays))


def run_engine(plan: PacketPlan) -> Records:
    """Run a plan from t = 0 and return its records.

    Parameters
    ----------
    plan
        What to run.

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
    """Run a plan as `run_engine` does; return its records, and the packets that left the queues of these ports."""
    run = _whole_run(plan, ports)
    return run.records, np.concatenate([run.layout.arrays["trace"][:0], *run.traces])


def watch_engine(plan: PacketPlan) -> tuple[Records, NDArray[Any]]:
    """Run a plan as `run_engine` does; return its records, and the storms that its watchdogs declared, of `STORM`."""
    run = _whole_run(plan, ())
    arrays = run.layout.arrays
    return run.records, arrays["detected"][: arrays["counters"][DETECTED]]


def with_room(plan: PacketPlan, work: Callable[[PacketRun, int], T | None]) -> T:
    """Return the result of a function of the run of a plan, which is begun again with larger arrays until they suffice.

    Parameters
    ----------
    plan
        What to run.
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
    """Return the run of a plan at its end."""

    def to_the_end(run: PacketRun, spare: int) -> PacketRun | None:
        if traced:
            trace_ports(run.layout.arrays, traced, spare)
        return run if run.advance(plan.samples) else None

    run = with_room(plan, to_the_end)
    run.finish()
    return run
