"""``hopflow response``: units, the inverse, pictures, and bad input."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from hopflow import mbps
from responsefn import AIMD, CUBIC, PFTK, Reno, Vegas, invert
from responsefn.rule_catalogue import rule_named
from tests.surface import for_each, invoke


def call(*arguments: object):
    return invoke(["response", *map(str, arguments)], catch_exceptions=False)


def test_units_and_bare_numbers_are_the_same() -> None:
    options = ["vegas", "--p", 1e-3]
    rate = Vegas().rate(1e-3, 0.04, 1000.0)  # compiled before the first call, which would say so
    said = call(*options, "--rtt", "40ms", "--bandwidth", "12 Mb/s").output
    assert said == call(*options, "--rtt", 0.04, "--bandwidth", 1000).output
    assert f"{rate:.5g} /s" in said


def test_rates_are_printed_with_what_they_are_for() -> None:
    """Also with the defaults: whoever gives neither the round-trip time nor the packet size sees both."""
    rules = ["reno", "cubic", "tfrc", "bic"]
    assert call("reno", "--p", 1e-3).output.endswith("\nat a round-trip time of 0.1 s; Mb/s in packets of 1500 bytes\n")
    options = ["--p", 1e-3, "--rtt", "40ms", "--packet-size", 1460, "--bandwidth", 1000]
    end = "\nat a round-trip time of 0.04 s, 1000 packets/s; Mb/s in packets of 1460 bytes\n"
    assert call("vegas", *options).output.endswith(end)
    assert call(*rules, "--p", 1e-3).output.endswith("\nat a round-trip time of 0.1 s\n")


def test_inverse() -> None:
    result = call("--invert", "RENO", "--rate", "1Mbps", "--rtt", "100 ms")
    assert f"p = {float(invert(Reno(), mbps(1), 0.1)):.6g}" in result.output


def test_catalogue_and_picture(tmp_path) -> None:
    assert "CUBIC" in call().output
    file = tmp_path / "curves.png"
    assert call("reno", "--plot", file).exit_code == 0
    with Image.open(file) as picture:
        assert picture.width > 500


def test_json() -> None:
    rows = json.loads(call("--json").output)
    assert {"Reno()", "CUBIC()"} <= {row["name"] for row in rows}
    found = json.loads(call("reno", "--p", 1e-3, "--rtt", "40ms", "--json").output)
    rate = {"Reno()": [Reno().rate(1e-3, 0.04)]}
    inside = {"Reno()": [True]}
    assert found == {"rtt": 0.04, "p": [1e-3], "rate": rate, "in_domain": inside}
    inverse = json.loads(call("--invert", "reno", "--rate", "1Mbps", "--json").output)
    assert inverse["p"] == invert(Reno(), mbps(1), 0.1)


def test_what_is_outside_of_a_domain_has_a_star() -> None:
    """Reno's is p <= 0.02; in columns, in rows, in JSON and for the inverse."""
    for rules in (["reno"], ["reno", "tfrc", "cubic", "bic"]):
        output = call(*rules, "--p", "1%", "--p", 0.1).output
        assert "* outside of the domain of Reno(), p <= 0.02" in output
        rows = [line for line in output.splitlines() if not line.startswith("*")]
        at_star = [row for row in rows if "*" in row]
        assert at_star
        assert all(f"{Reno().rate(0.1, 0.1):.4g}" in row for row in at_star)
        assert f"{Reno().rate(0.01, 0.1):.4g}*" not in output
    assert "*" not in call("reno", "--p", 0.01).output
    found = json.loads(call("reno", "--p", 0.01, "--p", 0.1, "--json").output)
    assert found["in_domain"] == {"Reno()": [True, False]}
    far = call("--invert", "reno", "--rate", 30, "--rtt", "100ms")
    assert "outside of its domain, p <= 0.02" in far.output
    assert json.loads(call("--invert", "reno", "--rate", 30, "--json").output)["in_domain"] is False


def test_many_rules_are_rows() -> None:
    lines = call("reno", "cubic", "bic", "htcp", "--p", 1e-4, "--p", 1e-3).output.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["Reno()", "CUBIC()", "BIC()", "HTCP()"]
    assert max(map(len, lines)) < 80


@for_each([
    ("AIMD(form='precise')", AIMD(form="precise")),
    (" pftk (2, rto='200ms', form='approximate')", PFTK(2, rto=0.2, form="approximate")),
    ("cubic()", CUBIC()),
])  # fmt: skip
def test_rules_have_the_parameters_with_which_the_catalogue_prints_them(name: str, rule: AIMD | PFTK | CUBIC) -> None:
    assert rule_named("rule", name) == rule
    rates = json.loads(call(name, "--p", 0.001, "--rtt", "50ms", "--json").output)["rate"]
    assert rates == {repr(rule): [pytest.approx(rule.rate(1e-3, 0.05), rel=1e-12)]}


@for_each([
    ("pftk(rto=200ms)", "must be a name, or one with numbers and strings in brackets"),
    ("pftk()()", "must be a name, or one with numbers and strings in brackets"),
    ("pftk(**{'rto': 1})", "must be a name, or one with numbers and strings in brackets"),
    ("pftk(open('x'))", "must be a name, or one with numbers and strings in brackets"),
    ("pftk(wmax=64)", r"unexpected keyword argument 'wmax'; its parameters: packets_per_ack, rto, form"),
    ("aimd(a=-1)", "a = -1: must be a finite number > 0"),
    ("padhye(2)", "must be one of"),
])  # fmt: skip
def test_parameters_of_rules_that_are_no_values_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rule_named("rule", name)
