"""Fits find the parameters of made-up data, with honest intervals."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    AIMD,
    TFRC,
    Reno,
    fit,
)


def test_fit_finds_parameters_within_their_intervals():
    """95 % intervals over 200 data sets hold the truth about 95 % of the time."""
    rng, p = np.random.default_rng(4), np.geomspace(1e-4, 1e-2, 12)
    truth = AIMD(0.7, 0.25)
    held = 0
    for _ in range(200):
        noisy = truth.rate(p, 0.1) * np.exp(0.1 * rng.standard_normal(len(p)))
        low, high = fit(AIMD(b=0.25), p, 0.1, noisy, by="a").intervals["a"]
        held += low < 0.7 < high
    assert 180 <= held <= 198  # binomial: 190 +- 2.6 standard deviations


def test_fit_says_what_data_cannot_tell():
    p = np.geomspace(1e-4, 1e-2, 12)
    with pytest.raises(ValueError, match=r"^by = a, b: these p, rtt and rate do not determine the"):
        fit(AIMD, p, 0.1, AIMD(0.7, 0.25).rate(p, 0.1))
    with pytest.raises(TypeError, match="rule = 3: must be a rule or law"):
        fit(3, p, 0.1, p)
    with pytest.raises(ValueError, match=r"^rule = Reno\(\): has no parameter to fit"):
        fit(Reno, p, 0.1, p)
    with pytest.raises(ValueError, match="must be more than the 1 parameters"):
        fit(AIMD, [0.01], 0.1, [100.0], by="a")
    found = fit(TFRC, p, 0.1, TFRC(2.0).rate(p, 0.1), by="packets_per_ack")
    assert found.rule.packets_per_ack == pytest.approx(2.0, rel=1e-6)
