"""Rules without bounds: their polynomials, and the hulls of their states."""

from __future__ import annotations

import functools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from math import log1p
from typing import NamedTuple

import numpy as np
import pytest

from markov import ChainModel, explore, stationary
from markov.errors import RuleError, TooLargeError
from markov.exploration import InfiniteChain
from markov.generators.hulls import bounds_at, hull_of
from markov.generators.plain import Calls, Enumeration
from markov.generators.polynomials import Unfollowed, terms_of
from markov.generators.unbounded import parts_of
from markov.models.bare import FunctionModel
from tests.markov.infinite.families import QUICK, SLOW
from tests.surface import for_each

# Rules on boxes of states: arithmetic against plain numbers, cuts, and what is refused.


FORMULAS = {
    "sum": lambda a, b: 3 + a - 2 * b,
    "product": lambda a, b: (a + 2) * (b - 1) * 0.5,
    "power": lambda a, b: (a + b) ** 3 - 1,
    "quotient": lambda a, b: (2 * a + 1) / (1 + a + b),
    "Hill": lambda a, b: 7 * a / (4 + b * b),
    "falling": lambda a, b: (a - 3) / (2 + a),
    "least": lambda a, b: min(a, b, 4) + max(a, 2),
    "size": lambda a, b: abs(a - 3) + abs(b - a),
    "choice": lambda a, b: 1 if a in (1, 2) else 2 if not b else 3,
    "NumPy": lambda a, b: np.float64(0.25) * a + np.int64(2) - b,
    "roots": lambda a, b: np.sqrt(a + b) + a**1.5 + (1 + b) ** -0.5,
    "logarithms": lambda a, b: np.log(a + 1) - 2 * np.log2(b + 3) + np.log10(a + 0.25) + np.log1p(b),
    "logarithm of a distance": lambda a, b: np.log(abs(a - 5) + 1) + np.log(b + 1),
    "exponentials": lambda a, b: np.exp(-a) + np.expm1(-b) + np.tanh(a) - np.arctan(a + b),
    "reciprocals": lambda a, b: 3 * a / (2.0 ** (a / 100) * 1.5 + b) + (b + 1) / np.exp(b / 1000),
    "rounded": lambda a, b: math.floor(a / 2) - math.ceil((b + 1) / 3) + math.trunc(a / 4),
}


@for_each(FORMULAS)
def test_every_part_bounds_the_plain_value(name):
    """Each state is in a part, and the value there is in its interval."""
    formula = FORMULAS[name]
    parts = parts_of(lambda places: formula(*places), (0, 0), (None, None))
    for a in (0, 1, 2, 3, 4, 7, 1000):
        for b in (0, 1, 3, 5, 2000):
            found = 0
            for part in parts:
                offsets = part.offsets((a, b))
                if offsets is None or any(bounds_at(fact, offsets)[0] < 0 for fact in part.facts):
                    continue
                found += 1
                low, high = bounds_at(terms_of(part.result, 2), offsets)
                assert low - Fraction(1, 10**9) <= formula(a, b) <= high + Fraction(1, 10**9)
            assert found == 1


@pytest.mark.parametrize("base", [1.0001, 1.001, 1.00003, 1.0000007])
def test_powers_of_a_base_near_one_are_in_their_interval(base: float) -> None:
    """One over the base is rounded, which the exponent multiplies."""
    exponent = 100_000
    (part,) = parts_of(lambda places: 1.0 / base ** (places[0] + exponent), (0,), (None,))
    _, high = bounds_at(terms_of(part.result, 1), part.offsets((0,)))
    with localcontext(prec=50):
        exact = Fraction(Decimal(base) ** -exponent)
    assert exact <= high <= exact * (1 + 3 * exponent * Fraction(1, 2**53))


STOPPED = {
    "rest of a variable": lambda n: 7 % (n + 1),
    "rest by a variable": lambda n: (n * n) % (n + 1),
    "rest of a fraction": lambda n: (n / 2) % 2,
    "large divisor": lambda n: n % 1000,
    "negative divisor": lambda n: n // -2,
    "range": lambda n: len(range(n)),
    "root": lambda n: math.sqrt(n),
    "logarithm": lambda n: math.log(n + 1),
    "hash": lambda n: {1: 2.0}.get(n, 1.0),
    "index": lambda n: (2.0, 2.5)[n],
    "whole": lambda n: int(n),
    "float": lambda n: float(n),
    "text": lambda n: len(str(n)),
    "formatted": lambda n: len(f"{n}"),
    "old format": lambda n: len("%d" % n),  # noqa: UP031
    "power of two": lambda n: min(2.0**n, 7),
    "difference of powers": lambda n: 2.0**n - n,
    "power of a variable": lambda n: n**n,
    "bits": lambda n: n & 1,
    "array": lambda n: np.array(n),
    "ufunc": lambda n: np.cbrt(n),
    "attribute": lambda n: n.bit_length(),
}


@for_each(STOPPED)
def test_what_cannot_be_followed_is_refused(name):
    (*_, part) = parts_of(lambda places: STOPPED[name](places[0]), (5,), (None,))
    assert part.refused is not None


def test_no_handler_of_a_rule_hides_a_stop():
    def formula(places):
        try:
            return places[0] & 1
        except Exception:  # noqa: BLE001
            return 0

    (part,) = parts_of(formula, (0,), (None,))
    assert part.refused == "&"
    with pytest.raises(Unfollowed, match="more than 5 parts"):
        parts_of(lambda places: sum(places[0] > k for k in range(9)), (0,), (None,), max_parts=5)


FIVE = 5


def _caught(n):
    try:
        return n % 3
    except BaseException:  # noqa: BLE001
        return 0


REFUSED = {
    "type": (lambda n: 2.0 if type(n) is int else 1.5, TooLargeError),
    "identity": (lambda n: 2.0 if n is not FIVE else 3.0, TooLargeError),
    "remainder": (lambda n: 2.0 + 7 % (n + 1), TooLargeError),
    "caught": (_caught, RuleError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rules_that_are_not_followed_have_no_answer(name):
    more, error = REFUSED[name]

    def rules(n):
        yield n + 1, 1.0
        if n > 0:
            yield n - 1, 2.0 + more(n)

    with pytest.raises(error):
        stationary(explore(rules, start=0, most=6000))


FOLLOWED = {
    "remainder": lambda n: 2.0 + n % 3,
    "floor division": lambda n: 2.0 + min(n // 4, 3) % 2,
    "divmod": lambda n: 2.0 + sum(divmod(n, 2)) % 2,
    "remainder of a product": lambda n: 2.0 + (n * n + n) % 4 + np.remainder(3 * n - 50, 2),
    "isinstance": lambda n: 2.0 if isinstance(n, int) else 1.5,
    "truth": lambda n: 2.0 + bool(n),
    "not None": lambda n: 2.0 if n is not None else 9.0,
    "in": lambda n: 2.0 if n in (1, 2) else 3.0,
    "first entries": lambda n: (2.0, 3.0)[min(n, 1)],
    "few entries": lambda n: (2.5, 2.0, 1.5, 3.0)[min(n, 3)],
    "few keys": lambda n: {1: 2.0, 2: 1.5}.get(min(n, 5), 3.0),
    "few servers": lambda n: sum(2.0 / (k + 1) for k in range(min(n, 6))),
}


@for_each(FOLLOWED)
def test_rules_that_are_followed_have_the_answer_of_birth_and_death(name):
    down = FOLLOWED[name]

    def rules(n):
        yield n + 1, 1.0
        if n > 0:
            yield n - 1, down(n)

    answer = stationary(explore(rules, start=0, most=6000))
    ratios = np.cumprod([1.0, *(1.0 / down(n) for n in range(1, 60))])
    expected = ratios / ratios.sum()
    assert np.abs(answer.pi[:40] - expected[:40]).sum() <= 2.0 * answer.error_bound + 1e-14


# Functions of floats, wherever the rules call them.


def _decay(n):
    return math.exp(-n / 50)


def _called_again(n, times=3):
    return _called_again(n, times - 1) if times else _decay(n)


@functools.cache
def _cached(n):
    return 1 / math.log(n + 2)


class _Rates:
    def __init__(self, factor):
        self.factor = factor

    @staticmethod
    def static(n):
        return log1p(1 / (n + 1))

    def method(self, n):
        return self.factor / math.sqrt(n + 1)

    @property
    def rate(self):
        return self.method


class _Queue(ChainModel):
    class State(NamedTuple):
        n: int

    class Params(NamedTuple):
        arrivals: float = 2.0

    def start(self):
        return self.State(0)

    def thinned(self, n):
        return self.params.arrivals / math.pow(n + 1, 1.5)

    def rules(self, s):
        yield s._replace(n=s.n + 1), self.thinned(s.n)
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0


def _closure():
    def rate(n):
        return math.exp(-n)

    return lambda n: rate(n)


ARRIVALS = {
    "helper": _decay,
    "nested call": _called_again,
    "cache": _cached,
    "closure": _closure(),
    "partial": functools.partial(_called_again, times=1),
    "static method": _Rates.static,
    "static method of an object": lambda n: _Rates(2.0).static(n),
    "method": _Rates(2.0).method,
    "property": _Rates(2.0).rate,
    "local": lambda n: sum(math.erfc(x / 10) for x in (n, n + 1)),
    "table": lambda n: BY_KIND["slow"](n),
    "float": lambda n: 1.0 / float(n + 1),
    "int": lambda n: 1.0 / int(1 + n / 2),
    "factorial": lambda n: 1 / math.factorial(n),
    "power of two": lambda n: 1 / 2**n,
    "exponential below": lambda n: 1 / math.exp(n / 100),
}
BY_KIND = {"slow": _decay}


def _births(arrivals):
    def rules(s):
        yield s._replace(n=s.n + 1), arrivals(s.n)
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0

    return rules


@for_each(ARRIVALS)
def test_rates_that_tend_to_zero_in_a_function_that_is_called(name):
    assert isinstance(explore(_births(ARRIVALS[name]), start={"n": 0}), InfiniteChain)


def test_methods_of_a_model_are_followed_and_left_as_they_are():
    model = _Queue(arrivals=3.0)
    before = dict(vars(_Queue)), dict(vars(math))
    chain = explore(model)
    answer = stationary(chain)
    births = 3.0 / (1.0 + np.arange(60.0)) ** 1.5
    weights = np.append(1.0, np.cumprod(births))
    exact = weights / weights.sum()
    assert abs(answer.probability((0,)) - exact[0]) <= answer.error_bound + 1e-14 < 1e-9
    assert before == (dict(vars(_Queue)), dict(vars(math)))


def test_a_rate_that_differs_in_a_substituted_function_is_found():
    """A helper that tells a stand-in from a number: the sample of states in plain Python has other rates."""

    def rate(n):
        return math.exp(-n) if hasattr(n, "terms") else 0.5

    with pytest.raises(RuleError, match="in plain Python"):
        stationary(explore(_births(rate), start={"n": 0}))


def test_a_component_that_grows_is_named_where_the_rules_are_not_followed():
    def rules(s):
        yield s._replace(jobs=s.jobs + 1), 1.0 + 7 % (s.jobs + 1)
        yield s._replace(mode=1 - s.mode), 1.0

    with pytest.raises(
        TooLargeError, match=r"\d+ states .* jobs is 0 to \d+ and still grows.*: %; give jobs a largest"
    ):
        explore(rules, start={"mode": 0, "jobs": 0})


def test_numbers_among_named_states_that_grow_are_refused_in_seconds():
    """A queue that is emptied by breakdowns, of which "down" is a state beside the numbers of jobs."""

    def rules(s):
        if s == "down":
            yield 0, 1.0
            return
        yield s + 1, 2.0
        if s > 0:
            yield s - 1, 3.0
            yield "down", 0.5

    with pytest.raises(TooLargeError, match=r"200000 states were found, in which state is 0 to 199998 and still grows"):
        explore(rules, start=0)


def _erlang_arrivals(s, q):
    """Two phases per arrival: no single move adds a job in the phase that the chain begins in."""
    if s.phase == 0:
        yield s._replace(phase=1), q.arrival
    elif s.jobs < q.room:
        yield s._replace(phase=0, jobs=s.jobs + 1), q.arrival
    if s.jobs > 0:
        yield s._replace(jobs=s.jobs - 1), 1.0


def test_states_that_grow_by_a_cycle_of_moves_are_infinitely_many():
    """E2/M/1: the distribution that arrivals find is geometric, with the root of Lindley's equation."""

    def rules(s, q):
        if s.phase == 0:
            yield s._replace(phase=1), q.arrival
        else:
            yield s._replace(phase=0, jobs=s.jobs + 1), q.arrival
        if s.jobs > 0:
            yield s._replace(jobs=s.jobs - 1), 1.0

    chain = explore(rules, start={"jobs": 0, "phase": 0}, params={"arrival": 1.2}, rewards=lambda s: {"jobs": s.jobs})
    assert isinstance(chain, InfiniteChain)
    sigma = 0.5
    for _ in range(1000):
        sigma = (1.2 / (1.2 + 1.0 - sigma)) ** 2
    mean = stationary(chain).bound("jobs")
    assert abs(mean.value - 0.6 / (1.0 - sigma)) <= mean.error < 1e-5


@pytest.mark.parametrize("room", [1, 60])
def test_a_cycle_that_ends_is_not_taken_for_one_without_an_end(room):
    chain = explore(_erlang_arrivals, start={"jobs": 0, "phase": 0}, params={"arrival": 1.2, "room": room})
    assert chain.chain.size == 2 * (room + 1)


def test_a_cycle_whose_last_move_fades_proves_nothing():
    """The rate of the second move falls with the jobs, and is 0 from 30,000 on."""

    def rules(s):
        if s.phase == 0:
            yield s._replace(phase=1), 1.0
        else:
            yield s._replace(phase=0, jobs=s.jobs + 1), max(0, 30_000 - s.jobs)
        if s.jobs > 0:
            yield s._replace(jobs=s.jobs - 1), 1.0

    assert explore(rules, start={"jobs": 0, "phase": 0}).chain.size == 2 * 30_001


# Closed sets of states, and whether a start leads to infinitely many.


FAMILIES = {**QUICK, **SLOW}


def hull(rules, start, count=500):
    calls = Calls(FunctionModel(rules, start), None)
    search = Enumeration(calls, [start])
    search.run(count)
    return hull_of(calls, search.states)


@for_each(FAMILIES)
def test_families_are_infinite_for_certain(name):
    assert hull(*FAMILIES[name]).is_infinite


def test_a_last_value_ends_a_component():
    def rules(s):
        a, b = s
        if a < 40:
            yield (a + 1, b), 1.0
        yield (a, b + 1), 1.0
        if b > 0:
            yield (a, b - 1), 2.0
        if a > 0:
            yield (a - 1, b), 1.0

    found = hull(rules, (0, 0))
    assert found.high[()] == [40, math.inf]
    assert found.is_infinite


def test_a_large_finite_chain_is_not_infinite():
    def rules(n):
        if n < 5000:
            yield n + 1, 1.0
        if n > 0:
            yield n - 1, 2.0

    assert not hull(rules, 0).is_infinite
    assert len(explore(rules, start=0).states) == 5001


def test_a_sum_with_a_last_value_is_finite():
    def rules(s):
        a, b = s
        if a + b < 90:
            yield (a + 1, b), 1.0
            yield (a, b + 1), 1.0
        if a > 0:
            yield (a - 1, b), 1.0
        if b > 0:
            yield (a, b - 1), 1.0

    assert len(explore(rules, start=(0, 0)).states[0]) == 91 * 92 // 2


def test_components_without_a_least_value_are_refused():
    def rules(n):
        yield n + 1, 1.0
        yield n - 1, 1.0

    with pytest.raises(Unfollowed, match="may have no least value"):
        hull(rules, 0)
