"""Rules and laws: the rate as a function of the loss event rate and the round-trip time, and their equations."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from hopflow.checks import choice, flag, format_value, instances, one_number
from hopflow.class_attributes import warn_of_unused_attributes
from hopflow.functions import maximum
from hopflow.parameters import Parametrized, is_overridden, param
from hopflow.results import grid_html
from hopflow.units import WithUnit, quantities
from responsefn.closed_forms.printed import Code, evaluate, formula_of
from responsefn.diagnostics import OutsideDomainWarning, is_called_by_user, quiet, warn, warns
from responsefn.dynamics import Event
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

if TYPE_CHECKING:
    import sympy
    from numpy.typing import ArrayLike, NDArray

    from responsefn.closed_forms.symbolic import Formula
    from responsefn.dynamics import Cycle
    from responsefn.inputs import Bandwidth, Rates

    Floats = NDArray[np.float64]

__all__ = [
    "CLAIMS",
    "Law",
    "Reference",
    "Response",
    "WindowRule",
    "cut",
    "domain_of",
    "equation_of",
    "rfc",
    "slope_of",
    "table_of",
]


AT_END = 1e-12
"""Relative rounding of a loss event rate at an end of a domain."""
MAX_REMARKED = 64  # numerical
"""Entries above which remarks on several responses are computed for the largest p alone."""
STARTS = 9  # numerical
"""Number of windows from which `WindowRule.attractors` starts."""
DIGITS, MAX_SHOWN_OPERATIONS = 5, 100
"""Digits of numbers in displayed equations; operations above which an equation is long."""
CLAIMS = ("newreno", "cubic-rfc9438", "bbr-draft", "other")
"""Specifications that a rule may claim to implement; "other": none of them."""
CLASS_CHOICES = {"claims": CLAIMS, "signal": ("loss", "mark"), "capacity": ("ignored", "optional", "needed")}
"""Attributes of classes of window rules, and their values."""
CLASS_FLAGS = frozenset(("counts_acks", "counts_packets", "counts_in_slow_start", "sets_initial_window"))
"""Attributes of classes of window rules that are True or False."""
STATE_FIELDS = frozenset(("assigned", "rate_estimates"))
"""Attributes of classes of window rules that are names of fields of their state."""
SLOPE_SPANS = 1.01, 1.1  # numerical
"""Ratios of p over which `Response.elasticity` is computed, and checked."""
MAX_SLOPE_DIFFERENCE = 0.1
"""Difference between slopes over two ranges above which the rate jumps or bends."""
RTT_EVENTS = tuple((name, Event._fields) for name in ("on_ack", "on_loss", "on_timeout"))
"""Functions whose response to a queue `WindowRule.capacity` derives, with the fields of their events."""
_FORMULA = '<div style="max-width:30em;overflow-x:auto">\\({}\\)</div>'
"""Formula in HTML; a long formula scrolls."""


class Reference(NamedTuple):
    """A source of a rule or law, as `Response.cite` prints it.

    Attributes
    ----------
    text
        Author, title, place, year.
    source
        ``"primary"`` if the definition was read in the source itself, in its authors' code, in a later text
        of its authors, which is then named, or in the bundled copy of its tables; ``"secondary"`` if it
        is taken from other authors' descriptions; ``"own"`` if it is derived in hopflow.
    """

    text: str
    source: str = "secondary"
    doi: str = ""

    def __str__(self) -> str:
        link = f", doi:{self.doi}" if self.doi else ""
        return f"{self.text}{link} (source: {self.source})"


def rfc(number: int, text: str, where: str) -> Reference:
    """Return a primary reference to an RFC with its sections.

    >>> print(rfc(6582, "T. Henderson et al., The NewReno modification, 2012", "Sect. 3.2"))
    T. Henderson et al., The NewReno modification, 2012, RFC 6582, Sect. 3.2, doi:10.17487/RFC6582 (source: primary)
    """
    return Reference(f"{text}, RFC {number}, {where}", "primary", f"10.17487/RFC{number}")


class Response(Parametrized):
    """Base of rules and laws: a rate in packets/s as a function of the loss event rate p and the round-trip time.

    Subclasses define their closed form (`formula`) and the numbers for the symbols of their
    parameters (`bindings`). A class that changes one of the functions `stated_functions` without a `formula` of its own
    has none.

    Attributes
    ----------
    reference
        Source; `cite` prints it.
    domain
        Smallest and largest loss event rate for which the response is meant; see `in_domain`.
    monotone
        Whether the rate falls with p everywhere, so that there is an inverse.
    why_no_inverse
        Reason in the error of `invert` otherwise.
    capacity
        Whether the rate depends on the path's capacity: ``"ignored"``, ``"optional"`` or ``"needed"``.
    dynamics
        WindowRule in LaTeX, for rules without `formula`.
    solved_by
        Method for the rate without a formula; ``"none"`` without a rate.
    stated_functions
        Names of the functions of which `formula` and `dynamics` are the response.
    package
        Package that exports the class.
    catalogue_kind
        Kind in the catalogue: ``"rule"`` (of a window), ``"rate rule"``, ``"delivery rule"`` or ``"law"``.
    catalogue_rows
        Parameters of each row of the class in the catalogue; a class without its own value has one row at the
        defaults.
    """

    SWEPT_BY = "responsefn.sweeps"

    package: ClassVar[str] = "responsefn"
    catalogue_kind: ClassVar[str] = "law"
    catalogue_rows: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    reference: ClassVar[Reference | None] = None
    HAS_NAMED_CONSTANTS = True
    domain: ClassVar[tuple[float, float]] = (0.0, 1.0)
    monotone: ClassVar[bool] = True
    why_no_inverse: ClassVar[str] = "its rate does not fall with p everywhere"
    capacity: ClassVar[str] = "ignored"
    dynamics: ClassVar[str] = ""
    solved_by: ClassVar[str] = "numerical cycle"
    stated_functions: ClassVar[tuple[str, ...]] = ()

    def cite(self) -> str:
        """Return the source of the rule or law, and whether the source itself was read."""
        if self.reference is None:
            return f"{type(self).__name__}: no source stated"
        return str(self.reference)

    def _repr_html_(self) -> str:
        return table_of([self])

    @quantities(p="share")
    def in_domain(self, p: ArrayLike) -> NDArray[np.bool_]:
        """Return which loss event rates are within ``domain``.

        `rate` also accepts others; curves, tables and plots mark them.

        Examples
        --------
        >>> from responsefn import Reno
        >>> Reno().in_domain([0.01, 0.1])
        array([ True, False])
        """
        low, high = self.domain
        p = np.asarray(p, dtype=np.float64)
        return (p >= low * (1.0 - AT_END)) & (p <= high * (1.0 + AT_END))

    def formula(self) -> Formula | None:
        """Return the closed form in the symbols of `responsefn.closed_forms.symbolic`, or None."""
        return None

    def closed_form(self) -> Formula:
        """Return `formula`; raise TypeError without one."""
        formula = formula_of(self)
        if formula is None:
            name = type(self).__name__
            raise TypeError(f"{name} states no closed form: define {name}.formula()")
        return cast("Formula", formula)

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return the numbers for the parameters' symbols, by the symbols' names.

        Parameters
        ----------
        rtt
            Round-trip time in s, for parameters whose default follows from it.
        """
        fields = self.params._asdict().items()
        return {name: value for name, value in fields if not isinstance(value, str)}

    def check_inverse(self, rtt: NDArray[np.float64]) -> None:
        """Raise ValueError where the rate does not fall with p everywhere; called by `invert`."""

    @property
    def expression(self) -> sympy.Expr:
        """The rate in packets/s as a SymPy expression, the source of the numerical code."""
        return self.closed_form().rate

    def _code(self, name: str) -> Code:
        """Return the code of an attribute of the closed form."""
        return cast("Code", self.closed_form().code(name))

    @quantities(rtt="time", bandwidth="rate", p="share")
    @keeps_labels
    def rate(self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True) -> Rates:
        """Return the rate in packets/s.

        For a window rule it is the closed form where that holds (`closed_form_holds`), otherwise the rate of the
        numerical cycle.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time without queue in s, any shape that broadcasts with ``p``.
        bandwidth
            Capacity in packets/s, for rules that depend on the queue (``capacity``); others ignore it.
        unit_check
            Whether to refuse an ``rtt`` of 5 s or more, which was probably meant in ms.

        Returns
        -------
        A float for two numbers, otherwise an array of the broadcast shape.

        Raises
        ------
        ValueError
            For an invalid argument, with its value and the allowed range.
        ArithmeticError
            If the window of a rule without a closed form still drifts after four million loss events.

        Warns
        -----
        OutsideDomainWarning
            For loss event rates outside of ``domain``; `curve` marks them.
        """
        rates = self._rate(p, rtt, bandwidth, unit_check)
        number: Any = p
        if not (type(number) is float and self.domain[0] <= number <= self.domain[1]):
            self._warn_outside_domain(p, rtt)
        return rates

    def _warn_outside_domain(self, p: Any, rtt: Any) -> None:
        """Warn of loss event rates outside of the domain in a call from outside of hopflow's packages."""
        inside = self.in_domain(p)
        if inside.all() or not (warns() and is_called_by_user()):
            return
        outside = inside.size - np.count_nonzero(inside)
        beyond = f"{format_value(p)} is" if inside.ndim == 0 else f"{outside} of {inside.size} values are"
        message = f"p: {beyond} outside of the domain of {self!r}, {domain_of(self)}"
        if inside.ndim == 0 and np.ndim(rtt) == 0 and self.in_domain(rtt):
            message += "; p is the first argument and rtt the second"
        warn(OutsideDomainWarning(message))

    def _rate(
        self,
        p: Any,
        rtt: Any,
        bandwidth: float | None,  # noqa: ARG002
        unit_check: bool,
    ) -> Rates:
        """Return `rate` of plain arrays, by the closed form; other responses override this."""
        losses, rtt = LossRates(p), round_trip(rtt, unit_check)
        shape = same_shape(p=losses.values, rtt=rtt)
        return plain(spread(self.value_at(self._code("rate"), losses, rtt), shape))

    @quantities(rtt="time", bandwidth="rate", p="share")
    @keeps_labels
    def elasticity(
        self, p: ArrayLike, rtt: ArrayLike, bandwidth: Bandwidth = None, *, unit_check: bool = True
    ) -> Rates:
        """Return d log T / d log p: -1/2 for a square-root law, -3/4 for CUBIC's.

        SymPy differentiates a closed form. Otherwise, and where that derivative overflows, it is a
        central difference of the rate over 1 % in p to either side. Parameters and shapes as for `rate`.

        Warns
        -----
        UserWarning
            Where a difference over 10 % to either side is another slope by more than 0.1, as where windows of whole
            packets make the rate jump.
        """
        p, rtt = loss_rate(p), round_trip(rtt, unit_check)
        p, rtt = np.broadcast_arrays(p, rtt) if same_shape(p=p, rtt=rtt) != p.shape else (p, rtt)
        slope = np.empty(p.shape)
        closed = np.zeros(p.shape, dtype=bool)
        if self.uses_closed_form(bandwidth):
            closed = np.broadcast_to(self.closed_form_holds(p, rtt), p.shape)
            try:
                slope[...] = self.value_of(self._code("log_slope"), p=p, R=rtt)
            except ArithmeticError:  # a power of p beyond the range of numbers
                slope[...] = np.nan
            closed = closed & np.isfinite(slope)
        if not closed.all():
            rtts = np.broadcast_to(rtt, p.shape)[~closed]

            def rates(at: Floats) -> Floats:
                return np.asarray(self.rate(at, rtts, bandwidth, unit_check=unit_check))

            slope[~closed] = slope_of(self, rates, "p", p[~closed], SLOPE_SPANS, highest=1.0)
        return plain(slope)

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:  # noqa: ARG002
        """Return whether `rate` evaluates the closed form (otherwise the numerical cycle)."""
        return True

    @quantities(rtt="time", p="share")
    def closed_form_holds(self, p: ArrayLike, rtt: ArrayLike) -> NDArray[np.bool_]:
        """Return whether the closed form is the response at each loss event rate and round-trip time.

        Parameters
        ----------
        p, rtt
            Loss event rate, and round-trip time in s: checked, shapes that broadcast.

        Examples
        --------
        >>> from responsefn import Scalable
        >>> Scalable().closed_form_holds([0.004, 0.005], 0.1)
        array([ True, False])
        """
        formula = formula_of(self)
        p, rtt = np.asarray(p, dtype=np.float64), np.asarray(rtt, dtype=np.float64)
        shape = np.broadcast_shapes(p.shape, rtt.shape)
        condition = None if formula is None else formula.code("condition")
        if condition is None:
            return np.full(shape, formula is not None)
        return np.broadcast_to(self.value_of(condition, p=p, R=rtt), shape)

    def value_of(self, expression: Code | sympy.Basic, **values: Any) -> NDArray[Any]:
        """Evaluate the code of this object's formula, or an expression; ``values`` as checked arrays by symbol."""
        if not isinstance(expression, Code):
            from responsefn.closed_forms.printing import code_of

            expression = code_of(expression)
        return evaluate(expression, self.bindings(values.get("R")) | values)

    def value_at(self, code: Code, losses: LossRates, rtt: NDArray[np.float64]) -> NDArray[Any]:
        """Evaluate the code of this object's formula, and check the loss event rates piece by piece."""
        if rtt.ndim or "p" not in code.names:
            losses.check_all()
        check = None if losses.checked else losses.check
        values = self.bindings(rtt) | {"p": losses.values, "R": rtt}
        result = evaluate(code, values, check)
        losses.checked = True
        return result


def equation_of(entry: Response, *, latex: bool = False) -> str:
    """Return the rate in packets/s as text or LaTeX; rules without a formula give their dynamics in LaTeX.

    A long formula is shown for the parameters of the entry, a short one for all.

    Examples
    --------
    >>> from responsefn import Mathis
    >>> equation_of(Mathis())
    'sqrt(6)/(2*R*sqrt(b)*sqrt(p))'
    """
    formula = formula_of(entry)
    if formula is None:
        if not latex:
            return entry.solved_by
        how = entry.solved_by
        is_stated = entry.dynamics and not is_overridden(type(entry), "dynamics", entry.stated_functions)
        return rf"\text{{{how}: }} {entry.dynamics}" if is_stated else rf"\text{{{how}}}"
    import sympy as sp

    rate = formula.rate
    if sp.count_ops(rate) > MAX_SHOWN_OPERATIONS:
        numbers = entry.bindings(sp.Symbol("R", positive=True))
        rate = rate.subs({x: numbers.get(str(x), x) for x in rate.free_symbols})
    rate = rate.xreplace({x: sp.Float(x, DIGITS) for x in rate.atoms(sp.Float)})
    return str(sp.latex(rate) if latex else rate)


def domain_of(entry: Response) -> str:
    """Return the loss event rates for which a response is meant, as text."""
    low, high = entry.domain
    return f"p <= {high:g}" if low == 0.0 else f"{low:g} <= p <= {high:g}"


def table_of(entries: Iterable[Response], caption: str = "") -> str:
    """Return name, equation, capacity, domain and source of each entry as a table in HTML."""
    from markupsafe import Markup

    titles = ("name", "T in packets/s", "capacity", "domain", "source")
    code, formula = Markup("<code>{}</code>"), Markup(_FORMULA)
    rows = [
        (
            code.format(repr(entry)),
            formula.format(equation_of(entry, latex=True)),
            entry.capacity,
            domain_of(entry),
            entry.cite(),
        )
        for entry in entries
    ]
    return grid_html(caption, titles, rows)


def cut(s: Any, window: Any) -> Any:
    """Return the state after a decrease to ``window`` packets, at least one, with the threshold at the window."""
    return s._replace(cwnd=maximum(1.0, window), ssthresh=maximum(2.0, window))


class _DerivedCapacity:
    """Default of `WindowRule.capacity`: what the functions of the class show, determined when it is needed."""

    def __get__(self, rule: WindowRule | None, owner: type[WindowRule]) -> str:
        return "needed" if _use_of_capacity(owner) else "ignored"


def _use_of_capacity(rule: type[WindowRule]) -> str:
    """Return how a class of rules depends on the capacity of its path, as the predicate of a sentence; empty if not."""
    from responsefn.event_reads import use_of_field

    if use := use_of_field(rule, "rtt", RTT_EVENTS):
        return f"{use}, which a queue lengthens"
    if rule.rate_estimates:
        return f"estimates rates, which the capacity limits ({', '.join(rule.rate_estimates)})"
    if _starts_by_capacity(rule):
        return "begins with the capacity of the path"
    return ""


@lru_cache(maxsize=1024)
def _starts_by_capacity(rule: type[WindowRule]) -> bool:
    """Return whether the first state of a class of rules depends on the capacity; True if that is unknown."""
    if rule.start is WindowRule.start:
        return "top_rate" in rule.State._fields
    try:
        starts = [rule().start(0.1, bandwidth) for bandwidth in (None, 100.0, 1000.0, 1e5)]
    except Exception:  # noqa: BLE001  # required parameters, or a start that requires a capacity
        return True
    return any(start != starts[0] for start in starts)


class WindowRule(Response, ABC):
    """Base of window rules: subclass it, name the parameters, write the updates of the window.

    A rule is plain Python that also compiles. The three functions may use the state ``s``, the
    parameters ``q``, the event ``e`` (``e.time`` and the round-trip time ``e.rtt``, in s), the
    functions `where`, `maximum` and `minimum` of `hopflow`, functions of `math`, numbers and tuples of them,
    ``min``, ``max``, branches, early returns, loops, and other functions of the same kind. They
    return the new state, ``s._replace(...)``. Strings, dictionaries, NumPy and side effects are not
    supported.

    A rule without `formula` has the response of its numerical cycle (`responsefn.cycles`), also one derived from a rule
    with a closed form that changes `on_ack` or `on_loss`. The three
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
        if `on_ack`, `on_loss` or `on_timeout` read ``e.rtt``, which a queue lengthens, also in a function that they
        call, or if the state begins with the capacity (``top_rate``, a `start` that uses ``bandwidth``) or holds
        ``rate_estimates``. Otherwise it is ``"ignored"``. A rule that passes its event where neither its source nor a
        run of random events shows what is read of it counts as reading ``e.rtt``.
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
    claims
        What the rule claims to be, one of `CLAIMS`: `dfcmodel.conformance` and ``hopflow conform`` hold it to that.
    timeout_window
        Largest window after a timeout, packets, that they allow: 1.0 of TCP (RFC 5681, Sect. 3.1), 2.0 of QUIC, whose
        smallest window it is (RFC 9002, Sect. 7.6.2).

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
    stated_functions: ClassVar[tuple[str, ...]] = ("on_ack", "on_loss")
    assigned: ClassVar[tuple[str, ...]] = ()
    rate_estimates: ClassVar[tuple[str, ...]] = ()
    recovery: ClassVar[str] = "newreno"
    signal: ClassVar[str] = "loss"
    counts_acks: ClassVar[bool] = False
    counts_packets: ClassVar[bool] = True
    counts_in_slow_start: ClassVar[bool] = True
    sets_initial_window: ClassVar[bool] = False
    single_below: ClassVar[float] = math.inf
    claims: ClassVar[str] = "other"
    timeout_window: ClassVar[float] = 1.0
    capacity: ClassVar[str] = cast("str", _DerivedCapacity())

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Raise ValueError for attributes of a subclass with values that no engine or suite knows."""
        super().__init_subclass__(**keywords)
        warn_of_unused_attributes(cls)
        own = {name: value for name, value in vars(cls).items() if not hasattr(value, "__get__")}
        for name, allowed in CLASS_CHOICES.items():
            if name in own:
                choice(f"{name} of {cls.__name__}", own[name], allowed)
        for name in CLASS_FLAGS & own.keys():
            flag(f"{name} of {cls.__name__}", own[name])
        for name in STATE_FIELDS & own.keys():
            for field in instances(f"{name} of {cls.__name__}", own[name], str, "a field of State"):
                choice(f"{name} of {cls.__name__}", field, cls.State._fields)
        if "timeout_window" in own:
            one_number(f"timeout_window of {cls.__name__}", own["timeout_window"], at_least=1.0, hint="in packets")

    @staticmethod
    @abstractmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Return the state after one packet was acknowledged."""

    @staticmethod
    @abstractmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a loss that duplicate ACKs signal, once per window.

        A mark of a rule without `on_mark` calls it as well, with a positive ``e.marks``.
        """

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
        if isinstance(inspect.getattr_static(self, "capacity"), _DerivedCapacity):
            why = f"{type(self).__name__} {_use_of_capacity(type(self))}: its response depends on the capacity"
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
            holds = self.closed_form_holds(p, rtt)
            if not holds.all():
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
        if len(selected) > MAX_REMARKED:
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


def slope_of(
    rule: Response,
    rates: Callable[[Floats], Floats],
    name: str,
    at: Floats,
    spans: tuple[float, float],
    highest: float = math.inf,
) -> Floats:
    """Return d log rate / d log of an argument, by central differences, and warn where the rate jumps or bends.

    Parameters
    ----------
    rule
        Rule or law, for the message.
    rates
        Rates of values of the argument, shape (n,).
    name
        Name of the argument, for the message.
    at
        Values of the argument, shape (n,).
    spans
        Ratios of the ends to the values: of the slope, and of a wider one that must nearly equal it.
    highest
        Largest value of the argument.
    """
    slopes, checked_spans = [], spans if warns() else spans[:1]
    with quiet():
        for span in checked_spans:
            up, down = np.minimum(at * span, highest), at / span
            slopes.append((np.log(rates(up)) - np.log(rates(down))) / np.log(up / down))
    if len(slopes) > 1 and (jumps := np.abs(slopes[1] - slopes[0]) > MAX_SLOPE_DIFFERENCE).any():
        n = int(np.argmax(jumps))
        texts = [f"{slope[n]:.3g} over {100.0 * (span - 1.0):.2g} %" for slope, span in zip(slopes, spans, strict=True)]
        message = f"the rate of {rule!r} jumps or bends with {name}: the slope at {name} = {at[n]:.6g} is"
        warn(UserWarning(f"{message} {' and '.join(texts)} to either side; compare rates over a wider range"))
    return slopes[0]


class Law(Response, ABC):
    """Base of laws: a rate equation with ``packets_per_ack`` (b) and the timeout ``rto`` (t_RTO).

    A subclass states its equation in `formula`, in the symbols p, R, b and t_RTO.

    Examples
    --------
    >>> from responsefn import Law, Mathis
    >>> issubclass(Mathis, Law)
    True
    """

    class Params(NamedTuple):
        """Packets per ACK; retransmission timeout in s, None for four round trips."""

        packets_per_ack: float = param(1, at_least=1.0, source="RFC 5348, Sect. 3.1: b = 1 is recommended")
        rto: float | None = param(None, "time", above=0.0, at_most=100.0, source="RFC 5348, Sect. 4.3: t_RTO = 4 R")

    def bindings(self, rtt: Any) -> dict[str, Any]:
        """Return b and t_RTO; the default timeout is four round trips."""
        rto = self.params.rto
        return {"b": self.params.packets_per_ack, "t_RTO": 4.0 * rtt if rto is None else rto}

    @abstractmethod
    def formula(self) -> Formula:
        """Return the rate in p, R, b and t_RTO."""

    @quantities(rtt="time", p="share")
    def mean_window(self, p: ArrayLike, rtt: ArrayLike, *, unit_check: bool = True) -> float | NDArray[np.float64]:
        """Return ``rate * rtt`` in packets; parameters and shapes as for `rate`."""
        rate = np.asarray(self.rate(p, rtt, unit_check=unit_check))
        return plain(rate * round_trip(rtt, unit_check))
