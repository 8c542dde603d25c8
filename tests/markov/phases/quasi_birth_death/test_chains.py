"""Chains of levels: found, solved, and which of their levels repeat."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import xarray as xr

from markov import (
    NO_END,
    BirthDeath,
    ChainModel,
    JacksonTandem,
    PauseTandem,
    PhaseQueue,
    QuasiBirthDeath,
    generator,
    stationary,
    stationary_by_level,
)
from tests.markov.phases.quasi_birth_death.conftest import Lot

# Quasi-birth-death chains: closed forms, drifts, and blocks that are refused.


def map_ph(scale: float = 1.0) -> tuple[Any, Any, Any]:
    """Return down, local, up of a MAP/PH/1 queue whose phases are (arrivals, service)."""
    D0, D1 = np.array([[-5.0, 1.0], [0.5, -1.0]]), np.array([[4.0, 0.0], [0.2, 0.3]])
    T, alpha = np.array([[-9.0, 3.0], [0.0, -6.0]]), np.array([[0.4, 0.6]])
    exits = -T.sum(axis=1, keepdims=True)
    down, up = np.kron(np.eye(2), exits @ alpha), np.kron(D1 * scale, np.eye(2))
    local = np.kron(D0, np.eye(2)) + np.kron(np.eye(2), T)
    np.fill_diagonal(local, 0.0)
    return down, local - np.diag((down + local + up).sum(axis=1)), up


@pytest.mark.parametrize("load", [0.1, 0.7, 0.999, 1 - 1e-9])
def test_mm1_is_geometric(load):
    answer = stationary_by_level(QuasiBirthDeath([[1.0]], [[-1.0 - load]], [[load]]))
    k = np.array([0, 1, 2, 5, 17, 100])
    # the drift 1 - load is known to eps / (1 - load) only, and so is the answer
    rtol = 1e-13 + 4e-16 / (1 - load)
    np.testing.assert_allclose(answer.marginal(k), (1 - load) * load**k, rtol=rtol)
    np.testing.assert_allclose(answer.mean_level, load / (1 - load), rtol=rtol)
    np.testing.assert_allclose(answer.decay_rate, load, rtol=1e-13)
    assert answer.residual < 1e-14


def test_mph1_mean_is_pollaczek_khinchine():
    # M/Cox/1: Neuts 1981, ch. 3; an empty system has one state, E L = rho + lambda^2 E S^2 / (2 (1 - rho))
    rate, T, alpha = 0.9, np.array([[-3.0, 1.5], [0.0, -1.0]]), np.array([[0.7, 0.3]])
    exits = -T.sum(axis=1, keepdims=True)
    chain = QuasiBirthDeath(
        down=exits @ alpha,
        local=T - rate * np.eye(2),
        up=rate * np.eye(2),
        boundary=([[-rate]], rate * alpha, exits),
    )
    inverse = np.linalg.inv(-T)
    first, second = (alpha @ inverse).sum(), 2 * (alpha @ inverse @ inverse).sum()
    rho = rate * first
    answer = stationary_by_level(chain)
    np.testing.assert_allclose(answer.level(0), [1 - rho], rtol=1e-13)
    mean = rho + rate**2 * second / (2 * (1 - rho))
    np.testing.assert_allclose(answer.mean_level, mean, rtol=1e-13)
    np.testing.assert_allclose(answer.decay_rate, np.exp(np.diff(np.log(answer.marginal([90, 91])))))
    pi = [answer.level(k) for k in range(40)]
    for k in range(1, 39):
        np.testing.assert_allclose(pi[k + 1], pi[k] @ answer.rate_matrix, rtol=1e-12)


@pytest.mark.parametrize("scale", [0.5, 1.0, 1.6])
def test_infinite_and_many_levels_agree(scale):
    blocks = map_ph(scale)
    endless, many = (stationary_by_level(QuasiBirthDeath(*blocks, levels=n)) for n in (None, 5000))
    k = np.arange(60)
    np.testing.assert_allclose(endless.marginal(k), many.marginal(k), rtol=1e-12)
    np.testing.assert_allclose(endless.mean_level, many.mean_level, rtol=1e-12)
    R, (down, local, up) = endless.rate_matrix, blocks
    np.testing.assert_allclose(up + R @ local + R @ R @ down, 0.0, atol=1e-13)
    ratio = endless.marginal([60, 61])
    np.testing.assert_allclose(ratio[1] / ratio[0], endless.decay_rate, rtol=1e-8)


def test_a_chain_that_drifts_away_is_refused_with_its_drifts():
    with pytest.raises(ValueError, match=r"drift is 7 up and 7 down .* not positive recurrent"):
        QuasiBirthDeath([[7.0]], [[-14.0]], [[7.0]])
    with pytest.raises(ValueError, match=r"drift is .* up must be < down"):
        QuasiBirthDeath(*map_ph(8.0))
    QuasiBirthDeath([[7.0]], [[-15.0]], [[8.0]], levels=1000)  # with an end it may


class Bursts(ChainModel):
    """A queue without a limit, whose arrivals come in bursts."""

    class State(NamedTuple):
        n: int
        busy: int

    class Params(NamedTuple):
        service_rate: float = 10.0

    def space(self):
        return {"n": range(NO_END), "busy": range(2)}

    @staticmethod
    def rules(s, q):
        yield s._replace(n=s.n + 1), 12.0 if s.busy else 2.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.service_rate
        yield s._replace(busy=1 - s.busy), 1.0

    def measures(self, pi):
        return {"mean_queue": ((), float(pi @ self.states().n), {"units": "packets"})}


@pytest.mark.parametrize("model", [Bursts(), PhaseQueue()], ids=["without a start", "with a start"])
@pytest.mark.parametrize("solve", [stationary, generator])
def test_infinitely_many_levels_are_refused_at_once_by_others(model: Any, solve: Any) -> None:
    with pytest.raises(ValueError, match=r"'n' has infinitely many values \(NO_END\): stationary_by_level solves"):
        solve(model)


def test_infinitely_many_levels_from_rules():
    answer = stationary_by_level(Bursts())
    up, swap, down = np.diag([2.0, 12.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), 10.0 * np.eye(2)
    local, lowest = swap - np.diag([13.0, 23.0]), swap - np.diag([3.0, 13.0])
    blocks = QuasiBirthDeath(down, local, up, boundary=(lowest, up, down))
    expected = stationary_by_level(blocks)
    for level in (0, 1, 7, 100):
        np.testing.assert_allclose(answer.level(level), expected.level(level), rtol=1e-13)
    assert answer.mean_level == pytest.approx(expected.mean_level, rel=1e-13)
    assert answer["mean_queue"] == pytest.approx(expected.mean_level, rel=1e-13)
    with pytest.raises(ValueError, match=r"mean drift is 7 up and 6 down .*: not positive recurrent"):
        stationary_by_level(Bursts(service_rate=6.0))


# Levels on which rules are alike.


def test_rules_are_alike_on_ranges_of_levels():
    """On levels 0, 1, 2, 3, 4 to 29, 30 to 49, and 50."""
    assert repr(QuasiBirthDeath.of(Lot(), "n")).endswith("51 levels of 2 states, 7 kinds")


@pytest.mark.parametrize(
    ("model", "component"),
    [
        (PauseTandem(buffers=(7, 4), high_threshold=3), "i"),
        (PauseTandem(buffers=(7, 4), high_threshold=3, low_threshold=1), "j"),
        (JacksonTandem(capacity=6), "n"),
        (BirthDeath(), "n"),
        (Lot(), "n"),
    ],
    ids=repr,
)
def test_levels_have_the_probabilities_of_the_whole_chain(model, component):
    answer = stationary_by_level(QuasiBirthDeath.of(model, component))
    whole, phases = stationary(model).to_xarray().pi, answer.chain.phases._asdict()
    there = whole.sel({name: xr.DataArray(at, dims="phase") for name, at in phases.items() if name != component})
    for level, expected in enumerate(there.transpose(component, ...).values):
        np.testing.assert_allclose(answer.level(level), np.atleast_1d(expected), rtol=1e-11, atol=1e-300)
