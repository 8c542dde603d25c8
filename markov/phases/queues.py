"""Models with phase-type times: a queue (MAP/PH/1 and MAP/PH/1/K), and semi-Markov processes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import check_sum_of_one, integer
from hopflow.parameters import param
from markov.computing.matrices import transpose_advice
from markov.computing.rounding import differs_from_one
from markov.models.functions import Mean, elementwise
from markov.models.rules import ChainModel
from markov.models.spaces import NO_END
from markov.phases.arrivals import MAP
from markov.phases.phase_types import FOR_FEW_VALUES, MOMENTS_FIX_NO_LOSS, ROW_SUM_TOLERANCE, PhaseType, phase_type

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PhaseQueue", "SemiMarkov"]

MIN_LOSS_BY_MOMENTS = 1e-3
"""Loss above which fits with three equal moments were within 5 % of their samples: `benchmarks.phase_fits`."""


def _flat_tuple(array: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the entries of an array, row by row, as a tuple."""
    return tuple(array.ravel().tolist())


class PhaseQueue(ChainModel):
    """Single-server queue MAP/PH/1/K or MAP/PH/1: arrivals by a MAP, phase-type services, ``capacity`` customers.

    Error bounds are for the chain with these distributions. If one was fitted to times, answers say so.

    Parameters
    ----------
    arrivals
        A `MAP`, or the `PhaseType` of independent intervals.
    service
        The `PhaseType` of a service.
    capacity
        Maximum number of customers, including the customer in service. Arrivals at a full queue are lost. None: no
        limit, for `stationary_by_level`.

    Raises
    ------
    ValueError
        The message names the parameter, its value and the allowed values.

    Notes
    -----
    The state is (n, a, b): customers, phase of the arrivals, phase of the service (0 in the empty
    queue). At time 0 the queue is empty, and an interval of arrivals begins; a `MAP` begins in its first phase.

    Examples
    --------
    >>> from markov import MAP, PhaseQueue, PhaseType, stationary
    >>> queue = PhaseQueue(MAP.poisson(0.8), PhaseType.erlang(2, mean=1.0), capacity=10)
    >>> round(float(stationary(queue)["loss_probability"]), 6)
    0.012242
    """

    class State(NamedTuple):
        """Customers in the system, phase of the arrivals, phase of the service."""

        n: int
        a: int
        b: int

    class Params(NamedTuple):
        """Parameters of the model, as in the docstring of the class."""

        arrivals: Any = MAP.poisson(0.5)
        service: Any = PhaseType.exponential(1.0)
        capacity: int | None = param(None, at_least=1, at_most=10**9)

    class Symbols(NamedTuple):
        """Constants of the rules: sizes, and rates by phase with matrices row by row."""

        capacity: int
        A: int
        B: int
        alone: tuple[float, ...]
        arrive: tuple[float, ...]
        begin: tuple[float, ...]
        serve: tuple[float, ...]
        leave: tuple[float, ...]

    def check(self) -> None:
        """Raise ValueError for a parameter of the wrong type or out of range."""
        p = self.params
        if not isinstance(p.arrivals, MAP):
            phase_type("arrivals", p.arrivals, "a MAP or a PhaseType")
        phase_type("service", p.service)

    def unproved_inputs(self, measures: Mapping[str, Any]) -> tuple[str, ...]:
        """Return notes for answers about inputs fitted to samples: arrivals, service and the limits of such fits."""
        params = self.params
        notes = [
            f"the {name}: {fit}"
            for name, times in (("arrivals", params.arrivals), ("service", params.service))
            for fit in times.fits
        ]
        if notes and params.capacity is not None:
            loss = float(measures.get("loss_probability", math.nan))
            small = f"moments do not fix a loss below 1e-3, as this one of {loss:.1e}. {FOR_FEW_VALUES}"
            notes.append(small if loss < MIN_LOSS_BY_MOMENTS else MOMENTS_FIX_NO_LOSS)
        return (*super().unproved_inputs(measures), *notes)

    @property
    def stream(self) -> MAP:
        """The arrival process as a `MAP`, also if the parameter is a distribution of intervals."""
        arrivals = self.params.arrivals
        return arrivals if isinstance(arrivals, MAP) else MAP.renewal(arrivals)

    def symbols(self) -> Symbols:
        """Return the constants that the rules use: sizes and rates, matrices as tuples row by row."""
        stream, service = self.stream, self.params.service
        return self.Symbols(
            capacity=NO_END if self.params.capacity is None else int(self.params.capacity),
            A=stream.order,
            B=service.order,
            alone=_flat_tuple(stream.D0),
            arrive=_flat_tuple(stream.D1),
            begin=_flat_tuple(service.alpha),
            serve=_flat_tuple(service.T),
            leave=_flat_tuple(service.exits),
        )

    def space(self) -> Mapping[str, range]:
        """Return the range of each state component: n = 0 .. capacity, a = 0 .. A - 1, b = 0 .. B - 1."""
        q = self.symbols()
        stop = NO_END if self.params.capacity is None else q.capacity + 1
        return {"n": range(stop), "a": range(q.A), "b": range(q.B)}

    def start(self) -> State:
        """Return the state of the empty queue, with the most probable phase at the begin of an interval of arrivals."""
        arrivals = self.params.arrivals
        return self.State(0, 0 if isinstance(arrivals, MAP) else int(np.argmax(arrivals.alpha)), 0)

    def start_probabilities(self) -> Mapping[Any, float] | None:
        """Return those of the phases in which an interval of arrivals begins; None with a `MAP`."""
        arrivals = self.params.arrivals
        if isinstance(arrivals, MAP):
            return None
        return {self.State(0, a, 0): float(arrivals.alpha[a]) for a in np.flatnonzero(arrivals.alpha).tolist()}

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
        """Return the rewards ``mean_customers``, ``throughput``, ``loss_probability`` and ``time_in_system``."""
        q = self.symbols()
        offered = self.stream.D1.sum(axis=1)[s.a]
        entered = np.where(s.n < q.capacity, offered, 0.0)
        return {
            "mean_customers": Mean(s.n, units="customers"),
            "throughput": Mean(entered, units="1/s"),
            "loss_probability": Mean(offered - entered, offered, units="1"),
            "time_in_system": Mean(s.n, entered, units="s"),
        }


class SemiMarkov(ChainModel):
    """Process that jumps between states by a matrix of probabilities and stays for phase-type times.

    Parameters
    ----------
    jumps
        Transition probabilities at jumps, rows that sum to one, shape (n, n). A jump to the same state begins a new
        sojourn.
    sojourns
        The `PhaseType` of the sojourn time by state, n of them.
    first
        The state in which the process starts, at the beginning of a sojourn; 0 .. n - 1.

    Raises
    ------
    ValueError
        The message names the parameter, its value and the allowed values.

    Notes
    -----
    The fractions of time depend on the mean times alone: pi(i) is proportional to v(i) m(i), with v the
    stationary distribution of the jumps (E. Cinlar, Introduction to Stochastic Processes, 1975,
    Ch. 10). Transients and first passages depend on the complete distributions. A state of the chain is
    (state, phase). At time 0 the phases of ``first`` have the probabilities ``alpha`` of its `PhaseType`.

    Examples
    --------
    Work for 10 h in the mean with little variation, repair for 1 h:

    >>> from markov import PhaseType, SemiMarkov, passage, stationary
    >>> times = (PhaseType.erlang(4, mean=10.0), PhaseType.exponential(1.0))
    >>> machine = SemiMarkov(((0.0, 1.0), (1.0, 0.0)), times)
    >>> stationary(machine)["fraction"].round(6).tolist()
    [0.909091, 0.090909]
    >>> stop = passage(machine, to=lambda s: s.state == 1)
    >>> round(stop.mean, 9), round(stop.standard_deviation, 9)
    (10.0, 5.0)
    """

    class State(NamedTuple):
        """State of the process, and phase of the current sojourn."""

        state: int
        phase: int

    class Params(NamedTuple):
        """Parameters of the model, as in the docstring of the class."""

        jumps: ArrayLike = param(((0.0, 1.0), (1.0, 0.0)), at_least=0.0, at_most=1.0)
        sojourns: Any = (PhaseType.exponential(1.0), PhaseType.exponential(1.0))
        first: int = 0

    class Symbols(NamedTuple):
        """Constants of the rules: sizes, and rates as flat tuples padded to the largest number of phases."""

        states: int
        phases: int
        jump: tuple[float, ...]
        begin: tuple[float, ...]
        within: tuple[float, ...]
        leave: tuple[float, ...]

    def check(self) -> None:
        """Raise ValueError for a parameter of the wrong type or out of range."""
        p = self.params
        P = np.asarray(p.jumps, dtype=float)
        if P.ndim != 2 or P.shape[0] != P.shape[1]:
            raise ValueError(f"jumps has shape {P.shape}: a square matrix is expected")
        sums = P.sum(axis=1)
        row = int(np.argmax(abs(sums - 1.0)))
        advice = transpose_advice(P, 1.0, ROW_SUM_TOLERANCE, "jumps", "probabilities out of state i")
        check_sum_of_one(f"row {row} of jumps sums", sums[row], ROW_SUM_TOLERANCE, advice)
        if not isinstance(p.sojourns, (tuple, list)) or len(p.sojourns) != len(P):
            raise ValueError(f"sojourns: {len(P)} distributions are expected, one for each state")
        for k, sojourn in enumerate(p.sojourns):
            phase_type(f"sojourns[{k}]", sojourn)
        integer("first", p.first, 0, len(P) - 1)

    def unproved_inputs(self, measures: Mapping[str, Any]) -> tuple[str, ...]:
        """Return notes for answers about sojourn times fitted to samples."""
        fits = [(k, fit) for k, times in enumerate(self.params.sojourns) for fit in times.fits]
        notes = [f"the time in state {k}: {fit}" for k, fit in fits]
        return (*super().unproved_inputs(measures), *notes)

    def symbols(self) -> Symbols:
        """Return the constants that the rules use: sizes and rates, matrices as tuples row by row."""
        P, times = np.asarray(self.params.jumps, dtype=float), self.params.sojourns
        n, m = len(P), max(sojourn.order for sojourn in times)
        sums = P.sum(axis=1, keepdims=True)
        P = np.where(differs_from_one(sums, n), P / sums, P)
        begin, within, leave = np.zeros((n, m)), np.zeros((n, m, m)), np.zeros((n, m))
        for k, sojourn in enumerate(times):
            size = sojourn.order
            begin[k, :size], within[k, :size, :size] = sojourn.alpha, sojourn.T
            leave[k, :size] = sojourn.exits
        return self.Symbols(n, m, _flat_tuple(P), _flat_tuple(begin), _flat_tuple(within), _flat_tuple(leave))

    def space(self) -> Mapping[str, range]:
        """Return the range of each state component: as many phases as the sojourn with the most has."""
        q = self.symbols()
        return {"state": range(q.states), "phase": range(q.phases)}

    def start(self) -> State:
        """Return the state ``first`` with the most probable initial phase of its sojourn."""
        alpha = self.params.sojourns[self.params.first].alpha
        return self.State(int(self.params.first), int(np.argmax(alpha)))

    def start_probabilities(self) -> Mapping[Any, float]:
        """Return those of the phases in which the sojourn in ``first`` begins."""
        first = int(self.params.first)
        alpha = self.params.sojourns[first].alpha
        return {self.State(first, phase): float(alpha[phase]) for phase in np.flatnonzero(alpha).tolist()}

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield changes of phase, and jumps into the first phase of the next sojourn."""
        row = s.state * q.phases + s.phase
        for k in range(q.phases):
            if k != s.phase:
                yield s._replace(phase=k), q.within[row * q.phases + k]
        for target in range(q.states):
            for k in range(q.phases):
                rate = q.leave[row] * q.jump[s.state * q.states + target]
                yield s._replace(state=target, phase=k), rate * q.begin[target * q.phases + k]

    @elementwise
    def rewards(self, s: Any) -> dict[str, Mean]:
        """Return the rewards ``fraction`` (of time, by state) and ``jump_rate`` (1/s)."""
        q = self.symbols()
        indicators = np.array([s.state == k for k in range(q.states)], dtype=float)
        leaving = np.asarray(q.leave)[s.state * q.phases + s.phase]
        return {
            "fraction": Mean(indicators, dims=("process_state",), units="1"),
            "jump_rate": Mean(leaving, units="1/s"),
        }
