"""Rules mean what plain Python means by them, at every size; what goes wrong in them is named."""

from __future__ import annotations

import enum
import math
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import markov
from markov import (
    ChainModel,
    GeneratorOperator,
    MarkovChain,
    RuleError,
    RuleWarning,
    add_at,
    explore,
    generator,
    stationary,
    sweep,
)
from markov.generators import building, compiled
from markov.generators.building import build_chain
from markov.generators.guards import uncompilable


class State(NamedTuple):
    n: int


def queue(space: Any, rules: Any, given: Any = None) -> ChainModel:
    """Return a model of one component."""
    return explore_model(rules, {"n": space}, given)


def explore_model(rules: Any, space: Any, params: Any = None) -> ChainModel:
    from markov.models.bare import FunctionModel

    return FunctionModel(rules, None, params or {}, space=space)


# ------------------------------------------------------------------ what compilers do differently


def test_a_negative_power_of_a_whole_number_is_a_fraction():
    """Compiled, 3 ** -2 is 0: another chain, solved without a word."""

    class Discouraged(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            arrivals: float = 2.0
            factor: float = 3  # an int where a float was meant
            room: int = 4

        def space(self):
            return {"n": range(self.room + 1)}

        @staticmethod
        def rules(s, q):
            if s.n < q.room:
                yield s._replace(n=s.n + 1), q.arrivals * q.factor**-s.n
            if s.n > 0:
                yield s._replace(n=s.n - 1), 1.0

    exact = np.cumprod([1.0, *(2.0 * 3.0**-n for n in range(4))])
    np.testing.assert_allclose(stationary(Discouraged()).pi, exact / exact.sum(), rtol=1e-14)
    for room in (4, 20, 5000):
        Q = build_chain(Discouraged(room=room)).Q
        up = [2.0 * 3**-n for n in range(min(room, 600))]
        np.testing.assert_array_equal(Q.diagonal(1)[: len(up)], up)


@pytest.mark.parametrize("most", [70, 5000])
def test_whole_numbers_do_not_wrap(most):
    """Binomial coefficients beyond 2^63, as floats only in the end."""

    def rules(s: Any, q: Any) -> Any:
        c = 1
        for i in range(min(s.n, 40)):
            c = c * (q.most - i) // (i + 1)
        if s.n < q.most:
            yield s._replace(n=s.n + 1), 1.0 + math.log2(c)
        if s.n > 0:
            yield s._replace(n=s.n - 1), 7**s.n / 7 ** (s.n - 1)

    Q = build_chain(queue(range(most + 1), rules, {"most": most})).Q
    up = [1.0 + math.log2(math.comb(most, min(n, 40))) for n in range(most)]
    np.testing.assert_array_equal(Q.diagonal(1), up)
    np.testing.assert_array_equal(Q.diagonal(-1), np.full(most, 7.0))


@pytest.mark.parametrize("size", [10, 5000])
def test_a_variable_that_was_not_assigned_is_an_error(size):
    def rules(s: Any, q: Any) -> Any:
        if s.n != 7:
            speed = 2.0
        yield s._replace(n=(s.n + 1) % q.size), speed

    with pytest.raises(UnboundLocalError, match=r"^rules: State\(n=7\): .*'speed'") as caught:
        build_chain(queue(range(size), rules, {"size": size}))
    assert isinstance(caught.value, RuleError)
    assert "assign the variable in every branch" in str(caught.value)
    assert "test_meaning.py, line " in str(caught.value)
    assert uncompilable(rules) == "rules: speed may have no value"


@pytest.mark.parametrize("operation", ["6 // s.n", "6 % s.n", "6.0 / s.n", "0.0 ** -(s.n == 0)"])
@pytest.mark.parametrize("size", [10, 5000])
def test_a_division_by_zero_is_an_error(size, operation):
    text = f"def rules(s, q):\n rate = {operation}\n yield s._replace(n=(s.n + 1) % q.size), 1.0 + rate"
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102
    with pytest.raises(
        ZeroDivisionError, match=r"^rules: State\(n=0\): ZeroDivisionError"
    ) as caught:
        build_chain(queue(range(size), scope["rules"], {"size": size}))
    assert isinstance(caught.value, RuleError)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("c = 10 ** -s.n", "10 ** (-s.n) is a power"),
        ("c = q.b ** s.n", "q.b ** s.n is a power"),
        ("c = 1\n for i in range(s.n):\n  c = c * 3", "c = c * 3 in a loop"),
        ("c = 1\n for i in range(s.n):\n  c *= 3", "c *= 3 in a loop"),
        ("c = 1\n while c < s.n:\n  c = (c << 1) + 1", "c = (c << 1) + 1 in a loop"),
        ("if s.n: c = 1", "c may have no value"),
        ("for i in range(s.n): c = i", "c may have no value"),
        ("for i in range(s.n): pass\n c = i", "i may have no value"),
        ("try:\n  c = 1\n except ZeroDivisionError: pass", "c may have no value"),
        ("c += 1", "c may have no value"),
        ("if s.n:\n  c = 1\n else:\n  return", None),
        ("c = s.n ** 2", None),
        ("for i in range(3):\n  if i > 1: continue\n  c = 1\n c = 2", None),
        ("c = [i for i in range(3)][0]", None),
        ("c = helper(s)", "helper: s ** s.n is a power"),
    ],
)
def test_what_is_not_compiled(text, why, tmp_path):
    path = tmp_path / "rules_of_a_user.py"
    helper = "def helper(s):\n return s ** s.n\n\n"
    path.write_text(f"{helper}def rules(s, q):\n {text}\n yield s, c\n", encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)  # noqa: S102
    found = uncompilable(scope["rules"])
    assert found is None if why is None else why in found


def test_compiled_rules_that_differ_are_not_taken(monkeypatch):
    """Here because nothing guards them: a sample of states shows it, and a warning says so."""

    class Wrapping(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            most: int = 400
            base: int = 3

        def space(self):
            return {"n": range(self.most)}

        @staticmethod
        def rules(s, q):
            yield s._replace(n=(s.n + 1) % q.most), 1.0 + q.base ** (s.n // 4) % 5

    monkeypatch.setattr(compiled, "uncompilable", lambda _rules: None)
    said = (
        r"Wrapping: State\(n=.*\): the rules compiled give the rate .* where plain Python gives .*"
    )
    with (
        pytest.warns(RuleWarning, match=said + r"test_meaning.py, line \d+: def rules"),
        pytest.raises(RuleError, match="cannot be run by compiled"),
    ):
        build_chain(Wrapping(), by="compiled")
    monkeypatch.setattr(building, "FEW", 10)
    monkeypatch.setattr(building, "_compiling", lambda *_: 0.0)
    monkeypatch.setattr(building.Ways, "by_regions", lambda *_: None)
    monkeypatch.setattr(building.Ways, "by_sets", lambda *_: None)
    with pytest.warns(RuleWarning, match=said):
        found = build_chain(Wrapping())
    assert found.how == "the rules as they stand"
    expected = [1.0 + 3 ** (n // 4) % 5 for n in range(399)]
    np.testing.assert_array_equal(found.Q.diagonal(1), expected)


# ------------------------------------------------------------------ the same at every size


class Mode(enum.Enum):
    BUSY = "busy"
    IDLE = "idle"


class Machine(ChainModel):
    """Texts, an Enum and a vector among the components, strings and arrays among the parameters."""

    class State(NamedTuple):
        mode: Mode
        phase: str
        n: tuple[int, ...]

    class Params(NamedTuple):
        stations: int = 2
        room: int = 3
        rates: np.ndarray = np.array([1.0, 2.0, 3.0, 4.0])
        kind: str = "strict"

    def space(self):
        phases = ["cold", "warm", "hot"]
        return {"mode": Mode, "phase": phases, "n": (range(self.room + 1),) * self.stations}

    def labels(self, s):
        return {"busy": s.mode is Mode.BUSY, "hot and full": s.phase == "hot" and sum(s.n) > 3}

    @staticmethod
    def rules(s, q):
        for k, m in enumerate(s.n):
            if m < q.room:
                yield s._replace(n=add_at(s.n, k, 1)), q.rates[k]
            if m > 0 and s.mode is Mode.BUSY:
                yield s._replace(n=add_at(s.n, k, -1)), 1.5 * m
        if s.mode == Mode.IDLE:
            yield s._replace(mode=Mode.BUSY), 0.5
        elif q.kind == "strict":
            yield s._replace(mode=Mode.IDLE, phase="cold"), 0.25
        if s.phase != "hot":
            yield s._replace(phase={"cold": "warm", "warm": "hot"}[s.phase]), 0.125


@pytest.mark.parametrize("model", [Machine(), Machine(room=40)], ids=repr)
def test_components_of_every_kind(model):
    one, other = build_chain(model), build_chain(model, by="python")
    np.testing.assert_array_equal(one.codes, other.codes)
    assert abs(one.Q - other.Q).max() <= 1e-14
    assert (one.how == other.how) is (model.size <= 2000)


def test_names_of_components_and_states():
    answer = stationary(Machine())
    s = answer.states
    assert s.mode[0] is Mode.BUSY
    assert s.phase[:20].tolist() == ["cold"] * 16 + ["warm"] * 4
    assert [part[:6].tolist() for part in s.n] == [[0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 0, 1]]
    assert list(answer.chain.components) == ["mode", "phase", "n[0]", "n[1]"]
    busy = answer.pi[[mode is Mode.BUSY for mode in s.mode]].sum()
    assert answer["busy"] == pytest.approx(busy, rel=1e-14)
    assert answer["busy"] == pytest.approx(0.5 / 0.75, rel=1e-12)
    data = answer.to_xarray()
    assert data.pi.dims == ("mode", "phase", "n[0]", "n[1]")
    assert float(data.pi.sum()) == pytest.approx(1.0, rel=1e-14)
    assert float(data.pi.sel(phase="hot", mode=Mode.IDLE)[1, 2]) == answer.probability(
        (Mode.IDLE, "hot", (1, 2))
    )
    assert answer.chain.number_of((Mode.BUSY, "cold", (0, 3))) == 3
    with pytest.raises(KeyError):
        answer.probability((Mode.BUSY, "tepid", (0, 3)))
    assert "n[1]" in [text.get_text() for text in answer.plot().get_legend().get_texts()]


# ------------------------------------------------------------------ plain functions


def repairs(s: Any, q: Any) -> Any:
    if s.working > 0:
        yield s._replace(working=s.working - 1), q.failure * s.working
    if s.working < q.machines:
        yield s._replace(working=s.working + 1), q.repair


PARAMS = {"machines": 3, "failure": 0.1, "repair": 1.0}


@pytest.mark.parametrize(
    "params", [PARAMS, SimpleNamespace(**PARAMS), NamedTuple("P", [(k, float) for k in PARAMS])(**PARAMS)]
)  # fmt: skip
@pytest.mark.parametrize("start", [{"working": 3}, NamedTuple("S", [("working", int)])(3)])
def test_a_function_is_enough(params, start):
    found = explore(repairs, start=start, params=params)
    assert found.states.working.tolist() == [0, 1, 2, 3]
    answer = stationary(found)
    weights = [math.prod(1.0 / (0.1 * k) for k in range(1, n + 1)) for n in range(4)]
    np.testing.assert_allclose(answer.pi, np.array(weights) / sum(weights), rtol=1e-14)
    assert answer.probability((3,)) == answer.pi[3]


def test_states_without_names():
    def walk(n, q):
        yield (n + 1) % 5, 1.0

    assert explore(walk, start=0).states.tolist() == [0, 1, 2, 3, 4]

    def light(s, q):
        yield {"green": "yellow", "yellow": "red", "red": "green"}[s], 1.0

    found = explore(light, start="red")
    assert found.states.tolist() == ["red", "green", "yellow"]  # in the order of discovery
    assert stationary(found).probability("green") == pytest.approx(1 / 3)

    def pairs(s):
        x, y = s
        yield (y, x), 1.0
        yield ((x + 1) % 2, y), 2.0

    found = explore(pairs, start=(0, 1))
    assert np.array(found.states).tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert list(found.chain.components) == ["state[0]", "state[1]"]


def test_mappings_are_read_in_both_ways():
    def rules(s, q):
        if s["n"] < q["most"]:
            yield {**s, "n": s.n + 1}, q.rate
        if s.n > 0:
            yield {"n": 0, "m": 1 - s["m"]}, q["rate"]

    found = explore(
        rules,
        start={"n": 0, "m": 0},
        params={"rate": 2.0, "most": 3},
        labels=lambda s: {"low": s.n < 2 and s.m == 0},
        rewards=lambda s, q: {"flow": q.rate * s.n},
    )
    assert len(found.states.n) == 8
    answer = stationary(found)
    assert answer["low"] == pytest.approx(
        answer.pi[(found.states.n < 2) & (found.states.m == 0)].sum()
    )
    assert answer["flow"] == pytest.approx(2.0 * answer.pi @ found.states.n)


def test_a_space_makes_the_search_quicker_and_changes_nothing():
    def rules(s, q):
        if s.x < q.n:
            yield s._replace(x=s.x + 1), 1.0
        if s.x > 0 and s.y < q.n:
            yield s._replace(x=s.x - 1, y=s.y + 1), 2.0
        if s.y > 0:
            yield s._replace(y=s.y - 1), 3.0

    given = {"start": {"x": 0, "y": 0}, "params": {"n": 60}}
    one = explore(rules, **given)
    other = explore(rules, **given, space={"x": range(61), "y": range(61)})
    assert one.chain.how == "the rules as they stand"
    assert "regions" in other.chain.how
    np.testing.assert_array_equal(np.array(one.states), np.array(other.states))
    assert abs(one.chain.Q - other.chain.Q).max() == 0.0


def test_a_model_without_a_space_has_the_states_that_its_start_leads_to():
    class Growing(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            most: int = 6

        def start(self):
            return self.State(2)

        def rewards(self, s):
            return {"mean": s.n}

        def rules(self, s):
            if s.n < self.most:
                yield s._replace(n=s.n + 1), 1.0
            if s.n > 1:
                yield s._replace(n=s.n - 1), 2.0

    answer = stationary(Growing())
    assert answer.states.n.tolist() == [1, 2, 3, 4, 5, 6]
    exact = 0.5 ** np.arange(6)
    np.testing.assert_allclose(answer.pi, exact / exact.sum(), rtol=1e-14)
    data = sweep(Growing(), most=[3, 6])
    assert data["mean"].values[1] == answer["mean"]
    with pytest.raises(RuleError, match=r"must be a ChainModel with a space"):
        GeneratorOperator(Growing())


# ------------------------------------------------------------------ names of a matrix


def test_states_of_a_matrix_have_names():
    chain = MarkovChain([[-0.1, 0.1], [2.0, -2.0]], states=["works", "fails"])
    answer = stationary(chain)
    assert answer.states == ("works", "fails")
    assert answer.probability("works") == pytest.approx(2.0 / 2.1, rel=1e-15)
    assert answer.to_xarray().pi.sel(state="fails") == answer.pi[1]
    labels = [text.get_text() for text in answer.plot().get_xticklabels()]
    assert labels == ["works", "fails"]
    assert chain.restricted(np.array([0, 1])).states == ("works", "fails")
    with pytest.raises(KeyError):
        answer.probability("rests")
    assert stationary([[-1.0, 1.0], [1.0, -1.0]]).states == range(2)
    for states, said in (
        (["one"], "states has 1 names: must have 2"),
        (["one", "one"], "'one' occurs twice"),
    ):
        with pytest.raises(ValueError, match=said):
            MarkovChain([[-1.0, 1.0], [1.0, -1.0]], states=states)
    with pytest.raises(ValueError, match="states of a model are named by its State"):
        MarkovChain(Machine(), states=["a"])


# ------------------------------------------------------------------ functions of the state


@pytest.mark.parametrize("size", [5, 3000])
def test_labels_and_rewards_may_be_written_for_one_state(size):
    class Watched(ChainModel):
        class State(NamedTuple):
            n: int
            m: int

        class Params(NamedTuple):
            most: int = 5

        def space(self):
            return {"n": range(self.most), "m": range(2)}

        def labels(self, s, q):
            return {"ends": s.n == 0 or s.n == q.most - 1, "always": True}

        @staticmethod
        def rewards(s, q):
            # over all states at once, np.max would be one number, and wrong
            return {"more": np.max([s.n, 3 * s.m]), "text": len(str(s.n))}

        @staticmethod
        def rules(s, q):
            yield s._replace(n=(s.n + 1) % q.most), 1.0
            yield s._replace(m=1 - s.m), 1.0

    answer = stationary(Watched(most=size))
    s, pi = answer.states, np.full(2 * size, 0.5 / size)
    np.testing.assert_allclose(answer.pi, pi, rtol=1e-9)
    assert answer["ends"] == pytest.approx(2 / size, rel=1e-9)
    assert answer["always"] == pytest.approx(1.0)
    assert answer["more"] == pytest.approx(pi @ np.maximum(s.n, 3 * s.m), rel=1e-9)
    assert answer["text"] == pytest.approx(pi @ [len(str(n)) for n in s.n], rel=1e-9)


def test_errors_in_rewards_are_named():
    def rules(s):
        yield s._replace(n=1 - s.n), 1.0

    found = explore(rules, start={"n": 0}, rewards=lambda s: {"inverse": 1 // s.n})
    with pytest.raises(ZeroDivisionError, match=r"^rules.rewards: State\(n=0\): ZeroDiv.*, line"):
        stationary(found)["inverse"]
    found = explore(rules, start={"n": 0}, labels=lambda s: {"a": 1.0} if s.n else {})
    with pytest.raises(RuleError, match=r"rules.labels: other names in other states"):
        stationary(found)["a"]
    found = explore(rules, start={"n": 0}, labels=lambda s: {"a": "yes"})
    with pytest.raises(RuleError, match=r"'yes' is no number and no truth value"):
        stationary(found)["a"]


# ------------------------------------------------------------------ refusals

HINT = r".*test_meaning.py, line \d+: .*"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "yield s._replace(n=9), 1.0",
            r"-> State\(n=9\) at rate 1.0: the target is outside the space",
        ),
        ("yield s._replace(n=0.5), 1.0", r"-> State\(n=0.5\) at rate 1.0: the target is outside"),
        ("yield s, -1.0", r"-> State\(n=0\) at rate -1.0: a rate must be finite and >= 0"),
        ("yield s, float('nan')", r"at rate nan: a rate must be finite and >= 0"),
        ("yield s, '1.0'", r"at rate 1.0: a rate must be finite and >= 0"),
        ("yield s, None", r"at rate None: a rate must be finite and >= 0"),
        ("yield s, 1j", r"at rate 1j: a rate must be finite and >= 0"),
        ("yield s", r"yields State\(n=0\).*; yield \(target, rate\) pairs"),
        ("yield s, 1.0, 2.0", r"yields \(State\(n=0\), 1.0, 2.0\).*; yield \(target, rate\) pairs"),
        ("yield 3, 1.0", r"-> 3 at rate 1.0: a target is a state: write s._replace"),
        ("yield (1, 2), 1.0", r"-> \(1, 2\) at rate 1.0: a state has 1 values \(n\)"),
        ("yield {'m': 1}, 1.0", r"-> \{'m': 1\} at rate 1.0: a state with n is expected"),
        ("yield s._replace(m=1), 1.0", r"ValueError: Got unexpected field names: \['m'\]"),
        ("yield s._replace(n=s.m), 1.0", r"AttributeError: 'State' object has no attribute 'm'"),
        ("yield s, q.rate", r"AttributeError: .* has no attribute 'rate'"),
        ("yield s, RATE", r"NameError: name 'RATE' is not defined.*; define the name"),
        ("return 3", r"TypeError: 'int' object is not iterable.*; a rule takes a state"),
        ("return None", r"the rules return None.*; yield \(target, rate\) pairs"),
        ("raise ValueError('no such state')", r": ValueError: no such state"),
        ("yield s, [1.0, 2.0][s.n + 2]", r"IndexError: list index out of range.*; guard the index"),
        ("yield s, {}[s.n]", r"KeyError: 0.*guard the look-up"),
        ("yield s, 10.0 ** (400 + s.n)", r"OverflowError: .*; use a float, or a smaller exponent"),
        ("yield s._replace(n=[1]), 1.0", r"-> State\(n=\[1\]\) at rate 1.0: the target is outside"),
    ],
)
@pytest.mark.parametrize("size", [5, 3000])
def test_refusals_name_the_state_the_line_and_what_to_write(body, said, size, tmp_path):
    path = tmp_path / "rules_of_a_user.py"
    text = f"def rules(s, q):\n    {body}\n".replace("n=9", f"n={size}")
    path.write_text(text, encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), scope)  # noqa: S102
    said = said.replace("n=9", f"n={size}")
    with pytest.raises(RuleError, match=rf"^rules: State\(n=0\).*{said}") as caught:
        build_chain(queue(range(size), scope["rules"]))
    assert caught.value.file == str(path)
    assert caught.value.line == (1 if "return N" in body or "return 3" in body else 2)
    assert f"rules_of_a_user.py, line {caught.value.line}: " in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert not re.search("numba|Numba|pyobject|Symbol", str(caught.value))


def test_without_a_start_the_message_says_what_a_start_would_do():
    def rules(s):
        yield s._replace(n=s.n + 1), 1.0

    with pytest.raises(RuleError, match=r"with a start\(\) only the states that it leads to count"):
        build_chain(queue(range(4), rules))


def test_rules_that_do_not_do_the_same_twice():
    calls = []

    def rules(s, q):
        calls.append(s)
        if len(calls) < 3:
            yield s._replace(n=s.n + 1), -1.0

    with pytest.raises(RuleError, match=r"-1\.0: a rate must be|called twice"):
        explore(rules, start={"n": 0})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: explore([[-1.0, 1.0], [1.0, -1.0]]), r"^rules = .*: a ChainModel, or a function"),
        (lambda: explore(repairs), r"^repairs: start is None: exploring needs a state"),
        (lambda: explore(repairs, start=[3]), r"^repairs: start = \[3\]: unhashable type: 'list'"),
        (
            lambda: explore(Machine(), start=3),
            r"^Machine: start, params, .* a model brings its own",
        ),
        (lambda: explore(Machine()), r"^Machine: start is None: exploring needs a state"),
        (lambda: generator([[-1.0, 1.0], [1.0, -1.0]]), r"^model = .*: a ChainModel is expected"),
        (lambda: GeneratorOperator([[-1.0]]), r"^model = .*: must be a ChainModel with a space"),
        (
            lambda: sweep([[-1.0]], rate=[1.0]),
            r"^model = .*: must be a ChainModel, whose parameters",
        ),
        (lambda: MarkovChain([[0.0]], like=3), r"^like = 3: must be a MarkovChain, or None"),
        (lambda: MarkovChain(repairs), r"^Q = .*: rules need a start: explore\(rules, start="),
        (lambda: stationary(repairs), r"^Q = .*repairs.*: rules need a start: explore"),
        (lambda: stationary("abc"), r"^Q has entries of type"),
    ],
)
def test_what_is_no_model_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_arguments_of_rules():
    class Forgotten(Machine):
        def rules(s, q):
            yield s, 1.0

    said = r"^Forgotten.rules takes \(q\).*write \(s, q\) below @staticmethod, \(self, s, q\), or \(self, s\)"
    with pytest.raises(RuleError, match=said):
        stationary(Forgotten())

    def three(s, q, e):
        yield s, 1.0

    with pytest.raises(RuleError, match=r"^three.rules takes \(s, q, e\)"):
        explore(three, start={"n": 0})


def test_neither_space_nor_start():
    class Nowhere(ChainModel):
        State = State

        @staticmethod
        def rules(s, q):
            yield s, 1.0

    with pytest.raises(RuleError, match=r"^Nowhere has no states .*; say which states there are"):
        stationary(Nowhere())


def test_a_start_outside_of_the_space():
    class Off(Machine):
        def start(self):
            return self.State(Mode.BUSY, "tepid", (0, 0))

    with pytest.raises(
        RuleError, match=r"^Off: start = State.*phase = 'tepid': the target is outside"
    ):
        stationary(Off())


# ------------------------------------------------------------------ the first answer

FIRST = """
import sys, time
from typing import NamedTuple
import markov
begin = time.perf_counter()
answer = markov.stationary(markov.PauseTandem())
print(answer.throughput, [m for m in ("numba", "jax", "xarray", "matplotlib") if m in sys.modules])
"""


def test_no_warning_and_no_compiler_on_the_way_to_a_small_chain():
    root = Path(markov.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST], capture_output=True, text=True, cwd=root, check=True
    )  # fmt: skip
    assert run.stdout.split()[0].startswith("13.74")


def test_models_of_the_package_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (markov.PauseTandem(), markov.Kanban(), markov.Cluster(workstations=3)):
            stationary(model)
