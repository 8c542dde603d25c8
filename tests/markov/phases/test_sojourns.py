"""Semi-Markov processes: fractions of time by the mean times, passages by the whole distributions."""

from __future__ import annotations

import numpy as np
import pytest

from markov import PhaseType, SemiMarkov, passage, phase_type_of, stationary

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
