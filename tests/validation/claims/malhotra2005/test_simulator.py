"""S04 notices a bias, and scatter that batch means do not explain."""

from __future__ import annotations

import numpy as np
from scipy import stats

from validation.claims.malhotra2005 import bundled, simulator
from validation.claims.malhotra2005.chain import Setting
from validation.statistics import Estimate
from validation.verdicts import Verdict


def test_a_bias_of_half_a_per_cent_is_seen(doctor, judged) -> None:
    def shift(frame) -> None:
        frame["throughput"] *= 1.005

    doctor(bundled.THRESHOLDS, shift)
    found = judged("S04")
    assert found["throughput"].model is Verdict.CONTRADICTED
    assert found["rest"].model is Verdict.HOLDS


def test_scatter_of_seeds_is_an_f_test() -> None:
    rng = np.random.default_rng(8)
    p_values = []
    for _ in range(500):
        batches = rng.normal(size=(10, 10))
        error = float(batches.var(axis=1, ddof=1).sum() / 1000) ** 0.5
        seeds = tuple({"throughput": float(mean)} for mean in batches.mean(axis=1))
        run = bundled.Run(Setting(), {"throughput": Estimate(0.0, error, 90)}, seeds)
        p_values.append(simulator.scatter_of_seeds(run))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
