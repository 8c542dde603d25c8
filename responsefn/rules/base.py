"""Window rules: updates of the congestion window, and their response."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hopflow.checks import one_number
from hopflow.functions import maximum, where
from hopflow.units import WithUnit, quantities
from responsefn.diagnostics import warns
from responsefn.dynamics import Event
from responsefn.equations import formula_of
from responsefn.inputs import (
    LossRates,
    capacity,
    keeps_labels,
    loss_rate,
    plain,
    round_trip,
    same_shape,
    spread,
)
from responsefn.response import Response

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from responsefn.dynamics import Cycle
    from responsefn.inputs import Bandwidth, Rates

__all__ = [
    "Event",
    "RenoGrowth",
    "WindowRule",
    "after",
    "answers_marks",
    "cut",
    "grow",
    "whole",
    "whole_cut",
]


ROUNDING = 1e-9  # own choice: above the rounding of a window's sum of fractions
"""Packets by which sums of fractions may be below a whole number: 50 additions of 1/50."""
MIN_ARRAY = 64  # numerical
"""Entries from which checking the ends of a range first is faster."""
STARTS = 9  # numerical
"""Number of windows from which `WindowRule.attractors` starts."""
NO_INVERSE_AT_CAPACITY = "it holds nearly the whole capacity over wide ranges of p, where its rate tells nothing of p"
"""Reason why rules that estimate the capacity have no inverse."""


def after(first: Any) -> Any:
    """Return a decorator of a rule's function that applies it to the state which another function returns.

    With ``@after(on_loss)`` a timeout makes the cut of a loss, and changes only what the function assigns.
    """
    first = first.__func__

    def decorate(then: Any) -> Any:
        def step(s: Any, q: Any, e: Any) -> Any:
            return then(first(s, q, e), q, e)

        step.__doc__ = then.__doc__
        return step

    return decorate


def grow(s: Any, step: Any) -> Any:
    """Return the state after an ACK: one packet more in slow start, ``step`` packets more above it."""
    return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step))


def cut(s: Any, window: Any) -> Any:
    """Return the state after a decrease to ``window`` packets, at least one, with the threshold at the window."""
    return s._replace(cwnd=maximum(1.0, window), ssthresh=maximum(2.0, window))


def whole(packets: Any) -> Any:
    """Return a window in whole packets: windows of Linux are integers, and it counts the ACKs between them."""
    return 1.0 * math.floor(packets + ROUNDING)


def whole_cut(s: Any, window: Any) -> Any:
    """Return the state after a decrease to ``window`` packets, rounded down to at least two."""
    return cut(s, max(2.0, whole(window)))


class WindowRule(Response, ABC):
    """Base of window rules: subclass it, name the parameters, write the updates of the window.

    A rule is plain Python that also compiles. The three functions may use the state ``s``, the
    parameters ``q``, the event ``e`` (``e.time`` and the round-trip time ``e.rtt``, in s), the
    functions `where`, `maximum` and `minimum` of `hopflow`, functions of `math`, numbers and tuples of them,
    ``min``, ``max``, branches, early returns, loops, and other functions of the same kind. They
    return the new state, ``s._replace(...)``. Strings, dictionaries, NumPy and side effects are not
    supported.

    A rule without `formula` has the response of its numerical cycle (`responsefn.cycles`). The three
    functions suffice for rates, inverse, metrics and plots. The cycle begins at Reno's peak, or
    at ``expected_peak(p, rtt)``, in packets, if the rule has this method.

    Attributes
    ----------
    State
        NamedTuple of the state; ``cwnd`` and ``ssthresh``, in packets, come first, and defaults
        are the state of a new connection. A field ``base_rtt`` starts at the round-trip time
        without queue, ``top_rate`` at the capacity in packets/s, if the path is known.
    Params
        NamedTuple of the parameters; parameters with a default come last.
    dynamics
        Updates of the window W per round trip and per loss in LaTeX, for rules without `formula`.
    assigned
        Fields of the state that `on_ack` assigns, such as maxima and times. All others change by
        increments, and the numerical cycle may add the increments of several ACKs at once.
    rate_estimates
        Fields of the state with an estimate of the rate, packets/s. A numerical cycle starts them at the rate of the
        peak window.
    recovery
        Default loss recovery in simulations: ``"tahoe"`` (slow start from one packet), ``"reno"`` (fast recovery ends
        with the first new ACK), ``"newreno"`` (it ends with the ACK of all packets sent before the loss), ``"sack"``
        (selective ACKs, RFC 6675), or at packet level ``"prr"`` (RFC 6937). Rules of operating systems have SACK: Linux
        (``tcp_sack = 1``, ip-sysctl) and Windows (``SackOpts = 1``) enable it by default. User rules, and rules from
        papers that do not specify a recovery, have NewReno's.
    signal
        Signal that calls `on_loss`: ``"loss"``, or ``"mark"`` (ECN; a loss then calls `on_drop`).
    capacity
        ``"ignored"`` by a rule that does not depend on the queue, ``"needed"`` if the response is undefined
        without a capacity, ``"optional"`` if the round-trip time may also be fixed. The default is ``"needed"``
        if `on_ack`, `on_loss` or `on_timeout` read ``e.rtt``, which a queue lengthens, otherwise ``"ignored"``.
    counts_acks
        Whether the effect of an ACK depends on the number of earlier ACKs, so that blocks of ACKs are not exact. Such
        a rule is solved and simulated ACK by ACK. Other rules are compared first, and are solved so if blocks
        give another result.
    counts_packets
        Whether the window grows by the packets that an ACK acknowledges, if the sender counts them (`dfcmodel.Flow`);
        False for a rule that is defined per ACK above slow start.
    counts_in_slow_start
        Whether it does so in slow start.
    sets_initial_window
        Whether the rule begins with the window of its own `start` under any stack (``stack`` of `dfcmodel.Flow`).
    single_below
        Loss event rate from which on the closed form is one of several responses; `rate` then warns.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from hopflow import maximum
    >>> class Gentle(WindowRule):
    ...     class Params(NamedTuple):
    ...         a: float = 0.25
    ...     @staticmethod
    ...     def on_ack(s, q, e): return s._replace(cwnd=s.cwnd + q.a / s.cwnd)
    ...     @staticmethod
    ...     def on_loss(s, q, e): return s._replace(cwnd=maximum(1.0, 0.9 * s.cwnd))
    ...     @staticmethod
    ...     def on_timeout(s, q, e): return s._replace(cwnd=1.0)
    >>> rule = Gentle(a=0.5)
    >>> rule.on_ack(rule.State(cwnd=10.0), rule.params, None).cwnd
    10.05
    """

    class State(NamedTuple):
        """Congestion window and slow-start threshold in packets."""

        cwnd: float = 1.0
        ssthresh: float = math.inf

    catalogue_kind: ClassVar[str] = "rule"
    assigned: ClassVar[tuple[str, ...]] = ()
    rate_estimates: ClassVar[tuple[str, ...]] = ()
    recovery: ClassVar[str] = "newreno"
    signal: ClassVar[str] = "loss"
    counts_acks: ClassVar[bool] = False
    counts_packets: ClassVar[bool] = True
    counts_in_slow_start: ClassVar[bool] = True
    sets_initial_window: ClassVar[bool] = False
    single_below: ClassVar[float] = math.inf
    _reads_rtt: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        classes = cls.__mro__[: cls.__mro__.index(Response)]
        if not any("capacity" in vars(update) for update in classes):
            updates = (cls.on_ack, cls.on_loss, cls.on_timeout)
            cls._reads_rtt = any("rtt" in update.__code__.co_names for update in updates if hasattr(update, "__code__"))
            if cls._reads_rtt:
                cls.capacity = "needed"

    @staticmethod
    @abstractmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Return the state after one packet was acknowledged."""

    @staticmethod
    @abstractmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a loss that duplicate ACKs signal, once per window."""

    @staticmethod
    def on_mark(s: Any, q: Any, e: Any) -> Any:
        """Return the state after ACKs with congestion marks: ``e`` is `responsefn.Feedback`.

        ``e`` holds the numbers of ACKs and of marked ACKs that arrive together, fractional in a fluid. A rule
        without this method responds to a mark with `on_loss`, once per window (RFC 3168, 6.1.2). Networks
        mark (`dfcmodel`). `rate` and the direct simulation have one signal, which calls `on_loss`.
        """
        return s

    @staticmethod
    def on_drop(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a loss, for a rule whose ``signal`` is ``"mark"``; once per window.

        The default is half of the window (RFC 5681).
        """
        return cut(s, 0.5 * s.cwnd)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Return the state after the retransmission timer expired.

        The default is slow start from one packet to half the window (RFC 5681).
        """
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd))

    def start(self, rtt: float, bandwidth: float | None = None) -> Any:
        """Return the state of a new connection in slow start with the parameters of its path.

        Parameters
        ----------
        rtt
            Round-trip time without queue, in s.
        bandwidth
            Capacity in packets/s, None for a path that never queues.
        """
        path = {"base_rtt": rtt, "top_rtt": rtt, "top_rate": bandwidth or 0.0}
        state = self.State()
        return state._replace(**{k: v for k, v in path.items() if k in self.State._fields})

    def in_fluid(self) -> Any:
        """Return the rule for the fluid, without mechanisms that need single packets."""
        return self

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:
        """Return whether `rate` evaluates the closed form (otherwise the numerical cycle).

        Closed forms assume a fixed round-trip time: a rule that depends on the queue has the
        numerical cycle if a bandwidth is given.
        """
        return formula_of(self) is not None and (bandwidth is None or self.capacity == "ignored")

    @quantities(rtt="time", bandwidth="rate", p="share")
    def cycle(self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True) -> Cycle:
        """Return the numerical solution of the deterministic loss cycle.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time without queue in s, broadcast with ``p``.
        bandwidth
            Capacity in packets/s: packets above ``bandwidth * rtt`` wait in an unlimited queue
            and lengthen the round trip. None is a fixed round-trip time.
        unit_check
            Whether to refuse an ``rtt`` of 5 s or more.
        """
        from responsefn.cycles import solve

        p, rtt = loss_rate(p), round_trip(rtt, unit_check)
        same_shape(p=p, rtt=rtt)
        return solve(self, p, rtt, self._capacity(bandwidth, unit_check))

    @quantities(rtt="time", bandwidth="rate", p="share")
    def attractors(
        self,
        p: float,
        rtt: WithUnit,
        bandwidth: WithUnit | None = None,
        *,
        unit_check: bool = True,
    ) -> tuple[float, ...]:
        """Return the rates in packets/s that the rule reaches from different windows, largest first.

        Most rules have one. With several, the window at the end of slow start decides; `rate` is the
        rate reached from the peak of the closed form, or from Reno's.

        Parameters
        ----------
        p
            Loss event rate.
        rtt
            Round-trip time without queue in s.
        bandwidth, unit_check
            As for `rate`.

        Examples
        --------
        >>> from responsefn import Illinois, Reno
        >>> [round(rate) for rate in Illinois().attractors(0.02, 0.1)], Reno().attractors(0.02, 0.1)
        ([612, 87], (86.5...,))
        """
        from responsefn.attractors import distinct
        from responsefn.cycles import solve

        p, rtt = one_number("p", loss_rate(p)), one_number("rtt", round_trip(rtt, unit_check))
        peak = float(np.asarray(self.peak_window(p, rtt, bandwidth, unit_check=False)))
        peaks = np.geomspace(2.0, 4.0 * max(peak, 2.0), STARTS)
        losses, rtts = np.full(STARTS, p), np.full(STARTS, rtt)
        cycles = solve(self, losses, rtts, self._capacity(bandwidth, unit_check), peaks=peaks)
        return distinct(cycles.rate)

    def _capacity(self, bandwidth: float | None, unit_check: bool = True) -> float | None:
        """Check the bandwidth; return None for a rule that ignores the capacity."""
        if bandwidth is not None:
            bandwidth = capacity(bandwidth, unit_check)
        elif self.capacity == "needed":
            raise ValueError(self._capacity_is_missing())
        return None if self.capacity == "ignored" else bandwidth

    def _capacity_is_missing(self) -> str:
        """Return the error message for a missing bandwidth."""
        why = f"the response of {self!r} depends on the capacity"
        remedy = ""
        if self._reads_rtt:
            why = f"{type(self).__name__} reads e.rtt, which a queue lengthens: its response depends on the capacity"
            remedy = '; if the round-trip time is to stay fixed, write capacity = "optional" in the class'
        return f"bandwidth is missing: {why}, in packets/s, for example bandwidth=mbps(100){remedy}"

    def _rate(self, p: Any, rtt: Any, bandwidth: float | None, unit_check: bool) -> Rates:
        """Return `rate` of plain arrays: the closed form where it holds, otherwise the numerical cycle."""
        bandwidth = self._capacity(bandwidth, unit_check)
        return self._field_of_response("rate", LossRates(p), round_trip(rtt, unit_check), bandwidth)

    def _field_of_response(self, name: str, losses: LossRates, rtt: Any, bandwidth: float | None) -> Rates:
        """Return a field of the closed form where it holds, otherwise of the numerical cycle."""
        p = losses.values
        shape = same_shape(p=p, rtt=rtt)
        formula = formula_of(self) if self.uses_closed_form(bandwidth) else None
        code = None if formula is None else formula.code(name)
        if formula is None or code is None:
            return plain(self._numerical(name, p, rtt, bandwidth))
        values = self.value_at(code, losses, rtt)
        if not formula.everywhere:
            holds = _holds_at_ends(self, losses, rtt) or self.closed_form_holds(p, rtt)
            if holds is not True and not holds.all():
                values = np.broadcast_to(values, shape).copy()
                other = ~holds
                at_p, at_rtt = (np.broadcast_to(array, shape)[other] for array in (p, rtt))
                values[other] = self._numerical(name, at_p, at_rtt, bandwidth)
        if name == "rate" and losses.bounds[1] >= self.single_below and warns():
            at, rtts = np.broadcast_arrays(p, rtt)
            self._remark_on_closed_form(at, rtts, bandwidth)
        return plain(spread(values, shape))

    def _remark_on_closed_form(self, p: Any, rtt: Any, bandwidth: float | None) -> None:
        """Warn about other rates where the closed form is one of several responses."""
        selected = np.flatnonzero((p.ravel() >= self.single_below) & self.closed_form_holds(p, rtt).ravel())
        if len(selected) > MIN_ARRAY:
            selected = selected[[np.argmax(p.ravel()[selected])]]
        if len(selected):
            at = p.ravel()[selected], rtt.ravel()[selected], bandwidth
            self._emit_remarks(*at, self.cycle(*at, unit_check=False))

    def _numerical(self, name: str, p: Any, rtt: Any, bandwidth: float | None) -> Any:
        """Return a field of the numerical cycle; with the rate, emit remarks on other rates and slow approaches."""
        from responsefn.cycles import reuse_steps

        with reuse_steps():
            cycle = self.cycle(p, rtt, bandwidth, unit_check=False)
            if name == "rate" and warns():
                self._emit_remarks(p, rtt, bandwidth, cycle)
        return getattr(cycle, name)

    def _emit_remarks(self, p: Any, rtt: Any, bandwidth: float | None, cycle: Cycle) -> None:
        from responsefn.attractors import emit_remarks

        p, rtt = (np.ascontiguousarray(array) for array in np.broadcast_arrays(p, rtt))
        flat = {field.name: getattr(cycle, field.name).ravel() for field in fields(cycle)}
        emit_remarks(self, p.ravel(), rtt.ravel(), bandwidth, replace(cycle, **flat))

    @quantities(rtt="time", bandwidth="rate", p="share")
    @keeps_labels
    def mean_window(
        self,
        p: ArrayLike,
        rtt: ArrayLike | None = None,
        bandwidth: WithUnit | None = None,
        *,
        unit_check: bool = True,
    ) -> Rates:
        """Return the time average of the window in packets (``rate * rtt`` without a queue).

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time in s, broadcast with ``p``; not needed by a rule whose window does
            not depend on it.
        bandwidth
            As for `rate`.
        unit_check
            Whether to refuse an ``rtt`` of 5 s or more.

        Returns
        -------
        A float for numbers, else an array of the broadcast shape.
        """
        return self._window("mean_window", p, rtt, bandwidth, unit_check)

    @quantities(rtt="time", bandwidth="rate", p="share")
    @keeps_labels
    def peak_window(
        self,
        p: ArrayLike,
        rtt: ArrayLike | None = None,
        bandwidth: WithUnit | None = None,
        *,
        unit_check: bool = True,
    ) -> Rates:
        """Return the window in packets just before a loss when one packet in 1/p is lost.

        Parameters and shapes as for `mean_window`.
        """
        return self._window("peak_window", p, rtt, bandwidth, unit_check)

    @quantities(rtt="time", bandwidth="rate", p="share")
    @keeps_labels
    def packet_mean_window(
        self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True
    ) -> Rates:
        """Return the average over packets of the window at which each is sent, in packets.

        It exceeds the time average, since a larger window sends more packets. The numerical cycle
        gives it. Parameters and shapes as for `mean_window`.
        """
        return plain(self.cycle(p, rtt, bandwidth, unit_check=unit_check).packet_mean_window)

    def _window(
        self,
        name: str,
        p: ArrayLike,
        rtt: ArrayLike | None,
        bandwidth: float | None,
        unit_check: bool,
    ) -> Rates:
        losses = LossRates(p)
        bandwidth = self._capacity(bandwidth, unit_check)
        if rtt is not None:
            return self._field_of_response(name, losses, round_trip(rtt, unit_check), bandwidth)
        formula = formula_of(self) if self.uses_closed_form(bandwidth) else None
        code = None if formula is None else formula.code(name)
        condition = None if formula is None else formula.code("condition")
        if code is None or "R" in code.names or (condition and "R" in condition.names):
            raise ValueError(f"rtt is missing: the window of {self!r} depends on it")
        return self._field_of_response(name, losses, np.asarray(1.0), bandwidth)  # the window does not depend on it


class RenoGrowth(WindowRule):
    """Base of rules that grow as Reno does: one packet per round trip above slow start (RFC 5681)."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start below the threshold, 1 / cwnd above."""
        return grow(s, 1.0 / s.cwnd)


def answers_marks(rule: type[WindowRule]) -> bool:
    """Return whether a rule has its own `on_mark`; otherwise marks count as losses."""
    return rule.on_mark is not WindowRule.on_mark


def _holds_at_ends(rule: WindowRule, losses: LossRates, rtt: Any) -> bool:
    """Return whether the closed form holds at both ends of p and so between; False if unknown."""
    if losses.values.size < MIN_ARRAY or rtt.ndim:
        return False
    from responsefn.response import range_of

    p_range = range_of(rule, float(rtt))
    return p_range is not None and p_range[0] <= losses.bounds[0] and losses.bounds[1] <= p_range[1]
