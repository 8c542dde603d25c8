"""CPU time of labels, rewards and sets over a million states, as a share of that of the solution.

``python -m benchmarks.functions_of_states [SIDE]``: chains of 4 SIDE^2 states (SIDE is 500 by default): whole numbers
and an enumeration. Each time is the minimum of three, in CPU seconds of this process. A function written for arrays
is compared beside those in plain Python. The command ends with status 1 where a function takes more than `MOST`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import cpu_seconds
from markov import ChainModel, MarkovChain, passage, stationary
from markov.models.functions import evaluate_condition
from markov.models.measures import functionals

MOST = 0.1
"""Of the CPU time of a solution."""
REPEATS = 3
START = 5
"""Customers from which the passage to an empty first queue is timed."""


class Mode(Enum):
    """What a server does."""

    BUSY = 0
    IDLE = 1
    SLEEP = 2
    FAULT = 3


class Pair(ChainModel):
    """Two queues in tandem with a random environment of four modes."""

    class State(NamedTuple):
        """Customers in each queue, and the mode."""

        n: int
        m: int
        mode: Mode

    class Params(NamedTuple):
        """Places of each queue."""

        side: int = 500

    def space(self) -> dict[str, Any]:
        """Return the values of the components."""
        return {"n": range(self.side), "m": range(self.side), "mode": Mode}

    @staticmethod
    def rules(s: Any, q: Any) -> Any:
        """Yield arrivals, services and changes of the mode."""
        if s.n < q.side - 1:
            yield s._replace(n=s.n + 1), 0.5
        if s.n > 0 and s.m < q.side - 1:
            yield s._replace(n=s.n - 1, m=s.m + 1), 1.2 if s.mode is Mode.BUSY else 0.6
        if s.m > 0:
            yield s._replace(m=s.m - 1), 1.3
        yield s._replace(mode=Mode((s.mode.value + 1) % 4)), 0.01


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "one comparison": lambda s: s.n == 0,
    "two comparisons, or": lambda s: s.n == 0 or s.m > 3,
    "arithmetic": lambda s: s.n + 2 * s.m > 500,
    "remainder": lambda s: s.n % 2,
    "membership": lambda s: s.n in (0, 7, 9),
    "chained, and not": lambda s: not (1 < s.n < 100 and s.m < 5),
    "is, of an enumeration": lambda s: s.mode is Mode.SLEEP,
    "is and a comparison": lambda s: s.mode is Mode.SLEEP and s.n > 3,
    "maximum": lambda s: max(s.n, s.m) > 100,
    "NumPy": lambda s: np.maximum(s.n, s.m) > 100,
}
REWARDS: Callable[[Any], Any] = lambda s: {
    "customers": s.n + s.m,
    "cost": 0.5 * s.n,
    "idle": s.n == 0,
}


class Labelled:
    """A model with labels or rewards and nothing else."""

    name = "benchmark"

    def __init__(self, labels: Callable[[Any], Any], rewards: Callable[[Any], Any]) -> None:
        self.labels, self.rewards = labels, rewards

    def symbols(self) -> None:
        """Return no parameters."""

    def function_of_state(self, kind: str, _q: Any) -> Callable[[Any, Any], Any]:
        """Return ``labels`` or ``rewards`` as a function of the state and of no parameters."""
        function = getattr(self, kind)
        return lambda s, _q: function(s)

    def measures(self, _pi: Any, _s: Any = None) -> dict[str, Any]:
        """Return no measures."""
        return {}


def main(side: int = 500) -> int:
    """Print the table; return 1 where a function takes too long."""
    chain = MarkovChain(Pair(side=side))
    begin = time.process_time()
    stationary(chain)
    solution = time.process_time() - begin
    begin = time.process_time()
    members = np.asarray(chain.states.n) == 0
    passage(chain, to=members, start=(START, 0, Mode.BUSY), on_failure="return")
    time_to_passage = time.process_time() - begin
    print(f"{chain.size} states; stationary {solution:.1f} s, passage {time_to_passage:.1f} s of CPU")
    rows: dict[str, Callable[[], Any]] = {}
    for name, function in FUNCTIONS.items():
        rows[f"label: {name}"] = lambda f=function: functionals(  # type: ignore[misc]
            Labelled(lambda s: {"label": f(s)}, lambda _s: {}), chain.table
        )
        rows[f"to=: {name}"] = lambda f=function: evaluate_condition(f, chain.table, "to")  # type: ignore[misc]
    rows["three rewards"] = lambda: functionals(Labelled(lambda _s: {}, REWARDS), chain.table)
    worst = 0.0
    for name, call in rows.items():
        taken = min(cpu_seconds(call, REPEATS))
        shares = taken / solution, taken / time_to_passage
        worst = max(worst, shares[name.startswith("to")])
        print(f"{name:32} {taken:7.3f} s {shares[0]:7.1%} of stationary {shares[1]:7.1%} of passage")
    print(f"largest share {worst:.1%}, allowed {MOST:.0%}")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
