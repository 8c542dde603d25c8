"""Parameters of rules and laws are refused by name, value and what is allowed."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    DCTCP,
    FAST,
    HSTCP,
    HTCP,
    TFRC,
    Gilbert,
    NewReno,
    Reno,
    Scalable,
    Tahoe,
    Vegas,
    independent_constant,
    simulate_curve,
    simulate_rule,
)

BUILDS = [
    (lambda: CUBIC(C=0.0), "^C = 0"),
    (lambda: CUBIC(beta=1.0), "^beta = 1"),
    (lambda: BIC(b=1.1), "^b = 1.1.* <= 1"),
    (lambda: CTCP(b=0.0), "^b = 0.*> 0 and <= 1"),
    (lambda: Scalable(b=-1.0), "^b = -1.*> 0 and <= 1"),
    (lambda: CUBIC(fast_convergence=2), "^fast_convergence = 2"),
    (lambda: Scalable(a=-1.0), "^a = -1"),
    (lambda: Scalable(form="other"), "^form = 'other'"),
    (lambda: HSTCP(form="other"), "^form = 'other'"),
    (lambda: BIC(b=0.0), "^b = 0"),
    (lambda: Vegas(alpha=3.0, beta=1.0), "^beta = 1"),
    (lambda: CTCP(k=1.0), "^k = 1"),
    (lambda: DCTCP(g=0.0), "^g = 0"),
    (lambda: FAST(gamma=2.0), "^gamma = 2"),
    (lambda: TFRC(form="rfc"), "^form = 'rfc'"),
    (lambda: Gilbert(0.5), "^burst = 0.5"),
    (lambda: Gilbert(9.0).gaps(0.95, 10, np.random.default_rng(0)), "^p = 0.95"),
    (lambda: simulate_rule(Reno(), 0.0, 0.1), "^p = 0"),
    (lambda: simulate_rule(Reno(), 0.1, 0.1, events=3), "^events = 3"),
    (lambda: simulate_rule(Reno(), [0.1, 0.2], 0.1), r"^p = \[0.1, 0.2\]: one number"),
    (lambda: simulate_rule(Reno(), 0.1, 48.0), r"^rtt = 48.*unit_check=False"),
    (lambda: simulate_curve(Reno(), [[0.1]], 0.1), r"^p has shape \(1, 1\)"),
    (lambda: simulate_curve(Reno(), [0.1, 0.0], 0.1), "^p = 0"),
    (
        lambda: simulate_curve(Reno(), [0.1, 0.2, 0.3], 0.1, events=[99, 99]),
        r"^events = \(99, 99\)",
    ),
    (lambda: simulate_rule(Reno(), 0.1, 0.1, method="fast"), "^method = 'fast'"),
    (lambda: simulate_rule(Reno(), 0.1, 0.1, buffer=3.0), "^bandwidth is missing"),
    (lambda: simulate_rule(HTCP(), 0.1, 0.1, method="cycles"), "^method = 'cycles': .*HTCP"),
    (lambda: simulate_rule(Reno(), 0.1, 0.1, Gilbert(), method="cycles"), "^method = 'cycles'"),
]


@pytest.mark.parametrize(("build", "match"), BUILDS, ids=range(len(BUILDS)))
def test_parameters_of_the_other_rules(build, match):
    with pytest.raises(ValueError, match=match):
        build()


@pytest.mark.parametrize("a", [0.0, -1.0, np.nan, np.inf, "one", "1.0", None])
def test_increase(a):
    with pytest.raises(ValueError, match=r"^a = .*(> 0|one number is expected)"):
        AIMD(a=a)


@pytest.mark.parametrize("b", [0.0, 1.0001, -0.5, 1.5, np.nan, "half", None])
def test_decrease(b):
    with pytest.raises(ValueError, match=r"^b = .*(> 0 and <= 1|one number is expected)"):
        AIMD(b=b)
    with pytest.raises(ValueError, match=r"^b = "):
        AIMD().replace(b=b)


@pytest.mark.parametrize("rule", [AIMD, Reno, NewReno])
def test_form(rule):
    with pytest.raises(ValueError, match=r"^form = 'exact'.*'sqrt', 'precise', 'recovery'"):
        rule(form="exact")


@pytest.mark.parametrize(
    "parameters", [{"a": [1.0, 2.0]}, {"a": np.ones(1)}, {"b": (0.5, 0.25)}], ids=repr
)
def test_parameters_are_single_numbers(parameters):
    with pytest.raises(ValueError, match=r"one number"):
        AIMD(**parameters)


def test_unknown_parameters_are_named():
    with pytest.raises(TypeError, match=r"AIMD: .*'beta'.*a, b, form"):
        AIMD(beta=0.5)
    with pytest.raises(TypeError, match=r"Tahoe"):
        Tahoe(1.0)


@pytest.mark.parametrize(
    "ask",
    [lambda: BIC(smallest=5e-324).rate(1e-3, 0.1), lambda: independent_constant(1e-320)],
    ids=["BIC", "constant"],
)
def test_numbers_that_overflow_are_named(ask):
    with pytest.raises(ValueError, match=r"^(smallest|b) = "):
        ask()
