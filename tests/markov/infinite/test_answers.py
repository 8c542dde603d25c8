"""Stationary distributions of infinite chains: families, closed forms, random chains, refusals."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import poisson

from markov import ChainModel, explore, generator, mixing_time, stationary, transient
from markov.errors import RuleError, TooLargeError
from markov.infinite import answers
from markov.models import measures
from tests.markov.infinite.families import (
    QUICK,
    SLOW,
    distance,
    mm1,
    modulated,
    random_chain,
    retrial,
    states_of,
    tandem,
)

TOLERANCE = 1e-9


@pytest.mark.parametrize("name", QUICK)
def test_quick_families_are_solved_to_the_tolerance(name):
    rules, start = QUICK[name]
    answer = stationary(explore(rules, start=start))
    assert answer.error_bound <= TOLERANCE
    assert answer.status.ok
    assert abs(answer.pi.sum() - 1.0) < 1e-12
    assert "drift" in answer.verified


def test_a_kind_of_measure_is_a_method_of_the_model_and_one_name(monkeypatch):
    """Means and bounds, also of infinite chains, read the kinds of measures from one list."""

    class Queue(ChainModel):
        class State(NamedTuple):
            n: int

        def start(self):
            return self.State(0)

        @staticmethod
        def rules(s, q):
            yield s._replace(n=s.n + 1), 1.0
            if s.n > 0:
                yield s._replace(n=s.n - 1), 2.0

        def gains(self, s):
            return {"gain": 3.0 * s.n}

    for module in (measures, answers):
        monkeypatch.setattr(module, "MEASURE_KINDS", ("labels", "rewards", "gains"))
    answer = stationary(Queue())
    bound = answer.bound("gain")
    assert abs(answer["gain"] - 3.0) < 1e-6  # rho / (1 - rho) = 1 customer
    assert bound.lower <= 3.0 <= bound.upper
    assert bound.error < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_other_families_are_solved_to_the_tolerance(name):
    rules, start = SLOW[name]
    assert stationary(explore(rules, start=start)).error_bound <= TOLERANCE


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_bound_holds_and_is_sharp_for_one_queue(tolerance):
    answer = stationary(explore(mm1, start=0), tolerance=tolerance)
    found = distance(answer, lambda n: 0.1 * 0.9**n)
    assert found <= answer.error_bound <= tolerance
    if found > 1e-13:
        assert answer.error_bound < 10.0 * found


@pytest.mark.slow
def test_bound_holds_for_the_product_form():
    share = 0.6 / 0.845
    rewards = {"jobs": 0.6 / 0.4 + share / (1.0 - share)}
    answer = stationary(explore(tandem, start=(0, 0), rewards=lambda s: {"jobs": s[0] + s[1]}), tolerance=1e-4)
    found = distance(answer, lambda a, b: 0.4 * 0.6**a * (1.0 - share) * share**b)
    assert found <= answer.error_bound <= 1e-4
    jobs = answer.bound("jobs")
    assert jobs.lower <= rewards["jobs"] <= jobs.upper
    assert jobs.error < 0.1


@pytest.mark.slow
def test_means_of_the_retrial_queue_are_in_their_intervals():
    """Closed form: Falin, Templeton, Retrial Queues (1997), 1.2: with load 1/2 and retrials at rate 1."""
    found = explore(
        retrial,
        start=(0, 0),
        rewards=lambda s: {"orbit": s[1]},
        labels=lambda s: {"busy": s[0] == 1},
    )
    answer = stationary(found)
    load, arrivals, retrials = 0.5, 0.5, 1.0
    orbit = answer.bound("orbit")
    exact = load**2 / (1 - load) + load * arrivals / (retrials * (1 - load))
    assert orbit.lower <= exact <= orbit.upper
    assert orbit.error < 1e-6
    assert answer.bound("busy").lower <= 0.5 <= answer.bound("busy").upper
    assert abs(answer["orbit"] - exact) < 1e-6
    assert answer.bound(lambda s: 2 * s[1] - 1).lower <= 2 * exact - 1


def check_random_chain(seed, tolerances):
    rules, start = random_chain(seed)
    chain = explore(rules, start=start)
    fine = stationary(chain, tolerance=1e-11)
    truth = dict(zip(states_of(fine), fine.pi.tolist(), strict=True))
    for tolerance in tolerances:
        answer = stationary(chain, tolerance=tolerance)
        assert distance(answer, truth) <= answer.error_bound + 2.0 * fine.error_bound


@pytest.mark.parametrize("seed", [0, 3])
def test_no_bound_of_random_chains_is_violated(seed):
    check_random_chain(seed, (1e-2, 1e-5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_no_bound_of_many_random_chains_is_violated(seed):
    check_random_chain(seed, (1e-2, 1e-4, 1e-6))


@pytest.mark.slow
def test_a_given_function_is_verified_and_not_believed():
    chain = explore(retrial, start=(0, 0))
    answer = stationary(chain, lyapunov=lambda s: 10 * s[1] + 6 * s[0])
    assert answer.error_bound <= TOLERANCE
    for wrong in (lambda s: s[1], lambda s: -s[1], lambda s: 10 * s[0], lambda s: 5):
        with pytest.raises(RuleError, match="lyapunov"):
            stationary(chain, lyapunov=wrong)
    with pytest.raises(RuleError, match="lyapunov = 7: must be a function of the state"):
        stationary(chain, lyapunov=7)


class Breakdowns(ChainModel):
    class State(NamedTuple):
        n: int
        mode: str

    class Params(NamedTuple):
        arrivals: float = 0.3

    def start(self):
        return self.State(0, "up")

    @staticmethod
    def rules(s, q):
        yield s._replace(n=s.n + 1), q.arrivals
        yield s._replace(mode="down" if s.mode == "up" else "up"), 0.5
        if s.n > 0 and s.mode == "up":
            yield s._replace(n=s.n - 1), 1.0

    def rewards(self, s):
        return {"length": s.n}


def test_a_model_of_a_class_is_solved_by_its_name():
    answer = stationary(Breakdowns(arrivals=0.2))
    assert answer.error_bound <= TOLERANCE
    assert "[mode ==" in answer.lyapunov
    up = explore(Breakdowns(arrivals=0.2)).model
    assert up == Breakdowns(arrivals=0.2)
    again = pickle.loads(pickle.dumps(answer))
    assert again.bound("length").lower <= answer["length"] <= again.bound("length").upper


@pytest.mark.slow
def test_means_that_need_a_larger_degree_are_refused():
    answer = stationary(explore(mm1, start=0))
    with pytest.raises(ValueError, match=r"no function of degree 2 or less was found whose drift"):
        answer.bound(lambda n: n * n)


def test_chains_whose_states_have_a_common_step():
    def rules(n):
        yield n + 2, 0.3
        if n > 1:
            yield n - 2, 1.0

    answer = stationary(explore(rules, start=0))
    assert distance(answer, lambda n: 0.7 * 0.3 ** (n // 2)) <= answer.error_bound + 1e-15
    assert not (answer.states % 2).any()


def test_what_needs_a_matrix_refuses_infinitely_many_states():
    chain = explore(modulated, start=(0, 0))
    assert "infinitely many states" in repr(chain)
    for call in (
        lambda: chain.chain,
        lambda: tuple(chain),
        lambda: mixing_time(chain),
    ):
        with pytest.raises(ValueError, match=r"infinitely many states.*transient\(\) accept it"):
            call()
    with pytest.raises(TooLargeError, match="leads to infinitely many states"):
        generator(Breakdowns())
    answer = stationary(chain)
    for name in ("variance", "deviation", "input_error"):
        with pytest.raises(ValueError, match=f"{name} is not computed"):
            getattr(answer, name)("n")
    with pytest.raises(ValueError, match="must be the name of a label or reward, or a function"):
        answer.bound(np.ones(len(answer.pi)))
    with pytest.raises(ValueError, match=r"exact=True\) is not computed"):
        answer.bound("n", exact=True)


@pytest.mark.slow
def test_two_modes_that_are_never_left_are_refused():
    def rules(s):
        mode, n = s
        yield (mode, n + 1), 0.3
        if n > 0:
            yield (mode, n - 1), 1.0
        elif mode == 0:
            yield (1, 0), 0.1
            yield (2, 0), 0.1

    with pytest.raises(RuleError, match="may not be unique"):
        stationary(explore(rules, start=(0, 0)))


def test_coefficients_of_one_queue_are_the_known_ones():
    answer = stationary(explore(mm1, start=0))
    slope = Fraction(answer.lyapunov.split()[0])
    assert abs(float(slope) - 10.0) < 1e-3  # drift -1 at service 1, arrivals 0.9


def _exponential(s, q):
    yield s._replace(n=s.n + 1), q.least + q.factor * math.exp(-q.slope * s.n)
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.0


def _powers(s, q):
    yield s._replace(n=s.n + 1), q.least + q.factor * (2.0 ** (-q.slope * s.n))
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.0


def _arrays(s, q):
    yield s._replace(n=s.n + 1), q.least + q.factor * np.exp(-q.slope * s.n)
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.0


@pytest.mark.parametrize("rules", [_exponential, _powers, _arrays])
@pytest.mark.parametrize("params", [
    {"least": 0.0, "factor": 1.0, "slope": 1}, {"least": 0.0, "factor": 3.0, "slope": 0.1},
    {"least": 0.5, "factor": 1.0, "slope": 0.1},
])  # fmt: skip
def test_rates_that_fall_exponentially(rules: Any, params: Any):
    """A birth-death chain has a product form; float64 has no smaller rate than 5e-324, where the states do not end."""
    base = 2.0 if rules is _powers else math.e
    births = params["least"] + params["factor"] * base ** (-params["slope"] * np.arange(400.0))
    weights = np.append(1.0, np.cumprod(births))
    weights /= weights.sum()
    chain = explore(rules, start={"n": 0}, params=params)
    assert type(chain).__name__ == "InfiniteChain"
    answer = stationary(chain)
    found = [answer.probability((n,)) for n in range(20)]
    assert np.abs(found - weights[:20]).max() <= answer.error_bound + 1e-13 < 1e-9


def test_states_that_end_where_rates_underflow_are_refused():
    """With service 2 exp(-n) the last state would hold all probability, of a chain without a stationary distribution."""

    def falling(s, q):
        yield s._replace(n=s.n + 1), math.exp(-s.n)
        if s.n > 0:
            yield s._replace(n=s.n - 1), 2.0 * math.exp(-s.n)

    with pytest.raises(RuleError, match="no Lyapunov function"):
        stationary(explore(falling, start={"n": 0}))

    def hidden(s, q):
        yield s._replace(n=s.n + 1), float(f"1e-{s.n}")
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0

    with pytest.raises(RuleError, match=r"n=3[0-9]{2}.*: a rate of .*e-3.*: must be 0 or at least 2\.23e-308; .*limit"):
        explore(hidden, start={"n": 0})


def test_bounds_do_not_suffer_from_a_start_that_is_hardly_ever_seen():
    """M/M/inf with mean 20: the start, 0, has 2e-9 of the time, and the time until it magnified rounding errors."""

    def calls(n):
        yield n + 1, 20.0
        if n > 0:
            yield n - 1, 1.0 * n

    chain = explore(calls, start=0, rewards=lambda n: {"calls": n})
    answer = stationary(chain, tolerance=1e-12)
    assert answer.error_bound <= 1e-12
    assert "tolerance" not in answer.summary()
    np.testing.assert_allclose(answer.pi[:40], poisson.pmf(np.arange(40), 20.0), rtol=1e-10)
    assert 20.0 in answer.bound("calls")
    assert answer.bound("calls").error < 1e-9
    assert stationary(chain, tolerance=1e-18).summary()["tolerance"] == "1e-18 was not reached"


def test_states_without_a_value_are_not_said_to_be_missing_from_the_chain():
    """A queue has 1000 customers too, with a probability far below the bound."""

    def queue(n):
        yield n + 1, 1.0
        if n > 0:
            yield n - 1, 2.0

    chain = explore(queue, start=0)
    for answer in (stationary(chain), transient(chain, [1.0])):
        rest = f"of infinitely many states {answer.chain.size} have values, and all others together at most"
        for states in (1000, [0, 1000], lambda n: n > 1000):
            with pytest.raises((KeyError, ValueError), match=rest):
                answer.probability(states)
    assert stationary(chain).bound(lambda n: n > 1000).value == 0.0
