"""Corrections, fits, readers and unfairness exponents against formulas and made-up connections."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    AIMD,
    CTCP,
    CUBIC,
    HTCP,
    PFTK,
    TFRC,
    Corrected,
    LinuxBIC,
    Mathis,
    Reno,
    fit,
    invert,
    read_qlog,
    read_ss,
    rtt_unfairness,
    simulate_rule,
)

P = np.geomspace(1e-6, 0.02, 9)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.5), (0.2, 0.125), (3 / 7, 0.25)])
def test_recovery_of_aimd_is_its_own_form(a, b):
    rate = Corrected(AIMD(a, b), recovery=1).rate(P, 0.1)
    np.testing.assert_allclose(rate, AIMD(a, b, "recovery").rate(P, 0.1), rtol=1e-9)


def test_recovery_lowers_every_rule_less_the_longer_its_cycle():
    for rule in (CTCP(), CUBIC(), HTCP(), LinuxBIC()):
        part = Corrected(rule, recovery=1).rate([1e-5, 1e-3], 0.1) / rule.rate([1e-5, 1e-3], 0.1)
        assert (part < 1).all()
        assert part[0] > part[1] > 0.6


def test_delayed_acks_are_mathis_b_and_what_the_simulation_has():
    for b in (1.0, 2.0):
        rate = Corrected(AIMD(), packets_per_ack=b).rate(P, 0.1)
        np.testing.assert_allclose(rate, Mathis(b).rate(P, 0.1), rtol=1e-12)
    with pytest.raises(ValueError, match=r"packets_per_ack = 2: must be 1 for CUBIC\(\)"):
        Corrected(CUBIC(), packets_per_ack=2)
    # a round trip has half the ACKs: Reno with half the increase per ACK
    run = simulate_rule(AIMD(0.5, 0.5), 1e-4, 0.1, events=300)
    assert Corrected(Reno(), packets_per_ack=2).rate(1e-4, 0.1) == pytest.approx(run.rate, rel=2e-3)


def test_timeouts_of_reno_are_near_pftk():
    """The same model with W = 3 in the place of its exact probability: within 8 % to p = 0.02."""
    p = np.geomspace(1e-4, 0.02, 8)
    corrected = Corrected(Reno(form="precise"), rto=0.4).rate(p, 0.1)
    np.testing.assert_allclose(corrected, PFTK(rto=0.4).rate(p, 0.1), rtol=0.08)


def test_a_window_limit_and_the_inverse():
    rule = Corrected(Reno(), recovery=1, max_window=20.0)
    assert rule.rate(1e-6, 0.1) == 200.0
    p = np.array([0.003, 0.01, 0.03])
    free = Corrected(Reno(), recovery=1)
    np.testing.assert_allclose(invert(free, free.rate(p, 0.1), 0.1), p, rtol=1e-9)


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
    with pytest.raises(ValueError, match=r"by = a, b: these data cannot tell the parameters apart"):
        fit(AIMD, p, 0.1, AIMD(0.7, 0.25).rate(p, 0.1))
    with pytest.raises(TypeError, match="rule = 3: must be a rule or law"):
        fit(3, p, 0.1, p)
    with pytest.raises(ValueError, match="must be more than the 1 parameters"):
        fit(AIMD, [0.01], 0.1, [100.0], by="a")
    found = fit(TFRC, p, 0.1, TFRC(2.0).rate(p, 0.1), by="packets_per_ack")
    assert found.rule.packets_per_ack == pytest.approx(2.0, rel=1e-6)


def test_readers_say_when_there_is_nothing():
    with pytest.raises(ValueError, match="no connection with rtt"):
        read_ss("ESTAB 0 0 1.1.1.1:80 2.2.2.2:90\n cubic rto:204")
    with pytest.raises(ValueError, match="no trace with packet_sent"):
        read_qlog('{"traces": [{"events": []}]}')


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


def test_unfairness_exponents():
    """Xu et al. 2004, Sect. II: 2 for AIMD; for a window of c/p^d 1/(1-d)."""
    assert rtt_unfairness(AIMD(), 1e-5).synchronized == pytest.approx(2.0, rel=1e-6)
    assert rtt_unfairness(CTCP(), 1e-5).synchronized == pytest.approx(5.0, rel=1e-6)
    assert rtt_unfairness(CUBIC(friendly=0), 1e-6).same_loss_rate == pytest.approx(0.25, rel=1e-6)
