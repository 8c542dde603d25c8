"""Direct simulation of a window rule under loss: ACK by ACK, or in blocks of ACKs where p is small.

The rule's own functions run compiled. Nothing else of TCP is there: ACKs come one per packet, a
loss is known at once and repaired for free, and there are no timeouts. What remains is the rule, and
that is what a response function describes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from hopflow.checks import choice, number, one_number, random_generator, shown, whole
from hopflow.kernels import make_kernel
from hopflow.keywords import check_keywords, takes_keywords
from hopflow.naming.deprecations import renamed
from hopflow.units import WithUnit, quantities
from responsefn.responses import rule_kernels as templates
from responsefn.responses.dynamics import Event
from responsefn.responses.equations import formula_of
from responsefn.responses.input_checks import capacity, round_trip
from responsefn.responses.loss_cycles.cycle_starts import begin_at_peak
from responsefn.responses.rule_checks import check_dynamics
from responsefn.rules.base import WindowRule
from responsefn.simulation.losses import Deterministic, Gilbert, Losses
from responsefn.simulation.single_flow_results import SimulatedResponse, measured
from responsefn.simulation.single_flow_runs import Path, Run, blocks_follow, by_blocks_or_acks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["simulate_curve", "simulate_rule"]

LEAST_LOSS = 1e-15
"""Smallest loss event rate: packets between losses are counted in whole numbers."""
BLOCKS_BELOW = 1e-4
"""Loss rates below this one are simulated in blocks of ACKs unless told otherwise."""
RUNS, EVENTS_OF_A_RUN = 16, 1000
"""Maximum number of independent runs, and minimum number of losses of each."""


class FlowOptions(TypedDict, total=False):
    """Further keywords of `simulate_rule` and `simulate_curve`."""

    bandwidth: WithUnit | None
    buffer: WithUnit | None
    method: str
    seed: int | np.random.Generator
    unit_check: bool


DEFAULTS: FlowOptions = {
    "bandwidth": None, "buffer": None, "method": "auto", "seed": 0, "unit_check": True,
}  # fmt: skip


@renamed(rng="seed")
@quantities(rtt="time", bandwidth="rate", buffer="amount", p="share")
@takes_keywords(FlowOptions, DEFAULTS)
def simulate_rule(
    rule: WindowRule,
    p: WithUnit,
    rtt: WithUnit,
    losses: Losses | None = None,
    *,
    events: int = 2000,
    **options: Unpack[FlowOptions],
) -> SimulatedResponse:
    """Simulate a rule under loss and measure its response.

    Parameters
    ----------
    rule
        Any window rule, also one's own.
    p
        Loss rate, 0 < p <= 1; what it counts is the loss model's.
    rtt
        Round-trip time without queue in s.
    losses
        `Deterministic` (default), `Independent` or `Gilbert`. All have whole packets from loss to loss. Where 1/p is not
        a whole number, `Deterministic` alternates between two of them, which moves a rule whose cycle depends on single
        packets: `BIC()` at p = 3e-4 and 0.1 s by 0.9 % from `rate`, at p = 1/3333 by 0.1 %.
    events
        Losses drawn, for up to 16 independent runs of a thousand or more each; the first fifth of
        each is not measured.
    **options
        The following keywords.
    bandwidth
        Capacity in packets/s; None is a round-trip time that never changes.
    buffer
        Packets that the queue takes; a window beyond ``bandwidth * rtt + buffer`` loses a packet.
    method
        ``"acks"``, ``"blocks"`` (an eighth of a window at a time), or ``"auto"``: blocks for
        p < 1e-4, where the first cycles agree with single ACKs. ``"cycles"`` takes a whole cycle at a time, for rules whose window grows by a power
        law (`responsefn.responses.closed_forms.symbolic.PowerGrowth`) at a fixed round-trip time.
    seed
        Seed or generator.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Examples
    --------
    >>> from responsefn import Reno, simulate_rule
    >>> round(simulate_rule(Reno(), 0.01, 0.1, events=200).rate, 1)
    122.3
    """
    check_keywords(simulate_rule, options)
    p = one_number("p", p)
    (run,) = simulate_curve(rule, p, rtt, losses, events=events, **options)
    return run


@renamed(rng="seed")
@quantities(rtt="time", bandwidth="rate", buffer="amount", p="share")
@takes_keywords(FlowOptions, DEFAULTS)
def simulate_curve(
    rule: WindowRule,
    p: ArrayLike,
    rtt: WithUnit,
    losses: Losses | None = None,
    *,
    events: int | Sequence[int] = 2000,
    **options: Unpack[FlowOptions],
) -> tuple[SimulatedResponse, ...]:
    """Simulate a rule at several loss rates.

    Parameters
    ----------
    p
        Loss rates, 0 < p <= 1, shape (m,).
    events
        Losses drawn, one number or one for each p.
    rule, rtt, losses, **options
        As for `simulate_rule`.

    Returns
    -------
    m results, in the order of ``p``.

    Examples
    --------
    >>> from responsefn import Reno, simulate_curve
    >>> [round(run.rate) for run in simulate_curve(Reno(), [1e-3, 1e-2], 0.1, events=200)]
    [387, 122]
    """
    asked = check_keywords(simulate_curve, options)
    bandwidth, buffer, method, seed, unit_check = (asked[name] for name in DEFAULTS)
    losses = Deterministic() if losses is None else losses
    if not isinstance(rule, WindowRule):
        raise TypeError(f"rule = {rule!r}: must be a window rule, such as Reno()")
    if not isinstance(losses, Losses):
        raise TypeError(f"losses = {losses!r}: must be a model of losses, such as Independent()")
    check_dynamics(rule)
    random_generator("seed", seed)
    at = np.atleast_1d(number("p", p, at_least=LEAST_LOSS, at_most=1.0))
    if at.ndim > 1:
        raise ValueError(f"p has shape {at.shape}: must be a list of loss rates")
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    if isinstance(events, (str, bytes)):
        raise TypeError(f"events = {events!r}: must be one number, or one for each p")
    many = isinstance(events, Iterable) and bool(getattr(events, "ndim", 1))
    given: tuple[Any, ...] = tuple(events) if many else (events,)  # type: ignore[arg-type]
    if len(given) not in (1, len(at)):
        raise ValueError(f"events = {given!r}: must be one number, or one for each p")
    drawn = [whole("events", count, 50, 100_000_000) for count in given]
    choice("method", method, ("auto", "acks", "blocks", "cycles"))
    if bandwidth is None and buffer is not None:
        raise ValueError(
            f"bandwidth is missing: buffer = {shown(buffer)} needs the rate of its link"
        )
    if bandwidth is None and rule.capacity == "needed":
        raise ValueError(rule._capacity_is_missing())
    if bandwidth is not None:
        bandwidth = capacity(bandwidth, unit_check)
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    limit = math.inf
    if buffer is not None:
        limit = rtt / service + one_number("buffer", buffer, at_least=0.0)
    starts = begin_at_peak(rule, at, np.full(at.shape, rtt), bandwidth)
    starts[:, 0] = np.minimum(starts[:, 0], limit)
    starts = np.array([_after_loss(rule, start, rtt, service) for start in starts])
    runs = []
    for n, loss in enumerate(at):
        how = ("blocks" if loss < BLOCKS_BELOW else "acks") if method == "auto" else method
        parts = _gaps(losses, float(loss), drawn[n % len(drawn)], seed)
        runs += [Run(n, how, part, starts[n]) for part in parts]
    path = Path(rtt, service, limit, isinstance(losses, Gilbert))
    if method == "blocks" and not all(blocks_follow(rule, run, path) for run in runs):
        raise ValueError(
            f"method = 'blocks': must be 'acks' or 'auto' for {rule!r}, which acts at some ACKs only"
        )
    cycles = {
        run: _by_cycles(rule, losses, run, rtt, bandwidth) for run in runs if run.method == "cycles"
    }
    done = cycles | by_blocks_or_acks(rule, [run for run in runs if run not in cycles], path)
    return tuple(
        measured(
            rule,
            losses,
            float(loss),
            rtt,
            next(run.method for run in done if run.at == n),
            [rows for run, rows in done.items() if run.at == n],
        )
        for n, loss in enumerate(at)
    )


def _gaps(losses: Losses, p: float, count: int, seed: int | np.random.Generator) -> Ints:
    """Return the packets from loss to loss of independent runs, shape (runs, losses of each)."""
    # deterministic losses are the same in every run
    most = 1 if isinstance(losses, Deterministic) else RUNS
    alike = max(1, min(most, count // EVENTS_OF_A_RUN))
    gaps = losses.gaps(p, alike * -(-count // alike), random_generator("seed", seed))
    return gaps.reshape(alike, -1)


def _after_loss(rule: WindowRule, start: Floats, rtt: float, service: float) -> tuple[float, ...]:
    """Return the state after a loss, with which a run begins as every cycle does."""
    state = rule.State(*map(float, start))
    return tuple(rule.on_loss(state, rule.params, Event(0.0, max(rtt, state[0] * service))))


def _by_cycles(
    rule: WindowRule,
    losses: Losses,
    run: Run,
    rtt: float,
    bandwidth: float | None,
) -> Floats:
    """Return the records of the kernel's `runs` per cycle, from the linear map of a power of W."""
    formula = formula_of(rule) if rule.uses_closed_form(bandwidth) else None
    growth = formula and [formula.code(name) for name in ("exponent", "step", "kept")]
    if not growth or growth[0] is None or isinstance(losses, Gilbert):
        raise ValueError(
            f"method = 'cycles': must be 'acks' or 'blocks' for {rule!r} under {losses!r} losses, "
            "of which there is no cycle map"
        )
    m, g, kept = (float(rule.value_of(e, R=np.asarray(rtt))) for e in growth)
    packets, start = run.gaps, float(run.start[0])
    powers = np.empty(len(packets))
    before = start / kept if kept > 0.0 else 0.0  # the run begins after a loss
    make_kernel(templates.power_cycles)(packets, kept**m, m * g, before**m, powers)
    peak = powers ** (1.0 / m)
    low = kept * np.concatenate([[before], peak[:-1]])
    rounds = (
        np.log(peak / low) / g if m == 1.0 else (peak ** (m - 1) - low ** (m - 1)) / (g * (m - 1))
    )
    over_packets = (peak ** (m + 1) - low ** (m + 1)) / (g * (m + 1))
    return np.stack([rounds * rtt, packets, packets * rtt, over_packets, peak], axis=1)
