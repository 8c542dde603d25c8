"""Compiled rules: rates, guards, and kernels that hold them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel, PauseTandem, generator, stationary
from markov.errors import RuleError, TooLargeError
from markov.generators.building import build_chain
from markov.generators.calls import Calls
from markov.generators.compilation import compiled
from markov.generators.compilation.compiled import (
    Failed,
    compilable,
    doubled,
    fill,
    reached,
    rows_of_space,
    seconds_to_compile,
)
from markov.generators.compilation.guards import uncompilable
from markov.generators.compilation.splicing import spliced
from markov.generators.edges import Edges
from tests.markov.conftest import Machine, Queue
from tests.markov.generators.conftest import Bad, as_pairs, edges_of_states, one_component, space_of

# Rules compiled give the rates that plain Python gives, in arrays that grow.


def ready(model):
    space = space_of(model)
    return Calls(model, space), space


def transitions(numbers, rows):
    sources = np.repeat(numbers, np.diff(rows.indptr))
    return as_pairs(Edges(sources, rows.targets, rows.rates, numbers[:0]))


def test_rows_of_a_space_are_those_of_plain_python(monkeypatch):
    monkeypatch.setattr(compiled, "PER_ROW", 1)  # too little room at first
    model = Queue()
    calls, space = ready(model)
    found = transitions(np.arange(space.size), rows_of_space(calls, space))
    assert found == pytest.approx(edges_of_states(model, range(space.size)), rel=1e-15)


@pytest.mark.parametrize("direct", [True, False], ids=["table", "hashed"])
def test_states_are_reached_breadth_first(direct, monkeypatch):
    monkeypatch.setattr(compiled, "FIRST_ROOM", 8)
    if not direct:
        monkeypatch.setattr(compiled, "DIRECT", 1)
    model = Queue(capacity=40)
    calls, space = ready(model)
    numbers, rows = reached(calls, space, np.array([25]), 1000)
    assert sorted(numbers.tolist()) == list(range(41))
    expected = edges_of_states(model, numbers)
    found = transitions(numbers, rows._replace(targets=numbers[rows.targets]))
    assert found == pytest.approx(expected, rel=1e-15)
    assert [abs(int(x) - 25) for x in numbers] == sorted(abs(n - 25) for n in range(41))


def test_too_many_states_are_refused():
    calls, space = ready(Queue(capacity=40))
    with pytest.raises(TooLargeError, match=r"^Queue: more than 20 reachable states"):
        reached(calls, space, np.array([0]), 20)


@pytest.mark.parametrize("changes", [{"step": 2.0}, {"rate": -1.0}, {"rate": math.inf}], ids=repr)
def test_a_state_in_which_rules_fail_is_named(changes):
    calls, space = ready(Bad(**changes))
    with pytest.raises(Failed) as caught:
        rows_of_space(calls, space)
    assert caught.value.state.tolist() == [2]
    with pytest.raises(Failed) as caught:
        reached(calls, space, np.array([0]), 10)
    assert caught.value.state.tolist() == [2]


def test_only_rules_of_numbers_are_compiled():
    assert compilable(*ready(Queue()))
    assert not compilable(*ready(Machine()))


def test_rules_with_more_transitions_and_components_take_longer_to_compile(monkeypatch):
    monkeypatch.setattr(compiled, "is_cached", lambda *_: True)
    loaded = seconds_to_compile(*ready(PauseTandem()), compiled.reach)
    monkeypatch.setattr(compiled, "is_cached", lambda *_: False)
    short, long = (
        seconds_to_compile(*ready(model), compiled.reach) for model in (Queue(), PauseTandem())
    )
    assert 0.0 < loaded < short < long < math.inf


def test_a_longer_array_begins_with_the_old_one():
    found = doubled(np.array([1.0, 2.0, 3.0]))
    assert found.shape == (6,)
    assert found[:3].tolist() == [1.0, 2.0, 3.0]


# Variables without a value are seen in the text of the rules; powers and products are checked as they run.


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

    Q = build_chain(one_component(range(most + 1), rules, {"most": most})).Q
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
        build_chain(one_component(range(size), rules, {"size": size}))
    assert isinstance(caught.value, RuleError)
    assert "assign the variable in every branch" in str(caught.value)
    assert "test_compiled.py, line " in str(caught.value)
    assert uncompilable(rules) == "rules: speed may have no value"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("if s.n: c = 1", "c may have no value"),
        ("for i in range(s.n): c = i", "c may have no value"),
        ("for i in range(s.n): pass\n c = i", "i may have no value"),
        ("try:\n  c = 1\n except ZeroDivisionError: pass", "c may have no value"),
        ("c += 1", "c may have no value"),
        ("if s.n:\n  c = 1\n else:\n  return", None),
        ("c = s.n ** 2", None),
        ("for i in range(3):\n  if i > 1: continue\n  c = 1\n c = 2", None),
        ("c = [i for i in range(3)][0]", None),
        ("c = helper(s)", "helper: x may have no value"),
    ],
)
def test_what_is_not_compiled(text, why, tmp_path):
    path = tmp_path / "rules_of_a_user.py"
    helper = "def helper(s):\n if s.n:\n  x = 2\n return x\n\n"
    path.write_text(f"{helper}def rules(s, q):\n {text}\n yield s, c\n", encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)  # noqa: S102
    found = uncompilable(scope["rules"])
    assert found is None if why is None else why in found


# A model's rules in a kernel: one signature each, and never those of an older class.


def test_one_signature_per_kernel():
    """Two in one cached file could be mixed up by processes that write at the same time."""
    kernels = []
    for rate in (7.0, 7, True):
        model = Queue(arrival_rate=rate)
        assert build_chain(model, by="compiled").Q[0, 1] == float(rate)
        kernels.append(spliced(fill, model))
    assert len(set(kernels)) == 3
    assert [len(kernel.kernel.signatures) for kernel in kernels] == [1, 1, 1]


def test_a_class_that_is_defined_again():
    """As in a notebook: the same name, another rule, and never the old kernel."""

    def define(slope):
        class Again(Queue):
            @staticmethod
            def rules(s, q):
                if s.n > 0:
                    yield s._replace(n=s.n - 1), slope * q.service_rate
                else:
                    yield s._replace(n=q.capacity), q.arrival_rate

        return Again

    for slope in (1.0, 2.0, 1.0):
        model = define(slope)()
        Q = generator(model)
        assert Q[1, 0] == 10.0 * slope
        assert stationary(model).pi[0] == pytest.approx(1 / (1 + 12 * 0.7 / slope), rel=1e-13)
