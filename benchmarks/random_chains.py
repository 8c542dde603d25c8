"""``python -m benchmarks.random_chains [--chains 2000] [--points 500] [--kinks 100]``: no bound may be violated.

Random chains of ten families (`benchmarks.chain_families`), with their quantities to 60 digits (`benchmarks.exact_chains`): every kind of
bound that `markov` states is compared with the true error, and properties of the same chain as a file with
their truth. Then derivatives by parameters, at random points and at kinks (`benchmarks.random_sensitivities`). Prints
violations by kind, and the median of the bound over the true error. Exit status 1 where one is violated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from benchmarks import exact_chains as truth
from benchmarks.chain_families import FAMILIES, generator_of
from benchmarks.random_properties import property_checks
from benchmarks.random_sensitivities import kink_checks, point_checks
from markov import (
    GTH,
    GaussSeidel,
    Krylov,
    Levels,
    MarkovChain,
    Multilevel,
    Power,
    SparseLU,
    passage,
    read_prism,
    stationary,
    transient,
)

METHODS: tuple[Any, ...] = (
    GTH(),
    GTH(block=3),
    SparseLU(),
    Levels(),
    Multilevel(),
    Krylov(max_iterations=2000),
    GaussSeidel(max_iterations=2000),
    Power(max_iterations=2000),
)
MEANINGFUL = 1e-60
"""Smallest true error, relative to the bound, that the digits of the truth resolve."""


class Check(NamedTuple):
    """A bound and the true error; or whether a statement without a number is right."""

    kind: str
    error: float
    bound: float
    holds: bool


def check(kind: str, error: Decimal, bound: float) -> Check:
    """Return the comparison of an error with its bound."""
    holds = not math.isnan(bound) and (math.isinf(bound) or error <= Decimal(bound))
    return Check(kind, float(error), bound, holds)


def bounded(kind: str, found: Any, exact: Decimal) -> Check:
    """Return the comparison of a `Bounded` with the truth."""
    ends = (Decimal(found.lower), Decimal(found.upper))
    return Check(kind, float(abs(Decimal(found.value) - exact)), found.error,
                 ends[0] <= exact <= ends[1])  # fmt: skip


def chain_checks(number: int) -> Iterator[Check]:
    """Yield the checks of one random chain."""
    rng = np.random.default_rng([42, number])
    Q = generator_of(FAMILIES[number % len(FAMILIES)](rng))
    chain = MarkovChain(Q)
    states = chain.recurrent_classes[0]
    Q = chain.Q.toarray()
    pi = np.array([Decimal(0)] * len(Q), dtype=object)
    pi[states] = truth.stationary_vector(Q[np.ix_(states, states)])
    yield from stationary_checks(chain, states, pi, number, rng)
    if len(states) > 1:
        yield from passage_checks(chain, states, rng)
    yield from transient_checks(chain, rng, every=number % 3 == 0)
    if number % 8 == 0 and len(Q) <= 12:
        with TemporaryDirectory() as folder:
            path = Path(folder, "chain.sm")
            path.write_text(prism_text(Q), encoding="utf-8")
            model = read_prism(path)
            for kind, error, bound, holds in property_checks(model, Q, rng):
                yield Check(kind, error, bound, holds)


def stationary_checks(chain: MarkovChain, states: Any, pi: Any, number: int, rng: Any) -> Iterator[Check]:
    """Yield the checks of the stationary distribution, its measures and their variances."""
    Q = chain.Q.toarray()[np.ix_(states, states)]
    f, over = rng.random((2, chain.size)) * 10.0 ** rng.uniform(-9.0, 9.0, (2, chain.size))
    f[rng.random(chain.size) < 0.2] = 0.0
    label = (rng.random(chain.size) < 0.4).astype(float)
    exact = pi[states]
    mean, below = truth.mean(exact, f[states]), truth.mean(exact, over[states])
    inner = truth.exact(f[states])
    g = truth.poisson(Q, exact, inner)
    variance = 2 * ((inner - mean) * (g - truth.mean(exact, g)) * exact).sum()
    for method in (None, METHODS[number % len(METHODS)]):
        proof: Any = "tight" if number % 3 == 1 else True
        answer = stationary(chain, method, proof=proof, on_failure="return")
        if not answer.status.ok:
            continue
        found = truth.exact(answer.pi)
        apart = abs(found - pi).sum() / 2
        yield check(f"distribution, proof={proof}", apart, answer.error_bound)
        relative = (abs(found[states] - exact) / exact).max()
        yield check("every entry", relative, answer.entry_error)
        yield bounded("mean of a function", answer.bound(f), mean)
        yield bounded("probability of a set", answer.bound(label), truth.mean(pi, label))
        yield bounded("ratio of means", answer.bound((f, over)), mean / below)
        yield bounded("variance", answer.variance(f), variance)


def passage_checks(chain: MarkovChain, states: Any, rng: Any) -> Iterator[Check]:
    """Yield the checks of the time until a set is entered, from the first state."""
    Q = chain.Q.toarray()
    target = np.zeros(chain.size, dtype=bool)
    target[rng.permutation(states)[: rng.integers(1, len(states))]] = True
    start = int(rng.permutation(np.flatnonzero(~target))[0])
    found = passage(chain, to=np.flatnonzero(target), start=start, on_failure="return")
    if not found.status.ok:
        yield Check("passage: refused", 0.0, 0.0, True)
        return
    first, second = truth.passage_moments(Q, target)
    yield check("passage: mean", abs(Decimal(found.mean) - first[start]), found.mean_error)
    variance = second[start] - first[start] ** 2
    yield check("passage: variance", abs(Decimal(found.variance) - variance), found.variance_error)
    means = abs(truth.exact(found.means) - first)
    for each, bound in zip(means, found.moments.mean_error, strict=True):
        yield check("passage: mean from each state", each, float(bound))
    others = np.zeros(chain.size, dtype=bool)
    others[rng.permutation(states)[0]] = True
    if target[others].any():
        return
    # one of two sets is entered first: the chain stops in both
    stopped = Q.copy()
    stopped[target | others] = 0.0
    enters = passage(MarkovChain(stopped), np.flatnonzero(target), start=start, on_failure="return")
    exact = truth.snapped(truth.until(Q, ~others, target))[start]
    yield check("passage: probability", abs(Decimal(enters.probability) - exact),
                enters.probability_error)  # fmt: skip


def transient_checks(chain: MarkovChain, rng: Any, *, every: bool) -> Iterator[Check]:
    """Yield the checks of the distribution at two times, from a random state."""
    if not every:
        return
    Q = chain.Q.toarray()
    fastest = float(-Q.diagonal().min())
    times = np.sort(10.0 ** rng.uniform(-3.0, 3.5, 2)) / fastest
    start = int(rng.integers(chain.size))
    found = transient(chain, times, start=start, on_failure="return")
    for k, time in enumerate(times):
        exact = truth.distribution_at(Q, float(time))[start]
        apart = abs(truth.exact(found.pi[k]) - exact).sum() / 2
        yield check("transient distribution", apart, float(found.error_bound[k]))


def prism_text(Q: Any) -> str:
    """Return a chain as a model of the PRISM language, with the same floating-point rates."""
    n = len(Q)
    lines = ["ctmc", "module chain", f"s : [0..{n - 1}] init 0;"]
    for x in range(n):
        moves = [f"{float(Q[x, y])!r} : (s'={y})" for y in range(n) if y != x and Q[x, y] > 0.0]
        lines += [f"[] s={x} -> {' + '.join(moves)};"] if moves else []
    lines += ["endmodule", 'rewards "r"']
    return "\n".join([*lines, *(f"s={x} : {x + 0.25};" for x in range(n)), "endrewards", ""])


def summary(found: list[tuple[Any, Check]]) -> list[str]:
    """Return a line for each kind: how many were compared, violated, and the median slack."""
    kinds: dict[str, list[Check]] = defaultdict(list)
    for _, each in found:
        kinds[each.kind].append(each)
    lines = [f"{'bound':38}{'checks':>8}{'violated':>10}{'infinite':>10}{'median slack':>14}"]
    for kind, checks in kinds.items():
        slack = [c.bound / c.error for c in checks if c.error > MEANINGFUL * c.bound and c.bound]
        finite = [each for each in slack if math.isfinite(each)]
        endless = sum(math.isinf(c.bound) for c in checks)
        wrong = sum(not c.holds for c in checks)
        middle = f"{np.median(finite):.3g}" if finite else "-"
        lines.append(f"{kind:38}{len(checks):8}{wrong:10}{endless:10}{middle:>14}")
    return lines


def run(checks: Callable[[int], Iterator[Any]], count: int, name: str) -> list[tuple[Any, Check]]:
    """Return the checks of some cases, each with the name and the number of its case."""
    return [((name, k), Check(*each)) for k in range(count) for each in checks(k)]


def main(
    chains: Annotated[int, typer.Option(help="Random chains.")] = 2000,
    points: Annotated[int, typer.Option(help="Derivatives at random points.")] = 500,
    kinks: Annotated[int, typer.Option(help="Derivatives at kinks.")] = 100,
) -> None:
    """Compare all bounds with the truth."""
    found = run(chain_checks, chains, "chain")
    found += run(point_checks, points, "point") + run(kink_checks, kinks, "kink")
    for line in summary(found):
        typer.echo(line)
    wrong = [(case, each) for case, each in found if not each.holds]
    for case, each in wrong[:20]:
        typer.echo(f"violated: {case}: {each}")
    raise typer.Exit(1 if wrong else 0)


if __name__ == "__main__":
    typer.run(main)
