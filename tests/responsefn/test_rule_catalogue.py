"""The catalogue of rules and their parameters."""

from __future__ import annotations

import json

import numpy as np
import pytest

import responsefn
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
    NS2Vegas,
    Reno,
    Scalable,
    Tahoe,
    Vegas,
    catalogue,
    independent_constant,
    simulate_curve,
    simulate_rule,
)
from tests.surface import invoke


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
        "DCQCN",
        "DCTCP",
        "TIMELY",
        "PatchedTIMELY",
        "HPCC",
        "FixedRate",
        "BBR",
        "BBRv1",
        "LEDBAT",
        "Copa",
        "Swift",
        "Vivace",
        "Allegro",
        "NSCC",
        "Prague",
        "LinuxBIC",
        "LinuxCUBIC",
        "LinuxHSTCP",
        "LinuxHTCP",
        "LinuxIllinois",
        "LinuxScalable",
        "LinuxVegas",
        "LinuxCDG",
        "LinuxHybla",
        "LinuxLP",
        "LinuxNV",
        "LinuxVeno",
        "LinuxYeAH",
        "QUICNewReno",
        "ChromiumCUBIC",
        "ABE",
        "LEDBATpp",
        "SEARCH",
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


def test_rules_of_operating_systems_repair_losses_by_sack() -> None:
    """Linux and Windows have SACK switched on; RFC 6675 is one of RFC 9438's recoveries. Others say so themselves."""
    kinds = {type(entry) for entry in catalogue().entries if hasattr(entry, "recovery")} | {
        NS2Vegas
    }
    others = {kind.__name__: kind.recovery for kind in kinds if kind.recovery != "sack"}
    assert others == {
        "Tahoe": "tahoe", "Reno": "reno",
        **dict.fromkeys(("NewReno", "AIMD", "Vegas", "NS2Vegas", "Westwood", "FAST", "ARENO", "Fusion"), "newreno"),
    }  # fmt: skip
    of_systems = {
        "CUBIC",
        "BIC",
        "HSTCP",
        "Scalable",
        "HTCP",
        "Illinois",
        "CTCP",
        "DCTCP",
        "LinuxCUBIC",
        "LinuxVegas",
    }
    assert of_systems <= {kind.__name__ for kind in kinds}


def test_rules_are_found_by_the_names_of_their_classes() -> None:
    for entry in catalogue().entries:
        name = type(entry).__name__
        command = ["response", name.lower(), "--p", "0.01", "--rtt", "40ms", "--bandwidth", "1Mbps"]
        found = invoke([*command, "--json"])
        if found.exit_code == 0:
            assert list(json.loads(found.stdout)["rate"]) == [repr(type(entry)())], name
        else:
            assert str(found.exception).startswith(repr(type(entry)())), name
    with pytest.raises(ValueError, match=r"^rule = 'rno': .*such as 'reno'"):
        invoke(["response", "rno"], catch_exceptions=False)


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


def test_public_names():
    assert set(responsefn.__all__) <= set(dir(responsefn))
    for name in ("AIMD", "Reno", "NewReno", "Tahoe", "TFRC", "PFTK", "invert", "curve"):
        assert name in responsefn.__all__
        assert getattr(responsefn, name).__doc__
