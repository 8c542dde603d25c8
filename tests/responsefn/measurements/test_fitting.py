"""Samples and fits."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import AIMD, BBR, CUBIC, TFRC, Reno, fit, read_ss

# Fits find the parameters of made-up data, with honest intervals.


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


@pytest.mark.slow
def test_intervals_end_where_the_rule_does() -> None:
    """They hold the truth as often as without the limit: 95 % of 100 data sets, a part of which reach 1."""
    rng, p = np.random.default_rng(5), np.geomspace(1e-6, 1e-4, 6)
    truth = CUBIC(beta=0.85, friendly=0)
    held = limited = 0
    for _ in range(100):
        noisy = truth.rate(p, 0.02) * np.exp(0.3 * rng.standard_normal(len(p)))
        low, high = fit(CUBIC(friendly=0), p, 0.02, noisy, by="beta").intervals["beta"]
        assert 0.0 <= low < high <= 1.0
        held += low < 0.85 < high
        limited += high == 1.0
    assert 89 <= held <= 99  # binomial: 95 +- 2.7 standard deviations
    assert limited >= 10
    low, high = fit(TFRC, p, 0.1, TFRC(1.0).rate(p, 0.1), by="packets_per_ack").intervals[
        "packets_per_ack"
    ]
    assert 1.0 <= low <= high


def test_fit_says_what_the_rule_lacks() -> None:
    p = [1e-3, 3e-3, 1e-2]
    with pytest.raises(ValueError, match=r"^BBR\(\): has no response function of a loss rate"):
        fit(BBR, p, 0.04, [300.0, 200.0, 100.0], by="beta")
    with pytest.raises(ValueError, match=r"^by = 'rto': rto = None in TFRC\(\): must be a number"):
        fit(TFRC, p, 0.04, [300.0, 200.0, 100.0], by="rto")
    assert fit(TFRC(rto=0.4), p, 0.04, [300.0, 200.0, 100.0], by="rto").rule.rto > 0.0


# Readers of connections against made-up ones.


def test_ss_reads_several_connections():
    text = (
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        "ESTAB 0 0 10.0.0.1:5001 10.0.0.2:41000\n\t cubic rtt:40/2 mss:1000 cwnd:10 "
        "data_segs_out:1000 retrans:0/10 delivery_rate 8Mbps\n"
        "ESTAB 0 0 [::1]:22 [::1]:4242\n\t reno rtt:0.5/0.1 mss:500 data_segs_out:200 "
        "delivery_rate 400Kbps\n"
    )
    found = read_ss(text).to_pandas()
    np.testing.assert_allclose(found["p"], [0.01, 0.0])
    np.testing.assert_allclose(found["rtt"], [0.04, 0.0005])
    np.testing.assert_allclose(found["rate"], [1000.0, 100.0])
