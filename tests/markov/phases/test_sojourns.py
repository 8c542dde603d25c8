"""Sojourns in queues of phases, and passes through them."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MAP, PhaseType, SemiMarkov, passage, phase_type_of, stationary
from markov.phases.passes import Passes

# Semi-Markov processes: fractions of time by the mean times, passages by the whole distributions.


JUMPS = ((0.1, 0.6, 0.3), (0.5, 0.0, 0.5), (1.0, 0.0, 0.0))
TIMES = (phase_type_of(2.0, 0.3), PhaseType.exponential(4.0), phase_type_of(0.5, 3.0))


def test_fractions_of_time_follow_the_mean_times():
    answer = stationary(SemiMarkov(JUMPS, TIMES))
    P = np.array(JUMPS)
    values, vectors = np.linalg.eig(P.T)
    v = np.real(vectors[:, np.argmin(abs(values - 1.0))])
    weights = v * [each.mean for each in TIMES]
    np.testing.assert_allclose(answer["fraction"], weights / weights.sum(), rtol=1e-12)
    assert answer["jump_rate"] == pytest.approx(v.sum() / weights.sum(), rel=1e-12)
    assert answer.measures.fraction.dims == ("process_state",)


def test_a_first_passage_has_the_distribution_of_the_sum_of_its_times():
    """A line 0 -> 1 -> 2: the time to 2 is the sum of the first two."""
    line = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    found = passage(SemiMarkov(line, TIMES), to=lambda s: s.state == 2, start=(0, 0))
    begun = PhaseType(np.eye(TIMES[0].order)[0], TIMES[0].T) + TIMES[1]
    assert found.mean == pytest.approx(begun.mean, rel=1e-11)
    assert found.quantile(0.9).value == pytest.approx(begun.quantile(0.9), rel=1e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"jumps": ((0.5, 0.4), (1.0, 0.0))}, r"row 0 of jumps sums to 0\.9"),
        ({"jumps": ((1.0, 0.0),)}, "jumps has shape"),
        ({"sojourns": (PhaseType.exponential(1.0),)}, "2 distributions are expected"),
        ({"sojourns": (1.0, 2.0)}, r"sojourns\[0\] = 1\.0"),
        ({"first": 2}, "first = 2"),
    ],
)
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        SemiMarkov(**given)


# Likelihoods and expected times of arrival processes, against formulas and between the two ways.


def test_eigenvectors_that_coincide() -> None:
    erlang = MAP.renewal(PhaseType.erlang(2, mean=1.0))
    times = np.array([0.1, 0.7, 1.9])
    expected = np.log(4.0 * times * np.exp(-2.0 * times)).sum()
    assert erlang.log_likelihood(times) == pytest.approx(expected, rel=1e-12)
    passes = Passes(erlang.D0, erlang.D1, erlang.interval.alpha, times)
    assert passes._modes is None
    assert np.trace(passes._together()) == pytest.approx(times.sum(), rel=1e-12)  # all the time


def test_both_ways_to_the_integrals_agree() -> None:
    source = MAP.modulated([[-1.0, 1.0], [0.5, -0.5]], [30.0, 2.0])
    times = np.random.default_rng(7).exponential(0.1, 50)
    passes = Passes(source.D0, source.D1, source.interval.alpha, times)
    near = passes._together()
    passes._modes = None
    np.testing.assert_allclose(near, passes._together(), rtol=1e-10)
