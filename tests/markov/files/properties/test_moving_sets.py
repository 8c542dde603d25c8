"""Probabilities until a time on sets of states that move with the distribution, which grow by compiled tables: closed forms, listed chains, refusals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.linalg import expm
from scipy.special import ive

from hopflow import Status
from markov import read_prism
from markov.errors import FileError, RuleError
from markov.files.growing import RowArrays
from markov.time import moving
from markov.time.chebyshev import chebyshev_weights
from markov.time.kernels import moving as moving_kernels
from markov.time.moving import empty_columns
from tests.markov.files.conftest import model_of

YULE = "ctmc module m n : int init 1; [] n > 0 -> n : (n' = n + 1); endmodule"
BIRTHS = """ctmc
module m
  x : int init 5; y : int init 5;
  [] x * y >= 0 -> 20 : (x' = x + 1);
  [] x * y >= 0 -> 10 : (y' = y + 1);
endmodule
"""
QUEUES = """ctmc
const int most;
module m
  x : [0..most]; y : [0..most]; z : [0..most];
  [] x < most -> 3 : (x' = x + 1);
  [] x > 0 & y < most -> 2 * x : (x' = x - 1) & (y' = y + 1);
  [] y > 0 & z < most -> 1.5 * y : (y' = y - 1) & (z' = z + 1);
  [] z > 0 -> z : (z' = z - 1);
endmodule
"""


def tail_of_poisson(mean: float, least: int) -> float:
    """P(N >= least)."""
    return 1.0 - math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(least))


def test_rates_that_grow_without_bounds(tmp_path: Path) -> None:
    """Yule's process: the number at t is geometric with parameter exp(-t)."""
    found = model_of(tmp_path, YULE).property("P=? [ F<=2 n>=20 ]")
    exact = (1.0 - math.exp(-2.0)) ** 19
    assert abs(found.value - exact) <= found.error_bound < 1e-9


def test_windows_grow_with_the_variables(tmp_path: Path) -> None:
    """Guards of two variables: their windows are narrow at first, so that tables over both have room."""
    found = model_of(tmp_path, BIRTHS).property("P=? [ F<=10 x>=250 ]")
    assert abs(found.value - tail_of_poisson(200.0, 245)) <= found.error_bound < 1e-6


@pytest.mark.slow
def test_a_large_population_is_held_where_it_is(tmp_path: Path) -> None:
    """Births at 2,000 per second for 5 s: 10,000 of them on the way, and at most some hundred counts at once."""
    text = "ctmc module m n : int init 0; [] n >= 0 -> 2000 : (n' = n + 1); endmodule"
    model_of(tmp_path, text)
    found = read_prism(tmp_path / "model.sm", most=2000).property("P=? [ F[5,5] n>=10100 ]")
    assert abs(found.value - tail_of_poisson(1e4, 10100)) <= found.error_bound < 1e-6
    assert int(found.reason.split()[3]) < 2000


@pytest.mark.parametrize("most", [20, 200, 1500])
@pytest.mark.parametrize(
    "text",
    ["P=? [ F<=4 z>=4 ]", "P=? [ y<4 U<=4 z>=3 ]", "P=? [ G<=4 z<4 ]", "P=? [ x<5 U[4,4] z>=2 ]"],
)
def test_bounds_hold_in_any_number_of_states(most: int, text: str, tmp_path: Path) -> None:
    truth = model_of(tmp_path, QUEUES, most=14).property(text)
    model = read_prism(tmp_path / "model.sm", constants={"most": 14}, most=most)
    found = model.property(text, on_failure="return")
    assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
    assert found.error_bound < (1e-6 if most == 1500 else 0.51)


def test_a_chain_of_too_many_jumps_gets_a_wide_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "MIN_WORK", 1e5)
    monkeypatch.setattr(moving, "WORK_PER_STATE", 0.0)
    text = QUEUES.replace("const int most;", "").replace("[0..most]", "int")
    model = model_of(tmp_path, text.replace("< most", ">= 0"))
    found = model.property("P=? [ F<=1000 z>=30 ]", on_failure="return")
    assert found.status is Status.INACCURATE
    assert found.value - found.error_bound < 1e-6 < found.value  # the mean of z is 3 in the end


def test_what_is_long_stationary_is_not_computed_on(tmp_path: Path) -> None:
    """Births at 3, each lost at 1: Poisson of mean 3 in the end."""
    text = "ctmc module m n : int init 0; [] n >= 0 -> 3 : (n' = n + 1); [] n > 0 -> n : (n' = n - 1); endmodule"
    found = model_of(tmp_path, text).property("P=? [ F[1e6,1e6] n>=4 ]")
    assert abs(found.value - tail_of_poisson(3.0, 4)) <= found.error_bound < 1e-6
    assert int(found.reason.split()[-2]) < 50_000


def test_faults_count_where_the_chain_comes(tmp_path: Path) -> None:
    text = "ctmc module m n : int init 0; k : [0..3] init 0; [] n >= 0 -> 2 : (n' = n + 1); [] n > 2 -> 1 : (k' = k + 1); endmodule"
    with pytest.raises((FileError, RuleError), match="leaves its range from state"):
        model_of(tmp_path, text).property("P=? [ F<=3 n>=9 ]")
    negative = "ctmc module m n : int init 0; [] n >= 0 -> 20 - n : (n' = n + 1); endmodule"
    found = model_of(tmp_path, negative).property("P=? [ F<=1 n>=9 ]")  # n never exceeds 20
    with localcontext(prec=40):
        left = Decimal(-1).exp()
        exact = sum(math.comb(20, k) * (1 - left) ** k * left ** (20 - k) for k in range(9, 21))
        assert abs(Decimal(found.value) - exact) <= Decimal(found.error_bound) < Decimal("1e-9")


def test_a_transition_out_of_a_range_with_rate_0_is_none(tmp_path: Path) -> None:
    """Births at 2 until 3, counted beside births without end at 5."""
    text = """ctmc
module m
  n : int init 0; k : [0..3] init 0;
  [] n >= 0 -> 5 : (n' = n + 1);
  [] k <= 3 -> (k < 3 ? 2 : 0) : (k' = k + 1);
endmodule
"""
    found = model_of(tmp_path, text).property("P=? [ F[1,1] k=3 ]")
    assert abs(found.value - tail_of_poisson(2.0, 3)) <= found.error_bound < 1e-9


class Listed:
    """A chain of some states, all rows known: 0 is its target, 1 another end."""

    def __init__(self, generator: np.random.Generator, states: int, degree: int) -> None:
        self.count = self.capacity = states + 2
        self.numbers = np.arange(self.count)
        targets = generator.integers(0, self.count, (self.count, degree)).astype(np.int32)
        rates = generator.uniform(0.01, 2.0, (self.count, degree))
        rates[targets < 2] *= 0.05
        self.largest_sum = self.count * degree
        self.rows = RowArrays(
            np.arange(self.count) * degree,
            np.full(self.count, degree, dtype=np.int32),
            rates.sum(axis=1),
            np.zeros(self.count, dtype=np.int32),
            targets.ravel(),
            rates.ravel(),
        )

    def expand(self, states: Any) -> None:
        """All rows are known."""

    def keep(self, states: Any) -> Any:
        raise AssertionError("no state is forgotten")

    def dense(self) -> Any:
        """Return the generator, shape (states, states)."""
        rows, Q = self.rows, np.zeros((self.count, self.count))
        for state in range(2, self.count):
            for edge in range(rows.starts[state], rows.starts[state] + rows.degrees[state]):
                Q[state, rows.targets[edge]] += rows.rates[edge]
            Q[state, state] -= rows.exits[state]
        return Q


@pytest.mark.parametrize("time", [0.3, 5.0, 80.0])
@pytest.mark.parametrize("most", [6, 25, 40])
def test_bounds_hold_for_random_chains(most: int, time: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mass is a lower bound, except for the error; with all states held all are right within it."""
    monkeypatch.setattr(moving, "MAX_STATES_PER_HELD_STATE", 100.0)
    for seed in range(6):
        chain = Listed(np.random.default_rng(seed), 40, 4)
        found = moving.follow_distribution(chain, time, most)
        truth = expm(chain.dense() * time)[2]
        masses = np.zeros(chain.count)
        masses[0], masses[1] = found.reached, found.missed
        masses[found.states] = found.values
        assert (masses - found.error <= truth + 1e-13).all()
        low, high = found.between(np.zeros(len(found.states), dtype=bool))
        assert low - 1e-13 <= truth[0] <= high + 1e-13
        if most == 40:
            assert float(np.abs(masses - truth).sum()) <= found.error + 1e-9
            assert high - low < 1e-8


@pytest.mark.parametrize("jumps", [0.4, 7.0, 60.0])
def test_the_error_of_a_series_is_bounded_by_its_terms(jumps: float) -> None:
    """For chains that rotate, too, whose polynomials grow: against the exponential."""
    for turn in (0.0, 0.2, 1.0):
        n = 30
        P = (1.0 - turn) * 0.5 * (np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))
        P += turn * np.roll(np.eye(n), 1, axis=1)
        weights = chebyshev_weights(jumps)
        before, now = np.eye(n)[0], np.eye(n)[0] @ P
        total = weights.weights[0] * before + weights.weights[1] * now
        truth = (expm(jumps * (P - np.eye(n))))[0]
        for k in range(1, min(40, len(weights.weights) - 2)):
            before, now = now, 2.0 * now @ P - before
            norms = np.abs(before).sum(), np.abs(now).sum()
            bound = weights.integrals[k + 1] * norms[0] + weights.integrals[k] * norms[1]
            error = float(np.abs(total - truth).sum())
            assert error <= bound * (1.0 + 1e-9) + 1e-13 * max(norms)
            total = total + weights.weights[k + 1] * now


@pytest.mark.parametrize("jumps", [1e-7, 0.3, 2.0, 50.0, 3000.0])
def test_weights_of_chebyshev_polynomials(jumps: float) -> None:
    """Bessel functions, and their integrals: by SciPy, and by numerical integration."""
    found = chebyshev_weights(jumps)
    orders = np.arange(len(found.weights) // 2)
    exact = 2.0 * ive(orders, jumps)
    exact[0] *= 0.5
    shown = exact > 1e-280
    assert np.allclose(found.weights[orders][shown], exact[shown], rtol=1e-11, atol=0.0)
    times = np.linspace(0.0, jumps, 20_001)
    for k in (0, 1, 4):
        integral = simpson(ive(k, times), x=times)
        assert math.isclose(found.integrals[k], integral, rel_tol=1e-5, abs_tol=1e-300)


def test_no_probability_is_made_or_lost_by_a_term() -> None:
    """The templates as plain Python: columns, stays and ends of a set with all its neighbours sum to 1."""
    chain = Listed(np.random.default_rng(3), 30, 3)
    states, places = np.arange(2, 32), np.full(32, -1)
    places[states] = np.arange(30)
    columns = empty_columns(30, 90)
    moving_kernels.count_arrivals(states, places, chain.rows, columns)
    rate = chain.rows.exits.max()
    moving_kernels.gather(states, places, chain.rows, columns, 1.0 / rate)
    now = np.random.default_rng(4).dirichlet(np.full(30, 0.3))
    after, total, sums = np.zeros(30), np.zeros(30), np.zeros(3)
    moving_kernels.multiply((1.0, 0.5), columns, now, after, total, sums)
    ended = (columns.reach + columns.miss) @ now
    assert math.isclose(after.sum() + ended, 1.0, rel_tol=1e-13)
    assert math.isclose(sums[1], columns.reach @ after)
    assert math.isclose(sums[2], columns.miss @ after)
    assert np.allclose(total, 0.5 * after)
    truth = now @ (np.eye(32) + chain.dense() / rate)[2:, 2:]
    assert np.allclose(after, truth, rtol=1e-12, atol=1e-15)
