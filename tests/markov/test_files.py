"""Models of files: PRISM and JANI, hand-written ones with answers known by formulas."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import MM1K, passage, stationary, transient
from markov.files import FileError, read_jani, read_prism

QUEUE = """
ctmc  // M/M/1/N
const int N = 10;
const double arrival;
const double service = 10;
formula busy = n > 0;
module queue
  n : [0..N] init 0;
  [enter] n < N -> arrival : (n' = n + 1);
  [leave] busy -> service : (n' = n - 1);
endmodule
label "full" = n = N;
rewards "length" true : n; endrewards
rewards "served" [leave] true : 1; endrewards
"""

PAIR = """
ctmc
module first
  x : [0..2] init 0;
  [tick] x < 2 -> 2 : (x' = x + 1);
endmodule
module second = first [x = y] endmodule
"""


@pytest.fixture
def queue(tmp_path: Path) -> Any:
    path = tmp_path / "queue.sm"
    path.write_text(QUEUE)
    return read_prism(path, constants={"arrival": 7.0})


def model_of(tmp_path: Path, text: str, **constants: Any) -> Any:
    path = tmp_path / "model.sm"
    path.write_text(text)
    return read_prism(path, constants=constants)


def test_a_queue_from_a_file_is_the_one_from_rules(queue: Any) -> None:
    mine = stationary(MM1K(capacity=10, arrival_rate=7.0, service_rate=10.0))
    theirs = stationary(queue)
    np.testing.assert_allclose(theirs.pi, mine.pi, rtol=1e-13)
    assert theirs["full"] == pytest.approx(mine.pi[10], rel=1e-13)


RHO = 0.7
WEIGHT = sum(RHO**k for k in range(11))
TO_FULL = sum(sum((1 / RHO) ** j for j in range(k + 1)) / 7.0 for k in range(10))


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


def test_a_mean_passage_time_is_that_of_the_birth_death_formula(queue: Any) -> None:
    model = queue
    text = model.program.rewards
    assert set(text) == {"length", "served"}
    found = passage(model, to="full")
    assert abs(found.mean - TO_FULL) <= found.mean_error + 1e-14 * TO_FULL
    length = queue.property('R{"length"}=? [ F "full" ]')
    assert found.reward("length").value == pytest.approx(length.value, rel=1e-13)


def test_properties_and_transient_agree_on_a_time(queue: Any) -> None:
    found = transient(queue, [0.4])
    asked = queue.property("P=? [ true U[0.4,0.4] n=3 ]")
    assert found.pi[0, 3] == pytest.approx(asked.value, abs=1e-13)
    asked = queue.property('R{"length"}=? [ I=0.4 ]')
    assert found["length"][0] == pytest.approx(asked.value, abs=1e-12)
    asked = queue.property('R{"length"}=? [ C<=0.4 ]')
    assert float(found.accumulated["length"][0]) == pytest.approx(asked.value, abs=1e-12)


def test_thresholds_give_truth_values_and_filters_choose_states(queue: Any) -> None:
    assert queue.property('S<0.1 [ "full" ]').value is True
    assert queue.property("P>=1 [ F n=10 ]").value is True
    assert queue.property("filter(count, P>0.5 [ X n=5 ])").value == 2 - 1
    assert queue.property("filter(max, P=? [ X n=5 ])").value == pytest.approx(10 / 17)


def test_modules_synchronize_and_are_renamed(tmp_path: Path) -> None:
    found = model_of(tmp_path, PAIR)
    assert found.chain.size == 3  # both step together
    # rates multiply: 2 * 2
    assert found.chain.exit_rates.tolist() == [4.0, 4.0, 0.0]


def jani_queue() -> dict[str, Any]:
    def at(sign: str, left: Any, right: Any) -> dict[str, Any]:
        return {"op": sign, "left": left, "right": right}

    def edge(guard: Any, rate: float, change: str) -> dict[str, Any]:
        value = at(change, "n", 1)
        return {
            "location": "l",
            "rate": {"exp": rate},
            "guard": {"exp": guard},
            "destinations": [{"location": "l", "assignments": [{"ref": "n", "value": value}]}],
        }

    return {
        "jani-version": 1,
        "name": "queue",
        "type": "ctmc",
        "variables": [
            {
                "name": "n",
                "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 10},
                "initial-value": 0,
            }
        ],
        "automata": [
            {
                "name": "queue",
                "locations": [{"name": "l"}],
                "initial-locations": ["l"],
                "edges": [edge(at("<", "n", 10), 7.0, "+"), edge(at("<", 0, "n"), 10.0, "-")],
            }
        ],
        "system": {"elements": [{"automaton": "queue"}]},
        "properties": [],
    }


def test_the_same_queue_as_jani(tmp_path: Path, queue: Any) -> None:
    path = tmp_path / "queue.jani"
    path.write_text(json.dumps(jani_queue()))
    found = read_jani(path)
    assert (found.chain.Q != queue.chain.Q).nnz == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ctmc\nmodule m\nx : [0..2] init 5;\nendmodule", "line 3: .*5"),
        ("ctmc\nmodule m\nx : [0..2] init 0;\n[] x < 3 -> 1 : (x' = x + 1);\nendmodule",
         "leaves its range"),
        ("ctmc\nmodule m\nx : [0..2] init 0;\n[] x < 2 -> 0 - 1 : (x' = x + 1);\nendmodule",
         "line 4: rate -1 in state"),
        ("ctmc\nconst int N = N + 1;\nmodule m x : [0..N]; endmodule", "line 2"),
        ("mdp\nmodule m x : [0..2]; endmodule", "mdp"),
        ("ctmc\nmodule m x : [0..2] init y; endmodule", "'y'"),
        ("ctmc\nmodule m x : [0..2] init 0;", "line 2"),
        ("ctmc\nmodule m x : [0..2] init " + "(" * 500 + "0" + ")" * 500 + "; endmodule", "nested"),
        ("", "line 1"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used_are_refused_with_line_and_reason(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(FileError, match=f"(?s)model.sm.*{message}"):
        _ = model_of(tmp_path, text).chain


def test_nothing_in_a_file_is_run_as_python(tmp_path: Path) -> None:
    text = "ctmc\nmodule m\nx : [0..2] init __import__('os').getpid();\nendmodule"
    with pytest.raises(FileError, match="line 3"):
        _ = model_of(tmp_path, text).chain


def test_more_states_than_allowed_are_refused_before_memory_runs_out(tmp_path: Path) -> None:
    from markov import TooLargeError

    text = "ctmc\nmodule m\nx : int init 0;\n[] true -> 1 : (x' = x + 1);\nendmodule"
    path = tmp_path / "model.sm"
    path.write_text(text)
    with pytest.raises(TooLargeError, match="more than 1000 states"):
        _ = read_prism(path, most=1000).chain


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S=? [ m = 1 ]", "'m'"),
        ("P=? [ F<=-1 n=0 ]", "times"),
        ('P=? [ F "empty" ]', "empty"),
        ("Q=? [ n=0 ]", "line 1"),
        ('R{"none"}=? [ S ]', "'none'"),
        ("S=? [ n ]", "truth value"),
    ],
)
def test_properties_that_cannot_be_evaluated_say_why(queue: Any, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        queue.property(text)


def test_a_missing_constant_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="arrival"):
        model_of(tmp_path, QUEUE)
