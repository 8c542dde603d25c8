"""Markovian arrival processes: closed forms of Poisson, renewal and on-off streams."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MAP, PhaseType, phase_type_of


@pytest.fixture
def on_off():
    return MAP.modulated([[-1.0, 1.0], [0.5, -0.5]], [30.0, 0.0])


def test_the_poisson_process_has_no_memory():
    found = MAP.poisson(3.0)
    assert (found.rate, found.interval.scv) == (3.0, pytest.approx(1.0))
    assert found.dispersion == pytest.approx(1.0)
    np.testing.assert_allclose(found.autocorrelation(3), 0.0, atol=1e-14)


def test_a_renewal_process_has_its_intervals_and_their_scv_as_dispersion():
    interval = phase_type_of(0.5, 0.3)
    found = MAP.renewal(interval)
    assert found.rate == pytest.approx(2.0)
    assert found.interval.scv == pytest.approx(0.3)
    assert found.dispersion == pytest.approx(0.3, rel=1e-10)
    np.testing.assert_allclose(found.autocorrelation(3), 0.0, atol=1e-12)


def test_an_on_off_source_has_the_known_dispersion(on_off):
    """1 + 2 r (1 - on) / (a + b) with rate r while on: W. Fischer, K. Meier-Hellstern, 1993."""
    on = 0.5 / 1.5
    assert on_off.rate == pytest.approx(30.0 * on)
    assert on_off.dispersion == pytest.approx(1.0 + 2.0 * 30.0 * (1.0 - on) / 1.5)


def test_superposed_streams_add_rates_and_variances(on_off):
    other = MAP.correlated(0.2, 4.0, 0.2)
    both = on_off + other
    assert both.rate == pytest.approx(on_off.rate + other.rate)
    variance = on_off.rate * on_off.dispersion + other.rate * other.dispersion
    assert both.dispersion * both.rate == pytest.approx(variance, rel=1e-11)


def test_correlated_intervals_are_as_asked():
    found = MAP.correlated(0.2, 4.0, 0.3)
    assert found.interval.mean == pytest.approx(0.2)
    assert found.interval.scv == pytest.approx(4.0)
    ratio = 0.3 / (0.5 * (1.0 - 1.0 / 4.0))
    np.testing.assert_allclose(found.autocorrelation(5), 0.3 * ratio ** np.arange(5), rtol=1e-10)
    total = 2.0 * 4.0 * 0.3 / (1.0 - ratio)  # dispersion: scv (1 + 2 sum of correlations)
    assert found.dispersion == pytest.approx(4.0 + total, rel=1e-10)


@pytest.mark.parametrize(
    ("D0", "D1", "message"),
    [
        ([[-1.0]], [[0.5]], "row 0 of D0 \\+ D1 sums to -0.5"),
        ([[-1.0, 1.0]], [[1.0]], "D0 has shape"),
        ([[0.0]], [[0.0]], "at least one rate"),
        ([[-1.0, -1.0], [0.0, -1.0]], [[2.0, 0.0], [0.0, 1.0]], r"D0\[0, 1\] = -1"),
        ([[-1.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]], "2 closed classes"),
        (
            [[-2.0, 1.0], [0.0, 0.0]],
            [[1.0, 0.0], [0.0, 0.0]],
            "no arrivals in the phases that recur",
        ),
    ],
)
def test_what_is_no_arrival_process_is_refused(D0, D1, message):
    with pytest.raises(ValueError, match=message):
        MAP(D0, D1)


def test_correlations_out_of_reach_are_refused(on_off):
    with pytest.raises(ValueError, match=r"correlation = 0\.4"):
        MAP.correlated(1.0, 4.0, 0.4)
    with pytest.raises(ValueError, match=r"scv = 0\.5"):
        MAP.correlated(1.0, 0.5, 0.1)
    with pytest.raises(TypeError):
        on_off + PhaseType.exponential(1.0)
