"""Closed forms in symbols and as numbers."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

from responsefn import AIMD, PFTK, TFRC, NewReno, Reno, Tahoe
from tests.surface import for_each

# The generated code against 50-digit evaluations of the printed or defining equations.


a, b = sp.symbols("a b", positive=True)
LOSS_RATES = np.logspace(-10, 0, 61)
RTT = 0.048
PAIRS = [(1.0, 0.5), (2.0, 1.0), (3 / 7, 0.25), (0.2, 0.125), (32.0, 0.9), (0.01, 0.5), (1.0, 1e-3)]
TIMEOUTS = [None, 0.2, 3.0]


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def aimd_packets_and_rounds(form, window, increase, decrease):
    """Packets and round trips of one cycle with this peak window."""
    rounds = decrease * window / increase
    if form == "sqrt":
        return decrease * (2 - decrease) / (2 * increase) * window**2, rounds
    packets = (2 - decrease) / 2 * window * (rounds + 1)
    if form == "precise":
        return packets, rounds + 1
    return packets + (1 - decrease) * window, rounds + 2


def root_of_packets(packets, loss_rate):
    """Solve packets(W) = 1/p by a bracketed root search."""
    top = mp.mpf(2)
    while packets(top) < 1 / loss_rate:
        top *= 2
    log_root = mp.findroot(
        lambda x: mp.log(packets(mp.exp(x)) * loss_rate),
        (mp.log(top) - 60, mp.log(top)),
        solver="anderson",
        tol=mp.mpf(10) ** -45,
        maxsteps=500,
    )
    return mp.exp(log_root)


def aimd_peak(form, loss_rate, increase, decrease):
    return root_of_packets(lambda window: aimd_packets_and_rounds(form, window, increase, decrease)[0], loss_rate)


def aimd_rate(form, loss_rate, rtt, increase, decrease):
    window = aimd_peak(form, loss_rate, increase, decrease)
    packets, rounds = aimd_packets_and_rounds(form, window, increase, decrease)
    return packets / (rounds * rtt)


def tahoe_peak(loss_rate):
    def packets(window):
        threshold = max(mp.mpf(2), window / 2)
        return threshold - 1 + (window**2 - threshold**2) / 2

    low, high = mp.mpf(2), mp.mpf(2) / mp.sqrt(loss_rate) + 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if packets(middle) < 1 / loss_rate else (low, middle)
    return high


def tahoe_rate(loss_rate, rtt):
    window = tahoe_peak(loss_rate)
    threshold = max(mp.mpf(2), window / 2)
    return 1 / (loss_rate * (mp.log(threshold, 2) + window - threshold) * rtt)


def zheng_printed(loss_rate, rtt, increase, decrease):
    """zheng2002, Sect. 2.1, the precise version, term by term as printed."""
    root = loss_rate * (decrease - 2) * increase
    root *= loss_rate * decrease * increase - 8 * decrease - 2 * loss_rate * increase
    top = loss_rate * increase * (decrease - 2) + mp.sqrt(root)
    return top / (4 * loss_rate * decrease * rtt)


def tfrc_rate(loss_rate, rtt, per_ack, rto):
    timeout = rto * (3 * mp.sqrt(3 * per_ack * loss_rate / mp.mpf(8)) * loss_rate * (1 + 32 * loss_rate**2))
    return 1 / (rtt * mp.sqrt(2 * per_ack * loss_rate / mp.mpf(3)) + timeout)


def pftk_approximate(loss_rate, rtt, per_ack, rto):
    share = min(mp.mpf(1), 3 * mp.sqrt(3 * per_ack * loss_rate / mp.mpf(8)))
    timeout = rto * share * loss_rate * (1 + 32 * loss_rate**2)
    return 1 / (rtt * mp.sqrt(2 * per_ack * loss_rate / mp.mpf(3)) + timeout)


def pftk_full(loss_rate, rtt, per_ack, rto):
    """As printed, with enough digits to carry p = 1 - 1e-60 in the place of p = 1."""
    with mp.workdps(250):
        x, per_ack = mp.mpf(loss_rate), mp.mpf(per_ack)
        x = x if x < 1 else 1 - mp.mpf(10) ** -60
        offset = (2 + per_ack) / (3 * per_ack)
        w = offset + mp.sqrt(8 * (1 - x) / (3 * per_ack * x) + offset**2)
        kept = 1 - x
        q = (1 - kept**3) * (1 + kept**3 * (1 - kept ** (w - 3))) / (1 - kept**w)
        q = min(mp.mpf(1), q)
        f = 1 + x + 2 * x**2 + 4 * x**3 + 8 * x**4 + 16 * x**5 + 32 * x**6
        packets = kept / x + w + q / kept
        return packets / (rtt * (per_ack / 2 * w + 1) + q * rto * f / kept)


def exact(*values):
    return [mp.mpf(value) for value in values]


def assert_close(computed, reference, tolerance=1e-12):
    errors = [abs(mp.mpf(float(x)) / y - 1) for x, y in zip(computed, reference, strict=True)]
    assert max(errors) < tolerance


def held(rule, points=LOSS_RATES):
    """Loss event rates at which the closed form is the response; elsewhere it is the cycle."""
    points = points[rule.closed_form_holds(points, RTT)]
    assert points.size > len(LOSS_RATES) / 3
    return points


@pytest.mark.parametrize("form", ["sqrt", "precise", "recovery"])
@pytest.mark.parametrize(("increase", "decrease"), PAIRS)
def test_aimd_is_its_cycle(form, increase, decrease):
    rule = AIMD(increase, decrease, form)
    values = exact(RTT, increase, decrease)
    if decrease == 1.0 and form == "sqrt":  # every cycle begins in slow start
        assert not rule.closed_form_holds(LOSS_RATES, RTT).any()
        return
    points = held(rule)
    assert_close(rule.rate(points, RTT), [aimd_rate(form, mp.mpf(x), *values) for x in points])
    peaks = [aimd_peak(form, mp.mpf(x), *values[1:]) for x in points]
    assert_close(rule.peak_window(points), peaks)


@for_each(PAIRS)
def test_precise_form_is_the_one_that_zheng2002_prints(increase, decrease):
    values = exact(RTT, increase, decrease)
    assert_close(
        AIMD(increase, decrease, "precise").rate(LOSS_RATES, RTT),
        [zheng_printed(mp.mpf(x), *values) for x in LOSS_RATES],
    )


@pytest.mark.parametrize("form", ["sqrt", "precise", "recovery"])
def test_reno_has_the_response_of_aimd_one_half(form):
    for rule in (Reno(form), NewReno(form)):
        np.testing.assert_allclose(rule.rate(LOSS_RATES, RTT), AIMD(1, 0.5, form).rate(LOSS_RATES, RTT), rtol=1e-14)
        np.testing.assert_allclose(rule.peak_window(LOSS_RATES), AIMD(1, 0.5, form).peak_window(LOSS_RATES), rtol=1e-14)


def test_tahoe_is_its_cycle():
    points = np.append(held(Tahoe()), np.nextafter(1 / 7, 0) * (1 - 1e-12))
    assert_close(Tahoe().rate(points, RTT), [tahoe_rate(mp.mpf(x), mp.mpf(RTT)) for x in points])
    assert_close(Tahoe().peak_window(points), [tahoe_peak(mp.mpf(x)) for x in points])


LAWS = [
    (TFRC, {}, tfrc_rate),
    (PFTK, {"form": "full"}, pftk_full),
    (PFTK, {"form": "approximate"}, pftk_approximate),
]


@pytest.mark.parametrize(("law", "options", "reference"), LAWS)
@pytest.mark.parametrize("per_ack", [1, 2, 4])
@pytest.mark.parametrize("rto", TIMEOUTS)
def test_laws_are_their_printed_equations(law, options, reference, per_ack, rto):
    timeout = 4 * mp.mpf(RTT) if rto is None else mp.mpf(rto)
    assert_close(
        law(per_ack, rto, **options).rate(LOSS_RATES, RTT),
        [reference(mp.mpf(x), mp.mpf(RTT), per_ack, timeout) for x in LOSS_RATES],
    )


ALL = [
    *(AIMD(0.2, 0.125, form) for form in ("sqrt", "precise", "recovery")),
    *(Reno(form) for form in ("sqrt", "precise", "recovery")),
    *(NewReno(form) for form in ("sqrt", "precise", "recovery")),
    Tahoe(),
    *(TFRC(per_ack, rto) for per_ack, rto in itertools.product((1, 2), TIMEOUTS)),
    *(PFTK(per_ack, rto, form) for per_ack, rto, form in itertools.product((1, 2), TIMEOUTS, ("full", "approximate"))),
]


@for_each(ALL)
@pytest.mark.slow
def test_kernel_agrees_with_its_expression_at_fifty_digits(rule):
    expression = rule.expression
    symbols = sorted(expression.free_symbols, key=str)
    many_digits = sp.lambdify(symbols, expression, modules="mpmath")
    points = held(rule, LOSS_RATES[:-1])
    reference = []
    for x in points:
        values = {"p": mp.mpf(x), "R": mp.mpf(RTT)} | {
            name: mp.mpf(float(value)) for name, value in rule.bindings(RTT).items()
        }
        reference.append(many_digits(*(values[str(symbol)] for symbol in symbols)))
    assert_close(rule.rate(points, RTT), reference)


@for_each(ALL)
def test_rate_falls_with_p_and_mean_window_is_rate_times_rtt(rule):
    points = np.concatenate([np.logspace(-12, 0, 4001), 1 - np.logspace(-12, -2, 200)])
    points = held(rule, np.unique(points))
    rate = rule.rate(points, RTT)
    assert np.all(np.isfinite(rate))
    assert np.all(rate > 0)
    assert np.all(np.diff(rate) < 0)
    np.testing.assert_allclose(rule.mean_window(points, RTT), rate * RTT, rtol=1e-14)


@pytest.mark.parametrize("form", ["precise", "recovery"])
@pytest.mark.parametrize(("increase", "decrease"), PAIRS)
def test_corrected_forms_tend_to_the_square_root_with_order_one_half(form, increase, decrease):
    points = np.logspace(-12, -9, 4) * increase * decrease
    ratio = AIMD(increase, decrease, form).rate(points, RTT) / AIMD(increase, decrease).rate(points, RTT)
    order = np.diff(np.log(1 - ratio)) / np.diff(np.log(points))
    np.testing.assert_allclose(order, 0.5, atol=2e-3)


@pytest.mark.slow
def test_order_of_the_forms():
    """sqrt > precise > recovery: each adds time in which less is sent than the mean."""
    sqrt, precise, recovery = (AIMD(form=form) for form in ("sqrt", "precise", "recovery"))
    assert np.all(sqrt.rate(LOSS_RATES, RTT) > precise.rate(LOSS_RATES, RTT))
    assert np.all(precise.rate(LOSS_RATES, RTT) > recovery.rate(LOSS_RATES, RTT))


@pytest.mark.parametrize("decrease", [1 / 8, 1 / 4, 1 / 2, 0.7, 0.99])
def test_a_equal_3b_over_2_minus_b_is_friendly(decrease):
    friendly = AIMD(3 * decrease / (2 - decrease), decrease)
    p = LOSS_RATES[friendly.closed_form_holds(LOSS_RATES, RTT)]
    p = p[Reno().closed_form_holds(p, RTT)]
    np.testing.assert_allclose(friendly.rate(p, RTT), Reno().rate(p, RTT), rtol=1e-14)
    ratio = (AIMD().expression.subs(a, 3 * b / (2 - b)) / Reno().expression) ** 2
    assert sp.simplify(ratio) == 1


@for_each(ALL)
def test_numbers_give_floats_and_arrays_broadcast(rule):
    assert type(rule.rate(0.01, 0.1)) is float
    assert type(rule.rate(np.float64(0.01), np.array(0.1))) is float
    assert type(rule.mean_window(0.01, 0.1)) is float
    grid = rule.rate(np.array([[1e-4], [0.1], [1.0]]), [0.01, 0.1])
    assert grid.shape == (3, 2)
    assert grid.dtype == np.float64
    assert grid[1, 1] == pytest.approx(rule.rate(0.1, 0.1), rel=1e-15)
    assert rule.rate(np.array([0.5], dtype=np.float32), 1).dtype == np.float64
    assert rule.rate([], 0.1).shape == (0,)


@for_each([rule for rule in ALL if hasattr(rule, "peak_window")])
def test_window_of_a_rule_does_not_depend_on_the_rtt(rule):
    points = np.array([1e-4, 0.1])
    assert type(rule.mean_window(0.01)) is float
    assert type(rule.peak_window(0.01)) is float
    np.testing.assert_allclose(rule.mean_window(points), rule.mean_window(points, rtt=0.3), rtol=1e-15)
    assert rule.mean_window(0.01, rtt=[0.1, 0.2, 0.3]).shape == (3,)
    assert np.all(rule.peak_window(LOSS_RATES) > rule.mean_window(LOSS_RATES))


# Forms against each other, in symbols.


R, T, p = sp.symbols("R T p", positive=True)


def test_precise_form_is_the_exact_inverse_of_p_of_w():
    formula = AIMD(form="precise").formula()
    window = formula.peak_window
    p_of_w = 2 * a / (b * (2 - b) * window**2 + a * (2 - b) * window)
    assert sp.simplify(p_of_w - p) == 0
    assert sp.simplify(formula.rate - (2 - b) * window / (2 * R)) == 0


def test_square_root_form_in_symbols():
    squared = AIMD().expression ** 2
    assert sp.simplify(squared - a * (2 - b) / (2 * b * p) / R**2) == 0
    assert sp.simplify(Reno().expression - sp.sqrt(sp.Rational(3, 2) / p) / R) == 0


@pytest.mark.parametrize("form", ["sqrt", "precise"])
def test_closed_inverse_undoes_the_rate_in_symbols(form):
    formula = AIMD(form=form).formula()
    assert sp.simplify(formula.inverse.subs(T, formula.rate) - p) == 0
