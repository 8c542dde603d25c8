"""Window rules: what a sender does with its congestion window, and the response that follows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hopflow.checks import number, seconds
from responsefn.responses import Response, formula_of, plain, same_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["WindowRule"]


class WindowRule(Response, ABC):
    """Base of rules: subclass it, name the parameters, write what happens to the window.

    A rule is plain Python that also compiles: the three functions may use the state ``s``, the
    parameters ``q``, the event ``e``, the functions `where`, `maximum` and `minimum` of
    `hopflow`, those of `math`, and numbers; no branches, nothing else. They return the new state.

    Attributes
    ----------
    State
        NamedTuple of the state; ``cwnd`` and ``ssthresh``, in packets, come first, and defaults
        are the state of a new connection.
    Params
        NamedTuple of the parameters, those with a default last.
    recovery
        How the sender repairs a loss: ``"tahoe"`` (slow start from one packet), ``"reno"`` (fast
        recovery ends with the first new ACK), ``"newreno"`` (with the ACK of all that was sent
        before the loss).

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

    recovery: ClassVar[str] = "newreno"

    @staticmethod
    @abstractmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Return the state after one packet was acknowledged."""

    @staticmethod
    @abstractmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Return the state after duplicate ACKs told of a loss, once per window."""

    @staticmethod
    @abstractmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Return the state after the retransmission timer expired."""

    def mean_window(
        self, p: ArrayLike, rtt: ArrayLike | None = None
    ) -> float | NDArray[np.float64]:
        """Return the time average of the window in packets, ``rate * rtt``.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time in s, broadcast with ``p``; not needed by a rule whose window does
            not depend on it.

        Returns
        -------
        A float for numbers, else an array of the broadcast shape.
        """
        p = number("p", p, above=0.0, at_most=1.0)
        values = {"p": p}
        if rtt is not None:
            values["R"] = seconds("rtt", rtt)
        shape = same_shape(**values)
        expression = formula_of(self).mean_window
        if rtt is None and "R" in map(str, expression.free_symbols):
            raise ValueError(f"rtt is missing: the window of {self!r} depends on it")
        return plain(np.broadcast_to(self.value_of(expression, **values), shape).copy())

    def peak_window(self, p: ArrayLike) -> float | NDArray[np.float64]:
        """Return the window in packets just before a loss when one packet in 1/p is lost.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.

        Returns
        -------
        A float for a number, else an array of the shape of ``p``.
        """
        p = number("p", p, above=0.0, at_most=1.0)
        expression = formula_of(self).peak_window
        if expression is None:
            raise TypeError(f"{self!r} states no peak window in its formula()")
        return plain(self.value_of(expression, p=p))
