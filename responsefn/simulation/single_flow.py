"""Direct simulation of a window rule under loss: ACK by ACK, or in blocks of ACKs where p is small.

The rule's functions run compiled, without other mechanisms of TCP: each packet has an ACK, losses are
detected and repaired immediately, and there are no timeouts. A response function describes this model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import format_value, integer, number, one_number, random_generator
from hopflow.deprecations import takes_options
from hopflow.kernels import engine, make_kernel
from hopflow.parameters import Parametrized, param
from hopflow.units import WithUnit, quantities
from responsefn import steps
from responsefn.closed_forms.printed import formula_of
from responsefn.cycles import KERNEL, begin_at_peak, blocks_agree
from responsefn.dynamics import Event
from responsefn.inputs import capacity, round_trip
from responsefn.kernel.flow import FAULT_STATE, PATH, ROWS
from responsefn.rule_events import check_dynamics, raise_fault
from responsefn.rules.base import WindowRule
from responsefn.simulation.losses import Deterministic, Gilbert, Losses
from responsefn.simulation.single_flow_results import SimulatedResponse, measure
from responsefn.steps import compile_step, write_parameters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["DirectSimulation", "follow_runs", "simulate_curve", "simulate_rule"]

SMALLEST_P = 1e-15
"""Smallest loss event rate: packets between losses are counted in whole numbers."""
BLOCKS_BELOW = 1e-4
"""Loss rate below which the default method is blocks of ACKs."""
MAX_RUNS, MIN_EVENTS_OF_RUN = 16, 1000
"""Maximum number of independent runs, and minimum number of losses of each."""
COMPARED_ACKS, COMPARED_CYCLES, MAX_COMPARED_ACKS = 2_000_000, 4, 10_000_000
"""ACKs of a run that are simulated both ACK by ACK and in blocks, and minimum number of cycles.

The minimum holds up to the last number of ACKs."""
BLOCK_ERROR = 0.004
"""Relative difference of rates, or of windows before a loss, above which a run goes ACK by ACK."""


class DirectSimulation(Parametrized):
    """Path and method of `simulate_rule` and `simulate_curve`.

    Parameters
    ----------
    bandwidth
        Capacity in packets/s; None is a fixed round-trip time.
    buffer
        Buffer of the queue in packets; a window above ``bandwidth * rtt + buffer`` loses a packet. None: unlimited.
    method
        ``"acks"``, ``"blocks"`` (an eighth of a window at a time), or ``"auto"``: blocks for p < 1e-4, if the first
        cycles agree with single ACKs. ``"cycles"`` computes a whole cycle at a time, for rules whose window grows by a
        power law (`responsefn.closed_forms.symbolic.PowerGrowth`) at a fixed round-trip time.
    seed
        Seed or generator of the losses.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more, and a bandwidth that was probably meant in bit/s.

    Examples
    --------
    >>> from responsefn import DirectSimulation
    >>> DirectSimulation(bandwidth="12Mbps", seed=1).bandwidth
    1000.0
    """

    class Params(NamedTuple):
        """Packets/s; packets; method; seed; whether to check the unit."""

        bandwidth: WithUnit | None = param(None, "rate")
        buffer: WithUnit | None = param(None, "amount", at_least=0.0)
        method: str = param("auto", choices=("auto", "acks", "blocks", "cycles"))
        seed: int | np.random.Generator = param(0)
        unit_check: bool = param(True)

    def check(self) -> None:
        """Check the capacity, and that a buffer has a link."""
        q = self.params
        if q.bandwidth is not None:
            capacity(q.bandwidth, q.unit_check)
        elif q.buffer is not None:
            raise ValueError(f"bandwidth is missing: buffer = {format_value(q.buffer)} needs the rate of its link")


DEFAULT = DirectSimulation()
"""Default options: no capacity, automatic method, seed 0."""


@takes_options(DirectSimulation, rng="seed")
@quantities(rtt="time", p="share")
def simulate_rule(
    rule: WindowRule,
    p: WithUnit,
    rtt: WithUnit,
    losses: Losses | None = None,
    *,
    events: int = 2000,
    options: DirectSimulation = DEFAULT,
) -> SimulatedResponse:
    """Simulate a rule under loss and measure its response.

    Parameters
    ----------
    rule
        Any window rule, also a user's.
    p
        Loss rate as defined by the loss model, 0 < p <= 1.
    rtt
        Round-trip time without queue in s.
    losses
        `Deterministic` (default), `Independent` or `Gilbert`. All have whole packets from loss to loss. If 1/p is not
        a whole number, `Deterministic` alternates between two whole numbers. This changes the rate of rules whose cycle
        depends on single packets: `BIC()` at p = 3e-4 and 0.1 s differs by 0.9 % from `rate`, at p = 1/3333 by 0.1 %.
    events
        Losses drawn, for up to 16 independent runs of a thousand or more each; the first fifth of
        each is not measured.
    options
        Path, method and seed.

    Examples
    --------
    >>> from responsefn import Reno, simulate_rule
    >>> round(simulate_rule(Reno(), 0.01, 0.1, events=200).rate, 1)
    122.3
    """
    p = one_number("p", p)
    (run,) = simulate_curve(rule, p, rtt, losses, events=events, options=options)
    return run


@takes_options(DirectSimulation, rng="seed")
@quantities(rtt="time", p="share")
def simulate_curve(
    rule: WindowRule,
    p: ArrayLike,
    rtt: WithUnit,
    losses: Losses | None = None,
    *,
    events: int | Sequence[int] = 2000,
    options: DirectSimulation = DEFAULT,
) -> tuple[SimulatedResponse, ...]:
    """Simulate a rule at several loss rates.

    Parameters
    ----------
    p
        Loss rates, 0 < p <= 1, shape (m,).
    events
        Number of losses, one for all p or one for each.
    rule, rtt, losses, options
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
    if not isinstance(options, DirectSimulation):
        raise TypeError(f"options = {options!r}: must be a DirectSimulation")
    bandwidth, buffer, method, seed, unit_check = options.params
    losses = Deterministic() if losses is None else losses
    if not isinstance(rule, WindowRule):
        raise TypeError(f"rule = {rule!r}: must be a window rule, such as Reno()")
    if not isinstance(losses, Losses):
        raise TypeError(f"losses = {losses!r}: must be a model of losses, such as Independent()")
    check_dynamics(rule)
    loss_rates = np.atleast_1d(number("p", p, at_least=SMALLEST_P, at_most=1.0))
    if loss_rates.ndim > 1:
        raise ValueError(f"p has shape {loss_rates.shape}: must be a list of loss rates")
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    if isinstance(events, (str, bytes)):
        raise TypeError(f"events = {events!r}: must be one number, or one for each p")
    is_list = isinstance(events, Iterable) and bool(getattr(events, "ndim", 1))
    counts: tuple[Any, ...] = tuple(events) if is_list else (events,)  # type: ignore[arg-type]
    if len(counts) not in (1, len(loss_rates)):
        raise ValueError(f"events = {counts!r}: must be one number, or one for each p")
    counts = tuple(integer("events", count, 50, 100_000_000) for count in counts)
    if bandwidth is None and rule.capacity == "needed":
        raise ValueError(rule._capacity_is_missing())
    if bandwidth is not None:
        bandwidth = capacity(bandwidth, unit_check)
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    limit = math.inf
    if buffer is not None:
        limit = rtt / service + buffer
    starts = begin_at_peak(rule, loss_rates, np.full(loss_rates.shape, rtt), bandwidth)
    starts[:, 0] = np.minimum(starts[:, 0], limit)
    path = Path(rtt, service, limit, isinstance(losses, Gilbert))
    runs = []
    for n, (loss_rate, state) in enumerate(zip(loss_rates, starts, strict=True)):
        # a run starts after a loss, as every cycle does
        peak = rule.State(*map(float, state))
        start = rule.on_loss(peak, rule.params, Event(0.0, max(rtt, peak[0] * service)))
        run_method = ("blocks" if loss_rate < BLOCKS_BELOW else "acks") if method == "auto" else method
        gaps = _draw_gaps(losses, float(loss_rate), counts[n % len(counts)], seed)
        runs += [Run(n, run_method, row, np.array(tuple(start))) for row in gaps]
    if method == "cycles":
        rows = {run: _map_cycles(rule, losses, run, rtt, bandwidth) for run in runs}
    else:
        rows = _simulate(rule, runs, path, explicit=method == "blocks")
    return tuple(
        measure(
            rule,
            losses,
            float(loss_rate),
            rtt,
            next(run.method for run in rows if run.index == n),
            [columns for run, columns in rows.items() if run.index == n],
        )
        for n, loss_rate in enumerate(loss_rates)
    )


def _draw_gaps(losses: Losses, p: float, count: int, seed: int | np.random.Generator) -> Ints:
    """Return the packets from loss to loss of independent runs, shape (runs, losses of each)."""
    # deterministic losses are the same in every run
    max_runs = 1 if isinstance(losses, Deterministic) else MAX_RUNS
    runs = max(1, min(max_runs, count // MIN_EVENTS_OF_RUN))
    gaps = losses.gaps(p, runs * -(-count // runs), random_generator("seed", seed))
    return gaps.reshape(runs, -1)


@dataclass(frozen=True, eq=False)
class Run:
    """A run at the loss rate with this index: packets from loss to loss, and the first state."""

    index: int
    method: str
    gaps: Ints
    start: Floats


class Path(NamedTuple):
    """Round-trip time and time per packet in s, window limit, and ``merge``.

    A window above ``limit`` loses a packet. With ``merge`` the losses of a window are one.
    """

    rtt: float
    service: float
    limit: float
    merge: bool


class InvalidBlockError(Exception):
    """A block of ACKs ends at an invalid window, which single ACKs may not make."""


def _simulate(rule: WindowRule, runs: Sequence[Run], path: Path, *, explicit: bool) -> dict[Run, Floats]:
    """Return the rows of the kernel's `runs` of each run, ACK by ACK where blocks of ACKs differ.

    Raises
    ------
    ValueError
        If blocks were asked for (``explicit``) and differ.
    """
    agrees: dict[int, bool] = {}
    for run in runs:
        if run.method == "blocks" and (explicit or run.index not in agrees):
            agrees[run.index] = _blocks_agree(rule, run, path) and agrees.get(run.index, True)
    if explicit and not all(agrees.values()):
        raise ValueError(f"method = 'blocks': must be 'acks' or 'auto' for {rule!r}, which acts at some ACKs only")
    by_blocks = [run for run in runs if run.method == "blocks" and agrees[run.index]]
    rows: dict[Run, Floats] = {}
    if by_blocks:
        try:
            rows = follow_runs(rule, by_blocks, path)
        except InvalidBlockError:
            by_blocks = []
    by_acks = [
        run if run.method == "acks" else replace(run, method="acks")
        for order in ("acks", "blocks")
        for run in runs
        if run.method == order and run not in by_blocks
    ]
    return rows | (follow_runs(rule, by_acks, path) if by_acks else {})


def _blocks_agree(rule: WindowRule, run: Run, path: Path) -> bool:
    """Return whether the first losses of a run have the same times and windows in blocks and ACK by ACK."""
    if rule.counts_acks:
        return False
    p, bandwidth = len(run.gaps) / run.gaps.sum(), 1.0 / path.service if path.service else None
    if path.limit == math.inf and not blocks_agree(rule, p, path.rtt, bandwidth):
        return False
    sums = np.cumsum(run.gaps)
    acks = max(COMPARED_ACKS, min(MAX_COMPARED_ACKS, int(sums[:COMPARED_CYCLES].max())))
    count = max(1, int(np.searchsorted(sums, acks, side="right")))
    gaps = np.minimum(run.gaps[:count], MAX_COMPARED_ACKS)
    times, windows = [], []
    for method in ("blocks", "acks"):
        try:
            (rows,) = follow_runs(rule, [replace(run, method=method, gaps=gaps)], path).values()
        except InvalidBlockError:
            return False
        second_half = rows[len(rows) // 2 :]
        times.append(second_half[:, 0].sum() / second_half[:, 1].sum())
        windows.append(second_half[:, 4].mean())
    difference = max(abs(math.log(by_blocks / by_acks)) for by_blocks, by_acks in (times, windows))
    return bool(difference <= BLOCK_ERROR)


def follow_runs(rule: WindowRule, runs: Sequence[Run], path: Path, *, compiled: bool = True) -> dict[Run, Floats]:
    """Return the rows of the kernel's `runs` of each run, all of one method, the longest run first.

    Raises
    ------
    RuleError
        For an invalid window.
    InvalidBlockError
        For an invalid window that a block of ACKs makes.
    """
    runs = sorted(runs, key=lambda run: -int(run.gaps.sum()))
    step = steps.block if runs[0].method == "blocks" else steps.ack
    to_next_loss = compile_step(steps.to_next_loss, rule, step=step, compiled=compiled)
    loss = compile_step(steps.loss, rule, compiled=compiled)
    lengths = np.array([len(run.gaps) for run in runs])
    first = np.concatenate([[0], np.cumsum(lengths)])
    starts = np.array([run.start for run in runs])
    gaps = np.concatenate([run.gaps for run in runs]).astype(np.float64)
    table = np.zeros(1, PATH)
    table[0] = path.rtt, path.service, path.limit, path.merge
    if not compiled:
        table = table.view(np.recarray)
    kernel = engine(KERNEL, "runs", compiled=compiled)
    rows, complete = first, False
    while not complete:  # a buffer may lose more packets than were drawn
        if path.limit < math.inf:
            rows = np.concatenate([[0], np.cumsum(2 * np.diff(rows) + 64)])
        numbers = np.zeros(ROWS)
        write_parameters(numbers, rule)
        out, counts = np.empty((rows[-1], 5)), np.zeros(len(runs), dtype=np.int64)
        fault = np.zeros(FAULT_STATE + starts.shape[1])
        cases = gaps, first, starts, rows
        complete = kernel(cases, table, (to_next_loss, loss), numbers, (out, counts, fault))
        if fault[0] and step is steps.block:
            raise InvalidBlockError
        raise_fault(rule, fault)
    return {run: out[rows[j] : rows[j] + counts[j]] for j, run in enumerate(runs)}


def iterate_power_map(packets: Ints, factor: float, growth: float, start: float, out: Floats) -> None:
    """Template: a power of the window before each loss, which every cycle maps linearly."""
    power = start
    for n in range(packets.shape[0]):
        power = factor * power + growth * packets[n]
        out[n] = power


def _map_cycles(
    rule: WindowRule,
    losses: Losses,
    run: Run,
    rtt: float,
    bandwidth: float | None,
) -> Floats:
    """Return the records of the kernel's `runs` per cycle, from the linear map of a power of W."""
    formula = formula_of(rule) if rule.uses_closed_form(bandwidth) else None
    growth = formula and [formula.code(name) for name in ("exponent", "step", "decrease_factor")]
    if not growth or growth[0] is None or isinstance(losses, Gilbert):
        raise ValueError(
            f"method = 'cycles': must be 'acks' or 'blocks' for {rule!r} under {losses!r} losses, "
            "of which there is no cycle map"
        )
    m, g, factor = (float(rule.value_of(e, R=np.asarray(rtt))) for e in growth)
    packets, start = run.gaps, float(run.start[0])
    powers = np.empty(len(packets))
    before = start / factor if factor > 0.0 else 0.0  # the run begins after a loss
    make_kernel(iterate_power_map)(packets, factor**m, m * g, before**m, powers)
    peak = powers ** (1.0 / m)
    low = factor * np.concatenate([[before], peak[:-1]])
    rounds = np.log(peak / low) / g if m == 1.0 else (peak ** (m - 1) - low ** (m - 1)) / (g * (m - 1))
    over_packets = (peak ** (m + 1) - low ** (m + 1)) / (g * (m + 1))
    return np.stack([rounds * rtt, packets, packets * rtt, over_packets, peak], axis=1)
