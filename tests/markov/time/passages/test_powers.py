"""Powers and slowest decay against exact exponentials, squaring, and chains whose answer is that of a part of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from markov import MarkovChain, passage
from markov.time.passages import powers
from markov.time.passages.absorbing import Absorbing
from markov.time.passages.distributions import PassageTime
from markov.time.passages.powers import PowerSums
from markov.time.transients import squaring
from tests.markov.time.exact_exponentials import exact


def sums_of(rates: np.ndarray, start: np.ndarray) -> PowerSums:
    """Powers of all states but the last two: the target, and one that never leads there."""
    Q, m = sp.csr_matrix(rates), len(rates) - 2
    system = Absorbing(Q, np.arange(m + 2) < m)
    ended = float(start[m]), float(start[m + 1])
    return PowerSums(system, start[:m], (rates[:m, m], rates[:m, m + 1]), ended)


def rare(seed: int) -> np.ndarray:
    """Six states that all lead to each other, with rates to both ends that are small by up to nine decades."""
    rng = np.random.default_rng(seed)
    rates = np.zeros((8, 8))
    rates[:6, :6] = 10.0 ** rng.uniform(-1.0, 1.0, (6, 6)) * (1.0 - np.eye(6))
    rates[rng.integers(6), 6] = 10.0 ** rng.uniform(-9.0, -1.0)
    if seed % 2:
        rates[rng.integers(6), 7] = 10.0 ** rng.uniform(-9.0, -3.0)
    return rates


@pytest.mark.parametrize("seed", range(8))
def test_both_tails_are_within_their_relative_bound_at_any_time(seed, monkeypatch):
    monkeypatch.setattr(powers, "MIN_POWERS", 0)
    monkeypatch.setattr(powers, "SECONDS_PER_ENTRY", 1.0)
    rates, start = rare(seed), np.zeros(8)
    start[[0, 6, 7]] = 0.75, 0.125 * (seed % 3 == 2), 0.25 - 0.125 * (seed % 3 == 2)
    sums = sums_of(rates, start)
    times = [1e-3, 1.0, 30.0, 1e3, 1e6]
    found = {time: sums.at(time) for time in reversed(times)}
    assert sums.tail is not None
    for time, place in found.items():
        row = exact(rates, time)[0]
        first = [Fraction(value) for value in start.tolist()]
        cdf = first[0] * row[6] + first[6]
        survival = first[0] * sum([*row[:6], row[7]]) + first[7]
        density = sum(
            first[0] * p * Fraction(b) for p, b in zip(row, rates[:, 6].tolist(), strict=True)
        )
        for value, truth in ((place.cdf, cdf), (place.survival, survival)):
            assert abs(Fraction(value) - truth) <= Fraction(place.relative) * truth
            assert abs(Fraction(value) - truth) <= Fraction(place.error)
        assert place.density == pytest.approx(float(density), rel=1e-11)
        assert place.relative < 1e-12


def product_chain(levels: int, others: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """A queue until it is full, and beside it one that has no influence; the generator and the target."""
    queue = np.diag(np.full(levels, 1.0), 1) + np.diag(np.full(levels, 1.3), -1)
    beside = np.diag(np.full(others - 1, 0.7), 1) + np.diag(np.full(others - 1, 0.9), -1)
    rates = sp.kron(queue, sp.identity(others)) + sp.kron(sp.identity(levels + 1), beside)
    target = np.repeat(np.arange(levels + 1) == levels, others)
    return sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())), target


@pytest.mark.parametrize(("levels", "others"), [(40, 20), (100, 100)])
def test_thousands_of_states_agree_with_the_forty_or_hundred_that_matter(levels, others):
    """The second, of 10,100 states, is fuller once in 1e13 s: both tails at any horizon, and quantiles."""
    Q, target = product_chain(levels, others)
    small, end = product_chain(levels, 1)
    large = PassageTime(MarkovChain(Q), target, np.eye(1, Q.shape[0])[0])
    few = PassageTime(MarkovChain(small), end, np.eye(1, levels + 1)[0])
    times = np.array([0.0, 30.0, 300.0, 2e4, 1e9, 1e14 if levels > 40 else 1e8])
    found = large.at(times)
    system = Absorbing(Q, ~target)
    assert system.F.shape[0] > squaring.MAX_STATES
    for k, time in enumerate(times.tolist()):
        truth = few._squared(time) if time else few.at(times[:1])
        cdf, survival = float(np.ravel(truth.cdf)[0]), float(np.ravel(truth.survival)[0])
        bound = found.relative_error[k] + (1e-13 if time else 0.0)
        assert found.cdf[k] == pytest.approx(cdf, rel=bound, abs=0.0)
        assert found.survival[k] == pytest.approx(survival, rel=bound, abs=0.0)
    assert np.all(found.relative_error <= 1e-12)
    scale = 1e9
    for q in (1e-10, 0.5, 0.999):
        one, other = large.quantile(q, scale), few.quantile(q, scale)
        assert one.lower <= other.upper
        assert other.lower <= one.upper
        assert one.error <= 1e-11 * one.value


def test_the_mean_of_a_target_that_is_rarer_than_rounding_is_proved():
    """Exit rates are 4, and the target is entered once in 6e12 s: factors with subtractions prove nothing."""
    Q, target = product_chain(120, 30)
    small, end = product_chain(120, 1)
    found, few = (
        passage(MarkovChain(matrix), ends, start=0) for matrix, ends in ((Q, target), (small, end))
    )
    assert abs(found.mean - few.mean) <= found.mean_error + few.mean_error
    assert found.mean_error <= 1e-10 * found.mean


def test_what_is_neither_proved_nor_summed_is_refused(monkeypatch):
    """Two groups of states, the first of which is never entered again: Perron vectors have zeros."""
    monkeypatch.setattr(powers, "MAX_POWERS", 20_000)
    group = np.ones((300, 300)) / 300.0
    rates = np.zeros((602, 602))
    rates[:300, :300] = rates[300:600, 300:600] = group
    np.fill_diagonal(rates, 0.0)
    rates[0, 300] = rates[300, 600] = 1e-5
    sums = sums_of(rates, np.eye(1, 602)[0])
    assert sums.at(100.0).relative < 1e-12
    with pytest.raises(
        ValueError, match=r"time = 1e\+06: about 1.1e\+06 jumps: .* no slowest decay is proved"
    ):
        sums.at(1e6)
    assert sums.tail is None


def test_a_chain_that_has_stopped_is_known_at_any_later_time():
    """Erlang stages have no Perron vector, and need none: a survival that is only known to be tiny has no relative bound."""
    rates = np.zeros((602, 602))
    rates[np.arange(600), np.arange(1, 601)] = 1.0
    sums = sums_of(rates, np.eye(1, 602)[0])
    early = sums.at(500.0)
    assert early.relative < 1e-12
    late = sums.at(1e12)
    assert late.cdf == pytest.approx(1.0, abs=late.error)
    assert late.survival == 0.0
    assert late.error <= 2e-14
    assert np.isinf(late.relative)


def test_powers_that_never_come_near_enough_to_one_vector_go_on_with_the_other(monkeypatch):
    """With a spread of zero asked of one side, both sides are iterated, to the same probabilities."""
    Q, target = product_chain(40, 20)
    start, times = np.eye(1, Q.shape[0])[0], np.array([2e4, 1e8])
    one = PassageTime(MarkovChain(Q), target, start).at(times)
    monkeypatch.setattr(powers, "ONE_SIDE", 0.0)
    found = PassageTime(MarkovChain(Q), target, start)
    both = found.at(times)
    assert found._powers is not None
    assert found._powers.tail is not None
    assert max(found._powers.tail.spreads) <= powers.SPREAD
    for a, b in ((one.cdf, both.cdf), (one.survival, both.survival)):
        assert np.all(np.abs(a - b) <= (one.relative_error + both.relative_error) * b)
    assert np.all(both.relative_error <= 1e-12)


def test_a_vector_that_is_not_accurate_enough_does_not_stop_the_powers(monkeypatch):
    """A left vector off by 1e-9 never comes within 1e-13 of the powers: both sides are iterated."""
    found = powers.slowest_decay

    def off(system):
        decay = found(system)
        left = decay.left * (1.0 + 1e-9 * np.linspace(0.0, 1.0, len(decay.left)))
        return decay._replace(
            left=left, low=decay.low * (1.0 - 1e-6), high=decay.high * (1.0 + 1e-6)
        )

    monkeypatch.setattr(powers, "slowest_decay", off)
    Q, target = product_chain(40, 20)
    sums = PassageTime(MarkovChain(Q), target, np.eye(1, Q.shape[0])[0])
    assert sums.at(np.array([1e6])).cdf[0] > 0.0
    assert sums._powers is not None
    assert sums._powers.tail is not None
    assert 1e-10 < sums._powers.tail.spreads[0] < powers.SPREAD
