"""Window rules that share one bottleneck, packet by packet.

The path is one FIFO server with a drop-tail queue, and for each flow a fixed delay. What a rule does
is its own functions, compiled; what is around them is an ideal sender: it sends while fewer than
cwnd packets are on their way, knows by SACK what arrived, takes a packet for lost when three sent
after it have arrived (RFC 6675), calls ``on_loss`` once per window and lets the window be until what
was sent before is acknowledged, sends what was lost again, and calls ``on_timeout`` when nothing
comes back any more; whatever the rule's ``recovery`` says. Nothing is paced but by ACKs, one per
packet, and none of them gets lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import listed, number, one_number, random_generator, whole
from hopflow.deprecations import renamed
from hopflow.kernels import loop_of
from hopflow.status import OnFailure, deliver
from hopflow.units import WholeWithUnit, WithUnit, quantities
from responsefn.responses.input_checks import capacity, round_trip
from responsefn.responses.rule_checks import MAX_WINDOW, MIN_WINDOW, check_dynamics, raise_wrong
from responsefn.responses.rule_compilation import numbers_of
from responsefn.responses.rule_events import events_of, signature_of, signatures_of
from responsefn.rules.base import WindowRule
from responsefn.simulation.coexistence_results import BATCHES, SAMPLES, Coexistence
from responsefn.simulation.kernel.records import FLOW, PATH, RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from responsefn.responses.rule_events import RuleSignature

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_PACKETS = 1e10
"""Packets beyond which no run is begun: hours of computing."""
__all__ = ["coexist"]

FIRST_TIMER = 1.0
"""Retransmission timer before the first round-trip time is known, in s (RFC 6298)."""


@renamed(p="loss", rng="seed", seconds="duration")
@quantities(
    rtt="time",
    bandwidth="rate",
    buffer="amount",
    duration="time",
    warm_up="time",
    starts="time",
    processing="time",
    ssthresh="amount",
    max_window="amount",
    min_rto="time",
    loss="share",
)
def coexist(
    rules: WindowRule | Iterable[WindowRule],
    rtt: ArrayLike,
    bandwidth: WithUnit,
    buffer: WholeWithUnit,
    *,
    loss: WithUnit = 0.0,
    duration: WithUnit = 100.0,
    warm_up: WithUnit | None = None,
    starts: ArrayLike | None = None,
    processing: WithUnit | None = None,
    ssthresh: WithUnit | None = None,
    max_window: WithUnit | None = None,
    min_rto: WithUnit = 0.2,
    on_failure: OnFailure = "raise",
    seed: int | np.random.Generator = 0,
    unit_check: bool = True,
) -> Coexistence:
    """Simulate flows that share one drop-tail bottleneck, packet by packet.

    A flow's rule begins knowing its round-trip time and the capacity, where its state has a place
    for them (`WindowRule.start`); from then on it sees the round-trip times of its own packets.

    Parameters
    ----------
    rules
        One rule per flow, also one's own; the same rule may come several times, and one alone may
        stand without brackets.
    rtt
        Round-trip time without queue, the transmission of a packet included, in s: one number or
        one per flow, at least ``1 / bandwidth``.
    bandwidth
        Of the bottleneck in packets/s.
    buffer
        Packets that wait in its queue, besides the one in transmission; whole, >= 0.
    loss
        Probability that a packet is lost behind the queue, independently, 0 <= loss < 1.
    duration, warm_up
        Simulated time, and the part before the measurement (None: a fifth of it), in s.
    starts
        When each flow starts, in s, one number or one per flow, at most ``warm_up``; None: at random
        within the first round trip (and the warm-up).
    processing
        Largest processing time at the receiver, drawn uniformly for each packet, in s; None is the
        transmission time of a packet. Without it (0) deterministic flows fall into step with the
        queue: whose packets find it full depends on the ratio of round trip to transmission
        time, and a flow may be shut out for good. These phase effects are no property of the
        rules; a random delay of one transmission time takes most of them away (Floyd and
        Jacobson 1992), not all between two flows of almost equal round trips.
    ssthresh
        Where the first slow start ends, in packets; None: at the first loss.
    max_window
        Largest window in packets (the receiver's); None: four times what path and queue hold.
    min_rto
        Least retransmission timer in s; the timer is RFC 6298's, 1 s at first.
    on_failure
        Whether a result without shares raises or is returned with its ``status``.
    seed
        Seed or generator; the same seed gives the same packets.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.
    RuleError
        Where a rule makes its window less than a packet, infinite or NaN.
    hopflow.status.NotSolvedError
        Where nothing arrived in the measured time, so that there are no shares.

    Examples
    --------
    >>> from responsefn import CUBIC, Reno, coexist
    >>> run = coexist([Reno(), CUBIC()], rtt=0.04, bandwidth=2000.0, buffer=80)
    >>> bool(run.share[0] < run.share[1]), round(run.utilisation, 2)
    (True, 1.0)
    """
    flows = _checked_rules(rules)
    bandwidth = capacity(bandwidth, unit_check)
    rtts = _per_flow("rtt", round_trip(rtt, unit_check), len(flows))
    number("rtt", rtts, at_least=1.0 / bandwidth, hint="1 / bandwidth, a packet's transmission")
    places = whole("buffer", buffer, 0, 10_000_000)
    duration = one_number("duration", duration, above=0.0)
    if duration * bandwidth > MOST_PACKETS:
        packets = f"{duration * bandwidth:.1e} packets at the bottleneck"
        raise ValueError(f"duration = {duration:g}: {packets}, more than {MOST_PACKETS:.0e}")
    warm_up = 0.2 * duration if warm_up is None else warm_up
    warm_up = one_number("warm_up", warm_up, at_least=0.0, below=duration)
    if max_window is None:
        max_window = 4.0 * (bandwidth * float(rtts.max()) + places + 1.0)
    generator = random_generator("seed", seed)
    if starts is None:
        begins = np.minimum(rtts, warm_up) * generator.random(len(flows))
    else:
        begins = _per_flow("starts", number("starts", starts, at_least=0.0), len(flows))
    number("starts", begins, at_most=warm_up, hint="warm_up, so that all are measured alike")
    setup = _Setup(
        flows=flows,
        rtts=rtts,
        bandwidth=bandwidth,
        places=places,
        p=one_number("loss", loss, at_least=0.0, below=1.0),
        duration=duration,
        warm_up=warm_up,
        begins=begins,
        processing=one_number(
            "processing", 1.0 / bandwidth if processing is None else processing, at_least=0.0
        ),
        ssthresh=None if ssthresh is None else one_number("ssthresh", ssthresh, at_least=1.0),
        max_window=one_number("max_window", max_window, at_least=1.0, at_most=2.0**24),
        min_rto=one_number("min_rto", min_rto, above=0.0),
    )
    result = _simulated(setup, generator)
    deliver(result, on_failure)
    return result


@dataclass(frozen=True, eq=False)
class _Setup:
    """Arguments of `coexist`, checked: one entry per flow in tuples and arrays."""

    flows: tuple[WindowRule, ...]
    rtts: Floats
    bandwidth: float
    places: int
    p: float
    duration: float
    warm_up: float
    begins: Floats
    processing: float
    ssthresh: float | None
    max_window: float
    min_rto: float


def _checked_rules(rules: WindowRule | Iterable[WindowRule]) -> tuple[WindowRule, ...]:
    given = (rules,) if isinstance(rules, WindowRule) else rules
    flows = listed("rules", given, WindowRule, "a window rule, such as Reno()")  # type: ignore[type-abstract]
    if not flows:
        raise ValueError("rules = (): must hold at least one")
    for rule in dict.fromkeys(flows):
        check_dynamics(rule)
        if rule.signal != "loss":
            raise ValueError(
                f"rules: {rule!r} answers congestion marks, and this queue drops packets and marks "
                "none: its response is simulate_rule's, with every loss taken for a mark"
            )
    return flows


def _flow_records(setup: _Setup, rules: Sequence[RuleSignature]) -> NDArray[Any]:
    """Return the flows before their first packets, shape (F,)."""
    flow = np.zeros(len(setup.flows), FLOW)
    flow["base_rtt"] = setup.rtts
    flow["due"] = flow["last"] = setup.begins
    flow["timer"] = max(FIRST_TIMER, setup.min_rto)
    for f, rule in enumerate(setup.flows):
        state = rule.start(float(setup.rtts[f]), setup.bandwidth)
        if setup.ssthresh is not None and "ssthresh" in state._fields:
            state = state._replace(ssthresh=setup.ssthresh)
        parameters = list(numbers_of(rule).values())
        flow["rule"][f] = rules.index(signature_of(rule))
        flow["parameters"][f, : len(parameters)] = parameters
        flow["cwnd"][f] = min(state[0], setup.max_window)
        flow["ssthresh"][f] = state[1] if len(state) > 1 else 0.0
        flow["rule_state"][f, : max(0, len(state) - 2)] = state[2:]
    return flow


def _simulated(
    setup: _Setup, generator: np.random.Generator, *, compiled: bool = True
) -> Coexistence:
    """Run the kernel over arrays made for it; as plain Python, for tests, unless ``compiled``."""
    rules = signatures_of(setup.flows)
    flow = _flow_records(setup, rules)
    ring = np.zeros((len(flow), 1 << math.ceil(math.log2(setup.max_window + 4.0))))
    lost = _losses(setup.p, setup.bandwidth * setup.duration + setup.places + 2.0, generator)
    path = np.zeros(1, PATH)
    path[0] = (
        1.0 / setup.bandwidth, setup.places, setup.processing, setup.max_window, setup.min_rto, MIN_WINDOW,
        MAX_WINDOW, 0.0, 0, 0, int(generator.integers(1, 2**31 - 1)),
    )  # fmt: skip
    times = _times(setup.warm_up, setup.duration)
    rows, backlog = np.zeros((len(times), len(flow)), FLOW), np.zeros(len(times))
    wrong = np.zeros(RECORD + max(len(rule.State._fields) for rule, _ in rules))
    records = (each if compiled else each.view(np.recarray) for each in (flow, path, rows))
    flows, paths, found = records
    events = events_of(rules, several=False, compiled=compiled)
    loop_of("responsefn.simulation.kernel", compiled=compiled)(
        times, (events, flows), (paths, lost), (ring, ring.copy()), (found, backlog, wrong)
    )
    raise_wrong(setup.flows, wrong)
    by_flow = rows.T
    return Coexistence(
        rules=setup.flows,
        rtt=setup.rtts,
        bandwidth=setup.bandwidth,
        buffer=setup.places,
        p=setup.p,
        warm_up=setup.warm_up,
        time=times,
        window=by_flow["cwnd"],
        sent=by_flow["sent"],
        acked=by_flow["acked"],
        refused=by_flow["refused"],
        lost=by_flow["lost"],
        in_flight=by_flow["alive"],
        loss_events=by_flow["loss_events"],
        timeouts=by_flow["timeouts"],
        queue=backlog * setup.bandwidth,
        sums=np.stack([by_flow[name] for name in ("area", "peaks", "waited")]),
    )


def _per_flow(name: str, values: Floats, flows: int) -> Floats:
    if values.ndim and values.shape != (flows,):
        raise ValueError(f"{name} has shape {values.shape}: must be one number or {flows}")
    return np.broadcast_to(values, (flows,)).astype(np.float64)


def _times(warm_up: float, duration: float) -> Floats:
    """Return the sampling times: batches of equal length after the warm-up, about as fine before."""
    measured = np.linspace(warm_up, duration, BATCHES * SAMPLES + 1)
    before = math.ceil(warm_up / (measured[1] - measured[0]))
    return np.concatenate([np.linspace(0.0, warm_up, before, endpoint=False), measured])


def _losses(p: float, packets: float, generator: np.random.Generator) -> Ints:
    """Return which packets of the server get lost, in order, beyond ``packets`` or at infinity."""
    never = np.array([2**62])
    if p == 0.0:
        return never
    gaps = generator.geometric(p, math.ceil(p * packets + 10.0 * math.sqrt(p * packets) + 10.0))
    return np.concatenate([np.cumsum(gaps), never])
