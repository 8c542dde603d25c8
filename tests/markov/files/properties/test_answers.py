"""What a property is: values against formulas, with bounds, in every state, of finite and of infinite models."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopflow import Status
from hopflow.kernels.stopwatch import Stopwatch
from markov import read_prism, transient
from markov.computing import resources
from markov.errors import ConvergenceError, FileError, UndecidedError
from tests.markov.files.conftest import QUEUE_BESIDE, model_of

# Values against formulas of the M/M/1/N queue.


RHO = 0.7
WEIGHT = sum(RHO**k for k in range(11))
FULL = RHO**10 / WEIGHT


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('S=? [ "full" ]', RHO**10 / WEIGHT),
        ("S=? [ n >= 5 & n < 7 ]", (RHO**5 + RHO**6) / WEIGHT),
        ('R{"length"}=? [ S ]', sum(k * RHO**k for k in range(11)) / WEIGHT),
        ('R{"served"}=? [ S ]', 10.0 * (1.0 - 1.0 / WEIGHT)),
        ('P=? [ F "full" ]', 1.0),
        ("P=? [ X n=1 ]", 1.0),
        ("P=? [ F<=0.1 n>0 ]", 1.0 - math.exp(-0.7)),
        ("P=? [ G<=0.1 n=0 ]", math.exp(-0.7)),
        ("P=? [ F[0.1,0.2] n>0 ]", None),
        ("P=? [ n<10 U n=3 ]", 1.0),
    ],
)
def test_properties_are_what_formulas_say(queue: Any, text: str, value: float | None) -> None:
    found = queue.property(text)
    if value is not None:
        assert abs(found.value - value) <= found.error_bound + 4e-16 * value
    assert found.error_bound <= 1e-12


def test_properties_and_transient_agree_on_a_time(queue: Any) -> None:
    found = transient(queue, [0.4])
    asked = queue.property("P=? [ true U[0.4,0.4] n=3 ]")
    assert found.pi[0, 3] == pytest.approx(asked.value, abs=1e-13)
    asked = queue.property('R{"length"}=? [ I=0.4 ]')
    assert found["length"][0] == pytest.approx(asked.value, abs=1e-12)
    asked = queue.property('R{"length"}=? [ C<=0.4 ]')
    assert float(found.accumulated["length"][0]) == pytest.approx(asked.value, abs=1e-12)


def test_a_rare_event_within_a_time_has_a_relative_bound(tmp_path):
    """Two disks, 60 digits: at any horizon, with 6e12 expected jumps at the last."""
    path = tmp_path / "disks.sm"
    path.write_text(
        "ctmc\nmodule m\n  up : [0..2] init 2;\n  [] up > 0 -> 1e-5 * up : (up' = up - 1);\n"
        "  [] up = 1 -> 30 : (up' = 2);\nendmodule\n"
    )
    model = read_prism(path)
    for time, exact in (("1", 6.44443822220883669e-12), ("1e11", 0.486582538689518828)):
        found = model.property(f"P=? [ F<={time} up = 0 ]")
        assert abs(found.value - exact) <= found.error_bound <= 1e-12 * exact


def test_thresholds_give_truth_values_and_filters_choose_states(queue: Any) -> None:
    assert queue.property('S<0.1 [ "full" ]').value is True
    assert queue.property("P>=1 [ F n=10 ]").value is True
    assert queue.property("filter(count, P>0.5 [ X n=5 ])").value == 2 - 1
    assert queue.property("filter(max, P=? [ X n=5 ])").value == pytest.approx(10 / 17)


# Bounds, values in every state, and what is not decided.


def test_an_answer_has_the_values_in_every_state(queue: Any) -> None:
    found = queue.property("P=? [ X n=5 ]")
    expected = np.zeros(11)
    expected[4], expected[6] = 7 / 17, 10 / 17
    np.testing.assert_allclose(found.values, expected, rtol=1e-15)
    assert found.value == 0.0  # in the initial state
    assert found.status is Status.CONVERGED
    assert found.error_bound <= 1e-15


def test_a_threshold_within_the_error_is_not_decided(queue: Any) -> None:
    exact = queue.property('S=? [ "full" ]').value
    near = queue.property(f'S<{exact!r} [ "full" ]', on_failure="return")
    assert near.status is Status.UNDECIDED
    assert near.value is None
    assert near.undecided.all()
    assert f"undecided (within {near.error_bound:.2g} of the threshold in 11 of 11 states)" in repr(near)
    with pytest.raises(UndecidedError, match=r"undecided \(within"):
        bool(near)
    with pytest.raises(UndecidedError) as caught:
        queue.property(f'S<{exact!r} [ "full" ]')
    assert caught.value.result.value is None
    assert queue.property(f'S<{1.001 * FULL!r} [ "full" ]').value is True


def test_the_truth_value_of_a_result_is_that_of_its_property(queue: Any) -> None:
    assert not queue.property('S>0.5 [ "full" ]')
    with pytest.raises(TypeError, match="compare its value"):
        bool(queue.property('S=? [ "full" ]'))


def test_arithmetic_on_operators_has_a_bound(queue: Any) -> None:
    found = queue.property('S=? [ "full" ] + S=? [ n = 0 ]')
    exact = Fraction(7, 10) ** 10 / sum(Fraction(7, 10) ** k for k in range(11))
    exact *= 1 + Fraction(10, 7) ** 10
    assert abs(Fraction(found.value) - exact) <= found.error_bound < 1e-15
    assert queue.property("n + 2").error_bound == 0.0  # no operator in it


def test_tables_and_pictures_show_the_value(queue: Any) -> None:
    found = queue.property('S=? [ "full" ]')
    about = found.summary()
    assert about["value"] == found.value
    assert about["states"] == 11
    assert f"{found.error_bound:.1e}" in repr(found)
    line = found.plot().lines[0]
    np.testing.assert_array_equal(line.get_ydata(), np.sort(found.values)[::-1])


@pytest.mark.parametrize("time", [30, 300, 20_000, 10**9])
def test_rare_probabilities_have_relative_bounds_at_any_horizon(tmp_path: Path, time: int) -> None:
    """820 states agree with the 41 that matter, whose probabilities come from squaring."""
    many, few = (model_of(tmp_path, QUEUE_BESIDE, M=size) for size in (19, 0))
    text = f"P=? [ F<={time} x=40 ]"
    found, truth = many.property(text), few.property(text)
    assert max(found.relative_bound, truth.relative_bound) <= 1e-12
    assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
    assert found.value < 0.9 or time == 10**9
    apart = np.abs(found.values.reshape(41, 20) - truth.values[:, None])
    assert np.all(apart <= found.errors.reshape(41, 20) + truth.errors[:, None])
    assert bool((found.errors[1:-20] == 0.5).all()) is (time == 10**9)
    assert bool(many.property(f"P<={min(2.0 * truth.value, 1.0)} [ F<={time} x=40 ]")) is True
    assert bool(many.property(f"P<{0.5 * truth.value} [ F<={time} x=40 ]")) is False
    assert f"{found.relative_bound:.1e} of the value" in repr(found)


@pytest.mark.parametrize("time", [30, 20_000, 3 * 10**7])
def test_what_is_rarely_avoided_has_relative_bounds_too(tmp_path: Path, time: int) -> None:
    """``G`` and ``W`` are not found as one minus a probability near one."""
    many, few = (model_of(tmp_path, QUEUE_BESIDE, M=size) for size in (19, 0))
    for text in (f"P=? [ G<={time} x<40 ]", f"P=? [ x<40 W<={time} false ]"):
        found, truth = many.property(text), few.property(text)
        assert max(found.relative_bound, truth.relative_bound) <= 1e-12
        assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
        assert found.value < 1e-6 or time < 10**7
    entered = few.property(f"P=? [ F<={time} x=40 ]")
    assert abs(entered.value + truth.value - 1.0) <= entered.error_bound + truth.error_bound + 2e-16


def test_all_states_are_found_where_more_than_the_initial_one_is_asked_for(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE_BESIDE, M=19)
    whole = model.property("filter(max, P=? [ F<=300 x=40 ], x < 39)")
    assert whole.error_bound < 1e-9
    nested = model.property("P=? [ F<=1 P>=0.5 [ F<=300 x=40 ] ]")
    assert nested.error_bound < 1e-9


def test_the_two_meanings_of_a_bound(tmp_path: Path) -> None:
    model = model_of(tmp_path, QUEUE_BESIDE, M=1)
    none = model.property("P=? [ F<=0 x=40 ]")
    assert (none.value, none.error_bound, none.relative_bound) == (0.0, 0.0, 0.0)
    assert math.isnan(model.property("P<0.5 [ F<=1 x=40 ]").relative_bound)


# Models with infinitely many states, or too many: those of finite ones lie within the bounds.


TEXT = """ctmc
const int most;
module m
  x : [0..most]; y : [0..most];
  [] x < most -> 1 : (x' = x + 1);
  [move] x > 0 & y < most -> 1.5 : (x' = x - 1) & (y' = y + 1);
  [] y > 0 -> 2 : (y' = y - 1);
endmodule
label "empty" = x + y = 0;
rewards "jobs" true : x + y; endrewards
rewards [move] true : 2; endrewards
"""
OPEN = TEXT.replace("[0..most]", "int").replace(" < most", " >= 0")
UNTIL = (
    "P=? [ F<=2 x=4 ]", "P=? [ x<3 U<=2 y>=2 ]", "P=? [ G<=2 y<3 ]", 'P=? [ F[2,2] "empty" ]', "P=? [ F<=0 x=0 ]",
    "P=? [ x<2 U[2,2] y=1 ]", "P=? [ F<=0 y=1 ]", "P=? [ x>0 U<=2 y=1 ]",
)  # fmt: skip


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp("pair")
    found = []
    for name, text in (("open", OPEN), ("finite", TEXT)):
        path = folder / f"{name}.sm"
        path.write_text(text)
        found.append(read_prism(path, constants={"most": 40}))
    return found[0], found[1]


@pytest.mark.parametrize("text", UNTIL)
def test_probabilities_until_a_time(text: str, pair: tuple[Any, Any]) -> None:
    own, other = (model.property(text) for model in pair)
    assert own.error_bound < 2e-9
    assert abs(own.value - other.value) <= own.error_bound + other.error_bound


@pytest.mark.slow
def test_long_run_means(pair: tuple[Any, Any]) -> None:
    """Jackson: two queues at loads 2/3 and 1/2, in product form; two per job that moves on."""
    for text, value in (
        ('S=? [ "empty" ]', 1 / 6), ('R{"jobs"}=? [ S ]', 3.0), ("R{2}=? [ S ]", 2.0)
    ):  # fmt: skip
        found = pair[0].property(text)
        assert abs(found.value - value) <= found.error_bound < 1e-6


@pytest.mark.parametrize("text", ["P=? [ F x=9 ]", "P>0.5 [ F<=2 x=4 ]", "S=? [ P>0.5 [ F<=2 x=4 ] ]", "R=? [ F x=9 ]"])
def test_other_properties_are_refused_by_name(text: str, pair: tuple[Any, Any]) -> None:
    with pytest.raises(FileError, match=r"infinitely many, or too many|operator of properties"):
        pair[0].property(text)


def test_too_few_states_leave_an_interval(tmp_path: Path) -> None:
    """A finite model of 6,561 states, in 150 of them, which do not hold the flow until 40."""
    text = "P=? [ F<=40 x=25 ]"
    truth = model_of(tmp_path, TEXT, most=80).property(text)
    few = read_prism(tmp_path / "model.sm", constants={"most": 80}, most=150)
    found = few.property(text, on_failure="return")
    assert found.status is Status.INACCURATE
    assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
    assert 1e-6 < found.error_bound < 0.5


# Models and results of the regression tests of PRISM (prismmodelchecker/prism, prism-tests, GPL-2.0) and of Storm
# (moves-rwth/storm, resources/examples/testfiles/ctmc and src/test, GPL-3.0); the text is written here.


def chain_of(rates: dict[tuple[int, int], str], more: str = "") -> str:
    """Return a model in the PRISM language with one variable."""
    commands = "\n".join(f"[] x={a} -> {rate} : (x'={b});" for (a, b), rate in rates.items())
    states = max(b for pair in rates for b in pair)
    return f"ctmc\nmodule M\n  x : [0..{states}];\n{commands}\nendmodule\n{more}"


QUEUE_OF_THREE = (
    "ctmc\nmodule M\nx : [0..3];\n[arrive] x<3 -> 3/2 : (x'=x+1);\n[serve] x>0 -> 3 : (x'=x-1);\nendmodule\n"
    'label "full" = x=3;\nrewards "serve"\n[serve] true : 1;\nendrewards\nrewards "queue"\ntrue : x;\nendrewards\n'
)
TWO_TARGETS = chain_of({(0, 1): "3", (0, 3): "3", (1, 2): "1", (2, 1): "0.5", (3, 3): "2"}, 'label "a" = x=1 | x=3;\nlabel "b" = x=2 | x=3;\n')  # fmt: skip
THREE_ENDS = chain_of({(0, 1): "5", (0, 3): "5", (1, 0): "5", (1, 2): "2.5", (1, 4): "2.5", (2, 5): "10", (3, 3): "10", (4, 4): "10", (5, 2): "10"})  # fmt: skip
REWARDS = chain_of({(0, 1): "5", (1, 2): "7", (2, 3): "11"}, 'rewards "a"\nx=0: 2;\n[] x=0: 3;\nx=1: 5;\n[] x=1: 7;\nx=2: 11;\nendrewards\n')  # fmt: skip


@pytest.mark.parametrize(
    ("model", "text", "value"),
    [
        # papers/Par02/Par02-3.3.3.sm
        (chain_of({(0, 1): "4", (0, 2): "7", (1, 0): "5", (1, 2): "3", (2, 1): "4"}), "S=? [ (x=0) | (x=2) ]", 2 / 3),
        # papers/BKH99-Ex2.sm and BKH99-Ex3.sm
        (TWO_TARGETS, "S=? [ x=2 | x=3 ]", 5 / 6),
        (TWO_TARGETS, 'filter(first, P=? [ "a" U<=2 "b" ], x=1)', 0.864664716763387),
        # papers/KNP07a-SFM07/ctmc.sm; the last is the result of Storm for ctmc/lrarewards.sm, which is the same queue
        (QUEUE_OF_THREE, 'P=? [ true U<=7.5 "full" {x=0} ]', 0.6404780884740766),
        (QUEUE_OF_THREE, 'P=? [ X "full" {x=2} ]', 1 / 3),
        (QUEUE_OF_THREE, 'S=? [ "full" ]', 1 / 15),
        (QUEUE_OF_THREE, 'R{"serve"}=? [ C<=5.5 ]', 7.069019518168792),
        (QUEUE_OF_THREE, 'R{"queue"}=? [ LRA ]', 11 / 15),
        # functionality/verify/multiple_bsccs_ss.sm
        *((THREE_ENDS, f"S=? [ x={k} ]", value) for k, value in enumerate((0, 0, 1 / 12, 2 / 3, 1 / 6, 1 / 12))),
        # functionality/verify/ctmcs/rewards/ctmc_rewards.sm: of states and of transitions
        (REWARDS, 'R{"a"}=? [ F x=1 ]', 3.4),
        (REWARDS, 'R{"a"}=? [ F x=2 ]', 3 + 2 / 5 + 7 + 5 / 7),
        (REWARDS, 'R{"a"}=? [ F x=3 ]', 3 + 2 / 5 + 7 + 5 / 7 + 1),
        # Storm's ctmc/simple1.sm, at rate 6
        (chain_of({(0, 1): "6"}, "rewards\nx=0: 1;\nendrewards\n"), "P=? [ F<=0.5 x=1 ]", 1 - math.exp(-3)),
        (chain_of({(0, 1): "6"}, "rewards\nx=0: 1;\nendrewards\n"), "R=? [ C<=0.1 ]", (1 - math.exp(-0.6)) / 6),
    ],
)  # fmt: skip
def test_results_of_prism_and_storm(tmp_path: Path, model: str, text: str, value: float) -> None:
    (tmp_path / "m.sm").write_text(model)
    found = read_prism(tmp_path / "m.sm").property(text)
    assert found.value == pytest.approx(value, rel=1e-12, abs=1e-12)


CYCLE = {(0, 1): "1", (1, 2): "1", (2, 1): "1"}
"""From 0 for ever to 1 and 2, half of the time each."""


@pytest.mark.parametrize(
    ("rewards", "value"),
    [
        ("x=0: 3; x=1: -1;", -math.inf),
        ("x=1: 2; x=2: -1;", math.inf),
        ("x=1: 1; x=2: -2;", -math.inf),
        ("[] x=1: -1;", -math.inf),
        ("x=0: -3;", -3.0),
    ],
)
def test_a_total_reward_has_the_sign_of_what_is_earned_for_ever(tmp_path: Path, rewards: str, value: float) -> None:
    (tmp_path / "m.sm").write_text(chain_of(CYCLE, f"rewards\n{rewards}\nendrewards\n"))
    model = read_prism(tmp_path / "m.sm")
    assert model.property("R=? [ C ]").value == value
    assert model.property("R<0 [ C ]").value is (value < 0.0)


def test_a_total_reward_without_a_limit_is_refused(tmp_path: Path) -> None:
    both_signs = "rewards\nx=1: 1;\nx=2: -1;\nendrewards\n"
    for chain in (CYCLE, {(0, 1): "1", (0, 2): "1"}):
        (tmp_path / "m.sm").write_text(chain_of(chain, both_signs))
        model = read_prism(tmp_path / "m.sm")
        with pytest.raises(FileError, match="the total reward has no limit"):
            model.property("R=? [ C ]")
        assert math.isfinite(model.property("R=? [ C<=100 ]").value)


def test_infinite_values_of_both_signs_have_no_sum_and_no_difference(tmp_path: Path) -> None:
    module = "module m x : [0..1]; [] true -> 1 : true; endmodule init true endinit"
    (tmp_path / "m.sm").write_text(f"ctmc {module} rewards true : 2 * x - 1; endrewards")
    model = read_prism(tmp_path / "m.sm")
    assert model.property("filter(range, R=? [ C ])").value == [-math.inf, math.inf]
    assert model.property("filter(sum, R=? [ C ], x=1)").error_bound == 0.0
    with pytest.raises(FileError, match="filter avg: some states have inf, others -inf"):
        model.property("filter(avg, R=? [ C ])")
    with pytest.raises(ConvergenceError):
        model.property("filter(state, R=? [ C ] - R=? [ C ], x=1)")


def test_markovian_commands_of_storm_are_read(tmp_path: Path) -> None:
    """Its ctmc/simple2.sm has `<>`, which in a Markov chain is `[]`: 7 / 8 from state 0, and 2 in state 2."""
    (tmp_path / "m.sm").write_text(
        "ctmc module m s : [0..4]; <> s=0 -> 4 : (s'=1) + 4 : (s'=2); <> s=1 -> 0.3 : (s'=2) + 0.7 : (s'=1);\n"
        "<> s=2 -> 0.5 : (s'=2) + 0.5 : (s'=3); <a> s=3 -> 1 : (s'=4); [] s=4 -> 1 : (s'=3); endmodule\n"
        'rewards "r" s=0 : 7; [] s=2 : 1; endrewards'
    )
    assert read_prism(tmp_path / "m.sm").property('R[exp]{"r"}=? [ C ]').value == pytest.approx(23 / 8, rel=1e-14)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("S=? [ x==1 ]", "'=' where an expression is expected; for '==' the language has ="),
        ("P=? [ F<=1 x=1 or x=0 ]", "for 'or' the language has |"),
        ("P=? [ F<=1 not x=1 ]", "for 'not' the language has !"),
        ("S=? [ x%2=0 ]", "'%' begins no word of the language: write mod(x, y)"),
        ("P=? [ F≤1 x=1 ]", "'≤' begins no word of the language: write <="),
        ("S=? [ x**2=1 ]", "for '**' the language has ^"),
        ("up: S=? [ x=1 ]", "':' after the end of the property: the name of a property is in quotes, \"up\":"),
        ("const int n; S=? [ x=n ]", "constants of properties go into a file of properties"),
        ('R[var]{"r"}=? [ S ]', "R[var]: not read, an expected value is R or R[exp]"),
    ],
)
def test_words_of_other_languages_are_named(tmp_path: Path, question: str, message: str) -> None:
    (tmp_path / "m.sm").write_text(chain_of({(0, 1): "4", (1, 0): "1"}))
    with pytest.raises(FileError) as refusal:
        read_prism(tmp_path / "m.sm").property(question)
    assert message in str(refusal.value)


# Far times: long-run values within the bound, or a refusal with the time.

LINE = """ctmc
module q
  n : [0..{top}] init 0;
  [] n < {top} -> {up} : (n' = n + 1);
  [] n > 0 -> 3 : (n' = n - 1);
endmodule
rewards "n" true : n; endrewards
"""


@pytest.mark.parametrize("time", ["1e12", "1e20", "1e300"])
@pytest.mark.parametrize("top", [3, 600])
def test_far_times_have_long_run_values(tmp_path: Path, time: str, top: int) -> None:
    """Ratios of 2/3 between neighbours."""
    model = model_of(tmp_path, LINE.format(top=top, up=2))
    weights = (2 / 3) ** np.arange(top + 1.0)
    pi = weights / weights.sum()
    mean = float(pi @ np.arange(top + 1.0))
    for text, expected in (
        (f'R{{"n"}}=? [ I={time} ]', mean),
        (f'R{{"n"}}=? [ C<={time} ]', float(time) * mean),
        (f"P=? [ true U[{time},{time}] n=0 ]", pi[0]),
    ):
        found = model.property(text)
        assert abs(found.value - expected) <= found.error_bound + 1e-12 * expected
        assert found.error_bound <= 1e-7 * expected
        assert found.reason == "long-run values, which are reached within the bound before the time"


@pytest.mark.parametrize("time", [0.5, 30.0, 1e4, 1e9, 1e15])
@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -3.0)])
def test_rewards_that_end_have_errors_that_do_not_grow_with_the_time(
    tmp_path: Path, time: float, signs: tuple[float, float]
) -> None:
    """Of a reward of 1/6 within 1e15 s the error bound was 28, with the status converged."""
    rates = {(0, 1): "6", (1, 2): "2", (2, 3): "7", (3, 2): "5"}
    model = model_of(tmp_path, chain_of(rates, f"rewards x=0: {signs[0]}; x=1: {signs[1]}; endrewards\n"))
    first = -math.expm1(-6.0 * time) / 6.0
    second = 1.5 * (-math.expm1(-2.0 * time) / 2.0 - first)
    found = model.property(f"R=? [ C<={time!r} ]")
    assert found.value == pytest.approx(signs[0] * first + signs[1] * second, abs=found.error_bound + 1e-15)
    assert found.error_bound < 1e-10
    assert model.property(f"filter(max, R=? [ C<={time!r} ], x>=2)").value == 0.0


def test_powers_from_one_state_respect_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond `csl.MAX_PRODUCTS` only the initial state has a value, from powers of one vector: 4e6 for this walk."""
    monkeypatch.setattr(resources, "FIRST_PREDICTION", 0.05)
    text = """ctmc
module walk n : [0..999] init 0;
  [] n < 999 -> 1000 : (n' = n + 1);
  [] n > 0 -> 1000 : (n' = n - 1);
endmodule
"""
    watch = Stopwatch()
    with pytest.raises(ValueError, match=r"about .* s for .* products .*, more than max_seconds = 0.3: "):
        model_of(tmp_path, text).property("P=? [ F<=2000 n=999 ]", max_seconds=0.3)
    assert watch.seconds() < 30.0  # without a limit: minutes


@pytest.mark.slow
def test_a_far_time_of_a_slow_chain_is_found_by_squaring_or_refused(tmp_path: Path) -> None:
    """Two states with rates 1e-12 and 1, and two fast ones: 1e16 jumps until the long run."""
    text = """ctmc
module q n : [0..2] init 0;
  [] n = 0 -> 1e4 : (n' = 1);
  [] n = 1 -> 1e4 : (n' = 0) + 1e-9 : (n' = 2);
  [] n = 2 -> 1e-9 : (n' = 0);
endmodule
rewards "n" n = 2 : 1; endrewards
"""
    model = model_of(tmp_path, text)
    time = 1e9  # n = 2 is reached at 0.5e-9 and left at 1e-9 per s
    expected = (1.0 - math.exp(-1.5)) / 3.0
    found = model.property(f'R{{"n"}}=? [ I={time:g} ]', max_seconds=3.0)
    assert found.value == pytest.approx(expected, rel=1e-8)
    with pytest.raises(
        ValueError, match=r"about .* s for .* products .*, more than max_seconds = 3: .*; max_seconds=\S+ allows it"
    ):
        model.property(f'R{{"n"}}=? [ C<={time:g} ]', max_seconds=3.0)
