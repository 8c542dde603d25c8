"""``python -m benchmarks.infinite_chains [--chains 200]``: chains with infinitely many states that are certified within 2 s.

Twenty families in one to three dimensions (`tests.markov.infinite.families`), an unstable queue that must be refused, and
random chains of four kinds. For each it is counted whether a Lyapunov function was found, and whether the bound on the
total variation is at most 1e-9 within the CPU seconds; the bound of each random chain is compared with an answer on more
states. Exit status 1 where a bound is violated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

import typer
from tqdm import tqdm

from markov import explore, stationary
from markov.errors import RuleError
from tests.markov.infinite.families import QUICK, SLOW, distance, mm1, random_chain, states_of

TOLERANCE = 1e-9
FINER = 1e-12
"""Tolerance of the answers that bounds are compared with."""
SECONDS = 2.0


class Outcome(NamedTuple):
    """What came of a chain: the size of its answer and its bound, and the CPU seconds; no bound without a function."""

    dimensions: int
    states: int
    bound: float | None
    seconds: float
    violated: bool = False

    @property
    def in_time(self) -> bool:
        """Whether the tolerance was reached in time."""
        return self.bound is not None and self.bound <= TOLERANCE and self.seconds <= SECONDS


def outcome(rules: Callable[..., Any], start: Any, *, compared: bool = False) -> Outcome:
    """Return what comes of a chain, compared with an answer on more states if asked for."""
    dimensions = len(start) if isinstance(start, tuple) else 1
    begin = time.process_time()
    chain = explore(rules, start=start)
    try:
        answer = stationary(chain, tolerance=TOLERANCE)
    except RuleError:
        return Outcome(dimensions, 0, None, time.process_time() - begin)
    took = time.process_time() - begin
    violated = False
    if compared:
        fine = stationary(chain, tolerance=FINER)
        truth = dict(zip(states_of(fine), fine.pi.tolist(), strict=True))
        violated = distance(answer, truth) > answer.error_bound + 2.0 * fine.error_bound
    return Outcome(dimensions, answer.chain.size, answer.error_bound, took, violated)


def summary(called: str, outcomes: Iterable[Outcome]) -> str:
    """Return the counts of some chains in words."""
    found = list(outcomes)
    proved = sum(each.bound is not None for each in found)
    flat = [each for each in found if each.dimensions <= 2]
    timely = sum(each.in_time for each in flat)
    slowest = max(each.seconds for each in flat)
    return (
        f"{called}: a Lyapunov function for {proved} of {len(found)}; in one and two dimensions a bound of at most "
        f"{TOLERANCE:g} within {SECONDS:g} s for {timely} of {len(flat)}, the slowest {slowest:.2f} s"
    )


def main(chains: Annotated[int, typer.Option(help="Random chains.")] = 200) -> None:
    """Count the infinite chains that are certified in time."""
    outcome(mm1, 0)  # loads what all need
    families = {name: outcome(*each) for name, each in {**QUICK, **SLOW}.items()}
    for name, each in families.items():
        print(f"{name}: {each.states} states, {each.bound}, {each.seconds:.2f} s")
    print(summary("families", families.values()))
    refused = outcome(lambda n: mm1(n, 1.1), 0).bound is None
    print(f"unstable queue: {'refused' if refused else 'not refused'}")
    found = [outcome(*random_chain(seed), compared=True) for seed in tqdm(range(chains), disable=None)]
    violated = sum(each.violated for each in found)
    print(f"{summary('random chains', found)}; {violated} bounds violated")
    raise typer.Exit(int(violated > 0 or not refused))


if __name__ == "__main__":
    typer.run(main)
