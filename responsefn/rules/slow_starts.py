"""Slow starts for window rules: Limited Slow-Start (RFC 3742) and HyStart++ (RFC 9406)."""

from __future__ import annotations

import math
from collections import namedtuple
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from hopflow.checks import one_number
from hopflow.units import WithUnit, quantities
from responsefn.closed_forms.printed import formula_of
from responsefn.dynamics import Cycle, Event
from responsefn.response import Reference, rfc
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["hystart", "limited_slow_start"]


@quantities(max_ssthresh="amount")
def limited_slow_start(rule: WindowRule, max_ssthresh: WithUnit = 100.0) -> Any:
    """Return a rule with Limited Slow-Start (RFC 3742) instead of its slow start.

    Up to a window of ``max_ssthresh`` packets each ACK adds one packet; beyond it 1/K of a packet,
    K = int(cwnd / (max_ssthresh / 2)), so that a round trip adds ``max_ssthresh / 2`` to 0.75 ``max_ssthresh`` packets.
    The RFC's text says at most ``max_ssthresh / 2``, while its 836 round trips to 83,000 packets would need
    ``max_ssthresh`` in each; K is implemented as written. All other behaviour, also at losses, is the rule's.

    Parameters
    ----------
    rule
        A window rule whose slow start adds a packet per ACK (RFC 5681).
    max_ssthresh
        Packets, >= 1.

    Returns
    -------
    A rule of a class derived from the given one, with ``max_ssthresh`` among its parameters.

    Raises
    ------
    TypeError, ValueError
        For a rule with another slow start, or a parameter out of its range.

    Examples
    --------
    >>> from responsefn import HSTCP, limited_slow_start
    >>> rule = limited_slow_start(HSTCP())
    >>> rule, rule.rate(1e-5, 0.1) == HSTCP().rate(1e-5, 0.1)
    (limited_slow_start(HSTCP()), True)
    >>> rule.on_ack(rule.State(cwnd=200.0), rule.params, None).cwnd
    200.25
    """
    return _with_slow_start(_Limited, rule, {"max_ssthresh": max_ssthresh})


@quantities(min_rtt_thresh="time", max_rtt_thresh="time")
def hystart(
    rule: WindowRule,
    *,
    min_rtt_thresh: WithUnit = 4e-3,
    max_rtt_thresh: WithUnit = 16e-3,
    min_rtt_divisor: float = 8.0,
    n_rtt_sample: int = 8,
    css_growth_divisor: float = 4.0,
    css_rounds: int = 5,
) -> Any:
    """Return a rule with HyStart++ (RFC 9406) in its first slow start, before the first loss.

    A round is a window of ACKs. After ``n_rtt_sample`` ACKs of a round, if the minimum round-trip time of the
    round exceeds the previous round's by an eighth, at least 4 and at most 16 ms, conservative slow start
    begins: the window grows at a quarter of the pace. If the round-trip time then falls below its value at
    that time, slow start continues. After ``css_rounds`` rounds slow start ends with ``ssthresh`` at the window.

    The rule counts ACKs: the fluid passes single ACKs, without the delays of single packets. `rate`, inverse and
    metrics are the rule's without HyStart++. CUBIC's adjustments of W_max, K and the epoch on leaving slow start
    without a loss (RFC 9438, 4.10) are made. Its Reno-friendly window still grows by alpha < 1 up to W_max / beta.

    Parameters
    ----------
    rule
        A window rule whose slow start adds a packet per ACK (RFC 5681).
    min_rtt_thresh, max_rtt_thresh
        Minimum and maximum of the increase of the round-trip time that ends slow start, s.
    min_rtt_divisor
        Between both, the increase is the round-trip time over this divisor.
    n_rtt_sample
        Number of ACKs of a round before the comparison.
    css_growth_divisor
        Factor by which conservative slow start is slower, >= 2.
    css_rounds
        Number of rounds of conservative slow start.

    The defaults are the constants that RFC 9406 recommends in Sect. 4.3. They become parameters of the returned rule.
    Errors as for `limited_slow_start`.

    Examples
    --------
    >>> from responsefn import CUBIC, hystart
    >>> hystart(CUBIC()), hystart(CUBIC(C=0.2), css_rounds=3)
    (hystart(CUBIC()), hystart(CUBIC(C=0.2), css_rounds=3))
    """
    return _with_slow_start(
        _HyStart,
        rule,
        {
            "min_rtt_thresh": min_rtt_thresh,
            "max_rtt_thresh": max_rtt_thresh,
            "min_rtt_divisor": min_rtt_divisor,
            "n_rtt_sample": n_rtt_sample,
            "css_growth_divisor": css_growth_divisor,
            "css_rounds": css_rounds,
        },
    )


class _SlowStart:
    """Base of rules with another slow start, whose response is the rule's without it."""

    slow: ClassVar[type[_SlowStart]]
    plain: ClassVar[type[WindowRule]]
    name: ClassVar[str]
    constants: ClassVar[dict[str, float]]
    fields: ClassVar[dict[str, float]]
    slow_start: ClassVar[Reference]
    params: Any
    _given: set[str]

    def without(self) -> WindowRule:
        """Return the original rule."""
        return self.plain(**_explicit_parameters(self, self.plain.Params._fields))

    def formula(self) -> Any:
        """Return the closed form of the original rule, or None."""
        return formula_of(self.without())

    def cycle(self, *args: Any, **kwargs: Any) -> Cycle:
        """Return the numerical cycle of the original rule, which has no first slow start."""
        return self.without().cycle(*args, **kwargs)

    def cite(self) -> str:
        """Return the sources of the rule and of its slow start."""
        return f"{self.without().cite()}; slow start: {self.slow_start}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_slow_start, (
            self.slow,
            self.without(),
            _explicit_parameters(self, self.constants),
        )

    @staticmethod
    def function(inner: Any) -> Any:
        """Return `on_ack` around that of a rule."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the call that makes the rule."""
        shown = [f"{k}={v!r}" for k, v in _explicit_parameters(self, self.constants).items()]
        return f"{self.name}({', '.join([repr(self.without()), *shown])})"


class _Limited(_SlowStart):
    name: ClassVar[str] = "limited_slow_start"
    constants: ClassVar[dict[str, float]] = {"max_ssthresh": 100.0}
    slow_start: ClassVar[Reference] = rfc(
        3742, "S. Floyd, Limited slow-start for TCP with large congestion windows, 2004", "Sect. 2"
    )
    fields: ClassVar[dict[str, float]] = {}

    def check(self) -> None:
        """Check the rule's parameters and the limit."""
        super().check()  # type: ignore[misc]
        one_number("max_ssthresh", self.params.max_ssthresh, at_least=1.0, hint="in packets")

    @staticmethod
    def function(inner: Any) -> Any:
        """Return `on_ack` around that of a rule."""

        def on_ack(s: Any, q: Any, e: Any) -> Any:
            new = inner(s, q, e)
            if s.cwnd < s.ssthresh and s.cwnd > q.max_ssthresh:
                slower = math.floor(s.cwnd / (0.5 * q.max_ssthresh))
                new = new._replace(cwnd=s.cwnd + 1.0 / slower)
            return new

        return on_ack


class _HyStart(_SlowStart):
    name: ClassVar[str] = "hystart"
    constants: ClassVar[dict[str, float]] = {
        "min_rtt_thresh": 4e-3,
        "max_rtt_thresh": 16e-3,
        "min_rtt_divisor": 8.0,
        "n_rtt_sample": 8,
        "css_growth_divisor": 4.0,
        "css_rounds": 5,
    }
    slow_start: ClassVar[Reference] = rfc(
        9406, "P. Balasubramanian, Y. Huang, M. Olson, HyStart++, 2023", "Sect. 4.2 and 4.3"
    )
    fields: ClassVar[dict[str, float]] = {
        "last_round_min_rtt": math.inf,
        "round_min_rtt": math.inf,
        "samples": 0.0,
        "left": 0.0,
        "baseline": math.inf,
        "rounds": 0.0,
    }
    """Minimum RTT of the last and of this round in s; ACKs of this round, and remaining ACKs; minimum RTT at the
    beginning of conservative slow start in s; its rounds, including this one (0: not in it)."""
    counts_acks: ClassVar[bool] = True

    def check(self) -> None:
        """Check the rule's parameters and the constants."""
        super().check()  # type: ignore[misc]
        q = self.params
        one_number("min_rtt_thresh", q.min_rtt_thresh, above=0.0, hint="in s")
        one_number(
            "max_rtt_thresh",
            q.max_rtt_thresh,
            at_least=q.min_rtt_thresh,
            hint="in s, not below min_rtt_thresh",
        )
        one_number("min_rtt_divisor", q.min_rtt_divisor, above=0.0)
        one_number("n_rtt_sample", q.n_rtt_sample, at_least=1.0)
        one_number("css_growth_divisor", q.css_growth_divisor, at_least=2.0)
        one_number("css_rounds", q.css_rounds, at_least=1.0)

    @staticmethod
    def function(inner: Any) -> Any:
        """Return `on_ack` of RFC 9406, Sect. 4.2, around that of a rule."""

        def on_ack(s: Any, q: Any, e: Any) -> Any:
            new = inner(s, q, e)
            if s.ssthresh < math.inf:
                return new
            left = (s.left if s.left > 0.0 else math.floor(s.cwnd)) - 1.0
            round_min_rtt = min(s.round_min_rtt, e.rtt)
            last_round_min_rtt = s.last_round_min_rtt
            samples = s.samples + 1.0
            baseline = s.baseline
            rounds = s.rounds
            cwnd = new.cwnd
            ssthresh = new.ssthresh
            if rounds > 0.0:
                cwnd = s.cwnd + (new.cwnd - s.cwnd) / q.css_growth_divisor
                if samples >= q.n_rtt_sample and round_min_rtt < baseline:
                    baseline = math.inf
                    rounds = 0.0
            elif samples >= q.n_rtt_sample and last_round_min_rtt < math.inf:
                more = min(last_round_min_rtt / q.min_rtt_divisor, q.max_rtt_thresh)
                if round_min_rtt >= last_round_min_rtt + max(q.min_rtt_thresh, more):
                    baseline = round_min_rtt
                    rounds = 1.0
            if left <= 0.0:
                last_round_min_rtt = round_min_rtt
                round_min_rtt = math.inf
                samples = 0.0
                left = math.floor(cwnd)
                if rounds >= q.css_rounds:
                    ssthresh = cwnd
                elif rounds > 0.0:
                    rounds += 1.0
            return new._replace(
                cwnd=cwnd,
                ssthresh=ssthresh,
                last_round_min_rtt=last_round_min_rtt,
                round_min_rtt=round_min_rtt,
                samples=samples,
                left=left,
                baseline=baseline,
                rounds=rounds,
            )

        return on_ack


def _with_slow_start(slow: Any, rule: WindowRule, constants: dict[str, Any]) -> Any:
    """Return a rule of a class that derives from the class of ``rule``."""
    kind: Any = type(rule)
    if not issubclass(kind, WindowRule) or issubclass(kind, _SlowStart) or not _doubles(rule):
        what = "a window rule whose slow start adds a packet per ACK, such as Reno()"
        raise TypeError(f"rule = {rule!r}: must be {what}")
    overrides = {  # the constructor of the rule refuses other types by name
        k: v for k, v in constants.items() if not isinstance(v, Real) or v != slow.constants[k]
    }
    return _class_of(slow, kind)(**_explicit_parameters(rule, kind.Params._fields), **overrides)


def _explicit_parameters(rule: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters among ``names`` that were given or differ from their defaults."""
    values, defaults = rule.params._asdict(), rule.Params._field_defaults
    return {k: values[k] for k in names if k in rule._given or k not in defaults or values[k] != defaults[k]}


def _doubles(rule: WindowRule) -> bool:
    """Return whether an ACK of a new connection adds a packet to its window."""
    if hasattr(rule, "on_delivery") or rule.State._fields[:2] != ("cwnd", "ssthresh"):
        return False
    begun = rule.start(0.1)._replace(cwnd=8.0)
    return bool(rule.on_ack(begun, rule.params, Event(1.0, 0.1)).cwnd == 9.0)


@cache
def _class_of(slow: Any, plain: Any) -> type[Any]:
    """Return the class that derives from ``plain`` with another slow start."""
    types = [
        namedtuple(  # noqa: PYI024
            name,
            (*inherited._fields, *added),
            defaults=(*inherited._field_defaults.values(), *added.values()),
        )
        for name, inherited, added in (
            ("State", plain.State, slow.fields),
            ("Params", plain.Params, slow.constants),
        )
    ]
    types[1].__annotations__ = {
        **getattr(plain.Params, "__annotations__", {}),
        **dict.fromkeys(slow.constants, "float"),
    }
    members = {
        "__doc__": f"{plain.__name__} with the slow start of `{slow.name}`.",
        "__module__": __name__,
        "State": types[0],
        "Params": types[1],
        "slow": slow,
        "plain": plain,
        "assigned": (*plain.assigned, *slow.fields),
        "capacity": plain.capacity,
        "on_ack": staticmethod(slow.function(plain.on_ack)),
        "formula": slow.formula,
    }
    return type(f"{slow.__name__[1:]}{plain.__name__}", (slow, plain), members)
