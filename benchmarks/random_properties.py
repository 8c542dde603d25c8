"""Properties of random chains, against their truth to 60 digits: bounds of numbers, and truth values.

Sets of states, inner ones too, are compared with exact numbers; a truth value is right where it is decided,
and may be undecided only where the number is within its error of the threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from benchmarks import exact_chains as truth

Case = tuple[str, Any]
"""A property up to its threshold, such as ``P{} [ F s=1 ]``, and its exact numbers in each state."""
SIGNS = ("<", "<=", ">", ">=")
COMPARE: dict[str, Any] = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}
ROOM = 3  # times the stated error: a threshold farther away must be decided


def _set_text(marks: Any) -> str:
    return "(" + " | ".join(["false", *(f"s={k}" for k in np.flatnonzero(marks))]) + ")"


def _long_run(Q: Any, marks: Any) -> Any:
    """Return the long-run share of time in a set of a chain with one recurrent class."""
    n = len(Q)
    rates = np.array(Q)
    np.fill_diagonal(rates, 0.0)
    last = np.ones(n, dtype=bool)
    for x in range(n):  # the recurrent class is reached from everywhere
        reached = truth.reaching(rates.T, np.arange(n) == x, np.ones(n, dtype=bool))
        last &= reached
    states = np.flatnonzero(last)
    pi = truth.stationary_vector(np.asarray(Q)[np.ix_(states, states)])
    share = truth.mean(pi, marks[states].astype(float))
    return np.array([share] * n, dtype=object)


def cases(Q: Any, left: Any, right: Any, texts: tuple[str, str], times: Any) -> Iterator[Case]:
    """Yield properties about two sets of states, with their numbers."""
    a, b = texts
    low, high = times
    every = np.ones(len(Q), dtype=bool)
    yield f"P{{}} [ F {b} ]", truth.until(Q, every, right)
    yield f"P{{}} [ {a} U {b} ]", truth.until(Q, left, right)
    yield f"P{{}} [ F<={high!r} {b} ]", truth.until_within(Q, every, right, high)
    yield f"P{{}} [ {a} U<={high!r} {b} ]", truth.until_within(Q, left, right, high)
    between = truth.until_between(Q, left, right, times)
    yield f"P{{}} [ {a} U[{low!r},{high!r}] {b} ]", between
    yield f"P{{}} [ G<={high!r} {a} ]", 1 - truth.until_within(Q, every, ~left, high)
    yield f"P{{}} [ {a} W {b} ]", 1 - truth.until(Q, left & ~right, ~left & ~right)
    released = 1 - truth.until_between(Q, ~left, ~right, times)
    yield f"P{{}} [ {a} R[{low!r},{high!r}] {b} ]", released
    rates = truth.exact(Q)
    np.fill_diagonal(rates, Decimal(0))
    sums = rates.sum(axis=1)
    jump = np.array(
        [rates[x, right].sum() / sums[x] if sums[x] else Decimal(int(right[x])) for x in range(len(Q))],
        dtype=object,
    )  # fmt: skip
    yield f"P{{}} [ X {b} ]", jump
    yield f"S{{}} [ {b} ]", _long_run(Q, right)


def all_cases(Q: Any, left: Any, right: Any, texts: tuple[str, str], times: Any) -> list[Case]:
    """Return the properties with exact zeros and ones."""
    found = cases(Q, left, right, texts, times)
    return [(text, truth.snapped(numbers)) for text, numbers in found]


def property_checks(model: Any, Q: Any, rng: Any) -> Iterator[tuple[str, float, float, bool]]:
    """Yield kind, error, bound and whether it holds, of properties of a model and its generator.

    The states of the model are those that the first one leads to, and all others are left out.
    """
    n = len(Q)
    states = np.asarray(model.chain.states[0])
    if len(states) < n:
        Q, n = Q[np.ix_(states, states)], len(states)
    fastest = float(-Q.diagonal().min())
    if fastest == 0.0:
        return
    low, high = np.sort(10.0 ** rng.uniform(-2.0, 2.0, 2)) / fastest
    numbers = np.arange(n)
    left, right = rng.random(n) < 0.7, rng.random(n) < 0.3
    texts = tuple(_set_text(np.isin(np.arange(states.max() + 1), states[m])) for m in (left, right))
    times = float(low), float(high)
    found = all_cases(Q, left, right, texts, times)  # type: ignore[arg-type]
    for text, exact in found:
        kind = text.partition("[")[2][:-2].strip()
        about = "file: S=?" if text.startswith("S") else f"file: P=? of {_operator(kind)}"
        answer = model.property(text.format("=?"), on_failure="return")
        for k in numbers:
            error = abs(Decimal(float(answer.values[k])) - exact[k])
            bound = float(answer.errors[k])
            yield about, float(error), bound, error <= Decimal(bound)
        for threshold in _thresholds(answer, exact, rng):
            yield _threshold_check(model, text, exact, threshold, answer, rng)
    yield from _nested(model, Q, found, times, rng)


def _operator(path: str) -> str:
    return next(sign for sign in ("U[", "R[", "U<", "F<", "G<", "W", "U", "F", "X") if sign in path)


def _thresholds(answer: Any, exact: Any, rng: Any) -> list[float]:
    """Return zero, one, a value that is attained or nearly so, and any value."""
    near = float(answer.values[rng.integers(len(exact))])
    shifts = (0.0, *(rng.choice([-1.0, 1.0], 2) * 10.0 ** rng.uniform(-17.0, -9.0, 2)))
    return [0.0, 1.0, float(rng.random()), *(min(max(float(near + s), 0.0), 1.0) for s in shifts)]


def _threshold_check(
    model: Any, text: str, exact: Any, threshold: float, answer: Any, rng: Any
) -> tuple[str, float, float, bool]:
    sign = str(rng.choice(SIGNS))
    found = model.property(text.format(f"{sign}{threshold!r}"), on_failure="return")
    limit = Decimal(threshold)
    right = True
    for k, number in enumerate(exact):
        if not found.undecided[k]:
            right &= bool(found.values[k]) == COMPARE[sign](number, limit)
        else:
            far = abs(number - limit) > ROOM * Decimal(float(answer.errors[k]))
            right &= threshold not in (0.0, 1.0) and not far
    kind = "file: thresholds 0 and 1" if threshold in (0.0, 1.0) else "file: thresholds"
    return kind, 0.0, 0.0, right


def _nested(model: Any, Q: Any, found: list[Case], times: Any, rng: Any) -> Iterator[tuple[str, float, float, bool]]:
    """Yield checks of properties about sets that are defined by others with thresholds."""
    for _ in range(6):
        (one, p), (two, r) = (found[int(k)] for k in rng.integers(len(found), size=2))
        inner, marks = [], []
        for text, exact in ((one, p), (two, r)):
            value = float(exact[rng.integers(len(exact))])
            exactly = value if rng.random() < 0.5 else float(rng.random())
            limit, sign = min(max(exactly, 0.0), 1.0), str(rng.choice(SIGNS))
            inner.append(f"({text.format(f'{sign}{limit!r}')})")
            marks.append(np.array([COMPARE[sign](x, Decimal(limit)) for x in exact], dtype=bool))
        outer = all_cases(Q, marks[0], marks[1], (inner[0], inner[1]), times)
        text, exact = outer[int(rng.integers(len(outer)))]
        answer = model.property(text.format("=?"), on_failure="return")
        for k, number in enumerate(exact):
            error, bound = abs(Decimal(float(answer.values[k])) - number), float(answer.errors[k])
            yield "file: nested", float(error), bound, error <= Decimal(bound)
        limit, sign = float(rng.random()), str(rng.choice(SIGNS))
        three = model.property(f"{inner[0]} & !({text.format(f'{sign}{limit!r}')}) | {inner[1]}", on_failure="return")
        right = True
        for k, number in enumerate(exact):
            holds = (marks[0][k] and not COMPARE[sign](number, Decimal(limit))) or marks[1][k]
            right &= bool(three.undecided[k]) or bool(three.values[k]) == bool(holds)
        yield "file: nested truth values", 0.0, 0.0, right
        count = model.property(f"filter(count, {inner[0]})", on_failure="return")
        yield "file: counts", 0.0, 0.0, count.value in (None, int(marks[0].sum()))
