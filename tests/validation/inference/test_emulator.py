"""Interpolation between runs: functions that it knows, and the error that it states."""

from __future__ import annotations

import numpy as np

from validation.inference.emulator import fit


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
