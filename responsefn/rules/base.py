"""Window rules: updates of the congestion window, and the response that follows."""

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
    "answers_marks",
    "cut",
    "grow",
    "whole",
    "whole_cut",
]


ROUNDING = 1e-9  # own choice: beyond the rounding of a window's sum of fractions
"""Packets by which sums of fractions may be below a whole number: 50 additions of 1/50."""
MIN_ARRAY = 64  # numerical
"""Entries from which it pays to look at the ends of a range first."""
STARTS = 9  # numerical
"""Windows from which `WindowRule.attractors` starts."""
FULL = "it holds nearly the whole capacity over wide ranges of p, where its rate tells nothing of p"
"""Why rules that estimate the capacity have no inverse."""


def grow(s: Any, step: Any) -> Any:
    """Return the state with one packet more in slow start, ``step`` packets more above it."""
    return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step))


def cut(s: Any, kept: Any) -> Any:
    """Return the state out of slow start with a window of ``kept`` packets; one is the least."""
    return s._replace(cwnd=maximum(1.0, kept), ssthresh=maximum(2.0, kept))


def whole(packets: Any) -> Any:
    """Return a window in whole packets: windows of Linux are integers, the ACKs between them are counted."""
    return 1.0 * math.floor(packets + ROUNDING)


def whole_cut(s: Any, kept: Any) -> Any:
    """Return the state with a window of ``kept`` packets, without their fraction; two is the least."""
    return cut(s, max(2.0, whole(kept)))


class WindowRule(Response, ABC):
    """Base of rules: subclass it, name the parameters, write the updates of the window.

    A rule is plain Python that also compiles: the three functions may use the state ``s``, the
    parameters ``q``, the event ``e`` (``e.time`` and the round-trip time ``e.rtt``, in s), the
    functions `where`, `maximum` and `minimum` of `hopflow`, those of `math`, numbers and tuples of them,
    ``min``, ``max``, branches, early returns, loops, and other functions written in the same way. They
    return the new state, ``s._replace(...)``. Text, dictionaries, NumPy and what changes something
    outside of the state are refused.

    A rule without `formula` has the response of its numerical cycle (`responsefn.cycles`): the
    three functions are all that it takes to get rates, inverse, metrics and plots. The cycle begins at Reno's peak, or
    at ``expected_peak(p, rtt)``, in packets, of a rule that has this method.

    Attributes
    ----------
    State
        NamedTuple of the state; ``cwnd`` and ``ssthresh``, in packets, come first, and defaults
        are the state of a new connection. A field ``base_rtt`` starts at the round-trip time
        without queue, ``top_rate`` at the capacity in packets/s, where they are known.
    Params
        NamedTuple of the parameters, those with a default last.
    dynamics
        What a round trip and a loss do to the window W, in LaTeX, where `formula` does not say it.
    assigned
        Fields of the state that `on_ack` sets outright, such as maxima and times; all others
        change by amounts, and the numerical cycle may add up several ACKs' amounts at once.
    rate_estimates
        Fields of the state in which a rule keeps an estimate of its rate, packets/s. At the peak where a numerical
        cycle begins they are that of the window there.
    recovery
        How the sender repairs losses where the one who simulates does not ask for another: ``"tahoe"`` (slow
        start from one packet), ``"reno"`` (fast recovery ends with the first new ACK), ``"newreno"`` (with the
        ACK of all that was sent before the loss), ``"sack"`` (by selective ACKs, RFC 6675), or at packet level ``"prr"`` (RFC 6937). It is what a rule
        is normally run with. Rules of operating systems have SACK: Linux enables it by default
        (``tcp_sack = 1``, ip-sysctl), and so does Windows (``SackOpts = 1``). Rules known from papers that do not speak
        of it, and one's own, have NewReno's.
    signal
        What `on_loss` answers: ``"loss"``, or ``"mark"`` (ECN; a loss is then for `on_drop`).
    capacity
        ``"ignored"`` by a rule that does not see the queue, ``"needed"`` by one whose response has
        no meaning without a capacity, ``"optional"`` where the round-trip time may also be fixed. A rule that does
        not say it needs one if `on_ack`, `on_loss` or `on_timeout` read ``e.rtt``, which a queue lengthens.
    counts_acks
        Whether what an ACK does depends on how many came before, so that many cannot be taken at once: such
        a rule is solved and simulated ACK by ACK everywhere. Others are where blocks of ACKs turn out to
        give another answer; the flag spares that comparison.
    counts_packets
        Whether the window grows by the packets that an ACK acknowledges, where the sender counts them (`dfcmodel.Flow`);
        False for a rule that is defined per ACK above slow start.
    counts_in_slow_start
        The same in slow start.
    sets_initial_window
        Whether the rule begins with the window of its own `start` under any stack (``stack`` of `dfcmodel.Flow`).
    single_below
        Loss event rates from which on the closed form is one of several responses, which `rate` says there.

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
        said = cls.__mro__[: cls.__mro__.index(Response)]
        if not any("capacity" in vars(each) for each in said):
            updates = (cls.on_ack, cls.on_loss, cls.on_timeout)
            cls._reads_rtt = any(
                "rtt" in each.__code__.co_names for each in updates if hasattr(each, "__code__")
            )
            if cls._reads_rtt:
                cls.capacity = "needed"

    @staticmethod
    @abstractmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Return the state after one packet was acknowledged."""

    @staticmethod
    @abstractmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Return the state after duplicate ACKs told of a loss, once per window."""

    @staticmethod
    def on_mark(s: Any, q: Any, e: Any) -> Any:
        """Return the state after ACKs with congestion marks: ``e`` is `responsefn.Feedback`.

        It sees how many ACKs came together and how many of them were marked, in a fluid parts of packets, and
        is called whenever there are any. A rule that does not write it does at a mark what `on_loss` does
        at a loss, once per window (RFC 3168, 6.1.2). Networks mark (`dfcmodel`); `rate` and the
        direct simulation know one signal, which is for `on_loss`.
        """
        return s

    @staticmethod
    def on_drop(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a loss, for a rule whose ``signal`` is ``"mark"``; once per window.

        Unless a rule says otherwise, half of the window (RFC 5681).
        """
        return cut(s, 0.5 * s.cwnd)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Return the state after the retransmission timer expired.

        Unless a rule says otherwise: slow start from one packet to half the window (RFC 5681).
        """
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd))

    def start(self, rtt: float, bandwidth: float | None = None) -> Any:
        """Return the state of a connection that knows the path and begins in slow start.

        Parameters
        ----------
        rtt
            Round-trip time without queue, in s.
        bandwidth
            Capacity in packets/s, None for a path that never queues.
        """
        known = {"base_rtt": rtt, "top_rtt": rtt, "top_rate": bandwidth or 0.0}
        state = self.State()
        return state._replace(**{k: v for k, v in known.items() if k in self.State._fields})

    def in_fluid(self) -> Any:
        """Return the rule as the fluid runs it: without what needs single packets."""
        return self

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:
        """Return whether `rate` evaluates the closed form (otherwise the numerical cycle).

        The closed forms are those of a fixed round-trip time: a rule that sees the queue has the
        numerical cycle once a bandwidth is given.
        """
        return formula_of(self) is not None and (bandwidth is None or self.capacity == "ignored")

    @quantities(rtt="time", bandwidth="rate", p="share")
    def cycle(
        self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True
    ) -> Cycle:
        """Return the numerical solution of the deterministic loss cycle.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time without queue in s, broadcast with ``p``.
        bandwidth
            Capacity in packets/s: a window above ``bandwidth * rtt`` waits in a queue without limit
            and lengthens the round trip. None is a round-trip time that never changes.
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
        """Return the rates in packets/s to which the rule comes from different windows, largest first.

        Mostly there is one. Where there are several, the window with which a connection comes out of
        slow start decides; `rate` is the one that is reached from the peak of the closed form, or
        from Reno's.

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
        found = solve(self, losses, rtts, self._capacity(bandwidth, unit_check), peaks=peaks)
        return distinct(found.rate)

    def _capacity(self, bandwidth: float | None, unit_check: bool = True) -> float | None:
        """Check the bandwidth; None unless the rule sees the queue."""
        if bandwidth is not None:
            bandwidth = capacity(bandwidth, unit_check)
        elif self.capacity == "needed":
            raise ValueError(self._capacity_is_missing())
        return None if self.capacity == "ignored" else bandwidth

    def _capacity_is_missing(self) -> str:
        """Say why a response needs a bandwidth, and what to write."""
        why = f"the response of {self!r} depends on the capacity"
        remedy = ""
        if self._reads_rtt:
            why = f"{type(self).__name__} reads e.rtt, which a queue lengthens: its response depends on the capacity"
            remedy = '; if the round-trip time is to stay fixed, write capacity = "optional" in the class'
        return f"bandwidth is missing: {why}, in packets/s, for example bandwidth=mbps(100){remedy}"

    def _rate(self, p: Any, rtt: Any, bandwidth: float | None, unit_check: bool) -> Rates:
        """Return `rate` of plain arrays: the closed form where it holds, else the numerical cycle."""
        bandwidth = self._capacity(bandwidth, unit_check)
        return self._either("rate", LossRates(p), round_trip(rtt, unit_check), bandwidth)

    def _either(self, name: str, losses: LossRates, rtt: Any, bandwidth: float | None) -> Rates:
        """Return a field of the closed form where it holds, else of the numerical cycle."""
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
                at_p, at_rtt = (np.broadcast_to(each, shape)[other] for each in (p, rtt))
                values[other] = self._numerical(name, at_p, at_rtt, bandwidth)
        if name == "rate" and losses.ends[1] >= self.single_below and warns():
            at, rtts = np.broadcast_arrays(p, rtt)
            self._comment_closed(at, rtts, bandwidth)
        return plain(spread(values, shape))

    def _comment_closed(self, p: Any, rtt: Any, bandwidth: float | None) -> None:
        """Say which other rates there are where the closed form is one of several."""
        some = np.flatnonzero(
            (p.ravel() >= self.single_below) & self.closed_form_holds(p, rtt).ravel()
        )
        if len(some) > MIN_ARRAY:
            some = some[[np.argmax(p.ravel()[some])]]
        if len(some):
            at = p.ravel()[some], rtt.ravel()[some], bandwidth
            self._comment(*at, self.cycle(*at, unit_check=False))

    def _numerical(self, name: str, p: Any, rtt: Any, bandwidth: float | None) -> Any:
        """Return a field of the numerical cycle; with the rate say what else there is to know of it."""
        from responsefn.cycles import reuse_steps

        with reuse_steps():
            cycle = self.cycle(p, rtt, bandwidth, unit_check=False)
            if name == "rate" and warns():
                self._comment(p, rtt, bandwidth, cycle)
        return getattr(cycle, name)

    def _comment(self, p: Any, rtt: Any, bandwidth: float | None, known: Cycle) -> None:
        from responsefn.attractors import comment

        p, rtt = (np.ascontiguousarray(each) for each in np.broadcast_arrays(p, rtt))
        flat = {field.name: getattr(known, field.name).ravel() for field in fields(known)}
        comment(self, p.ravel(), rtt.ravel(), bandwidth, replace(known, **flat))

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
        """Return the average over packets of the window that each found, in packets.

        It exceeds the time average, since a larger window sends more packets. By the numerical
        cycle. Parameters and shapes as for `mean_window`.
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
            return self._either(name, losses, round_trip(rtt, unit_check), bandwidth)
        formula = formula_of(self) if self.uses_closed_form(bandwidth) else None
        code = None if formula is None else formula.code(name)
        condition = None if formula is None else formula.code("condition")
        if code is None or "R" in code.names or (condition and "R" in condition.names):
            raise ValueError(f"rtt is missing: the window of {self!r} depends on it")
        return self._either(name, losses, np.asarray(1.0), bandwidth)  # any will do


class RenoGrowth(WindowRule):
    """Base of rules that grow as Reno does: one packet per round trip above slow start (RFC 5681)."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start below the threshold, 1 / cwnd above."""
        return grow(s, 1.0 / s.cwnd)


def answers_marks(rule: type[WindowRule]) -> bool:
    """Return whether a rule says itself what marks do, in `on_mark`; else they do what a loss does."""
    return rule.on_mark is not WindowRule.on_mark


def _holds_at_ends(rule: WindowRule, losses: LossRates, rtt: Any) -> bool:
    """Return whether the closed form holds at both ends of p and so between; False: not known."""
    if losses.values.size < MIN_ARRAY or rtt.ndim:
        return False
    from responsefn.response import range_of

    ends = range_of(rule, float(rtt))
    return ends is not None and ends[0] <= losses.ends[0] and losses.ends[1] <= ends[1]
