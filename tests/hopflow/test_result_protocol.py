"""All results and models have one protocol: table, Dataset, file, figure, equality by value, pickle, copy.

The objects come from the examples of their classes' docstrings, so that a new class without an example fails.
"""

from __future__ import annotations

import contextlib
import copy
import doctest
import importlib
import inspect
import io
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

import dfcmodel
import markov
import responsefn
from hopflow.parameters import Parametrized
from hopflow.public_modules import PUBLIC
from hopflow.results import Result


def _classes(base: type[Any]) -> list[type[Any]]:
    found = {}
    for package in PUBLIC:
        module = importlib.import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item) and issubclass(item, base):
                found[item] = None
    return sorted(found, key=lambda kind: kind.__qualname__)


SLOW = {"Evaluation": "four minutes of packets"}
"""Classes whose examples are not run, and why."""
MADE = {
    "Catalogue": lambda: responsefn.results.Catalogue((responsefn.Reno(), responsefn.TFRC())),
    "Curve": lambda: responsefn.curve([responsefn.Reno()], p=[1e-4, 1e-3]),
    "Deadlock": lambda: dfcmodel.lossless.deadlock(dfcmodel.lossless.torus([3, 3])),
    "LevelChoice": lambda: dfcmodel.choose_level(dfcmodel.takano2006("1")),
}
"""Classes whose examples keep no object."""
COSTLY = {"RecombinedEstimate", "LinkRetry", "AnswerComparison"}
"""Classes whose examples take seconds: `make test` runs these examples in `tests/test_examples.py` alone."""
RESULTS = [
    pytest.param(kind, marks=pytest.mark.slow if kind.__name__ in COSTLY else ())
    for kind in _classes(Result)
    if kind.__name__ not in SLOW
]


def _from_example(kind: type[Any]) -> Any:
    """Run the example of a class and return its first object of that class."""
    if kind.__name__ in MADE:
        return MADE[kind.__name__]()
    names = dict(vars(importlib.import_module(kind.__module__)))
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(kind) or "", names, kind.__name__, None, 0
    )
    for example in test.examples:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                code = compile(example.source, kind.__name__, "eval")
            except SyntaxError:
                exec(compile(example.source, kind.__name__, "exec"), test.globs)  # noqa: S102
            else:
                test.globs["_"] = eval(code, test.globs)
        for value in reversed(list(test.globs.values())):
            if isinstance(value, kind):
                return value
    raise AssertionError(f"the example of {kind.__name__} makes none")


@pytest.fixture(scope="module", params=RESULTS, ids=lambda kind: kind.__name__)
def result(request) -> Any:
    return _from_example(request.param)


def test_it_has_a_table_and_a_figure(result) -> None:
    rows = result.summary()
    assert rows
    assert all(isinstance(name, str) for name in rows)
    assert isinstance(result.plot().figure, Figure)
    assert "<table" in result._repr_html_()
    assert repr(result)


def test_it_is_a_dataset_and_a_table_of_pandas(result) -> None:
    data = result.to_xarray()
    assert isinstance(data, xr.Dataset)
    assert data.variables
    assert isinstance(result.to_pandas(), pd.DataFrame)


def test_it_is_equal_by_value_to_its_copies(result, tmp_path) -> None:
    kind = type(result)
    for other in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert type(other) is kind
        assert other == result
        assert hash(other) == hash(result)
    assert kind.load(result.save(tmp_path / "result")) == result
    assert result != object()


def test_other_results_are_not_equal() -> None:
    scenario = dfcmodel.takano2006("1")
    one, two, again = (
        dfcmodel.simulate(scenario, level="fluid", duration=0.02, seed=n) for n in (1, 2, 1)
    )
    assert one == again
    assert one != two
    first, other = (markov.stationary(markov.MM1K(capacity=n)) for n in (3, 4))
    assert first != other


def test_a_file_of_something_else_is_refused(tmp_path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"text")
    with pytest.raises(ValueError, match="holds no result of hopflow"):
        markov.results.Stationary.load(path)
    markov.stationary(markov.MM1K()).save(path)
    with pytest.raises(ValueError, match="holds a Stationary, not a Trajectory"):
        dfcmodel.results.Trajectory.load(path)


def _with_defaults() -> list[type[Any]]:
    found = []
    for kind in _classes(Parametrized):
        if kind not in (responsefn.Law, markov.ChainModel) and not inspect.isabstract(kind):
            found.append(kind)
    return found


@pytest.mark.parametrize("kind", _with_defaults(), ids=lambda kind: kind.__name__)
def test_models_and_rules_are_values(kind) -> None:
    try:
        made = kind()
    except (TypeError, ValueError, NotImplementedError):
        pytest.skip("it has no defaults")
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert hash(other) == hash(made)
    assert "<table" in made._repr_html_()


@pytest.mark.parametrize(
    "made",
    [
        dfcmodel.takano2006("1"),
        dfcmodel.takano2006("1").links[0],
        dfcmodel.takano2006("1").flows[0],
        dfcmodel.Packets(seed=1),
        dfcmodel.Fluid(),
        dfcmodel.choose_level(dfcmodel.takano2006("1")),
        markov.MarkovChain(np.array([[-1.0, 1.0], [2.0, -2.0]])),
        markov.explore(markov.Kanban()),
    ],
    ids=lambda made: type(made).__name__,
)
def test_networks_and_chains_are_values(made) -> None:
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert hash(other) == hash(made)
    assert "<table" in made._repr_html_()


def _explored(factor: float = 1.0) -> Any:
    """An explored chain of a function within a function, with a lambda: neither has a name to be found by."""

    def rules(s, q):
        if s.n < 5:
            yield s._replace(n=s.n + 1), factor * q.lam
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.mu

    given = {"start": {"n": 0}, "params": {"lam": 3.0, "mu": 1.0}}
    return markov.explore(rules, **given, rewards=lambda s: {"mean": s.n})


def test_explored_chains_and_their_answers_are_pickled() -> None:
    chain = _explored()
    answer = markov.stationary(chain)
    assert chain == copy.deepcopy(chain) == pickle.loads(pickle.dumps(chain)) == _explored()
    assert chain != _explored(2.0)
    back = pickle.loads(pickle.dumps(answer))
    assert back == answer
    assert back.measures["mean"].item() == answer.measures["mean"].item()
    assert markov.sweep(back.chain, lam=[1.0]).sizes == {"lam": 1}
