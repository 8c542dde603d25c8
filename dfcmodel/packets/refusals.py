"""Checks that reject scenarios the packet level cannot simulate, and values that users' functions return in a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.callback_events import law_signature_of
from dfcmodel.network.elements.base import MAX_COPIES
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.network.endpoints.arrivals import MAX_BATCH, ArrivalProcess
from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.endpoints.stacks import COUNTED
from dfcmodel.network.level_options import refuse_discipline
from dfcmodel.network.links import Column, encode
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.class_pauses import CLASSES
from dfcmodel.network.queueing.coupled import PI2
from dfcmodel.network.queueing.disciplines import (
    DFC,
    FIFO,
)
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.queueing.managers import PIE, RED, CoDel
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.packets.methods import recovery_named
from dfcmodel.packets.plan import ENDLESS
from dfcmodel.packets.recoveries import RECOVERIES, LossRecovery, RackRecovery
from hopflow.checks import choice, count_of, one_number
from hopflow.units import PacketUnits
from responsefn import DeliveryRule, NewReno, RateRule, Reno, Tahoe, WindowRule
from responsefn.rules.rates.rate_rule import sees_telemetry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.network.flows import Flow
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets
    from dfcmodel.packets.plan import PacketPlan

__all__ = [
    "MAX_WINDOW",
    "check_agents",
    "check_arrival",
    "check_numbers",
    "check_rate",
    "check_scenario",
    "check_window",
    "refuse_element",
    "refuse_law",
    "refuse_program",
]

NS2_RULES = {
    "tahoe": (Tahoe,),
    "reno": (Reno, NewReno),
    "newreno": (Reno, NewReno),
    "sack": (Reno, NewReno),
}
"""Window rules of ns-2's agents by their recovery: Tahoe restarts from one packet, the others halve the window."""
CHECKED = (
    "source", "pacing", "arrivals", "receiver", "handshake", "stack", "initial_window", "ssthresh", "quick_acks",
    "delayed_acks", "segments",
)  # fmt: skip
"""Options of flows that are checked, beside their ends."""
NO_TELEMETRY = (
    "follows telemetry, which no link of its path writes; use discipline=INT(), which links with PFC cannot have"
)
SELECTIVE = (None, *(name for name, kind in RECOVERIES.items() if kind.selective))
"""Recoveries under which rules of deliveries run; None is their own."""
MAX_WINDOW = ENDLESS
"""Packets of the largest window."""


def check_scenario(scenario: Scenario, method: Packets) -> None:
    """Raise ValueError for features of a scenario that the packet level does not support.

    A scenario is checked once for all methods that differ in their random numbers alone.
    """
    key = "checked", method.convention, method.recovery, method.count_smoothing
    may_change = method.loss or method.frame_errors or isinstance(method.recovery, Mapping)
    if not may_change and key in scenario.derived:
        return
    for which in ("loss", "frame_errors"):
        for name in getattr(method, which) or {}:
            choice(f"{which}: link", name, scenario.link_table.names)
        if shares := getattr(method, which):
            _check_data(scenario, which, shares, may_reroute=bool(method.failures))
    if method.count_smoothing > 0.0 and not any(link.discipline.diffuses for link in scenario.link_table.kinds):
        msg = "must be 0 where no link has DFC, whose law alone reads it"
        raise ValueError(f"count_smoothing = {method.count_smoothing:g}: {msg}")
    checked = set()  # disciplines that links share
    pausing = set()  # units that they pause
    has_laws = False
    for link in scenario.link_table.kinds:
        rule, buffer = link.discipline, link.buffer
        if not isinstance(buffer, (ByteBuffer, PacketUnits)) and buffer != int(buffer):
            hint = f"write buffer={int(buffer)}, or its bytes: ByteBuffer(...)"
            raise ValueError(f"buffer of link {link.name} = {buffer:g}: must be whole packets at packet level; {hint}")
        shared_rule = (rule if type(rule) is FIFO else id(rule), link.shared)
        if shared_rule in checked:
            continue
        checked.add(shared_rule)
        if "packets" not in rule.levels:
            refuse_discipline(link, "packets")
        if not link.shared:
            msg = "at packet level all flows share the buffer; use shared=True, or method=Fluid()"
            raise ValueError(f"shared of link {link.name} = False: {msg}")
        _check_discipline(link, method)
        pausing.add(rule.pauses)
        has_laws |= isinstance(rule, LinkLaw)
    if scenario.all_elements:
        _check_elements(scenario, method)
    table = scenario.table
    readers: list[Any] = [source for source in table.columns["source"].values if sees_telemetry(type(source))]
    if readers:
        _check_telemetry(scenario, readers)
    if has_laws:
        _check_laws(scenario)
    if "flow" in pausing:
        _check_backpressure(scenario, method)
    flows: Sequence[int] = range(len(table))
    if not isinstance(method.recovery, Mapping):  # otherwise names of flows matter
        several = (name for name in ("idle", "stop") if table.columns[name].which is not None)
        flows = table.alike(*CHECKED, *(np.isfinite(table.numbers(name)) for name in several))[0].tolist()
    for f in flows:
        _check_flow(scenario, scenario.flows[f], method)
    if method.is_ns2:
        check_agents(scenario, method, 'use convention="standard"')
    if not may_change:
        scenario.derived[key] = True


def _check_data(scenario: Scenario, which: str, shares: Mapping[str, float], *, may_reroute: bool) -> None:
    """Raise ValueError for losses or errors of packets at links none of which a packet of data passes."""
    names = [name for name, share in shares.items() if share > 0.0]
    links = [scenario.links[scenario.link_table.names.index(name)] for name in names]
    if not links or may_reroute or any((link.source, link.target) in scenario.data_links for link in links):
        return
    msg = "must have a link that packets of data pass; elements of such a link act on its ACKs with acks=True"
    raise ValueError(f"{which}: link = {', '.join(map(repr, names))}: {msg}")


def _check_elements(scenario: Scenario, method: Packets) -> None:
    """Raise ValueError for elements of paths that the method, or the link at which they are, does not allow."""
    if method.is_ns2:
        msg = 'must be () with convention="ns2"'
        raise ValueError(f"elements of {scenario.name!r}: {msg}")
    if method.failures or scenario.table.given("ttl").any():
        msg = "must be () with failures of links and times to live, whose packets leave their path"
        raise ValueError(f"elements of {scenario.name!r}: {msg}")
    for element in scenario.all_elements:
        kind, table = type(element).__name__, scenario.link_table
        n = table.names.index(element.link)
        link = scenario.links[n]
        if element.acks:
            n = table.places.get((link.target, link.source), n)
        rule, name = scenario.links[n].discipline, table.names[n]
        if element.changes_flow and (rule.pauses or rule.diffuses):
            msg = "flow control between the ends of a link counts what is on the link; use another one"
            raise ValueError(f"elements: link of {kind} = {name!r} with {rule!r}: {msg}")
        if element.acts_on_leaving() and (rule.diffuses or rule.pauses == "flow" or isinstance(rule, LinkLaw)):
            msg = "counts what leaves its queue, which on_leaving may drop; use another discipline"
            raise ValueError(f"elements: link of {kind} = {name!r} with {rule!r}: {msg}")
        if n in scenario.interfaces:
            msg = "is the network interface of a host; use host='direct'"
            raise ValueError(f"elements: link of {kind} = {name!r}: {msg}")
        random_losses = {**(method.loss or {}), **(method.frame_errors or {})}
        if isinstance(element, RateTrace) and random_losses.get(element.link, 0.0) > 0.0:
            msg = "must not be in loss or frame_errors; use BurstLoss"
            raise ValueError(f"elements: link of RateTrace = {element.link!r}: {msg}")


def _check_segments(flow: Flow, chosen: Any) -> None:
    """Raise ValueError for segments of a sender that cannot send them; ``chosen``: its recovery by `Packets`."""
    rule: Any = flow.source
    recovery = getattr(rule, "recovery", "")
    if isinstance(chosen, LossRecovery) or (isinstance(chosen, str) and chosen in RECOVERIES):
        recovery = chosen
    if isinstance(rule, DeliveryRule):
        possible = flow.pacing or hasattr(rule.State(), "pacing_rate")
        msg = "follows deliveries and does not pace"
    else:
        possible = isinstance(rule, WindowRule) and recovery_named(recovery).by_time
        msg = f"has the recovery {recovery!r}; use a window rule with 'rack' or 'linux-6.12'"
    if not possible:
        raise ValueError(f"segments of flow {flow.name!r} = {flow.segments}: {rule!r} {msg}")


def _check_native(flow: Flow, rule: NativeRule, recovery: Any, method: Packets) -> None:
    """Raise ValueError for options that a native rule cannot have; ``recovery`` is that of `Packets`."""
    if method.is_ns2:
        msg = 'no agent of ns-2 has it; use convention="standard"'
        raise ValueError(f"source of flow {flow.name!r} = {rule!r}: {msg}")
    if not (recovery in SELECTIVE or (isinstance(recovery, LossRecovery) and recovery.selective)):
        msg = f"must be selective with {rule!r}: {', '.join(map(repr, SELECTIVE[1:]))}, or None for its own"
        raise ValueError(f"recovery of flow {flow.name!r} = {recovery!r}: {msg}")
    for name, hint in (("pacing", "the library sets the pacing rate"), ("segments", "see send_quantum")):
        if getattr(flow, name):
            stack = f"; stack {flow.stack!r} has them, use another one" if flow.stack and name == "segments" else ""
            msg = f"must be False with {rule!r}: {hint}{stack}"
            raise ValueError(f"{name} of flow {flow.name!r} = {getattr(flow, name)}: {msg}")


def _check_flow(scenario: Scenario, flow: Flow, method: Packets) -> None:
    """Raise ValueError for options of a flow that the packet level does not support."""
    rule = flow.source
    for name, process in (("source", rule), ("arrivals", flow.arrivals)):
        if isinstance(process, (WindowRule, RateRule, ArrivalProcess)):
            _check_fields(flow, name, process)
    chosen = method.recovery
    recovery = chosen.get(flow.name) if isinstance(chosen, Mapping) else chosen
    if flow.receiver is not None and recovery == "none":
        msg = "must be 'go-back-n' or 'selective' with a receiver agent"
        raise ValueError(f"recovery of flow {flow.name!r} = 'none': {msg}")
    if isinstance(rule, NativeRule):
        _check_native(flow, rule, recovery, method)
    elif isinstance(rule, DeliveryRule) and not (recovery in SELECTIVE or type(recovery) is RackRecovery):
        msg = f"{rule!r} follows deliveries, which selective acknowledgements report; use 'sack' or RackRecovery()"
        raise ValueError(f"recovery of flow {flow.name!r} = {recovery!r}: {msg}")
    if flow.segments and not flow.stack and not method.is_ns2:
        _check_segments(flow, recovery)
    if math.isfinite(flow.idle) and (method.is_ns2 or isinstance(rule, DeliveryRule)):
        msg = f"must be inf with {rule!r} and convention = {method.convention!r}"
        raise ValueError(f"idle of flow {flow.name!r} = {flow.idle:g}: {msg}")
    if math.isfinite(flow.stop) and method.is_ns2 and isinstance(rule, WindowRule):
        msg = 'ns-2 ends such a flow without repairing its last packet; use convention="standard"'
        raise ValueError(f"stop of flow {flow.name!r} = {flow.stop:g}: {msg}")
    if method.is_ns2 and (flow.pacing or isinstance(rule, RateRule)):
        msg = 'not with ns-2; use convention="standard"'
        raise ValueError(f"flow {flow.name!r} with {rule!r}, pacing = {flow.pacing}: {msg}")
    for name, off in (
        ("stack", None),
        ("initial_window", None),
        ("ssthresh", None),
        ("quick_acks", 0),
        ("segments", False),
    ):
        if method.is_ns2 and (getattr(flow, name) or off) != off:
            msg = f'must be {off} with convention="ns2"'
            raise ValueError(f"{name} of flow {flow.name!r} = {getattr(flow, name)!r}: {msg}")
    if method.is_ns2 and flow.delayed_acks == COUNTED:
        msg = 'must be True or False with convention="ns2", whose senders count ACKs'
        raise ValueError(f"delayed_acks of flow {flow.name!r} = {flow.delayed_acks!r}: {msg}")
    if method.is_ns2 and flow.arrivals is not None:
        msg = 'must be None: the window of ns-2 grows without being used; use convention="standard"'
        raise ValueError(f"arrivals of flow {flow.name!r} = {flow.arrivals!r}: {msg}")
    if method.is_ns2 and flow.handshake:
        msg = 'must be False: ns-2 opens with a packet of 40 bytes; use convention="standard"'
        raise ValueError(f"handshake of flow {flow.name!r} = {flow.handshake!r}: {msg}")
    if method.is_ns2 and isinstance(rule, WindowRule) and type(rule) not in (Tahoe, Reno, NewReno):
        msg = 'ns-2 has Tahoe(), Reno() and NewReno(); use convention="standard"'
        raise ValueError(f"source of flow {flow.name!r} = {rule!r}: {msg}")


def _check_telemetry(scenario: Scenario, rules: Sequence[Any]) -> None:
    """Raise ValueError for one of ``rules`` if no link on its path writes telemetry, or one of them other fields."""
    table, routes = scenario.table, scenario.routes
    kinds, kind_of = scenario.link_table.kinds, scenario.link_table.kind_of.tolist()
    of_kind = [tuple(getattr(link.discipline, "telemetry", ())) for link in kinds]
    written = [() if n in scenario.interfaces else of_kind[k] for n, k in enumerate(kind_of)]
    for names in dict.fromkeys(rule.telemetry for rule in rules):
        follow = table.each("source", partial(_reads, names))
        has_telemetry = np.array([bool(fields) for fields in written])
        others = has_telemetry & np.array([fields[: len(names)] != names for fields in written])
        for flags, is_wrong, use in (
            (has_telemetry, False, NO_TELEMETRY),
            (others, True, "reads {names} of each link with telemetry, and {link} writes {written}"),
        ):
            per_flow = np.logical_or.reduceat(flags[routes.places], routes.begin) == is_wrong
            for f in np.flatnonzero(follow & per_flow)[:1].tolist():
                flow = scenario.flows[f]
                n = next((n for n in scenario.path_index(flow) if flags[n]), 0)
                link = scenario.links[n].name
                msg = use.format(names=", ".join(names), link=link, written=", ".join(written[n]))
                raise ValueError(f"source of flow {flow.name!r} = {flow.source!r}: {msg}")


def _check_laws(scenario: Scenario) -> None:
    """Raise ValueError for a law's room below a packet, and for a feeder of its link without a law or interface."""
    under = scenario.by_link(lambda link: isinstance(link.discipline, LinkLaw))
    under[scenario.is_interface] = False
    if not under.any():
        return
    obeys = under.copy()
    obeys[scenario.is_interface] = True
    routes, flow = scenario.routes, scenario.routes.flow
    lossless = np.zeros((len(under), CLASSES + 1), dtype=np.bool_)  # the last of no class
    for n in np.flatnonzero(under).tolist():
        rule: Any = scenario.links[n].discipline
        lossless[n, list(rule.classes)] = True
        for u, _, room in scenario.ingress(n):
            name = f"room({scenario.feeding(u).rate:g}, ...) of {type(rule).__name__}"
            one_number(name, room, at_least=1.0, hint="in packets")
    priorities = scenario.table.numbers("priority").astype(np.int64)
    priorities = np.where((priorities >= 0) & (priorities < CLASSES), priorities, CLASSES)
    controlled = lossless[routes.places, priorities[flow]]
    begins = np.zeros(len(flow), dtype=np.bool_)
    begins[routes.begin] = True
    before = np.concatenate([[0], routes.places[:-1]])
    is_nic = scenario.host_is("nic")[flow]
    for at in np.flatnonzero(controlled & begins & ~is_nic)[:1].tolist():
        user, link = scenario.flows[int(flow[at])], scenario.links[int(routes.places[at])]
        msg = f"{type(link.discipline).__name__} of {link.name} needs an interface, which obeys it"
        host = scenario.host_of(user)
        raise ValueError(f"host of flow {user.name!r} = {host!r}: {msg}; use host='nic'")
    for at in np.flatnonzero(controlled & ~begins & ~obeys[before])[:1].tolist():
        link, other = (scenario.links[int(n)] for n in (routes.places[at], before[at]))
        msg = f"must be a LinkLaw, as that of {link.name} acts on what it sends"
        raise ValueError(f"discipline of link {other.name!r} = {other.discipline!r}: {msg}")


def _check_backpressure(scenario: Scenario, method: Packets) -> None:
    """Raise ValueError for a feeder of a `BFC` link that does not pause flows, and for switches that choose."""
    under = scenario.by_link(lambda link: link.discipline.pauses == "flow")
    if method.spraying == "least queue" and scenario.table.each("paths", bool).any():
        msg = "must be 'turns' or 'random' with BFC, which pauses a flow at the port that it came from"
        raise ValueError(f"spraying = {method.spraying!r}: {msg}")
    routes = scenario.routes
    stops = under.copy()
    stops[scenario.is_interface] = True
    inner = np.ones(len(routes.places), dtype=np.bool_)
    inner[routes.begin] = False
    before = np.concatenate([[0], routes.places[:-1]])
    for at in np.flatnonzero(inner & under[routes.places] & ~stops[before])[:1].tolist():
        link, other = (scenario.links[int(n)] for n in (routes.places[at], before[at]))
        msg = f"must be BFC, as {link.name} pauses flows there"
        raise ValueError(f"discipline of link {other.name!r} = {other.discipline!r}: {msg}")


def _reads(names: tuple[str, ...], source: Any) -> bool:
    """Return whether a source's rule reads exactly the telemetry with these names."""
    return sees_telemetry(type(source)) and source.telemetry == names


def check_agents(scenario: Scenario, method: Packets, advice: str) -> None:
    """Raise ValueError for rules and recoveries that no agent of ns-2 combines; ``advice`` ends the message."""
    recoveries = method.recovery_of(scenario)
    # a column of recoveries follows from the sources
    columns = [] if isinstance(recoveries, Column) else [encode(recoveries).whole()]
    first, _ = scenario.table.alike("source", *columns)
    for f in first.tolist():
        flow, recovery = scenario.flows[f], recoveries[f]
        if not isinstance(flow.source, WindowRule):
            continue
        if recovery not in NS2_RULES:
            msg = f"ns-2 has {', '.join(map(repr, NS2_RULES))}; {advice}"
            raise ValueError(f"recovery of flow {flow.name!r} = {recovery!r}: {msg}")
        allowed = NS2_RULES[str(recovery)]
        if type(flow.source) not in allowed:
            rules = " or ".join(f"{rule.__name__}()" for rule in allowed)
            msg = f"its agent with that recovery runs {rules} in ns-2; {advice}"
            raise ValueError(f"recovery of flow {flow.name!r} with {flow.source!r} = {recovery!r}: {msg}")


def _check_fields(flow: Flow, name: str, rule: WindowRule | RateRule | ArrivalProcess) -> None:
    """Raise ValueError for a state whose first fields differ from the fields that the engine reads."""
    fields = rule.State._fields
    first: tuple[str, ...] = ("cwnd", "ssthresh")
    if isinstance(rule, (RateRule, ArrivalProcess)):
        first = ("rate",) if isinstance(rule, RateRule) else ("wait", "packets")
    if isinstance(rule, DeliveryRule) and "pacing_rate" in fields:
        first = (*first, "pacing_rate")
    if fields[: len(first)] != first:
        msg = f"{', '.join(first)} must come first in its State, which has {', '.join(fields)}"
        raise ValueError(f"{name} of flow {flow.name!r} = {rule!r}: {msg}")


def _check_discipline(link: Link, method: Packets) -> None:
    """Raise ValueError for options of a discipline that the packet level does not support."""
    rule: Any = link.discipline
    name = f"link {link.name}"
    if rule.pauses == "link" and rule.paused_rate > 0.0:
        msg = "a paused port stops completely at packet level; use 0, or method=Fluid()"
        raise ValueError(f"paused_rate of {name} = {rule.paused_rate:g}: {msg}")
    if rule.pauses == "class" and rule.managed is not None:
        manager = rule.manager
        if type(manager).on_step in (CoDel.on_step, PIE.on_step, PI2.on_step):
            msg = f"{manager!r} sees all classes at packet level; use None, or method=Fluid()"
            raise ValueError(f"managed of {name} = {rule.managed}: {msg}")
    if isinstance(rule, SwitchProgram):
        rule.check_queues()
    if isinstance(rule, LinkLaw):
        law_signature_of(rule)
        if rule.manager is not None and type(rule.manager).on_step is CoDel.on_step:
            msg = (
                "drops what has waited, whose room the law would not see freed; use one that drops what comes, or marks"
            )
            raise ValueError(f"manager of {name} = {rule.manager!r}: {msg}")
    if rule.diffuses and rule.per != "flow":
        msg = "at packet level each flow has a queue; use 'flow', or method=Fluid()"
        raise ValueError(f"per of {name} = {rule.per!r}: {msg}")
    if method.is_ns2 and type(rule) not in (FIFO, RED, DFC):  # DFC between ns-2's senders
        msg = f'ns-2 has no {type(rule).__name__}; use convention="standard"'
        raise ValueError(f"discipline of {name}: {msg}")


# Refusals during a run: of values that functions of users return, and of used-up sequence numbers.


def check_numbers(scenario: Scenario, too_many: NDArray[np.bool_], end: float) -> None:
    """Raise OverflowError for the first flow flagged in ``too_many``: more packets than sequence numbers.

    Parameters
    ----------
    scenario
        The scenario of the flows.
    too_many
        Whether each flow sends more packets, shape (F,).
    end
        End of the run, s.
    """
    for f in np.flatnonzero(too_many).tolist():
        where = f"{scenario.name}, flow {scenario.flows[f].name!r}, before t = {end:g} s"
        raise OverflowError(f"{where}: more than {ENDLESS} packets; shorten the run")


def check_window(scenario: Scenario, f: int, window: float, now: float) -> None:
    """Raise ArithmeticError for a window of flow f that is NaN; OverflowError beyond the sequence numbers.

    Parameters
    ----------
    scenario, f
        The scenario, and the number of the flow.
    window
        Window of the flow, packets.
    now
        Time of the run, s.

    Raises
    ------
    ArithmeticError
        If the window is not a number.
    OverflowError
        If it is more than 2^31 - 2 packets.
    """
    if window <= MAX_WINDOW:
        return
    where = f"{scenario.name}, t = {now:g} s: the window of flow {scenario.flows[f].name!r} is"
    if math.isnan(window):
        raise ArithmeticError(f"{where} not a number")
    raise OverflowError(f"{where} {window:g} packets, more than {MAX_WINDOW} sequence numbers")


def check_rate(scenario: Scenario, f: int, rate: float, now: float, window: float = math.inf) -> None:
    """Raise ArithmeticError for a rate, or window, of flow f that a rule has set to NaN."""
    for name, value in (("rate", rate), ("window", window)):
        if math.isnan(value):
            where = f"{scenario.name}, t = {now:g} s"
            raise ArithmeticError(f"{where}: the {name} of flow {scenario.flows[f].name!r} is not a number")


def check_arrival(scenario: Scenario, f: int, arrival: tuple[float, float], now: float, is_first: bool) -> None:
    """Raise ArithmeticError for flow f's arrival, (time to it, packets), that is no valid time or number.

    Parameters
    ----------
    scenario, f
        The scenario, and the number of the flow.
    arrival
        The wait in s, and the packets.
    now
        Time of the run, s.
    is_first
        Whether nothing arrived before: the first wait may be 0.
    """
    wait, packets = arrival
    where = f"{scenario.name}, t = {now:g} s: the arrivals of flow {scenario.flows[f].name!r} have"
    if not (wait > 0.0 or (wait == 0.0 and is_first)):
        msg = "must be above 0 (0 for the first arrival), or inf for no further one"
        raise ArithmeticError(f"{where} wait = {wait:g}: {msg}")
    if now + wait < math.inf and not (1.0 <= packets <= MAX_BATCH and packets == int(packets)):
        msg = f"must be a whole number from 1 to {MAX_BATCH}"
        raise ArithmeticError(f"{where} packets = {packets:g}: {msg}")


def refuse_program(plan: PacketPlan, p: int, f: int, now: float, returned: tuple[str, str, float]) -> None:
    """Raise ArithmeticError for ``returned``, (function, field, value), by port p's program for a packet of flow f.

    Parameters
    ----------
    plan, p, f
        The port and the flow of the packet.
    now
        Time of the run, s.
    returned
        The function, the field of its State, ``"queue"``, or ``"turns"``, and the value: of the latter how many turns
        were skipped one after the other.
    """
    function, field, value = returned
    port, name = plan.ports[p], plan.scenario.flows[f].name
    program: Any = port.discipline
    msg = "must be a number" if field == "rank" else "must be 0.0 or 1.0"
    if field == "queue":
        msg = f"must be from 0 to below {program.queues}"
    elif field == "turns":
        field = f"{value:.0f} times in a row skip"
        value, msg = 1.0, "some packet must be sent"
    where = f"{plan.scenario.name}, t = {now:g} s, link {port.name}"
    what = f"{type(program).__name__}.{function} returned for a packet of flow {name!r}"
    raise ArithmeticError(f"{where}: {what} {field} = {value:g}: {msg}")


def refuse_law(plan: PacketPlan, q: int, p: int, now: float, returned: tuple[str, str, float]) -> None:
    """Raise ArithmeticError for ``returned``, (function, field, value), by the law of port p, to which port q sends.

    Parameters
    ----------
    plan, q, p
        The port that sends over the link, and a port behind it.
    now
        Time of the run, s.
    returned
        The function, the field of its Receiver, or ``""`` of the answer of `LinkLaw.may_send`, and the value.
    """
    function, field, value = returned
    name = type(plan.ports[p].discipline).__name__
    where = f"{plan.scenario.name}, t = {now:g} s, link {plan.ports[q].name}"
    what = f"{field} = {value:g}" if field else f"{value:g}"
    msg = "must be a number" if field == "message" else "must be 0.0 or 1.0"
    raise ArithmeticError(f"{where}: {name}.{function} returned {what}: {msg}")


def refuse_element(plan: PacketPlan, k: int, now: float, returned: tuple[str, str, float]) -> None:
    """Raise ArithmeticError for ``returned``, (function, field, value), by element k, out of the field's range.

    Parameters
    ----------
    plan, k
        The element, by its index in the scenario.
    now
        Time of the run, s.
    returned
        The function, the field of its State, and the value.
    """
    element, (function, field, value) = plan.scenario.all_elements[k], returned
    allowed = {
        "drop": f"must be 0.0, or the number of one of its {count_of(len(element.causes), 'cause')}",
        "mark": "must be 0.0 or 1.0",
        "until": f"must be a time of at most {now + element.largest_hold:g} s, by its largest_hold",
        "copies": f"must be a whole number from 0 to {MAX_COPIES}",
    }
    where = f"{plan.scenario.name}, t = {now:g} s, link {element.link}: {type(element).__name__}.{function}"
    raise ArithmeticError(f"{where} returned {field} = {value:g}: {allowed[field]}")
