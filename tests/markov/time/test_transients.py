"""Distributions over time: long horizons, chains that stay, labels and rewards, and what is refused."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from markov import MM1K, BirthDeath, Courtois, MarkovChain, explore, stationary, transient


@pytest.mark.parametrize("model", [MM1K(capacity=30), Courtois(), BirthDeath()])
def test_a_long_horizon_ends_in_the_stationary_distribution(model: Any) -> None:
    limit = stationary(model)
    found = transient(model, [1e9], start=_state(limit.chain, 0))
    distance = 0.5 * np.abs(found.pi[0] - limit.pi).sum()
    assert distance <= found.error_bound[0] + limit.error_bound
    assert found.error_bound[0] <= 1e-8
    assert found.steps < 1e7


def _state(chain: MarkovChain, x: int) -> Any:
    states = chain.states
    return states[x] if isinstance(states, range) else type(states)(*(int(a[x]) for a in states))


def test_a_chain_without_transitions_stays() -> None:
    found = transient(np.zeros((2, 2)), [0.0, 5.0], start=1)
    assert found.pi.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert found.occupancy.tolist() == [[0.0, 0.0], [0.0, 5.0]]


def test_a_stiff_chain_at_a_late_time_has_a_relative_error_of_every_entry() -> None:
    """Two fast states, of which one stops at 1e-7/s, for 1e9 s and 1e15 jumps; by hand with decimals of 60 digits."""
    a, b, c = 1e6, 1e3, 1e-7
    found = transient(np.array([[-a, a, 0.0], [b, -b - c, c], [0.0, 0.0, 0.0]]), [1.0, 1e9], start=0)
    assert found.method == "squaring"
    assert found.relative_error is not None
    assert found.relative_error.max() < 1e-9
    with localcontext() as context:
        context.prec = 60
        A, B, C = map(Decimal, (a, b, c))
        total = A + B + C
        root = (total * total - 4 * A * C).sqrt()
        slow, fast = (total - root) / 2, (total + root) / 2
        for time, pi, relative in zip((1, Decimal(10) ** 9), found.pi, found.relative_error, strict=True):
            decays = (-slow * time).exp(), (-fast * time).exp()
            second = A * (decays[0] - decays[1]) / (fast - slow)
            first = ((B + C - slow) * decays[0] - (B + C - fast) * decays[1]) / (fast - slow)
            exact = [first, second, 1 - first - second]
            for entry, known in zip(pi.tolist(), exact, strict=True):
                assert abs(Decimal(entry) - known) <= Decimal(float(relative)) * known
    assert "squaring" in found.summary()["method"]
    assert "relative error of every entry" in found.summary()
    with pytest.raises(ValueError, match=r"about .* s for .* products .*; max_seconds=\S+ allows it"):
        _ = found.occupancy


def far(down: float) -> Any:
    """Return a queue of 600 states, up at rate 1e6."""
    Q = np.diag(np.full(600, 1e6), 1) + np.diag(np.full(600, down), -1)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    return Q


@pytest.mark.parametrize("time", [1e6, 1e15, 1e290])
def test_far_times_have_the_long_run_distribution(time: float) -> None:
    """Ratios of 1.5 between neighbours, from the balance of flows."""
    found = transient(far(1.5e6), [1e-9, time], start=0)
    expected = 1.5 ** -np.arange(601.0)
    np.testing.assert_allclose(found.pi[1], expected / expected.sum(), atol=1e-10)
    assert found.error_bound[1] < 1e-9
    assert found.method == "uniformization until the long-run distribution, within the bound"
    occupied = found.occupancy
    np.testing.assert_allclose(occupied[1] / time, expected / expected.sum(), atol=1e-8)


def test_far_times_of_a_chain_with_several_ends() -> None:
    """From 0 at rates 1 and 2 to two ends, of which one is a pair of states with rates 1 and 3."""
    Q = np.zeros((4, 4))
    Q[0, 1], Q[0, 2], Q[2, 3], Q[3, 2] = 1.0, 2.0, 1.0, 3.0
    np.fill_diagonal(Q, -Q.sum(axis=1))
    found = transient(Q, [1e300], start=0)
    np.testing.assert_allclose(found.pi[0], [0.0, 1 / 3, 2 / 3 * 0.75, 2 / 3 * 0.25], atol=1e-12)
    assert found.error_bound[0] < 1e-12


@pytest.mark.slow
def test_a_far_time_that_takes_too_long_is_refused_with_the_time_and_the_argument() -> None:
    with pytest.raises(
        ValueError, match=r"about .* s for .* products .*, more than max_seconds = 2: .*; max_seconds=\S+ allows it"
    ):
        transient(far(1e6), [1e9], start=0, max_seconds=2.0)


def repairs(s: Any, q: Any) -> Any:
    if s.working > 0:
        yield s._replace(working=s.working - 1), q.failure * s.working
    if s.working < 3:
        yield s._replace(working=s.working + 1), q.repair


def test_labels_and_rewards_are_given_over_time() -> None:
    found = explore(
        repairs,
        start={"working": 3},
        params={"failure": 0.1, "repair": 1.0},
        labels=lambda s: {"up": s.working > 0},
        rewards=lambda s: {"machines": s.working},
    )
    answer = transient(found, np.linspace(0.0, 20.0, 5))
    assert answer.measures["machines"].dims == ("time",)
    assert answer["machines"][0] == 3.0
    assert answer.probability("up") == pytest.approx(answer["up"], abs=1e-15)
    mean = answer["machines"]
    # the integral by Gauss-Legendre quadrature of the instantaneous rewards
    nodes, weights = np.polynomial.legendre.leggauss(40)
    inner = transient(found, 10.0 * (nodes + 1.0))["machines"]
    assert answer.accumulated["machines"].values[-1] == pytest.approx(10.0 * weights @ inner, 1e-9)
    assert mean[-1] == pytest.approx(stationary(found)["machines"], abs=1e-6)
    assert answer.probabilities.sel(time=0.0).sum() == 1.0
    assert "error bound" in repr(answer)
    assert answer._repr_html_().startswith("<table>")
