"""Closed forms and numerical cycles against the direct simulation; loss models; published tables."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import responsefn
from hopflow.units import mbps, to_mbps
from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    FAST,
    HSTCP,
    HTCP,
    PFTK,
    TFRC,
    Deterministic,
    Gilbert,
    Illinois,
    Independent,
    Mathis,
    NewReno,
    Relentless,
    Reno,
    Scalable,
    Vegas,
    catalogue,
    friendliness,
    independent_constant,
    match,
    simulate_curve,
    simulate_rule,
)
from responsefn.rules.highspeed_tcp import (
    DECREASES,
    WINDOWS,
    highspeed_decrease,
    highspeed_increase,
)
from responsefn.simulation.ratio_checks import EXACT, RTT, TOLERANCE, ratios

invert = functools.partial(responsefn.invert, unit_check=False)
"""Rates at p = 1e-12 are larger than any that is not taken for bit/s."""

PUBLISHED = Path(__file__).parents[2] / "validation" / "published"


def rows(name):
    with (PUBLISHED / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ------------------------------------------------ simulation


@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_formula_is_the_deterministic_simulation_inside_its_domain(rule):
    p = np.geomspace(*EXACT[rule], 5)
    rates = [run.rate for run in simulate_curve(rule, p, RTT, events=300)]
    assert rule.rate(p, RTT) / rates == pytest.approx(1, abs=TOLERANCE)


@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_blocks_of_acks_do_what_single_acks_do(rule):
    for p in (1e-4, 1e-3):
        single, blocks = (
            simulate_rule(rule, p, RTT, events=200, method=method) for method in ("acks", "blocks")
        )
        assert blocks.rate == pytest.approx(single.rate, rel=1e-3)
        assert blocks.mean_window == pytest.approx(single.mean_window, rel=1e-3)


@pytest.mark.parametrize("b", [0.5, 0.25, 0.125])
def test_constant_of_independent_loss(b):
    """Exact recursion of the window's square against the formula, and against the simulation."""
    rng = np.random.default_rng(7)
    y = np.zeros(200_000)
    for _ in range(round(20 / b)):
        y = (1 - b) ** 2 * y + rng.exponential(size=y.size)
    # E[Y^(-1/2)] over packets, Y seen anywhere: before a loss it is the sum with E_0
    inverse_root = np.mean(y**-0.5)  # the rate is 1/(R E[1/W]) with W = sqrt(2aY/p)
    error = 4 * np.std(y**-0.5) / np.sqrt(y.size) / inverse_root
    exact = 2 * np.sqrt(b / (2 - b)) / inverse_root
    assert exact == pytest.approx(independent_constant(b), rel=error)
    run = simulate_rule(AIMD(1, b), 1e-5, RTT, Independent(), events=20_000, rng=3)
    ratio = run.rate / AIMD(1, b).rate(1e-5, RTT)
    assert ratio == pytest.approx(
        independent_constant(b), abs=4 * run.half_width / run.rate * ratio
    )


@pytest.mark.parametrize("friendly", [0, 1])
def test_fast_convergence_of_cubic_comes_from_below(friendly):
    """Its stated bias: after n cycles (2 + beta)/3 / sqrt(2cn) at most, from the slope of the map."""
    rule, beta = CUBIC(fast_convergence=1, friendly=friendly), 0.7
    c = (1 - beta) * ((3 + beta) / 3) ** 3
    for events in (200, 2000):
        n = np.arange(events // 5, events) + 1
        most = np.mean((2 + beta) / 3 / np.sqrt(2 * c * n))
        short = 1 - simulate_rule(rule, 1e-5, RTT, events=events).rate / rule.rate(1e-5, RTT)
        assert 0.7 * most < short < most


def test_fast_convergence_of_bic_comes_from_below():
    p = np.array([1e-7, 1e-6, 1e-5, 1e-4, 1e-3])
    rates = [run.rate for run in simulate_curve(BIC(), p, RTT, events=200)]
    short = 1 - rates / BIC().rate(p, RTT)
    np.testing.assert_allclose(short, [0.004, 0.013, 0.05, 0.05, 0.05], atol=0.012)
    assert (short > 0).all()
    np.testing.assert_array_equal(BIC().rate(p, RTT), BIC(fast_convergence=0).rate(p, RTT))


def test_bic_is_its_cycle_packet_for_packet():
    """The closed form against a sum over the round trips that its docstring describes, finely cut."""
    for p in (1e-7, 1e-5, 1e-4, 2e-4, 1e-3):
        peak = float(BIC().peak_window(p))
        window, packets, rounds, step = 0.875 * peak, 0.0, 0.0, 1e-4
        while window < peak:
            growth = min(32.0, max(0.01, 0.5 * (peak - window)))
            part = min(step, (peak - window) / growth)
            packets += part * (window + 0.5 * part * growth)
            window += part * growth
            rounds += part
            if window >= peak * (1 - 1e-15):
                break
        assert packets * p == pytest.approx(1, rel=1e-3)
        assert packets / rounds == pytest.approx(float(BIC().mean_window(p)), rel=1e-3)


def test_side_by_side_is_one_by_one():
    """Twenty runs in sixteen lanes, and one by one: to the last bit, in the order of p."""
    p = [1e-2, 5e-3, 0.3, 8e-3]
    for losses, events in ((Deterministic(), 200), (Independent(), [16000, 500, 50, 2000])):
        runs = simulate_curve(CUBIC(), p, RTT, losses, events=events, rng=2)
        for n, run in enumerate(runs):
            one = events if isinstance(events, int) else events[n]
            alone = simulate_rule(CUBIC(), p[n], RTT, losses, events=one, rng=2)
            assert run.p == p[n]
            assert (run.rate, run.half_width) == (alone.rate, alone.half_width)
            np.testing.assert_array_equal(run.windows, alone.windows)


def test_loss_models():
    rng = np.random.default_rng(1)
    assert Deterministic().gaps(0.3, 1000, rng).sum() == round(1000 / 0.3)
    assert Independent().gaps(0.01, 200_000, rng).mean() == pytest.approx(100, rel=0.01)
    gaps = Gilbert(4.0).gaps(0.01, 400_000, rng)
    assert gaps.mean() == pytest.approx(100, rel=0.02)
    assert np.mean(gaps == 1) == pytest.approx(0.75, abs=0.01)
    bursts = simulate_rule(Reno(), 1e-3, RTT, Gilbert(4.0), events=20_000)
    assert bursts.loss_event_rate < 0.3e-3  # a burst is one loss event
    assert bursts.rate == pytest.approx(
        independent_constant(0.5) * Reno().rate(bursts.loss_event_rate, RTT), rel=0.05
    )


def test_queue():
    """A window beyond the path waits: the rate is the capacity, and a full buffer loses packets."""
    run = simulate_rule(Reno(), 1e-5, 0.04, bandwidth=1000.0, buffer=40.0, events=50)
    assert run.rate == pytest.approx(1000.0, rel=5e-3)
    assert run.peak_window == pytest.approx(80.0, abs=0.5)
    starved = simulate_rule(Reno(), 1e-5, 0.04, bandwidth=1000.0, buffer=0.0, events=50)
    assert starved.rate == pytest.approx(750.0, rel=5e-3)  # windows from 20 to 40
    held = Vegas().cycle(1e-6, 0.04, 1000.0)
    assert 42.0 <= float(held.mean_window) <= 44.5
    assert "±" in repr(run)
    assert run.plot().get_xlabel() == "time (s)"


def test_cycle_of_a_rule_with_a_formula_is_the_formula():
    for rule in (Reno(), CUBIC(friendly=0), Scalable(), CTCP()):
        cycle = rule.cycle([1e-6, 1e-5], RTT)
        np.testing.assert_allclose(cycle.rate, rule.rate([1e-6, 1e-5], RTT), rtol=2e-3)
        np.testing.assert_allclose(
            cycle.peak_window, rule.peak_window([1e-6, 1e-5], RTT), rtol=2e-3
        )
        assert np.all(cycle.packet_mean_window > cycle.mean_window)


@pytest.mark.parametrize("rule", [AIMD(1, 0.25), Scalable(), CTCP(), Illinois()], ids=repr)
def test_cycle_map_does_what_blocks_of_acks_do(rule):
    """Of the same losses; blocks of an eighth of a window are a second-order rule."""
    runs = [simulate_rule(rule, 1e-6, RTT, events=200, method=m) for m in ("cycles", "blocks")]
    for name in ("rate", "mean_window", "packet_mean_window", "peak_window"):
        assert getattr(runs[0], name) == pytest.approx(getattr(runs[1], name), rel=1e-6)
    runs = [
        simulate_rule(rule, 1e-5, RTT, Independent(), events=999, method=m, rng=5)
        for m in ("cycles", "blocks")
    ]
    np.testing.assert_allclose(runs[0].windows, runs[1].windows, rtol=0.02)
    assert runs[0].rate == pytest.approx(runs[1].rate, rel=0.005)


def test_rest_without_loss():
    """Vegas and FAST keep alpha packets in the queue; Vegas' last step is up to 1/16 of a packet."""
    C, R, p = 2000.0, 0.04, np.array([1e-10, 1e-7, 1e-5])
    fast = FAST(alpha=50.0).cycle(p, R, C)
    np.testing.assert_allclose(fast.peak_window, C * R + 50.0, rtol=1e-9)
    assert fast.mean_window[0] == pytest.approx(C * R + 50.0, rel=1e-6)
    vegas, W = Vegas().cycle(p, R, C), C * R + 2.0
    assert ((vegas.peak_window >= W) & (vegas.peak_window <= W + 1 / 16)).all()
    climb = R * (C * R - W / 2) - ((C * R) ** 2 - (W / 2) ** 2) / (2 * C)
    np.testing.assert_allclose(vegas.rate, 1 / (p * climb + 1 / C), rtol=1e-3)


def test_every_rule_has_rate_and_windows_in_its_domain():
    for rule in catalogue("rule").entries:
        low, high = rule.domain
        p = np.array([max(low, 1e-4), high])
        rate = rule.rate(p, 0.04, 2000.0)
        mean, peak, packet = (
            getattr(rule, name)(p, 0.04, 2000.0)
            for name in ("mean_window", "peak_window", "packet_mean_window")
        )
        assert np.isfinite([rate, mean, peak, packet]).all(), rule
        assert (rate > 0).all()
        cycle = rule.cycle(p, 0.04, 2000.0)
        # a cycle that never settles has its peaks averaged over losses, its window over time
        assert (peak >= 0.99 * cycle.mean_window)[cycle.cycles < 2048].all(), rule


def test_table_of_ratios():
    table = ratios((Reno(), Scalable(form="published"), HSTCP()), (1e-5, 1e-3), events=100)
    assert table.deterministic[0] == pytest.approx(1, abs=TOLERANCE)
    assert table.deterministic[1] == pytest.approx(8 * np.log(8 / 7), abs=1e-3)  # 0.08/p fails
    assert table.inside(Reno()).all()
    assert not table.inside(HSTCP()).any()
    assert table.markdown().count("**") == 4
    assert "±" in table.markdown(independent=True)
    assert "Reno()" in repr(table)


# ------------------------------------------------ the RFCs' tables

CONVENTION = 1.2 / np.sqrt(1.5)
"""RFC 3649 and RFC 9438 write 1.2/sqrt(p) for Reno, 2 % less than sqrt(3/2)."""


def rounds_to(value, text):
    """Whether a value is what the table prints, by rounding or by cutting to its digits."""
    digits = text.split("e")[0].replace(".", "").lstrip("0")
    scale = 10.0 ** (np.floor(np.log10(float(text))) - len(digits) + 1)
    return abs(value - float(text)) <= scale * (1 + 1e-9)


def highspeed_cycle_beyond_the_table(p):
    """Mean window of the cycle where b is that of the last row, and a = c w^0.8 with it.

    From (1-b) W to W a window of c w^0.8 per round trip carries (1 - (1-b)^1.2) W^1.2 / (1.2 c)
    packets, which are 1/p, in (1 - (1-b)^0.2) W^0.2 / (0.2 c) round trips.
    """
    b = highspeed_decrease(float(WINDOWS[-1]))
    c = 0.078 * 2.0 * b / (2.0 - b)
    peak = (1.2 * c / p / (1 - (1 - b) ** 1.2)) ** (1 / 1.2)
    assert (1 - b) * peak > WINDOWS[-1]
    return 0.2 * c / (p * (1 - (1 - b) ** 0.2) * peak**0.2)


def test_rfc3649_table():
    table = rows("rfc3649_appendixB.csv")
    assert tuple(int(row["w"]) for row in table) == WINDOWS
    assert tuple(int(row["b_times_256"]) for row in table) == DECREASES
    for row in table:
        w = float(row["w"])
        assert highspeed_increase(w) == pytest.approx(int(row["a_w"]), abs=0.05)  # whole numbers
        assert abs(highspeed_decrease(w) - float(row["b_w"])) <= 0.005, row
        assert int(256 * highspeed_decrease(w)) == int(row["b_times_256"]), row  # cut, not rounded


@pytest.mark.parametrize(
    "row", rows("rfc9438_avg_window.csv"), ids=lambda r: f"{r['rtt_s']}-{r['p']}"
)
def test_rfc9438_windows(row):
    p, rtt = float(row["p"]), float(row["rtt_s"])
    reno = CONVENTION * Reno().mean_window(p)
    assert rounds_to(reno, row["aimd"])
    assert abs(reno / Reno().mean_window(p) - 1) == pytest.approx(0.0202, abs=1e-4)
    published = max(reno, 0.12 / p**0.835) if p < 1e-3 else reno
    assert rounds_to(published, row["hstcp"])
    if (
        1e-7 <= p < 1e-3
    ):  # 0.12/p^0.835 is printed; through the two points of its Sect. 5 it is 1 % off
        assert HSTCP().mean_window(p) == pytest.approx(float(row["hstcp"]), rel=0.02)
    if p < 1e-7:  # the RFC's line ends at 83000 packets, and the printed value is on its extension
        assert HSTCP().mean_window(p) == pytest.approx(
            highspeed_cycle_beyond_the_table(p), rel=1e-6
        )
    for C in ("0.04", "0.4", "4"):
        cubic = CUBIC(C=float(C), friendly=0)
        window = max(reno, float(cubic.value_of(cubic.closed_form().mean_window, p=p, R=rtt)))
        assert rounds_to(window, row[f"cubic_C{C}"]), C
        assert CUBIC(C=float(C), form="published").mean_window(p, rtt) == pytest.approx(
            window, rel=0.0207
        )


@pytest.mark.parametrize("row", rows("rfc9438_required_p.csv"), ids=lambda r: r["throughput_mbps"])
def test_rfc9438_required_loss_rates(row):
    window = float(row["throughput_mbps"]) * 1e6 / 12000 * 0.1
    assert rounds_to(window, row["avg_w"])
    reno = CONVENTION**2 * float(invert(Reno(), window / 0.1, 0.1))
    assert rounds_to(reno, row["aimd_p"])
    fast = (0.12 / window) ** (1 / 0.835)
    assert rounds_to(max(reno, fast) if window > 38 else reno, row["hstcp_p"])
    cubic = float(invert(CUBIC(friendly=0), window / 0.1, 0.1))
    assert rounds_to(max(reno, cubic), row["cubic_p"])


# ------------------------------------------------ properties

CLOSED = [rule for rule in catalogue().entries if rule.monotone and rule.uses_closed_form(None)]
CLOSED = [rule for rule in CLOSED if getattr(rule, "capacity", "ignored") != "needed"]


def region(rule):
    """Return the ends of log10 p where the closed form holds, on a grid at three RTTs."""
    log_p = np.linspace(-10.0, -0.01, 2000)
    holds = rule.closed_form_holds(10.0**log_p, np.array([[1e-4], [0.01], [2.0]])).any(axis=0)
    return log_p[holds].min(), log_p[holds].max()


@pytest.mark.parametrize("rule", CLOSED, ids=repr)
@given(part=st.floats(0.0, 1.0), log_rtt=st.floats(-4.0, 0.3))
def test_monotone_scaling_and_round_trip(rule, part, log_rtt):
    low, high = region(rule)
    p, rtt = 10.0 ** (low + part * (high - low)), 10.0**log_rtt
    more = min(1.0, 1.01 * p)
    assume(rule.closed_form_holds(p, rtt) and rule.closed_form_holds(more, rtt))
    rate = rule.rate(p, rtt)
    assert rate >= rule.rate(more, rtt)
    found = invert(rule, rate, rtt)
    assert found == pytest.approx(p, rel=1e-12)
    if not isinstance(rule, CUBIC):  # CUBIC's window depends on the RTT
        assert rule.rate(p, 2 * rtt) == pytest.approx(rate / 2, rel=1e-12)


TIMED = [
    lambda k: Reno(),
    lambda k: CUBIC(C=0.4 / k**3),
    lambda k: CTCP(),
    lambda k: TFRC(rto=0.3 * k),
    lambda k: PFTK(rto=0.3 * k),
]


@pytest.mark.parametrize("rule", TIMED, ids=lambda rule: repr(rule(1.0)))
@given(log_p=st.floats(-8.0, -0.1), log_k=st.floats(-2.0, 1.0))
def test_the_unit_of_time_does_not_matter(rule, log_p, log_k):
    p, k = 10.0**log_p, 10.0**log_k
    assert k * rule(k).rate(p, 0.2 * k) == pytest.approx(rule(1.0).rate(p, 0.2), rel=1e-12)


@pytest.mark.parametrize("rule", [Reno(), TFRC()], ids=repr)
@given(log_p=st.floats(-8.0, -0.8), size=st.floats(40.0, 9000.0))
def test_the_unit_of_data_does_not_matter(rule, log_p, size):
    """Up to p = 1/6: Reno's cycles of fewer packets may alternate, and then have no inverse."""
    p = 10.0**log_p
    bits = to_mbps(rule.rate(p, 0.1), packet_size=size)
    assert invert(rule, mbps(bits, packet_size=size), 0.1) == pytest.approx(p, rel=1e-12)


@given(b=st.floats(0.05, 0.9), log_p=st.floats(-8.0, -2.0))
def test_matched_pairs_are_friendly(b, log_p):
    p = 10.0**log_p
    matched = match(AIMD(b=b), to=Reno(), at=p)
    assert matched.a == pytest.approx(3 * b / (2 - b), rel=1e-10)
    assert friendliness(matched, p, 0.1) == pytest.approx(1, rel=1e-10)


def test_elasticity():
    p = np.array([1e-6, 1e-4])
    np.testing.assert_allclose(Reno().elasticity(p, 0.1), -0.5, rtol=1e-12)
    np.testing.assert_allclose(CUBIC(friendly=0).elasticity(p, 0.1), -0.75, rtol=1e-12)
    np.testing.assert_allclose(Relentless().elasticity(p, 0.1), -1.0, rtol=1e-12)
    np.testing.assert_allclose(CTCP().elasticity(p, 0.1), -0.8, rtol=1e-12)
    np.testing.assert_allclose(HTCP().elasticity(p, 0.1), -0.75, atol=0.1)
    assert TFRC().elasticity(0.3, 0.1) < -2


# ------------------------------------------------ where published forms fail


def test_published_forms_that_fail():
    assert Scalable(form="published").rate(1e-5, 0.1) / Scalable().rate(1e-5, 0.1) == (
        pytest.approx(1.068, abs=1e-3)
    )
    assert AIMD(32, 0.125).rate(1e-3, 0.1) / BIC().rate(1e-3, 0.1) > 2
    assert Mathis().rate(0.05, 0.1) / PFTK().rate(0.05, 0.1) > 1.4
    assert Mathis().rate(1e-4, 0.1) == pytest.approx(Reno().rate(1e-4, 0.1), rel=1e-14)
    misprint = TFRC(form="zheng2002")
    for p, excess in ((0.01, 0.08), (0.05, 0.4), (0.1, 1.0)):
        assert misprint.rate(p, 0.1) / TFRC().rate(p, 0.1) - 1 > excess


def test_catalogue():
    table = catalogue()
    names = {type(entry).__name__ for entry in table.entries}
    assert names == {
        "Tahoe",
        "Reno",
        "NewReno",
        "AIMD",
        "Vegas",
        "HSTCP",
        "Scalable",
        "BIC",
        "CUBIC",
        "HTCP",
        "Illinois",
        "Westwood",
        "ARENO",
        "CTCP",
        "FAST",
        "Fusion",
        "Relentless",
        "DCTCP",
        "LinuxBIC",
        "LinuxHTCP",
        "LinuxIllinois",
        "LinuxScalable",
        "LinuxVegas",
        "WestwoodPlus",
        "TFRC",
        "PFTK",
        "Mathis",
    }
    assert all("source: " in entry.cite() for entry in table.entries)
    assert {type(entry).__name__ for entry in catalogue("law").entries} == {
        "TFRC",
        "PFTK",
        "Mathis",
    }
    page = table._repr_html_()
    assert page.count("<tr>") == len(table.entries) + 1
    assert r"\sqrt" in page
    assert "numerical cycle" in repr(table)
    assert NewReno().cite() != Reno().cite()
