"""Searches for the states of a file: by tables, by kernels, by rules."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import read_prism, stationary
from markov.errors import FileError, TooLargeError
from markov.files import search, tables
from markov.files.queries import parse_property
from markov.files.rules import FileRules, StateExpressions
from markov.files.search import StateSpace, explore_by_rules
from markov.files.tables import TransitionTables, table_arrays, tabulate
from markov.files.transitions import moves_of
from tests.markov.files.conftest import QUEUE, model_of

LINE = """
ctmc
const int N = 3;
formula free = N - x;
module first
  x : [0..N] init 0;
  [] free > 0 -> 2 * free : (x' = x + 1);
  [pass] x > 0 -> 0.5 * x : (x' = x - 1) + 0.25 : true;
  [lost] x = N -> 0.125 : true;
endmodule
module second
  y : [-1..N] init 0;
  up : bool init true;
  [pass] up & y < N -> 1 : (y' = y + 1);
  [pass] !up & y = -1 -> 3 : (y' = 0) & (up' = true);
  [] y > 0 -> 1 + x / 7 : (y' = y - 1);
  [] up -> 0.01 : (up' = false);
  [] !up -> 1 : (up' = true);
  [] y = 0 & !up -> 0.3 : (y' = -1);
endmodule
rewards [pass] true : 1; [lost] true : 1; endrewards
"""


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[StateSpace]]:
    """Explore a model by tables from the first state on, and without any."""

    def both(model: Any) -> list[StateSpace]:
        found = []
        for few in (0, 10**9):
            monkeypatch.setattr(search, "MIN_TABLE_STATES", few)
            found.append(search.explore(model.instance, 10**6))
        return found

    return both


def assert_equal(found: list[StateSpace]) -> None:
    """States, patterns and rates are the same but for the order in which rates are added."""
    a, b = found
    np.testing.assert_array_equal(a.batch.codes, b.batch.codes)
    np.testing.assert_array_equal(a.batch.states, b.batch.states)
    np.testing.assert_array_equal(a.initial, b.initial)
    np.testing.assert_array_equal(a.Q.indptr, b.Q.indptr)
    np.testing.assert_array_equal(a.Q.indices, b.Q.indices)
    np.testing.assert_allclose(a.Q.data, b.Q.data, rtol=1e-14)  # sums of a few rates
    np.testing.assert_allclose(a.loops, b.loops, rtol=1e-14)
    assert set(a.action_rates) == set(b.action_rates)
    for action, rates in a.action_rates.items():
        np.testing.assert_allclose(rates, b.action_rates[action], rtol=1e-14)


# Moves, and the states that they lead to.


PAIR = """
ctmc
module first
  x : [0..2] init 0;
  [tick] x < 2 -> 2 : (x' = x + 1);
endmodule
module second = first [x = y] endmodule
"""


def test_modules_synchronize_and_are_renamed(tmp_path: Path) -> None:
    found = model_of(tmp_path, PAIR)
    assert found.chain.size == 3  # both step together
    # rates multiply: 2 * 2
    assert found.chain.exit_rates.tolist() == [4.0, 4.0, 0.0]


def test_more_states_than_allowed_are_refused_before_memory_runs_out(tmp_path: Path) -> None:
    from markov.errors import TooLargeError

    text = "ctmc\nmodule m\nx : int init 0;\n[] true -> 1 : (x' = x + 1);\nendmodule"
    path = tmp_path / "model.sm"
    path.write_text(text)
    with pytest.raises(TooLargeError, match="more than 1000 reachable states"):
        _ = read_prism(path, most=1000).chain


# Rows of commands, and the variables that they depend on.


def test_a_command_depends_on_what_it_reads_and_on_what_it_writes(tmp_path: Path) -> None:
    first, second = moves_of(model_of(tmp_path, LINE).instance).parts
    (module,) = second.parts
    reads = {action: [c.reads for c in commands] for action, commands in module.commands.items()}
    x, y, up = 0, 1, 2
    assert reads["pass"] == [{y, up}, {y, up}]
    assert reads[""] == [{x, y}, {up}, {up}, {y, up}]
    assert first.parts[0].commands["lost"][0].reads == {x}


# Transitions as tables: which variables they are over, and when there are none.


def of(tmp_path: Path, text: str = LINE, **constants: int) -> TransitionTables | None:
    bound = model_of(tmp_path, text, **constants).instance
    return tabulate(moves_of(bound), bound, ["lost", "pass"])


def test_commands_of_a_module_and_an_action_share_a_table(tmp_path: Path) -> None:
    found = of(tmp_path)
    assert found is not None
    # first: "", lost; second: ""; pass of both together
    assert sorted(found.rewarded) == [-1, -1, 0, 1]
    assert sorted(map(len, found.groups)) == [1, 1, 1, 2]
    assert len(found.tables) == 5
    assert found.max_transitions == 1 + 2 * 1 + 1 + 2  # free, pass, lost; two of the second machine alone
    assert all(table.rows.fault is None for table in found.tables)


def test_tables_that_would_be_large_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_SHARED_TABLE_SIZE", 1)
    found = of(tmp_path)
    assert found is not None
    assert len(found.tables) > 5


@pytest.mark.parametrize("limit", ["MAX_TABLE_SIZE", "MAX_TRANSITIONS", "MAX_ROWS", "MAX_GROUPS"])
def test_beyond_the_limits_there_are_none(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of(tmp_path) is not None
    monkeypatch.setattr(tables, limit, 0)
    assert of(tmp_path) is None


def test_what_fails_in_states_that_may_not_be_reached_is_left_to_the_other_search(
    tmp_path: Path,
) -> None:
    text = """ctmc
    module m x : [0..3] init 1;
    [] true -> 1 : (x' = mod(3, x)); endmodule"""
    assert of(tmp_path, text) is None


def test_variables_need_bits_of_their_own(tmp_path: Path) -> None:
    variables = "\n".join(f"x{k} : [0..2] init 0;" for k in range(35))
    reset = " & ".join(f"(x{k}'=0)" for k in range(1, 35))
    text = f"ctmc module m {variables} [] x0<2 -> 1 : (x0'=x0+1); [] x0=2 -> 1 : {reset}; endmodule"
    assert of(tmp_path, text) is None


# The compiled search finds what the search by many states at once does.


CELLS = """
ctmc
const int t;
module first
  a : [0..t]; b : [-3..t - 3]; c : [0..2 * t];
  [in] a < t & b < t - 3 -> 2 : (a' = a + 1) & (b' = b + 1);
  [] b > -3 -> 3 : (b' = b - 1) & (c' = c + 2);
  [] c > 0 & b < t - 3 -> 0.5 : (c' = c - 2) & (b' = b + 1) + 0 : (c' = 0);
  [over] c > 0 & a > 0 -> 1 : (c' = c - 2) & (a' = a - 1);
endmodule
module second
  d : [0..t]; e : [0..t];
  [over] d < t -> 1 : (d' = d + 1) & (e' = t - d);
  [] d > 0 & a < t -> 1 + e : (d' = d - 1);
  [out] d = t -> 1 : (d' = 0) + 2 : true;
  [out] d = t & e > 0 -> 1 : (d' = 0) & (e' = 0);
endmodule
rewards [in] true : 1; [out] true : 1; endrewards
"""
"""Modules whose variables have few values together.

In the first one a is the sum of b, counted from -3, and half of c: with t = 3 there are 10. In the second one e = 0 with
d = 0 alone, and d + e <= t + 1: 1 + 4 + 3 + 2.
"""

HASHED, DIRECT = 0, 1 << 28


@pytest.mark.parametrize("direct", [HASHED, 1 << 8, DIRECT])
@pytest.mark.parametrize(("text", "states"), [(LINE, 220), (CELLS, 10 * 10)])
def test_both_searches_find_the_same(
    text: str, states: int, direct: int,
    tmp_path: Path, searches: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(search, "MAX_BITMAP_STATES", direct)
    monkeypatch.setattr(search, "INITIAL_CAPACITY", 4)  # all arrays are enlarged on the way
    monkeypatch.setattr(search, "STATES_PER_CALL", 1)
    found = searches(model_of(tmp_path, text, **({"N": 9} if text == LINE else {"t": 3})))
    assert found[0].Q.shape == (states, states)
    assert min(rates.max() for rates in found[0].action_rates.values() if rates.any()) > 0.1
    assert_equal(found)


def test_groups_are_chosen_by_the_digit_that_leaves_fewest(tmp_path: Path) -> None:
    """A server that visits one queue after the other: with its place, one of the others' actions remains."""
    queues = "\n".join(
        f"module q{k} x{k} : [0..1]; [] x{k}=0 -> 1 : (x{k}'=1); [serve{k}] x{k}=1 -> 1 : (x{k}'=0); endmodule"
        for k in range(4)
    )
    serves = "\n".join(f"[serve{k}] s={k} -> 1 : (s'={(k + 1) % 4});" for k in range(4))
    made = of(tmp_path, f"ctmc {queues} module server s : [0..3]; {serves} endmodule")
    assert made is not None
    tables = table_arrays(made)
    assert (tables.shift, tables.mask) == (0, 3)
    assert np.diff(tables.starts).tolist() == [4 + 1] * 4


def test_long_rows_are_sorted_together(tmp_path: Path, searches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_INSERTION_ROW", 1)
    assert_equal(searches(model_of(tmp_path, LINE)))


def test_several_initial_states_and_states_without_a_way_out(tmp_path: Path, searches: Any) -> None:
    text = """ctmc
    module m x : [0..40] ; y : [0..40];
    [] x > 0 -> x : (x' = x - 1); [] x > y -> 2 : (y' = y + 1); endmodule
    init x = 17 & y <= 2 | x = 19 & y = 5 endinit"""
    found = searches(model_of(tmp_path, text))
    assert len(found[0].initial) == 4
    assert (np.diff(found[0].Q.indptr) == 0).any()
    assert_equal(found)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("[] x < 30 -> 1 : (x' = x + 1)", r"line 4: a variable leaves its range from state \(x=20\)"),
        ("[] x < 20 -> 9.5 - x : (x' = x + 1)", r"rate -0\.5 in state \(x=10\)"),
    ],
)  # fmt: skip
def test_faults_of_reachable_states_are_refused_as_ever(command: str, said: str, tmp_path: Path, searches: Any) -> None:
    text = f"ctmc\nmodule m\nx : [0..20] init 0;\n{command};\nendmodule"
    with pytest.raises(FileError, match=said):
        searches(model_of(tmp_path, text))


def test_faults_of_states_that_are_never_reached_do_not_count(tmp_path: Path, searches: Any) -> None:
    text = """ctmc
    module m x : [0..20] init 0;
    [] x != 10 -> 10 - x : (x' = x + 1); [] x = 5 -> 1 : (x' = 0); endmodule"""
    found = searches(model_of(tmp_path, text))
    assert found[0].Q.shape == (11, 11)
    assert_equal(found)


def test_a_rate_of_zero_excuses_a_way_out_of_the_range(tmp_path: Path, searches: Any) -> None:
    text = """ctmc
    module m x : [0..3] init 0;
    [] true -> 3 - x : (x' = x + 1); [] x = 3 -> 1 : (x' = 0); endmodule"""
    assert_equal(searches(model_of(tmp_path, text)))


def test_common_steps_and_windows(tmp_path: Path, searches: Any) -> None:
    """Steps of three between odd ends, and a variable without bounds that leaves its first window."""
    text = """ctmc
    module m x : [-4..40] init 2; far : int init 7;
    [] x < 38 -> 1 + x / 100 : (x' = x + 3); [] x > -1 -> 2 : (x' = x - 3); [] x = 5 -> 1 : (x' = 20);
    [] x = 2 & far < 9000 -> 1 : (far' = far + 3000); [] far > 7 -> 1 : (far' = far - 3000); endmodule"""
    model = model_of(tmp_path, text)
    assert [r.step for r in model.instance.ranges] == [3, 3000]
    found = searches(model)
    assert found[0].batch.codes.min(axis=1).tolist() == [-1, 7]
    assert found[0].batch.codes.max(axis=1).tolist() == [38, 9007]
    assert found[0].Q.shape == (14 * 4, 14 * 4)
    assert_equal(found)


def test_variables_that_no_command_changes_need_no_bits(tmp_path: Path, searches: Any) -> None:
    """Forty of 20 bits each and one that changes: 801 bits in the file, one after all."""
    fixed = " ".join(f"c{k} : [0..1000000] init {k};" for k in range(40))
    text = f"""ctmc
    module m {fixed} x : [0..1] init 0;
    [] x = 0 -> c3 : (x' = 1); [] x = 1 -> c39 - c38 : (x' = 0); endmodule"""
    model = model_of(tmp_path, text)
    assert model.instance.is_numbered
    assert model.instance.span == 2
    found = searches(model)
    assert found[0].Q.toarray().tolist() == [[-3.0, 3.0], [1.0, -1.0]]
    assert found[0].batch.codes[7].tolist() == [7, 7]
    assert_equal(found)


# Commands as rules of single states: the same expressions, transitions and rewards as over columns of states.


NUMBERS = (
    "x + y * 2 - 3", "-(x - y)", "x / y", "y / x", "0.5 * x ^ 2", "pow(2, x)", "pow(0.5, y)", "pow(y, 3)", "pow(x, 0.5)",
    "mod(x, 3)", "floor(x / 2)", "ceil(x / 2)", "round(x / 2)", "round(x)", "log(x + 1, 2)", "log(x, 2)", "min(x, y, 1.5)",
    "max(x, y)", "on ? x : 2.5", "x = 1 ? 7 : x = 2 ? 8 : 9", "twice + 1", "1 / 3 * x", "pow(y - 2, 2.0)", "pow(1.0 * y, -1)",
)  # fmt: skip
TRUTHS = (
    "x > y", "x >= 2 & !on", "x = y | on", "on => x < 2", "on <=> x != 1", "on = (x > 0)", "true", "x > 0 & 6 / x > 2",
    '"high"', "!(x <= y)",
)  # fmt: skip
STATES = """ctmc
formula twice = 2 * x;
module m
  x : [0..4]; y : [-1..3] init 0; on : bool;
  [] x < 4 -> 1 : (x' = x + 1); [] y < 3 -> 1 : (y' = y + 1); [] y > -1 -> 1 : (y' = y - 1); [] true -> 1 : (on' = !on);
endmodule
label "high" = x > 2;
"""


@pytest.mark.parametrize("text", [*NUMBERS, *TRUTHS])
def test_an_expression_has_the_value_of_columns_in_each_state(text: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, STATES)
    explored = model.state_space
    tree = parse_property(text)
    with np.errstate(all="ignore"):
        column = explored.instance.scope.value(tree).run(explored.batch)
    wanted = np.broadcast_to(np.asarray(column), explored.batch.count).tolist()
    function = StateExpressions(explored.instance).function(tree)
    kinds = [int, int, bool]
    for values, expected in zip(explored.batch.codes.T.tolist(), wanted, strict=True):
        state = tuple(kind(v) for kind, v in zip(kinds, values, strict=True))
        own = function(state)
        same = own == expected or (math.isnan(own) and math.isnan(expected))
        assert same or own == pytest.approx(expected, rel=1e-15), (text, state)


@pytest.mark.parametrize("text", ["pow(x, y)", "mod(x, y)", "floor(x / y)"])
def test_an_expression_without_a_value_names_the_line(text: str, tmp_path: Path) -> None:
    """With y = -1, and y = 0."""
    function = StateExpressions(model_of(tmp_path, STATES).instance).function(parse_property(text))
    with pytest.raises((FileError, ValueError), match=r"pow|mod|floor"):
        _ = [function((1, y, False)) for y in (-1, 0)]


def test_rewards_and_labels_are_those_of_the_file(tmp_path: Path) -> None:
    text = LINE.replace("rewards [pass]", 'label "full" = x = N;\nrewards "all" x > 0 : 2 * y; [pass]')
    model = model_of(tmp_path, text)
    rules, chain = FileRules(model.program, {}), model.chain
    states = [rules.State(*values) for values in zip(*chain.states, strict=True)]
    labels, rewards = chain.model.labels(chain.states), chain.model.rewards(chain.states)
    for k, state in enumerate(states):
        assert rules.labels(state) == {"full": labels["full"][k]}
        assert rules.rewards(state)["all"] == pytest.approx(rewards["all"][k], rel=1e-15)


def test_rules_are_copied_pickled_and_given_other_constants(tmp_path: Path) -> None:
    model = model_of(tmp_path, LINE)
    rules = FileRules(model.program, {})
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert hash(rules) == hash(FileRules(model.program, {}))
    more = rules.replace(N=5)
    assert more != rules
    assert more.constants == {"N": 5}
    assert repr(more) == f"FileModel({model.name!r}, N=5)"
    assert type(rules.start()) is rules.State


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("x > 0 -> 1", "x > 0 -> 1 - x", r"rate -1.*state \(2,\)|negative"),
        ("x > 0 -> 1", "true -> 1", "'x' leaves its range from state"),
    ],
)
def test_faults_of_reached_states_are_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = "ctmc module m x : [0..5]; [] x < 5 -> 2 : (x' = x + 1); [] x > 0 -> 1 : (x' = x - 1); endmodule"
    rules = FileRules(model_of(tmp_path, text.replace(old, new)).program, {})
    with pytest.raises(ValueError, match=said):
        _ = [dict(_of(rules, rules.State(x))) for x in range(6)]


def _of(rules: Any, state: Any) -> Any:
    for target, rate in rules.transitions(state):
        if rate < 0:
            raise ValueError("negative")
        yield target, rate


def test_initial_states_by_a_condition_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.sm"
    path.write_text(STATES.replace("y : [-1..3] init 0", "y : [-1..3]") + "init x = 0 endinit\n")
    with pytest.raises(FileError, match="init"):
        FileRules(read_prism(path).program, {})


# States found by rules: the same chain as by numbers, and chains whose states have no numbers of 62 bits.


ARMS = 21


@pytest.mark.parametrize("text", [LINE, PAIR, QUEUE])
def test_the_chain_is_that_of_the_search_by_numbers(text: str, tmp_path: Path) -> None:
    model = model_of(tmp_path, text, **({"arrival": 7.0} if text == QUEUE else {}))
    by_numbers, by_rules = model.state_space, explore_by_rules(model.instance, 10**6)
    np.testing.assert_array_equal(by_rules.batch.codes, by_numbers.batch.codes)
    np.testing.assert_array_equal(by_rules.initial, by_numbers.initial)
    np.testing.assert_array_equal(by_rules.Q.indices, by_numbers.Q.indices)
    np.testing.assert_allclose(by_rules.Q.data, by_numbers.Q.data, rtol=1e-15)
    np.testing.assert_allclose(by_rules.loops, by_numbers.loops, rtol=1e-15)
    for action, rates in by_numbers.action_rates.items():
        np.testing.assert_allclose(by_rules.action_rates[action], rates, rtol=1e-15)


def test_a_token_in_a_ring_of_large_variables(tmp_path: Path) -> None:
    """Twenty-one variables of 1,001 values: 1e63 combinations, 21 states."""
    variables = "\n".join(f"x{k} : [0..1000] init {int(k == 0)};" for k in range(ARMS))
    steps = "\n".join(f"[] x{k} = 1 -> {k + 1} : (x{k}' = 0) & (x{(k + 1) % ARMS}' = 1);" for k in range(ARMS))
    model = model_of(tmp_path, f"ctmc module m {variables} {steps} endmodule")
    answer = stationary(model)
    assert answer.chain.size == ARMS
    waits = 1.0 / np.arange(1, ARMS + 1)
    found = [answer.probability(lambda s, k=k: s[k] == 1) for k in range(ARMS)]
    np.testing.assert_allclose(found, waits / waits.sum(), rtol=1e-14)


STAR = "\n".join(
    f"[] idle -> 1 : (x{k}' = 1); [] x{k} > 0 & x{k} < 160 -> 1 : (x{k}' = x{k} + 1); [] x{k} > 0 -> 1.5 : (x{k}' = x{k} - 1);"
    for k in range(ARMS)
)


def star(folder: Path, ends: str = "[0..1000]") -> str:
    """One of twenty-one queues is not empty, up to 160: 3,361 states, which take 173 bits as numbers."""
    variables = "\n".join(f"x{k} : {ends};" for k in range(ARMS))
    idle = " & ".join(f"x{k} = 0" for k in range(ARMS))
    labels = 'label "first" = x0 > 0; rewards "x" true : x1; endrewards'
    return f"ctmc\nformula idle = {idle};\nmodule m\n{variables}\n{STAR}\nendmodule\n{labels}\n"


@pytest.mark.parametrize("ends", ["[0..1000]", pytest.param("int", marks=pytest.mark.slow)])
def test_states_without_numbers_of_62_bits(ends: str, tmp_path: Path) -> None:
    """A queue is at n with 1.5^-n of the probability that all are empty, which is 1 / (1 + 21 * 2)."""
    model = model_of(tmp_path, star(tmp_path, ends))
    answer = stationary(model)
    assert answer.chain.size == ARMS * 160 + 1
    assert not model.state_space.instance.is_numbered
    assert answer["first"] == pytest.approx(2.0 / 43.0, rel=1e-12)
    assert answer["x"] == pytest.approx(6.0 / 43.0, rel=1e-12)
    assert model.property("S=? [ x0 > 0 ]").value == pytest.approx(2.0 / 43.0, rel=1e-12)
    assert model.property("S=? [ P>0.9 [ F<=9 x7 = 0 ] ]").value > 0.9


def test_limits_hold_for_states_without_numbers(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="more than 3000 reachable states"):
        explore_by_rules(model_of(tmp_path, star(tmp_path)).instance, 3_000)
    with pytest.raises(FileError, match="leaves its range"):
        model_of(tmp_path, star(tmp_path, "[0..100]")).chain  # noqa: B018


def test_open_integers_that_a_conservation_law_bounds(tmp_path: Path) -> None:
    """An enzyme binds a substrate and releases it: enzyme + pair = 2, substrate + pair = 40."""
    text = """ctmc
module reactions
  enzyme : int init 2; substrate : int init 40; pair : int init 0;
  [] enzyme * substrate > 0 -> 0.1 * enzyme * substrate : (enzyme' = enzyme - 1) & (substrate' = substrate - 1) & (pair' = pair + 1);
  [] pair > 0 -> pair : (enzyme' = enzyme + 1) & (substrate' = substrate + 1) & (pair' = pair - 1);
endmodule
"""
    model = model_of(tmp_path, text)
    assert model.chain.size == 3
    assert [(r.low, r.high) for r in model.state_space.instance.ranges] == [(0, 2), (38, 40), (0, 2)]


def test_a_negative_rate_of_whole_numbers_is_refused(tmp_path: Path) -> None:
    text = "ctmc module m x : [0..5]; [] x < 5 -> 5 - 2 * x : (x' = x + 1); [] x > 0 -> 1 : (x' = x - 1); endmodule"
    with pytest.raises(FileError, match=r"rate -1 in state \(3,\): must be finite, >= 0"):
        explore_by_rules(model_of(tmp_path, text).instance, 100)
