"""Flows in the arrays of the compiled engine: their senders, receivers and rules, and their first events."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.endpoints.sources import OnOff
from dfcmodel.network.endpoints.stacks import COUNTED as STACK_COUNTS
from dfcmodel.network.flows import OPTIONS, first_state
from dfcmodel.network.links import Column, encode
from dfcmodel.packets.kernel.calendar_queue import push, take
from dfcmodel.packets.kernel.codes import GO_BACK_N, SELECTIVE, STOP
from dfcmodel.packets.kernel.layout import (
    BLIND,
    BY_AGENT,
    CLASSES,
    COUNTED,
    DELAYED,
    FLOW,
    IN_SLOW_START,
    RATED,
    RULE,
    UNHEARD,
)
from dfcmodel.packets.kernel.rates.sources import RANDOM, REGULAR
from dfcmodel.packets.kernel.tcp.arrivals import CALLED, GROWING, REPLAYED
from dfcmodel.packets.kernel.tcp.timers import wake_at
from dfcmodel.packets.layouts.native_rules import set_native
from dfcmodel.packets.layouts.ports import Calendar, Event
from dfcmodel.packets.methods import recovery_named
from dfcmodel.packets.plan import ENDLESS
from dfcmodel.packets.recoveries.linux import LinuxRecovery
from hopflow.kernels import make_kernel
from hopflow.tcp_constants import INITIAL_RTO, OLD_INITIAL_RTO
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rule_events import RuleSignature, numbers_of, parameters_at, signature_of
from responsefn.rules.deliveries.delivery_rule import answers_marks
from responsefn.rules.rates.rate_rule import sees_telemetry, window_place

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.flows import Flow
    from dfcmodel.packets.plan import PacketPlan

__all__ = [
    "Senders",
    "begin_flows",
    "lay_out_arrivals",
    "lay_out_flows",
    "redraw_periods",
    "starts_of",
    "stops_of",
    "wake_sources",
    "write_numbers",
]

APART = ("start", "stop", "priority", "host", "weight", "after", "delays")
"""Options of flows that do not change their rows, or are written for all of them at once."""
OF_ROWS = tuple(option.name for option in OPTIONS if option.name not in APART)
"""Options of flows that change their rows."""
FEWEST_PACKETS = 16
"""Packets for which the maps of each flow have room, also of shorter transfers."""
CHECKED_AT_ACKS = ("by_time", "samples", "selective", "supply", "counted", "paced", "segments", "listed")
"""Fields of options for which the kernel checks at each ACK, unless a window sender has none of them."""
REPAIR = {"": 0, "none": 0, "go-back-n": GO_BACK_N}
"""Repairs of rate rules without parameters."""


class Senders(NamedTuple):
    """Rows of flows and of their rules, as `lay_out_flows` returns them.

    Attributes
    ----------
    flow, rule
        Rows of the flows and of their rules. Rows of flows that do not start before the end are zeros in memory that is
        not touched.
    bits
        Memory for bit maps of packets, of all flows.
    sent
        Number of records of packets in flight.
    windows
        Congestion windows of the flows that do not start, packets, as in `PacketPlan.idle`.
    """

    flow: NDArray[Any]
    rule: NDArray[Any]
    bits: NDArray[np.uint8]
    sent: int
    windows: NDArray[np.float64]


def lay_out_flows(plan: PacketPlan, signatures: tuple[RuleSignature, ...]) -> Senders:
    """Return the rows of the flows and of their rules, and the sizes of the senders' memory, as `Senders`."""
    table, active = plan.scenario.table, plan.active
    has_window, has_rate = table.of_kind(WindowRule).any(), table.of_kind(RateRule).any()
    flow, rule, windows = _rows_of_flows(plan, signatures, bool(has_window), bool(has_rate))
    way = plan.end_rows.first
    for name, rows in zip(("way", "turn", "end"), plan.end_rows, strict=True):
        flow[name][active] = rows[active]
    unheard = (flow["recovery"][active] == BLIND) | (flow["end"][active] == flow["turn"][active] + 1)
    by_agent = table.given("receiver")[active]
    flow["answers"][active] = DELAYED * plan.delays_acks[active] + BY_AGENT * by_agent + UNHEARD * unheard
    if plan.spraying is not None:
        spraying = plan.spraying
        flow["paths"], flow["lent"] = spraying.count, way[spraying.first]
        hops = plan.end_rows.sender + 1 - way
        flow["stride"] = np.where(spraying.count > 0, hops[spraying.first], 0)
        flow["next_path"], flow["drawn"] = spraying.begins, plan.method.spraying == "random"
    if has_rate:
        follows = table.each("source", lambda source: sees_telemetry(type(source)))
        if follows.any():
            flow["reports"] = np.where(follows, plan.telemetry[1], 0)
    again = flow["repair"][active] == SELECTIVE
    if not has_window and not again.any():
        return Senders(flow, rule, np.zeros(1, dtype=np.uint8), 0, windows)
    lends = np.arange(len(flow))[active] < (0 if plan.spraying is None else plan.spraying.lenders)  # they send nothing
    rules = flow["rule"][active][lends]
    rule["sent_mask"][rules[rules >= 0]] = 0
    window = table.of_kind(WindowRule)[active]
    maps = np.where(again, 4, 1 + flow["selective"][active])
    window = (window | again) & ~lends
    count = np.where(window, np.maximum(1, (flow["bit_mask"][active] + 1) >> 3) * maps, 0)
    flow["bits"][active] = np.where(window, np.cumsum(count) - count, 0)
    bits = np.zeros(int(count.sum()) + 1, dtype=np.uint8)
    masks = rule["sent_mask"]
    if not masks.any():
        return Senders(flow, rule, bits, 0, windows)
    sent = np.where(masks > 0, masks + 1, 0)
    rule["history"] = np.where(sent > 0, np.cumsum(sent) - sent, 0)
    return Senders(flow, rule, bits, int(sent.sum()), windows)


def _rows_of_flows(
    plan: PacketPlan, signatures: tuple[RuleSignature, ...], has_window: bool, has_rate: bool
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return rows of flows, of rules (then of arrival processes), and the windows of idle flows alone.

    Routes and starts are not set; rows of idle flows are zero.
    """
    scenario, table = plan.scenario, plan.scenario.table
    rtts = line_rates = np.zeros(len(table))
    if has_window:
        rtts = np.where(table.of_kind(WindowRule), plan.base_rtts, 0.0)
    if has_rate:
        rates = scenario.link_table.rates
        line_rates = np.where(table.of_kind(RateRule), rates[scenario.routes.first], 0.0)
    repairs = [
        encode(repairs_of).whole()
        for repairs_of in (plan.recoveries, plan.repairs)
        if not isinstance(repairs_of, Column)  # which follows from the source
    ]
    # flows that differ in their routes and starts alone have the same row
    numbers = [option for option, has in ((rtts, has_window), (line_rates, has_rate)) if has]
    first, group = table.alike(*OF_ROWS, *numbers, *repairs)
    kinds = _copies(_first_row(plan.method.is_ns2), np.zeros(len(first), dtype=np.int64))
    of_rule, of_arrivals = np.zeros(len(first), RULE), np.zeros(len(first), RULE)
    has_arrivals = table.given("arrivals").any()
    for n, f in enumerate(first.tolist()):
        path = float(rtts[f]), float(line_rates[f])
        _set_row(plan, f, signatures, path, (kinds[n], of_rule[n : n + 1]))
        if has_arrivals:
            _set_arrivals(plan, f, signatures, (kinds[n], of_arrivals[n : n + 1]))
    kinds["plain"] = (kinds["recovery"] >= 0) & ~np.any([kinds[name] != 0 for name in CHECKED_AT_ACKS], axis=0)
    windows = np.where(kinds["recovery"] >= 0, kinds["cwnd"], 0.0)[group[plan.idle]]
    if len(windows):
        flow, bytes_type = np.zeros(len(group), FLOW), _bytes_of(FLOW)
        flow.view(bytes_type)[plan.active] = kinds.view(bytes_type)[group[plan.active]]
        group = np.where(plan.idle, len(kinds), group)
    else:
        flow = _copies(kinds, group)
    ruled = np.flatnonzero(np.append(kinds["rule"] == 0, False)[group])
    rule = _copies(of_rule, group[ruled]) if len(ruled) else np.zeros(1, RULE)
    flow["rule"][ruled] = np.arange(len(ruled))
    calls = np.append(kinds["onoff"] == CALLED, False)[group]
    if not calls.any():
        return flow, rule, windows
    flow["source"][calls] = flow["rule"][calls]
    called = np.flatnonzero(calls & (flow["supply"] == GROWING))
    flow["source"][called] = len(rule) + np.arange(len(called))
    return flow, np.concatenate([rule, _copies(of_arrivals, group[called])]), windows


def _copies(rows: NDArray[Any], which: NDArray[np.int64]) -> NDArray[Any]:
    """Return copies of the rows ``which``, shape (len(which),); fast, because fields are not copied one by one."""
    return rows.view(_bytes_of(rows.dtype))[which].view(rows.dtype)


@functools.cache
def _bytes_of(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype of the size of ``kind`` without fields."""
    return np.dtype((np.void, kind.itemsize))


@functools.cache
def _first_row(ns2: bool) -> NDArray[Any]:
    """Return the initial values of a row of flows, (1,), read-only; ``ns2``: with ns-2's conventions."""
    row = np.zeros(1, FLOW)
    for name, value in (("timed", -1), ("hole", -1), ("beyond", -1),
                        ("least", -1), ("top", -1), ("pipe", -1), ("pipe_limit", -1), ("first_window", 2.0),
                        ("recover", 0 if ns2 else -2), ("backoff", 1.0), ("agent", -1), ("lane", -1),
                        ("credits", math.inf),
                        ("deadline", math.inf), ("alarm", math.inf), ("next_loss", math.inf), ("min_rtt", math.inf),
                        ("newest_sent", -math.inf), ("wrote_at", -math.inf), ("ack_due", math.inf), ("pending", -1),
                        ("held_until", math.inf), ("off_at", math.inf),
                        ("first_loss", math.nan), ("finished", math.nan),
                        ("current", OLD_INITIAL_RTO if ns2 else INITIAL_RTO), ("variance", 4800.0 if ns2 else 0.0),
                        ("recovery", BLIND), ("rule", -1), ("fin", -1), ("timer_resent", -1)):  # fmt: skip
        row[name] = value
    row.flags.writeable = False
    return row


def _set_row(
    plan: PacketPlan,
    f: int,
    signatures: tuple[RuleSignature, ...],
    path: tuple[float, float],
    rows: tuple[Any, Any],
) -> None:
    """Set the rows of flow f and its rule, ``rows``, without route, start, indices; ``path``: RTT, s, and line rate.

    ``path`` is its round-trip time in s and the rate of its first link in packets/s.
    """
    ns2, spec = plan.method.is_ns2, plan.scenario.flows[f]
    (rtt, line_rate), row = path, rows[0]
    row["most"] = spec.max_window
    source: Any = spec.source
    opening = int(plan.opening[f])
    row["opening"], row["size"] = opening, min(spec.size + opening, ENDLESS)
    if isinstance(source, WindowRule):
        row["kind"] = signatures.index(signature_of(source))
        recovery = recovery_named(plan.recoveries[f])
        row["recovery"] = plan.recovery_kinds.index(type(recovery))
        row["selective"] = recovery.selective
        row["linux_timer"] = spec.stack is not None or isinstance(recovery, LinuxRecovery)
        if recovery.own:
            row["own"][: len(recovery.own)] = recovery.own
        row["accurate"] = answers_marks(type(source))
        row["bit_mask"] = _map_bits(spec) - 1
        row["quick"] = bool(spec.handshake) + (spec.quick_acks or 0)
        begin = first_state(spec, rtt)
        if spec.delayed_acks == STACK_COUNTS:
            per_ack = IN_SLOW_START if source.counts_in_slow_start else 0
            row["counted"] = COUNTED if source.counts_packets else per_ack
        if ns2:
            begin = begin._replace(cwnd=1.0, ssthresh=float(int(spec.max_window)))
        _set_numbers(rows, source, begin)
        if plan.is_paced[f]:
            row["paced"], (row["pace_start"], row["pace_after"]) = 1, plan.pacing_rates(f)
        if math.isfinite(spec.idle):
            row["onoff"] = RANDOM if spec.random_idle else REGULAR
            row["on"], row["off"] = spec.size, spec.idle
        if isinstance(source, DeliveryRule):
            row["samples"], row["not_ect"] = 1, not row["accurate"]
        row["by_time"] = recovery.by_time
        in_segments = row["paced"] if row["samples"] else recovery.by_time
        row["segments"] = bool(spec.segments and in_segments)
        if row["samples"] or recovery.by_time:
            row["listed"], rows[1]["sent_mask"] = 1, 4 * _map_bits(spec) - 1
        if isinstance(source, NativeRule):
            set_native(row, source)
        if spec.handshake:
            _set_handshake(row, spec)
    elif isinstance(source, RateRule):
        row["kind"] = signatures.index(signature_of(source))  # type: ignore[arg-type]
        row["recovery"], row["accurate"] = RATED, 1
        _set_repair(row, plan, f)
        row["bound"] = window_place(type(source))
        rows[1]["fields"] = len(source.telemetry)
        row["line_gap"], row["pace_at"] = 1.0 / line_rate, -math.inf
        _set_numbers(rows, source, source.start(line_rate))
    elif isinstance(source, ArrivalProcess):
        row["kind"] = row["source_kind"] = signatures.index(signature_of(source))  # type: ignore[arg-type]
        row["onoff"] = CALLED
        _set_numbers(rows, source, source.State())
    elif isinstance(source, Replay):
        row["onoff"] = REPLAYED
    else:
        row["gap"] = 1.0 / source.rate
        if isinstance(source, OnOff):
            row["onoff"] = RANDOM if source.random else REGULAR
            row["on"], row["off"] = source.on, source.off


def _set_arrivals(plan: PacketPlan, f: int, signatures: tuple[RuleSignature, ...], rows: tuple[Any, Any]) -> None:
    """Set the arrivals of data of flow f in ``rows``, its row and its arrival process's, in place."""
    spec, row = plan.scenario.flows[f], rows[0]
    if spec.arrivals is None:
        return
    row["on"], row["size"] = row["size"], row["opening"]
    row["supply"], row["clocked"] = GROWING, -1.0
    if isinstance(spec.arrivals, Replay):
        row["onoff"] = REPLAYED
        return
    row["onoff"] = CALLED
    row["source_kind"] = signatures.index(signature_of(spec.arrivals))  # type: ignore[arg-type]
    write_numbers(rows[1], spec.arrivals, spec.arrivals.State())


def _set_handshake(row: Any, spec: Flow) -> None:
    """Set in ``row``, with ``accurate`` and ``size`` set, that a flow begins with a SYN (RFC 3168; RFC 8257, 3.5)."""
    row["syn"] = row["connecting"] = 1
    row["announced"], row["most"] = spec.max_window, 1.0
    row["not_ect"] = not row["accurate"]
    if math.isfinite(spec.all_packets):
        row["fin"] = row["size"] - 1


def _map_bits(flow: Flow) -> int:
    """Return the bits, a power of 2, of a map of the packets of a flow's window, which a transfer may not fill."""
    window = min(flow.max_window, max(flow.size, FEWEST_PACKETS))
    return int(1 << math.ceil(math.log2(8 + 2 * window)))


def _set_repair(row: Any, plan: PacketPlan, f: int) -> None:
    """Set in ``row`` how flow f, at the rate of a rule, repairs losses."""
    repair = plan.repairs[f]
    if isinstance(repair, str):
        row["repair"] = REPAIR[repair]
        return
    row["repair"], row["bit_mask"] = SELECTIVE, _map_bits(plan.scenario.flows[f]) - 1
    low, high = repair.timeouts(plan.scenario.min_rto)
    row["own"][:3], row["own"][4] = (low, high, repair.few), repair.reordering


def _set_numbers(rows: tuple[Any, Any], rule: Any, begin: Any) -> None:
    """Write ``begin``, a rule's first state, and parameters into its record, the window into the flow's, in place."""
    row, record = rows
    write_numbers(record, rule, begin)
    row["rule"], row["cwnd"], row["ssthresh"] = 0, record["cwnd"][0], record["ssthresh"][0]


def write_numbers(record: Any, rule: Any, begin: Any) -> None:
    """Write ``begin``, a rule's first state, then its parameters, into its record, in place."""
    values = list(numbers_of(rule).values())
    numbers = record.view(np.float64)  # from ``cwnd``, its first field, on
    numbers[: len(begin)] = begin
    first = parameters_at(type(rule))
    numbers[first : first + len(values)] = values


def lay_out_arrivals(plan: PacketPlan, flow: NDArray[Any]) -> NDArray[np.float64]:
    """Return batches of replayed traces, (N, 2): time from the start, s, and packets; set ranges in rows ``flow``."""
    index: dict[Replay, tuple[int, int]] = {}
    batches, rows = [np.empty((0, 2))], 0
    if not (flow["onoff"] == REPLAYED).any():
        return batches[0]
    columns = [plan.scenario.table.columns[name] for name in ("source", "arrivals")]
    for source in dict.fromkeys(value for column in columns for value in column.values):
        if isinstance(source, Replay):
            batches.append(source.batches)
            index[source] = rows, rows + len(batches[-1])
            rows += len(batches[-1])
    spans = sum(column.map(lambda value: index.get(value, (0, 0))).array() for column in columns)
    flow["row"], flow["row_end"] = np.transpose(spans)
    return np.concatenate(batches)


def begin_flows(plan: PacketPlan, arrays: dict[str, Any]) -> None:
    """Set flows' tick phases, and times, s, of their first packets (-1 without a window), in ``arrays``, in place."""
    flow, active = arrays["flow"], plan.active
    flow["phase"][active] = plan.phases[active]
    due = np.where(plan.scenario.table.of_kind(WindowRule), plan.starts, -1.0)
    flow["due"][active] = due[active]


def starts_of(plan: PacketPlan, home: NDArray[np.int64]) -> tuple[NDArray[Any], ...]:
    """Return calendar queue, of ``home``, time, s, key and flow of each start before the end, (N,), for `schedule`."""
    flows = np.arange(len(plan.starts))[plan.active]
    if plan.scenario.table.waits.any():
        flows = flows[plan.starts[flows] < np.inf]
    return home[flows], plan.starts[flows], CLASSES * len(plan.ports) + flows, flows


def stops_of(plan: PacketPlan, home: NDArray[np.int64]) -> list[Event]:
    """Return the events at which flows stop, which come first among events of one time."""
    first = -1 - len(plan.ports)
    return [
        Event(int(home[f]), float(plan.stops[f]), first - f, STOP, f)
        for f in np.flatnonzero(plan.stops < plan.end).tolist()
    ]


def redraw_periods(arrays: dict[str, Any], now: float, rng: np.random.Generator) -> None:
    """Draw remaining on, off and idle times of exponential sources again, in place, and schedule the idle sources.

    A source whose next packet is due in more than a gap is off: at least until a gap from now, by what its state
    tells, and then for an exponential time. The event of the old time finds nothing due.
    """
    flow = arrays["flow"]
    begun = (flow["recovery"] == BLIND) | (flow["snd_una"] > 0)
    rows = np.flatnonzero((flow["onoff"] == RANDOM) & (flow["due"] >= 0.0) & begun)
    off = rows[flow["due"][rows] > now + flow["gap"][rows]]
    flow["due"][off] = now + flow["gap"][off] + rng.exponential(flow["off"][off])
    flow["off_at"][rows] = flow["due"][rows] + rng.exponential(flow["on"][rows])
    wake_all = make_kernel(wake_sources, helpers=(take, push, wake_at))
    net = Calendar(*(arrays[name] for name in Calendar._fields))
    wake_all(net, flow, off)


def wake_sources(net, flow, rows):  # type: ignore[no-untyped-def]
    """Kernel: schedule the next packets of sources, the flows ``rows``."""
    for n in range(len(rows)):
        f = rows[n]
        wake_at(net, f, flow[f].due, f)
