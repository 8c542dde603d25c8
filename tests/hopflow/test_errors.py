"""Errors in rules, and old names of parameters."""

from __future__ import annotations

import importlib
import inspect
import pickle

import numpy as np
import pytest

import dfcmodel
import markov
import responsefn
from dfcmodel import takano2006
from responsefn import CUBIC, Reno
from responsefn.errors import RuleError
from tests.surface import PUBLIC

# Errors in rules: the place in the source, the remedy, and the class of what Python raised.


def divides(n):
    yield n + 1, 1 / (2 - n)  # here


def looks_up(n):
    yield n + 1, {0: 1.0}[n]  # here


def calls(n):
    return divides(n)


def caught(rule):
    with pytest.raises((ZeroDivisionError, KeyError)) as met:
        markov.explore(rule, start=0)
    return met.value


@pytest.mark.parametrize(("rule", "said"), [(divides, "division by zero"), (looks_up, "1")])
def test_an_error_names_file_line_and_remedy_and_keeps_its_class(rule, said):
    error = caught(rule)
    assert isinstance(error, type(error.__cause__))
    assert isinstance(error, RuleError)
    assert (error.file, error.line) == (__file__, inspect.getsourcelines(rule)[1] + 1)
    assert f": {type(error.__cause__).__name__}: {said}" in str(error)
    assert "# here); guard the " in str(error)


def test_the_innermost_line_of_the_users_file_is_named():
    assert caught(calls).line == inspect.getsourcelines(divides)[1] + 1


def test_an_error_that_is_one_of_ours_stays_as_it_is():
    error = RuleError.at(None, "said", "do this")
    assert str(error) == "said; do this"

    def raises(n):
        raise error

    with pytest.raises(RuleError) as met:
        markov.explore(raises, start=0)
    assert met.value is error
    assert str(pickle.loads(pickle.dumps(error))) == "said; do this"


def test_the_place_is_below_the_decorators():
    @pytest.mark.parametrize("unused", [1])
    def decorated(n):
        return [(n + 1, -1.0)]

    with pytest.raises(RuleError) as met:
        markov.explore(decorated, start=0)
    first = inspect.getsourcelines(decorated)[1]
    assert (met.value.file, met.value.line) == (__file__, first + 1)
    assert f" (test_errors.py, line {first + 1}: def decorated(n):)" in str(met.value)


def test_errors_come_back_from_other_processes() -> None:
    """Those that are also of the class that Python raised, too."""
    found = caught(looks_up)
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, RuleError)
    assert isinstance(again, KeyError)
    assert (str(again), again.line, type(again)) == (str(found), found.line, type(found))
    plain = pickle.loads(pickle.dumps(RuleError.at(("file.py", 3), "no")))
    assert (type(plain), plain.line) == (RuleError, 3)


def test_errors_with_one_name_are_one_class() -> None:
    """So that ``except markov.errors.RuleError`` catches an error in a rule of any package."""
    kinds: dict[str, set[type]] = {}
    for name in PUBLIC:
        package = importlib.import_module(name)
        for each in package.__all__:
            found = getattr(package, each)
            if isinstance(found, type) and issubclass(found, (Exception, Warning)):
                kinds.setdefault(each, set()).add(found)
    assert {"RuleError", "UnreachableRateError"} <= set(kinds)
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}


# Old names of parameters: the same answer, and a warning that shows the new call.


PATH = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "runs": 1}
OLD = [
    (dfcmodel.simulate, ("1",), {"rng": 3, "duration": 0.02}, {"seed": 3, "duration": 0.02}),
    (dfcmodel.simulate, ("1",), {"method": "auto", "duration": 0.02}, {"level": "auto", "duration": 0.02}),
    (dfcmodel.check_step, ("1",), {"rng": 3, "duration": 0.01}, {"seed": 3, "duration": 0.01}),
    pytest.param(dfcmodel.theory.spectrum, ("1",), {"rng": 3}, {"seed": 3}, marks=pytest.mark.slow),
    (dfcmodel.compare, (Reno(), CUBIC()), PATH | {"seconds": 2.0}, PATH | {"options": dfcmodel.PathOptions(duration=2.0)}),
    (markov.paths, (markov.MM1K(),), {"horizon": 2.0, "start": (0,), "seed": 1}, {"duration": 2.0, "start": (0,), "seed": 1}),
    (dfcmodel.coexist, (Reno(), 0.04, 500.0, 20), {"seconds": 2.0, "p": 0.01}, {"options": dfcmodel.PathOptions(loss=0.01, duration=2.0)}),
    (dfcmodel.ensemble, ("1",), {"runs": 2, "level": "fluid", "duration": "20ms"},
     {"runs": 2, "level": "fluid", "options": dfcmodel.RunSettings(duration=0.02)}),
    (dfcmodel.explain, ("1",), {"runs": 2, "refinements": [], "duration": 0.02, "since": 0.01},
     {"runs": 2, "refinements": [], "options": dfcmodel.RandomRuns(duration=0.02, since=0.01)}),
    (responsefn.simulate_rule, (Reno(), 1e-3, 0.1), {"rng": 2}, {"options": responsefn.DirectSimulation(seed=2)}),
    (responsefn.simulate_rule, (Reno(), 1e-3, 0.1), {"bandwidth": "12Mbps", "seed": 2},
     {"options": responsefn.DirectSimulation(bandwidth=1000.0, seed=2)}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "given", "old", "new"), OLD, ids=lambda case: getattr(case, "__name__", None))
def test_an_old_name_gives_the_same_answer_and_the_new_call(function, given, old, new) -> None:
    arguments = [takano2006(each) if isinstance(each, str) else each for each in given]
    with pytest.warns(DeprecationWarning, match="removed in the next release") as said:
        before = function(*arguments, **old)
    after = function(*arguments, **new)
    for name in new.keys() - old.keys():
        write = f"write {function.__name__}({name}={new[name]!r})"
        assert any(write in str(each.message) for each in said), [str(w.message) for w in said]
    assert _without_times(before) == _without_times(after)


def _without_times(result: object) -> list[str]:
    """The lines of a result's table, without those that say how long it took."""
    return [line for line in repr(result).splitlines() if " s of" not in line and "time" not in line and "simulated in" not in line]  # fmt: skip


def test_both_names_are_refused() -> None:
    with pytest.raises(TypeError, match="rng is the old name of seed; both were given"):
        dfcmodel.simulate(takano2006("1"), seed=1, rng=2)


def test_options_and_a_parameter_of_theirs_are_refused() -> None:
    options = responsefn.DirectSimulation(seed=1)
    with pytest.raises(TypeError, match="options and rng were given; DirectSimulation has the"):
        responsefn.simulate_rule(Reno(), 1e-3, 0.1, options=options, rng=2)
    with pytest.raises(TypeError, match="options = 3: must be a DirectSimulation"):
        responsefn.simulate_rule(Reno(), 1e-3, 0.1, options=3)
    with pytest.raises(ValueError, match="buffer = 4 needs the rate of its link"):
        responsefn.DirectSimulation(buffer=4)


def test_the_horizon_of_paths_is_their_duration() -> None:
    found = markov.paths(markov.MM1K(), 2.0, start=(0,), seed=1)
    with pytest.warns(DeprecationWarning, match=r"write Paths\.duration"):
        assert found.horizon == found.duration == 2.0


def test_a_generator_is_a_seed_everywhere() -> None:
    draw = lambda: np.random.default_rng(5)
    scenario = takano2006("1")
    one, two = (dfcmodel.simulate(scenario, duration=0.01, seed=draw()) for _ in range(2))
    assert np.array_equal(one.delivered, two.delivered)
    assert dfcmodel.Packets(seed=draw()) == dfcmodel.Packets(seed=draw())
    assert dfcmodel.ensemble(scenario, 2, seed=draw(), options=dfcmodel.RunSettings(duration=0.01)).seed > 0
    assert dfcmodel.compare([Reno()], **PATH, options=dfcmodel.PathOptions(duration=2.0, seed=draw())).rules == (
        Reno(),
    )
