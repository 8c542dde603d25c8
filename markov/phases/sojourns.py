"""Semi-Markov processes: jumps of a chain, with phase-type times between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from hopflow.checks import integer, number
from markov.models.functions.evaluation import elementwise
from markov.models.measures import Mean
from markov.models.rules import ChainModel
from markov.phases.phase_types import ROW_SUM, PhaseType

__all__ = ["SemiMarkov"]


class SemiMarkov(ChainModel):
    """A process that stays in each state for a phase-type time and then jumps.

    Parameters
    ----------
    jumps
        Probability of going from each state to each, rows that sum to one, shape (n, n). A jump to the
        same state begins a new time there.
    sojourns
        The `PhaseType` of the time in each state, n of them.
    first
        The state in which the process starts, at the beginning of a time there; 0 .. n - 1.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Notes
    -----
    The fractions of time depend on the mean times alone: pi(i) is proportional to v(i) m(i), with v the
    stationary distribution of the jumps (E. Cinlar, Introduction to Stochastic Processes, 1975,
    Ch. 10). What happens over time, and until a first passage, depends on the whole distributions. A
    state of the chain is (state, phase).

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
        """State of the process, phase of the time in it."""

        state: int
        phase: int

    class Params(NamedTuple):
        """See the class."""

        jumps: Any = ((0.0, 1.0), (1.0, 0.0))
        sojourns: Any = (PhaseType.exponential(1.0), PhaseType.exponential(1.0))
        first: int = 0

    class Symbols(NamedTuple):
        """Rates as flat tuples, each state with room for the most phases."""

        states: int
        phases: int
        jump: tuple[float, ...]
        begin: tuple[float, ...]
        within: tuple[float, ...]
        leave: tuple[float, ...]

    def check(self) -> None:
        """Check every parameter."""
        p = self.params
        P = number("jumps", p.jumps, at_least=0.0, at_most=1.0)
        if P.ndim != 2 or P.shape[0] != P.shape[1]:
            raise ValueError(f"jumps has shape {P.shape}: a square matrix is expected")
        sums = P.sum(axis=1)
        if (abs(sums - 1.0) > ROW_SUM).any():
            row = int(np.argmax(abs(sums - 1.0)))
            raise ValueError(f"row {row} of jumps sums to {sums[row]:g}: must be 1")
        if not isinstance(p.sojourns, (tuple, list)) or len(p.sojourns) != len(P):
            raise ValueError(f"sojourns: {len(P)} distributions are expected, one for each state")
        for k, each in enumerate(p.sojourns):
            if not isinstance(each, PhaseType):
                raise ValueError(f"sojourns[{k}] = {each!r}: must be a PhaseType")  # noqa: TRY004
        integer("first", p.first, 0, len(P) - 1)

    def unproved_inputs(self, measures: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the fits of the times in the states."""
        fits = [(k, fit) for k, times in enumerate(self.params.sojourns) for fit in times.fits]
        notes = [f"the time in state {k}: {fit}" for k, fit in fits]
        return (*super().unproved_inputs(measures), *notes)

    def symbols(self) -> Symbols:
        """Return the rates as tuples, which rules can be compiled with."""
        P, times = number("jumps", self.params.jumps), self.params.sojourns
        n, m = len(P), max(each.order for each in times)
        begin, within, leave = np.zeros((n, m)), np.zeros((n, m, m)), np.zeros((n, m))
        for k, each in enumerate(times):
            size = each.order
            begin[k, :size], within[k, :size, :size] = each.alpha, each.T
            leave[k, :size] = each.exits

        def flat(array: Any) -> tuple[float, ...]:
            return tuple(array.ravel().tolist())

        return self.Symbols(n, m, flat(P), flat(begin), flat(within), flat(leave))

    def start(self) -> State:
        """Return the first state, in the first phase that its time may begin in."""
        alpha = self.params.sojourns[self.params.first].alpha
        return self.State(int(self.params.first), int(np.argmax(alpha)))

    @staticmethod
    def rules(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        """Yield changes of phase, and jumps into the first phase of the next time."""
        here = s.state * q.phases + s.phase
        for k in range(q.phases):
            if k != s.phase:
                yield s._replace(phase=k), q.within[here * q.phases + k]
        for other in range(q.states):
            for k in range(q.phases):
                rate = q.leave[here] * q.jump[s.state * q.states + other]
                yield s._replace(state=other, phase=k), rate * q.begin[other * q.phases + k]

    @elementwise
    def rewards(self, s: Any) -> dict[str, Mean]:
        """Return ``fraction`` of the time in each state, and ``jump_rate`` (1/s)."""
        q = self.symbols()
        each = np.array([s.state == k for k in range(q.states)], dtype=float)
        leaves = np.asarray(q.leave)[s.state * q.phases + s.phase]
        return {
            "fraction": Mean(each, dims=("process_state",), units="1"),
            "jump_rate": Mean(leaves, units="1/s"),
        }
