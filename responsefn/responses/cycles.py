"""The deterministic loss cycle of any rule, solved numerically: one packet in 1/p is lost.

The rule's own functions, compiled, advance the window by blocks of ACKs (an eighth of a window at a
time, by the midpoint rule; single ACKs in slow start) until one cycle is like the one before. This
is the response of rules that have no closed form, derived here and not published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import build
from responsefn.responses import rule_kernels as templates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

    Floats = NDArray[np.float64]

__all__ = ["Cycle", "compile_rule", "numbers_of", "solve"]

TOLERANCE = 1e-11
"""Relative change of the peak over two cycles below which it goes on only as long as that falls."""
SAME = 1e-13
"""Relative difference of peaks and durations between which several cycles are taken to repeat."""
MOST = 4096
"""Cycles after which the mean over the last half stands for the cycle; a power of two."""
BUDGET = 2_000_000
"""Blocks of ACKs after which the same is done at the next power of two."""
EVENTS = ("on_ack", "on_loss")
SUMS = 6
"""Rows of `templates.simulate`'s lanes before those of the state."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """The loss cycle of a rule, arrays of the shape in which p and rtt broadcast.

    Attributes
    ----------
    rate
        Packets/s.
    mean_window, packet_mean_window, peak_window
        Average over time, over packets, and before the loss, in packets.
    duration
        Of a cycle, in s.
    cycles
        How many it took.
    period
        How many cycles repeat together; 0 where none do (the window may drift within the band in
        which a rule holds it, or be chaotic): the values are then averages of the last half.
    """

    rate: Floats
    mean_window: Floats
    packet_mean_window: Floats
    peak_window: Floats
    duration: Floats
    cycles: Floats
    period: Floats


def numbers_of(rule: Dynamics) -> dict[str, float]:
    """Return the parameters that a rule's dynamics can use: the numbers among them."""
    numbers = {
        name: float(value)
        for name, value in rule.params._asdict().items()
        if isinstance(value, (int, float))
    }
    return numbers or {"unused": 0.0}


def compile_rule(
    template: Callable[..., Any],
    rule: Dynamics,
    *,
    move: Callable[..., Any] = templates.block,
    width: int = 1,
    compiled: bool = True,
) -> Callable[..., Any]:
    """Return a template of this package with the functions of a rule spliced in.

    In the template ``load()`` becomes ``s = State(...)`` and ``q = Params(...)``, from row ``i`` of
    the array ``starts`` and from the array ``params``; ``take()`` and ``put()`` read and write the
    state of lane ``i`` of ``width``; ``move()`` takes the step ``move``, which is `ack` or `block`;
    ``advance()`` moves the state ``s`` by ``k`` ACKs of which each adds ``more``, to what one ACK makes
    ``new`` in the fields that are set outright; ``jump()`` changes the window by ``further``.
    """
    fields, names = rule.State._fields, tuple(numbers_of(rule))
    moved = ", ".join(
        f"new.{name}" if name in rule.assigned else f"s.{name} + k * more.{name}" for name in fields
    )
    jumped = ", ".join(
        "max(1.0, s.cwnd + further)" if name == "cwnd" else f"s.{name}" for name in fields
    )
    places = [f"lanes[{(SUMS + n) * width} + i]" for n in range(len(fields))]
    parameters = f"q = Params({', '.join(f'params[{n}]' for n in range(len(names)))},)"
    return build(
        template,
        functions={event: getattr(rule, event) for event in EVENTS},
        changes={"change": "on_ack"},
        helpers=(templates.doubling, move),
        snippets={
            "parameters": parameters,
            "layout": f"width = {width}",
            "load": _state(f"starts[i, {n}]" for n in range(len(fields))) + "\n" + parameters,
            "take": _state(places),
            "put": "\n".join(f"{at} = s.{name}" for at, name in zip(places, fields, strict=True)),
            "move": f"s, k, cwnd, lag = {move.__name__}(s, q, now, rtt, service, left)",
            "advance": f"s = State({moved},)",
            "jump": f"s = State({jumped},)",
        },
        tuples={"State": fields, "Params": names, "Event": ("time", "rtt")},
        compiled=compiled,
    )


def _state(values: Iterable[str]) -> str:
    return f"s = State({', '.join(values)},)"


def solve(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None) -> Cycle:
    """Return the cycle for checked arrays p and rtt that broadcast."""
    shape = np.broadcast_shapes(p.shape, rtt.shape)
    packets = np.broadcast_to(1.0 / p, shape).ravel().copy()
    rtts = np.broadcast_to(rtt, shape).ravel().copy()
    starts = begin_at_peak(rule, p, rtt, bandwidth)
    out = np.empty((len(rtts), 7))
    kernel = compile_rule(templates.cycles, rule)
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    params = np.array(list(numbers_of(rule).values()))
    kernel(packets, rtts, service, starts, params, MOST, BUDGET, TOLERANCE, SAME, out)
    columns = [out[:, n].reshape(shape) for n in range(7)]
    return Cycle(*columns)


def begin_at_peak(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None) -> Floats:
    """Return states just before a loss near where it is expected, shape (entries, fields).

    That is the peak of the closed form, or that of Reno, and not above twice what the path holds.
    """
    from responsefn.responses.base import formula_of

    formula = formula_of(rule)
    if formula is None:
        peaks = np.sqrt(8 / (3 * p)) + 0.0 * rtt
    elif formula.peak_window is None:
        peaks = rule.value_of(formula.mean_window, p=p, R=rtt) + 0.0 * p * rtt
    else:
        peaks = rule.value_of(formula.peak_window, p=p, R=rtt) + 0.0 * p * rtt
    rtts = np.broadcast_to(rtt, peaks.shape).ravel()
    if bandwidth is not None:
        peaks = np.minimum(peaks, 2 * bandwidth * rtt)
    starts = np.array([tuple(rule.start(float(r), bandwidth)) for r in rtts], dtype=np.float64)
    fields = rule.State._fields
    starts = starts.reshape(len(rtts), len(fields))
    starts[:, fields.index("cwnd")] = np.maximum(1.0, peaks.ravel())
    if "ssthresh" in fields:
        starts[:, fields.index("ssthresh")] = 2.0
    return starts
