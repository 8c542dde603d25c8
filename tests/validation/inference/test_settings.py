"""Settings that papers leave open: values, runs, interpolation between them."""

from __future__ import annotations

import numpy as np
import pytest

from validation import table
from validation.inference.designs import DESIGNS, PARAMETERS, settings
from validation.inference.emulator import fit
from validation.inference.parameters import Choice, Range, points, snapped, sobol, values_at
from validation.inference.recording import PAPERS
from validation.inference.sampling import tempered

# The settings that were run are those of the bundled cases.


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if paper in DESIGNS])
def test_bundled_settings_are_those_of_the_design(paper: str) -> None:
    bundled = table(f"{paper}/unstated-parameters", "settings")
    names = [each.name for each in PARAMETERS[paper]]
    assert bundled[names].to_dict("records") == settings(paper)


def test_the_full_product_has_every_combination_once() -> None:
    every = settings("zheng2002")
    assert len({tuple(each.values()) for each in every}) == len(every) == 3 * 3 * 3 * 2 * 3


# Open parameters: values, coordinates, points of a Sobol sequence.


def test_coordinates_invert_values() -> None:
    for paper, parameters in PARAMETERS.items():
        settings = sobol(parameters, 8, seed=5)
        for setting, point in zip(settings, points(parameters, settings), strict=True):
            ranges = [
                (each, u)
                for each, u in zip(parameters, point, strict=True)
                if isinstance(each, Range)
            ]
            again = [each.value(u) for each, u in ranges]
            own = [setting[each.name] for each, _ in ranges]
            assert again == pytest.approx(own, rel=0.01), paper  # values have three digits


def test_alternatives_are_equally_spaced_and_equally_probable() -> None:
    one = Choice("agent", ("a", "b", "c"), "", "")
    assert [one.coordinate(value) for value in one.alternatives] == [0.0, 0.5, 1.0]
    drawn = [point["agent"] for point in sobol([one], 300, seed=1)]
    assert all(abs(drawn.count(value) - 100) <= 2 for value in one.alternatives)


def test_fewer_points_are_the_first_of_more() -> None:
    pair = [Range("x", 1, 10, "", ""), Range("y", 0, 1, "", "", linear=True)]
    assert sobol(pair, 20, seed=3)[:8] == sobol(pair, 8, seed=3)


def test_snapped_points_are_those_of_their_values() -> None:
    mixed = [Choice("agent", ("a", "b", "c"), "", ""), Range("x", 0, 1, "", "", linear=True)]
    cube = np.array([[0.0, 0.2], [0.4, 0.5], [0.99, 0.8], [1.0, 1.0]])
    again = points(mixed, [values_at(mixed, u) for u in cube])
    assert snapped(mixed, cube) == pytest.approx(again)


# Interpolation between runs: functions that it knows, and the error that it states.


def _cells(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    smooth = np.sin(2 * points[:, 0]) + points[:, 1] * points[:, 2]
    return np.column_stack([1 + points @ [1.0, -2.0, 0.5, 0.0], smooth]) + rng.normal(
        0, 0.02, (len(points), 2)
    )


def test_a_line_and_a_curve_are_found_again_within_the_stated_error() -> None:
    """40 runs in four dimensions, noise .02; a prediction may be off by thrice the error left out."""
    rng = np.random.default_rng(1)
    points, others = rng.random((40, 4)), rng.random((200, 4))
    emulator = fit(points, _cells(points, rng))
    gaps = emulator.at(others) - _cells(others, rng)
    assert (emulator.error < [0.05, 0.15]).all()
    assert (np.sqrt((gaps**2).mean(axis=0)) < 1.5 * emulator.error).all()
    assert (abs(gaps) < 4.0 * emulator.error).mean() > 0.98


def test_runs_left_out_are_predicted_as_if_they_had_not_been_run() -> None:
    """The closed form against a fit without the run, with equal sizes: mean and scale change a little."""
    rng = np.random.default_rng(2)
    points = rng.random((30, 2))
    cells = _cells(np.column_stack([points, points]), rng)
    whole, without = fit(points, cells), fit(points[1:], cells[1:])
    if whole.sizes == without.sizes:
        gap = without.at(points[:1])[0] - cells[0]
        assert np.allclose(whole.left_out[0], gap, atol=0.03)
    assert whole.left_out.shape == (30, 2)


def test_noise_alone_is_not_fitted() -> None:
    rng = np.random.default_rng(3)
    noise = fit(rng.random((40, 5)), rng.normal(0, 1, (40, 1)))
    assert 0.8 < noise.error[0] < 1.4


# Points drawn from a likelihood: moments of a normal one, two modes, flat directions.


def test_moments_of_a_narrow_normal_density() -> None:
    """Deviations of .02 and .05 in two of six dimensions; the mean of 600 points is known within .003."""

    def logs(u: np.ndarray) -> np.ndarray:
        found: np.ndarray = -0.5 * (((u[:, 0] - 0.7) / 0.02) ** 2 + ((u[:, 1] - 0.4) / 0.05) ** 2)
        return found

    points = tempered(logs, 6, 600, seed=1)
    assert points.shape == (600, 6)
    assert points[:, :2].mean(axis=0) == pytest.approx([0.7, 0.4], abs=0.01)
    assert points[:, :2].std(axis=0) == pytest.approx([0.02, 0.05], rel=0.25)
    assert points[:, 2:].std(axis=0) == pytest.approx(np.full(4, 12**-0.5), rel=0.15)
    assert ((points >= 0.0) & (points <= 1.0)).all()


def test_both_modes_are_found_with_their_weights() -> None:
    """Two normal modes, one of three times the weight: a quarter of 600 points, deviation .02 and resampling."""

    def logs(u: np.ndarray) -> np.ndarray:
        low, high = (np.exp(-0.5 * ((u[:, 0] - at) / 0.04) ** 2) for at in (0.2, 0.8))
        found: np.ndarray = np.log(0.75 * low + 0.25 * high + 1e-300)
        return found

    points = tempered(logs, 3, 600, seed=2)
    assert (points[:, 0] > 0.5).mean() == pytest.approx(0.25, abs=0.1)
