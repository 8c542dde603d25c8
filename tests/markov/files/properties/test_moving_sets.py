"""Probabilities until a time on sets of states that move with the distribution, `growing` by compiled tables (`growing_kernels`): closed forms, listed chains, refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopflow import Status
from markov import read_prism
from markov.errors import FileError, RuleError
from markov.files.properties import unlisted
from markov.time.transients import moving, moving_kernels
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
    return 1.0 - math.fsum(
        math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(least)
    )


def test_rates_that_grow_without_bounds(tmp_path: Path) -> None:
    """Yule's process: the number at t is geometric with parameter exp(-t)."""
    found = model_of(tmp_path, YULE).property("P=? [ F<=2 n>=20 ]")
    exact = (1.0 - math.exp(-2.0)) ** 19
    assert abs(found.value - exact) <= found.error_bound < 1e-9


def test_windows_grow_with_the_variables(tmp_path: Path) -> None:
    """Guards of two variables: their windows are narrow at first, so that tables over both have room."""
    found = model_of(tmp_path, BIRTHS).property("P=? [ F<=10 x>=250 ]")
    assert abs(found.value - tail_of_poisson(200.0, 245)) <= found.error_bound < 1e-6


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


def test_a_chain_of_too_many_jumps_gets_a_wide_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "MOST_JUMPS_OF_STATES", 1e5)
    monkeypatch.setattr(moving, "JUMPS_PER_STATE", 0.0)
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
    exact = math.fsum(
        math.comb(20, k) * (1 - math.exp(-1)) ** k * math.exp(k - 20) for k in range(9, 21)
    )
    assert abs(found.value - exact) <= found.error_bound < 1e-9


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


def test_mass_is_neither_made_nor_lost_by_a_jump() -> None:
    """The template as plain Python: what is dropped, too fast, and at the ends is counted."""
    generator = np.random.default_rng(5)
    n, degree = 40, 3
    targets = generator.integers(0, n, (n, degree)).astype(np.int32)
    rates = generator.uniform(0.1, 2.0, (n, degree))
    exits = rates.sum(axis=1)
    starts = np.arange(n) * degree
    starts[30:] = -1

    class Rows:
        pass

    rows: Any = Rows()
    rows.starts, rows.degrees, rows.exits = starts, np.full(n, degree), exits
    rows.targets, rows.rates = targets.ravel(), rates.ravel()
    now = np.zeros(n)
    now[2:30] = generator.dirichlet(np.full(28, 0.2))
    listed = np.arange(2, 30)
    before = now.copy()
    mass: Any = Rows()
    mass.now, mass.after, mass.total = now, np.zeros(n), np.zeros(n)
    lists: Any = Rows()
    lists.now, lists.after, lists.fresh = listed, np.zeros(n, int), np.zeros(n, int)
    sizes, sums = np.array([28, 0, 0]), np.zeros(4)
    largest = float(np.sort(exits[2:30])[-3])
    settings = np.array([1e-3, largest, 0.95 / largest, 0.5])
    moving_kernels.push(sizes, settings, rows, mass, lists, sums)
    assert math.isclose(mass.after.sum() + sums.sum(), 1.0, rel_tol=1e-14)
    assert set(lists.after[: sizes[1]].tolist()) == set(np.flatnonzero(mass.after).tolist())
    assert sums[1] == before[2:30][exits[2:30] > largest].sum()
    assert not mass.now.any()
    fresh = set(lists.fresh[: sizes[2]].tolist())
    assert fresh == {k for k in lists.after[: sizes[1]].tolist() if k >= 30}


def test_without_numba_the_set_grows_by_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = model_of(tmp_path, YULE).property("P=? [ F<=1 n>=5 ]")
    monkeypatch.setattr(unlisted, "has_numba", lambda: False)
    plain = model_of(tmp_path, YULE).property("P=? [ F<=1 n>=5 ]")
    assert abs(plain.value - compiled.value) <= plain.error_bound + compiled.error_bound < 1e-8
