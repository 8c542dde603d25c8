"""A queue with Markovian arrivals and phase-type services: MAP/PH/1 and MAP/PH/1/K."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import integer
from markov.models.functions.evaluation import elementwise
from markov.models.measures import Mean
from markov.models.rules import NO_END, ChainModel
from markov.phases.arrivals import MAP
from markov.phases.phase_types import FOR_FEW_VALUES, MOMENTS_FIX_NO_LOSS, PhaseType

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PhaseQueue"]

LOSS_BY_MOMENTS = 1e-3
"""Loss above which fits with three equal moments were within 5 % of their samples: `benchmarks.phase_fits`."""


class PhaseQueue(ChainModel):
    """A single server with room for ``capacity`` customers, or for any number.

    Error bounds are those of the chain with these distributions. Where one was fitted to times, answers say so.

    Parameters
    ----------
    arrivals
        A `MAP`, or the `PhaseType` of independent intervals.
    service
        The `PhaseType` of a service.
    capacity
        Customers that fit, the one in service included; who comes when they are there is lost. None:
        no limit, for `stationary_by_level`.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Notes
    -----
    The state is (n, a, b): customers, phase of the arrivals, phase of the service (0 in the empty
    queue).

    Examples
    --------
    >>> from markov import MAP, PhaseQueue, PhaseType, stationary
    >>> queue = PhaseQueue(MAP.poisson(0.8), PhaseType.erlang(2, mean=1.0), capacity=10)
    >>> round(float(stationary(queue)["loss_probability"]), 6)
    0.012242
    """

    class State(NamedTuple):
        """Customers, phase of the arrivals, phase of the service."""

        n: int
        a: int
        b: int

    class Params(NamedTuple):
        """See the class."""

        arrivals: Any = MAP.poisson(0.5)
        service: Any = PhaseType.exponential(1.0)
        capacity: int | None = None

    class Symbols(NamedTuple):
        """Rates by phases; row after row."""

        capacity: int
        A: int
        B: int
        alone: tuple[float, ...]
        arrive: tuple[float, ...]
        begin: tuple[float, ...]
        serve: tuple[float, ...]
        leave: tuple[float, ...]

    def check(self) -> None:
        """Check every parameter."""
        p = self.params
        if not isinstance(p.arrivals, (MAP, PhaseType)):
            raise ValueError(f"arrivals = {p.arrivals!r}: must be a MAP or a PhaseType")  # noqa: TRY004
        if not isinstance(p.service, PhaseType):
            raise ValueError(f"service = {p.service!r}: must be a PhaseType")  # noqa: TRY004
        if p.capacity is not None:
            integer("capacity", p.capacity, 1, 10**9)

    def unproved_inputs(self, measures: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the fits of arrivals and service, and what they leave open."""
        params = self.params
        notes = [
            f"the {name}: {fit}"
            for name, times in (("arrivals", params.arrivals), ("service", params.service))
            for fit in times.fits
        ]
        if notes and params.capacity is not None:
            loss = float(measures.get("loss_probability", math.nan))
            small = f"moments do not fix a loss below 1e-3, as this one of {loss:.1e}. {FOR_FEW_VALUES}"
            notes.append(small if loss < LOSS_BY_MOMENTS else MOMENTS_FIX_NO_LOSS)
        return (*super().unproved_inputs(measures), *notes)

    @property
    def stream(self) -> MAP:
        """The arrivals as a `MAP`."""
        given = self.params.arrivals
        return given if isinstance(given, MAP) else MAP.renewal(given)

    def symbols(self) -> Symbols:
        """Return the rates as tuples, which rules can be compiled with."""
        stream, service = self.stream, self.params.service

        def flat(matrix: NDArray[np.float64]) -> tuple[float, ...]:
            return tuple(matrix.ravel().tolist())

        return self.Symbols(
            capacity=NO_END if self.params.capacity is None else int(self.params.capacity),
            A=stream.order,
            B=service.order,
            alone=flat(stream.D0),
            arrive=flat(stream.D1),
            begin=flat(service.alpha),
            serve=flat(service.T),
            leave=flat(service.exits),
        )

    def space(self) -> Mapping[str, range]:
        """Return n = 0 .. capacity, a = 0 .. A - 1, b = 0 .. B - 1."""
        q = self.symbols()
        most = NO_END if self.params.capacity is None else q.capacity + 1
        return {"n": range(most), "a": range(q.A), "b": range(q.B)}

    def start(self) -> State:
        """Return the empty queue."""
        return self.State(0, 0, 0)

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield changes of the arrivals' phase, arrivals, changes of the service's phase, departures."""
        for a in range(q.A):
            if a != s.a:
                yield s._replace(a=a), q.alone[s.a * q.A + a]
            if s.n == 0:
                for b in range(q.B):
                    yield s._replace(n=1, a=a, b=b), q.arrive[s.a * q.A + a] * q.begin[b]
            elif s.n < q.capacity:
                yield s._replace(n=s.n + 1, a=a), q.arrive[s.a * q.A + a]
            elif a != s.a:
                yield s._replace(a=a), q.arrive[s.a * q.A + a]
        if s.n > 0:
            for b in range(q.B):
                if b != s.b:
                    yield s._replace(b=b), q.serve[s.b * q.B + b]
                if s.n > 1:
                    yield s._replace(n=s.n - 1, b=b), q.leave[s.b] * q.begin[b]
            if s.n == 1:
                yield s._replace(n=0, b=0), q.leave[s.b]

    @elementwise
    def rewards(self, s: Any) -> dict[str, Mean]:
        """Return ``mean_customers``, ``throughput`` (1/s), ``loss_probability``, ``time_in_system`` (s)."""
        q = self.symbols()
        offered = self.stream.D1.sum(axis=1)[s.a]
        entered = np.where(s.n < q.capacity, offered, 0.0)
        return {
            "mean_customers": Mean(s.n, units="customers"),
            "throughput": Mean(entered, units="1/s"),
            "loss_probability": Mean(offered - entered, offered, units="1"),
            "time_in_system": Mean(s.n, entered, units="s"),
        }
