"""Products by the rules against the matrix; labels and rewards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import markov.computing.memory
from markov import (
    MM1K,
    ChainModel,
    Cluster,
    Courtois,
    GeneratorOperator,
    MarkovChain,
    PauseTandem,
    generator,
    stationary,
)
from markov.errors import TooLargeError

MODELS = [
    MM1K(capacity=12),
    Courtois(),
    Cluster(workstations=2),
    pytest.param(
        PauseTandem(buffers=(4, 6), high_threshold=4), marks=pytest.mark.slow
    ),  # compiles 8 s
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_products_are_those_of_the_matrix(model: ChainModel) -> None:
    Q, operator = generator(model, reachable=False), GeneratorOperator(model)
    x = np.random.default_rng(0).normal(size=(model.size, 3))
    assert operator.shape == Q.shape
    # sums of a row's entries in another order
    near = {"rtol": 1e-13, "atol": 1e-13 * abs(Q).max() * abs(x).max()}
    assert_allclose(operator @ x[:, 0], Q @ x[:, 0], **near)
    assert_allclose(operator @ x, Q @ x, **near)
    assert_allclose(operator.T @ x[:, 1], Q.T @ x[:, 1], **near)
    assert_allclose(operator.exit_rates, -Q.diagonal(), rtol=1e-13)
    assert_allclose(operator @ np.ones(model.size), 0.0, atol=0.0)


def test_operator_is_one_of_scipy() -> None:
    model = MM1K(capacity=30)
    operator = aslinearoperator(GeneratorOperator(model))
    assert isinstance(operator, LinearOperator)
    pi, lazy = (
        np.full(model.size, 1.0 / model.size),
        1.0 / (2.0 * GeneratorOperator(model).exit_rates.max()),
    )
    for _ in range(20_000):  # power steps without a matrix
        pi = pi + lazy * (operator.T @ pi)
    assert_allclose(pi, model.exact(), atol=1e-12)


class Leaving(ChainModel):
    class State(NamedTuple):
        n: int

    class Params(NamedTuple):
        rate: float = 1.0

    def space(self) -> dict[str, range]:
        return {"n": range(4)}

    @staticmethod
    def rules(s: Any, q: Any) -> Any:
        yield s._replace(n=s.n + 1), q.rate


def test_bad_rules_are_named() -> None:
    with pytest.raises(ValueError, match=r"n=3"):
        GeneratorOperator(Leaving()) @ np.ones(4)
    with pytest.raises(ValueError, match=r"n=0.*-1"):
        GeneratorOperator(Leaving(rate=-1.0)) @ np.ones(4)


def test_vectors_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markov.computing.memory, "available", lambda: 1e6)
    with pytest.raises(TooLargeError, match="vectors of 10000001 states"):
        GeneratorOperator(MM1K(capacity=10_000_000))


class Watched(MM1K):
    """M/M/1/K whose sets of states have names."""

    def labels(self, s: Any) -> dict[str, Any]:
        return {"idle": s.n == 0, "always": True}

    def rewards(self, s: Any) -> dict[str, Any]:
        return {"throughput": self.params.service_rate * (s.n > 0), "customers": s.n}


def test_labels_and_rewards_are_measures() -> None:
    model = Watched(arrival_rate=1.0, service_rate=2.0, capacity=9)
    exact, n = model.exact(), np.arange(10)
    answer = stationary(model)
    found = {name: float(answer[name]) for name in ("idle", "always", "throughput", "customers")}
    assert_allclose(
        list(found.values()), [exact[0], 1.0, 2.0 * (1.0 - exact[0]), exact @ n], rtol=1e-13
    )
    assert "throughput" in repr(answer)
    assert MarkovChain(MM1K()).model.measures(MM1K().exact()) == {}
