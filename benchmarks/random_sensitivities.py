"""Derivatives of random chains by a parameter, against their truth to 60 digits.

Rates and rewards are products of random numbers and functions of the parameter: polynomials and quotients, which the
rules' numbers carry exactly, roots and powers, which they do not, and functions with kinks, by comparisons in the rule
or hidden in tables. A derivative is right within its stated error, or it is refused; at a kink both sides are stated.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from benchmarks import chain_families as families
from benchmarks import exact_chains as truth
from markov import explore, stationary
from markov.errors import NoDerivativeError
from markov.results import Stationary

FAMILIES = (
    families.dense, families.sparse, families.nearly_decomposable, families.nearly_absorbing,
    families.birth_death, families.rare_events,
)  # fmt: skip
SIDES_FROM = -12.0
"""Decades: with a side given, a kink that is closer than rounding resolves counts as one at the point."""
Checked = tuple[str, float, float, bool]


class Factor(NamedTuple):
    """A function of the parameter, and its derivatives from below and above as decimal numbers."""

    value: Callable[[Any], Any]
    left: Callable[[Decimal], Decimal]
    right: Callable[[Decimal], Decimal]


def _smooth(value: Callable[[Any], Any], slope: Callable[[Decimal], Decimal]) -> Factor:
    return Factor(value, slope, slope)


SMOOTH = (
    _smooth(lambda a: 2.5 + 0.0 * a, lambda a: 0 * a),
    _smooth(lambda a: a, lambda a: a / a),
    _smooth(lambda a: a * a, lambda a: 2 * a),
    _smooth(lambda a: 1.0 / a, lambda a: -1 / a**2),
    _smooth(
        lambda a: (a + 1.0) / (a * a + 2.0),
        lambda a: (2 - a * a - 2 * a) / (a * a + 2) ** 2,
    ),
    _smooth(lambda a: math.sqrt(a), lambda a: 1 / (2 * a.sqrt())),
    _smooth(lambda a: math.exp(-a / 4.0), lambda a: -(-a / 4).exp() / 4),
    _smooth(lambda a: a**1.75, lambda a: Decimal("1.75") * a ** Decimal("0.75")),
)


def kinked(c: float) -> tuple[Factor, ...]:
    """Return functions with a kink at ``c``."""

    def table(a: Any) -> Any:
        ends, values, slopes = (0.0, c), (1.0 * c, 1.5 * c), (0.5, 3.0)
        k = bisect.bisect_right(ends, a) - 1
        return values[k] + slopes[k] * (a - ends[k])

    def either(below: float, above: float) -> tuple[Any, Any]:
        at, low, high = Decimal(c), Decimal(below), Decimal(above)
        return (lambda a: low if a <= at else high), (lambda a: low if a < at else high)

    return (
        Factor(lambda a: min(a, c), *either(1.0, 0.0)),
        Factor(lambda a: max(a, c), *either(0.0, 1.0)),
        Factor(lambda a: abs(a - c) + 0.5 * c, *either(-1.0, 1.0)),
        Factor(lambda a: a if a < c else 2.0 * a - c, *either(1.0, 2.0)),
        Factor(table, *either(0.5, 3.0)),
    )


class Random(NamedTuple):
    """A random model at a value of its parameter, with the derivatives of its mean from both sides."""

    answer: Stationary
    left: Decimal
    right: Decimal


def random_model(rng: Any, at: float, factors: tuple[Factor, ...]) -> Random:
    """Return a random chain, some of whose rates and rewards are multiplied by factors."""
    rates = np.array(FAMILIES[int(rng.integers(len(FAMILIES)))](rng))
    np.fill_diagonal(rates, 0.0)
    n = len(rates)
    kinds = rng.integers(len(factors), size=(n, n))
    moves = {
        x: [(y, float(rates[x, y]), factors[kinds[x, y]].value) for y in range(n) if rates[x, y] > 0.0]
        for x in range(n)
    }  # fmt: skip
    weights = rng.random(n) * (rng.random(n) < 0.7)
    weights[int(rng.integers(n))] = 1.0
    factor = factors[int(rng.integers(len(factors)))]

    def rules(s: int, q: Any) -> Any:
        for y, rate, change in moves[s]:
            yield y, rate * change(q.a)

    def rewards(s: int, q: Any) -> Any:
        return {"earned": float(weights[s]) * factor.value(q.a)}

    chain = explore(rules, start=0, params={"a": at}, rewards=rewards).chain
    answer = stationary(chain)
    order = np.array([int(state) for state in np.ravel(np.asarray(chain.states))])
    Q = chain.Q.toarray()
    pi = truth.stationary_vector(Q)
    f = truth.exact([float(weights[s]) * factor.value(at) for s in order])
    g = truth.poisson(Q, pi, f)
    found = []
    a = Decimal(at)
    for side in ("left", "right"):
        change = truth.exact(weights[order]) * getattr(factor, side)(a)
        for i, x in enumerate(order):
            for j, y in enumerate(order):
                if rates[x, y] > 0.0:
                    slope = getattr(factors[kinds[x, y]], side)(a)
                    change[i] += Decimal(float(rates[x, y])) * slope * (g[j] - g[i])
        found.append(truth.mean(pi, change))
    return Random(answer, *found)


def _check(kind: str, found: Any, exact: Decimal) -> Checked:
    error = abs(Decimal(found.derivative) - exact)
    return kind, float(error), found.error, error <= Decimal(found.error)


def point_checks(number: int) -> Iterator[Checked]:
    """Yield the check of a derivative at a random point; every third one is close to a kink."""
    rng = np.random.default_rng([4242, number])
    at = float(10.0 ** rng.uniform(-2.0, 2.0))
    factors: tuple[Factor, ...] = SMOOTH
    kind = "derivative"
    if number % 3 == 0:
        nearest = -15.0 if number % 4 < 2 else SIDES_FROM
        c = at * (1.0 + float(rng.choice([-1.0, 1.0])) * 10.0 ** float(rng.uniform(nearest, -1.0)))
        if c != at:
            factors, kind = (*SMOOTH[:3], *kinked(c)), "derivative close to a kink"
    model = random_model(rng, at, factors)
    side: Any = (None, None, "left", "right")[number % 4]
    try:
        found = model.answer.sensitivity("a", of="earned", side=side)
    except NoDerivativeError:
        yield f"{kind}: refused", 0.0, 0.0, True
        return
    yield _check(kind, found, model.left)


def kink_checks(number: int) -> Iterator[Checked]:
    """Yield the checks of both derivatives at a kink; every fifth one is the difference of a whole number."""
    rng = np.random.default_rng([424242, number])
    if number % 5 == 0:
        yield from _difference_checks(rng)
        return
    at = float(10.0 ** rng.uniform(-2.0, 2.0))
    model = random_model(rng, at, (*SMOOTH[:4], *kinked(at)))
    try:
        found: Any = model.answer.sensitivity("a", of="earned")
        yield _check("kink: one derivative", found, model.left)
        yield _check("kink: one derivative", found, model.right)
    except NoDerivativeError as error:
        for name, exact in (("left", model.left), ("right", model.right)):
            found = getattr(error, name)
            if found is None:
                yield f"kink: {name} refused", 0.0, 0.0, True
            else:
                yield _check(f"kink: {name}", found, exact)


def _difference_checks(rng: Any) -> Iterator[Checked]:
    servers, places = int(rng.integers(1, 6)), int(rng.integers(8, 20))
    arrivals, service = (float(x) for x in 10.0 ** rng.uniform(-1.0, 1.0, 2))

    def queue(n: int, q: Any) -> Any:
        if n < places:
            yield n + 1, arrivals
        if n > 0:
            yield n - 1, service * min(n, q.servers)

    def exact(servers: int) -> Decimal:
        rates = np.diag([arrivals] * places, 1)
        rates += np.diag([service * min(n, servers) for n in range(1, places + 1)], -1)
        pi = truth.stationary_vector(rates)
        return truth.mean(pi, np.arange(places + 1.0))

    chain = explore(queue, start=0, params={"servers": servers}, rewards=lambda n: {"n": n})
    for side, change in (("right", 1), ("left", -1)):
        if servers + change == 0:
            continue
        found: Any = stationary(chain).sensitivity("servers", of="n", side=side)  # type: ignore[arg-type]
        difference = (exact(servers + change) - exact(servers)) * change
        assert found.kind == "difference"
        yield _check("difference", found, difference)
