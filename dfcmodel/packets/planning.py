"""From a scenario and a method to the plan of a packet-level run; checks of values that users' functions return."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.columns import column_of
from dfcmodel.network.elements.base import MAX_COPIES
from dfcmodel.network.endpoints.arrivals import MAX_BATCH
from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.packets import ns2_random
from dfcmodel.packets.plan import ENDLESS, PacketPlan
from dfcmodel.packets.ports import Ports
from dfcmodel.packets.refusals import check_scenario
from dfcmodel.packets.sprayed import check_failures, rerouted, spread
from hopflow.checks import count_of, one_number
from responsefn import RateRule, WindowRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

    Floats = NDArray[np.float64]

__all__ = [
    "LARGEST",
    "check_arrival",
    "check_element",
    "check_law",
    "check_numbers",
    "check_program",
    "check_rate",
    "check_window",
    "plan_scenario",
]

SHORTEST = 1e-12
"""Least duration and sample in s: the kernel counts times of up to 1e5 s in samples, in 64 bits."""
LARGEST = ENDLESS
"""Packets of the largest window."""
PARTS = 32
"""Most parts of a sample that engines record, so that a run ends with one of them."""


def plan_scenario(
    scenario: Scenario,
    method: Packets,
    *,
    duration: float,
    sample: float,
    starts: Floats | None = None,
    packet_jitter: float = 0.0,
    may_spray: bool = False,
) -> PacketPlan:
    """Return the plan of a scenario.

    Parameters
    ----------
    duration, sample
        Simulated time and sampling interval, s. The last interval may be shorter.
    starts
        Start times of the flows, s, (F,), as `random_starts` returns them; of flows that wait for others the delay
        after these, or the earliest start. None: the times of the scenario.
    packet_jitter
        Upper end of the random delay of each packet at its sender, s.
    may_spray
        Whether sprayed flows are allowed. The plan has further flows then, which lend their paths.

    Raises
    ------
    ValueError
        For a feature that the packet level does not support; the message names it.
    OverflowError
        For a source of constant rate that sends more packets than there are sequence numbers, 2^31 - 2.
    """
    if starts is None:
        starts = scenario.table.numbers("start")
    spraying = None
    if method.failures:
        check_failures(scenario, method)
    if _is_sprayed(scenario, method):
        if not may_spray:
            raise ValueError(f"paths of {scenario.name}: sprayed flows are for simulate alone")
        if scenario.all_elements:
            msg = "must be () with sprayed flows, whose packets take several paths"
            raise ValueError(f"elements of {scenario.name!r}: {msg}")
        spraying, scenario = spread(scenario, method)
        starts = np.concatenate([np.full(spraying.lenders, np.inf), starts])
    check_scenario(scenario, method)
    one_number("duration", duration, at_least=SHORTEST, hint="in s")
    one_number("sample", sample, at_least=SHORTEST, hint="in s")
    waits = scenario.table.waits
    delays_after, earliest = np.zeros(0), starts
    if waits.any():
        delays_after, earliest = scenario.followers.times(starts)
    starts = np.where(waits, np.inf, starts)
    check_numbers(scenario, _surely_sent(scenario, starts, duration) > ENDLESS, duration)
    sample, samples, every = _division(duration, sample)
    repairs = method.repair_of(scenario)
    return PacketPlan(
        scenario=scenario,
        method=method,
        ports=_ports(scenario, method, repairs),
        recoveries=method.recovery_of(scenario),
        repairs=repairs,
        starts=starts,
        earliest=earliest,
        delays_after=delays_after,
        jitter=packet_jitter,
        phases=_phases(scenario, method),
        end=duration,
        sample=sample,
        samples=samples,
        every=every,
        spraying=spraying,
    )


def _is_sprayed(scenario: Scenario, method: Packets) -> bool:
    """Return whether any flow has several paths, of its own or because links fail."""
    if any(paths != () for paths in scenario.table.columns["paths"].values):
        return True
    return bool(method.failures) and rerouted(scenario, method)[1] is not None


def _ports(scenario: Scenario, method: Packets, repairs: Sequence[Any]) -> Ports:
    """Return the ports of a scenario, those of an earlier run if all that follows from ports is equal."""
    receives_acks = scenario.table.of_kind(WindowRule, RateRule) & ~_ignores_acks(scenario, repairs)
    # links that send again have lanes, as those that fail have, and those at which switches choose
    repeats = tuple(sorted((method.frame_errors or {}).items()))
    fails = tuple(sorted(method.failures or {}))
    options = method.is_ns2, method.ack_transmission, receives_acks.tobytes(), repeats, fails, method.spraying
    ports: Ports | None = scenario.derived.get(("ports", *options))
    if ports is None:
        ports = Ports(scenario, method, receives_acks)
        if ports.derived is not None:
            scenario.derived["ports", *options] = ports
    return ports


def check_numbers(scenario: Scenario, too_many: NDArray[np.bool_], end: float) -> None:
    """Raise OverflowError for a flow that sends more packets than there are sequence numbers.

    Parameters
    ----------
    scenario
        The scenario of the flows.
    too_many
        Whether each flow does, shape (F,).
    end
        Of the run, s.
    """
    for f in np.flatnonzero(too_many).tolist():
        where = f"{scenario.name}, flow {scenario.flows[f].name!r}, before t = {end:g} s"
        raise OverflowError(f"{where}: more than {ENDLESS} packets; shorten the run")


def check_window(scenario: Scenario, f: int, window: float, now: float) -> None:
    """Raise ArithmeticError for a window that a rule has set to no number, or beyond the sequence numbers.

    Parameters
    ----------
    scenario, f
        The scenario, and the number of the flow.
    window
        In packets.
    now
        Time of the run, s.

    Raises
    ------
    ArithmeticError
        If the window is not a number.
    OverflowError
        If it is more than 2^31 - 2 packets.
    """
    if window <= LARGEST:
        return
    where = f"{scenario.name}, t = {now:g} s: the window of flow {scenario.flows[f].name!r} is"
    if math.isnan(window):
        raise ArithmeticError(f"{where} not a number")
    raise OverflowError(f"{where} {window:g} packets, more than {LARGEST} sequence numbers")


def check_rate(scenario: Scenario, f: int, rate: float, now: float, window: float = math.inf) -> None:
    """Raise ArithmeticError for a rate or window that a rule has set to NaN; rates below 0 send nothing."""
    for name, value in (("rate", rate), ("window", window)):
        if math.isnan(value):
            where = f"{scenario.name}, t = {now:g} s"
            raise ArithmeticError(f"{where}: the {name} of flow {scenario.flows[f].name!r} is not a number")


def check_arrival(scenario: Scenario, f: int, arrival: tuple[float, float], now: float, is_first: bool) -> None:
    """Raise ArithmeticError for an arrival that cannot be scheduled.

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


def check_program(plan: PacketPlan, p: int, f: int, now: float, returned: tuple[str, str, float]) -> None:
    """Raise ArithmeticError for a value that a switch program cannot return: NaN, a flag between 0 and 1, or no queue.

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


def check_law(plan: PacketPlan, q: int, p: int, now: float, returned: tuple[str, str, float]) -> None:
    """Raise ArithmeticError for a value that a law of a link cannot return: no message, a flag between 0 and 1.

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


def check_element(plan: PacketPlan, k: int, now: float, returned: tuple[str, float]) -> None:
    """Raise ArithmeticError for a value that an element of a path cannot return.

    Parameters
    ----------
    plan, k
        The element, by its index in the scenario.
    now
        Time of the run, s.
    returned
        The field of its State, and the value.
    """
    element, (field, value) = plan.scenario.all_elements[k], returned
    allowed = {
        "drop": f"must be 0.0, or the number of one of its {count_of(len(element.causes), 'cause')}",
        "mark": "must be 0.0 or 1.0",
        "until": f"must be a time of at most {now + element.largest_hold:g} s, by its largest_hold",
        "copies": f"must be a whole number from 0 to {MAX_COPIES}",
    }
    where = f"{plan.scenario.name}, t = {now:g} s, link {element.link}"
    raise ArithmeticError(f"{where}: {type(element).__name__}.on_packet returned {field} = {value:g}: {allowed[field]}")


def _ignores_acks(scenario: Scenario, repairs: Sequence[Any]) -> NDArray[np.bool_]:
    """Return whether the sender of each flow ignores ACKs, (F,): its rate is constant, and it repairs nothing."""
    constant = scenario.table.each("source", lambda source: getattr(source, "is_constant", False))
    if not constant.any():
        return constant
    return np.asarray(constant & column_of(repairs).map(lambda repair: repair == "none").array())


def _surely_sent(scenario: Scenario, starts: Floats, end: float) -> Floats:
    """Return the packets that constant rates send up to the end; 0 of other sources."""
    table = scenario.table
    if not any(isinstance(source, CBR) for source in table.columns["source"].values):
        return np.zeros(len(table))
    rates = table.each("source", lambda source: source.rate if isinstance(source, CBR) else 0.0)
    stops = np.minimum(end, table.numbers("stop"))
    sent: Floats = np.minimum(table.numbers("size"), rates * np.maximum(0.0, stops - starts))
    return sent


@functools.lru_cache(maxsize=128)
def _division(end: float, sample: float) -> tuple[float, int, int]:
    """Return an interval of which a run has a whole number, that number, and how many make a sample.

    They are the 1st to `PARTS`-th part of a sample; where none divides the run samples are shorter, so that
    they do.
    """
    times = Fraction(end / sample).limit_denominator(PARTS)
    if times > 0 and abs(times * sample / end - 1.0) <= 1e-9:
        part = sample if times.denominator == 1 else end / times.numerator
        return part, times.numerator, times.denominator
    samples = math.ceil(end / sample)
    return end / samples, samples, 1


def _phases(scenario: Scenario, method: Packets) -> Floats:
    """Return the tick phases of the flows, s."""
    F = len(scenario.flows)
    if not method.is_ns2:
        return np.zeros(F)
    if method.phases is not None:
        if len(method.phases) != F:
            raise ValueError(f"phases: {count_of(len(method.phases), 'value')}, must be one for each of {F} flows")
        return np.array(method.phases)
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    drawn = np.flatnonzero(scenario.table.of_kind(WindowRule)).tolist()
    phases = np.zeros(F)  # agents of other sources draw none
    phases[drawn] = ns2_random.tick_phases([nodes[scenario.flows[f].path[0]] for f in drawn], len(nodes), method.seed)
    return phases
