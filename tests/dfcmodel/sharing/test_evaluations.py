"""The evaluation of RFC 9743 and its measures."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import DualPI2, evaluate_rfc9743
from dfcmodel.sharing.bottlenecks import Bottleneck
from dfcmodel.sharing.evaluations import PATHS, PathSet
from dfcmodel.sharing.rfc9743_measures import MEASURES, QUEUES, Bench
from responsefn import BBR, CUBIC, DCTCP, NewReno, Prague, WindowRule

# RFC 9743: the standard rule equals itself, sections are answered or named as not covered.

ONE = (PathSet("small", 500.0, 0.02, 10),)


def test_the_standard_rule_is_its_own_reference() -> None:
    found = evaluate_rfc9743(NewReno(), paths=ONE, duration=10.0, runs=1)
    np.testing.assert_array_equal(found.table["value"], found.table["newreno"])
    kept = found.table.query("measure == 'rate that NewReno keeps'")["value"].item()
    assert kept == pytest.approx(1.0, abs=0.15)  # two flows of one kind, in 10 s


def test_every_section_is_measured_or_named() -> None:
    found = evaluate_rfc9743(CUBIC(), paths=ONE, duration=10.0, runs=1)
    named = {*found.table["section"].str.split().str[0], *" ".join(found.not_covered).split()}
    for section in ("5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3",
                    "5.3", "6.2", "6.3", "6.4", "7.1", "7.2", "7.3", "7.4", "7.6", "7.7", "7.10",
                    "7.11"):  # fmt: skip
        assert section in named
    assert all(why in repr(found) for why in found.not_covered.values())
    assert found.to_xarray().sizes["row"] == len(found.table)
    assert "<img" in found._repr_html_()


def test_paths_are_a_range() -> None:
    assert {path.buffer / path.product for path in PATHS} >= {0.25, 1.0, 4.0}
    assert max(path.rtt for path in PATHS) >= 0.5
    assert min(path.rtt for path in PATHS) <= 1e-3


@pytest.mark.parametrize("rule", [BBR(), Prague(), DCTCP()], ids=repr)
def test_other_queues_and_senders(rule: WindowRule) -> None:
    """With L4S's queue, which marks; rules that answer marks are refused where nothing does."""
    found = evaluate_rfc9743(rule, paths=ONE, duration=5.0, runs=1, discipline=DualPI2())
    assert np.isfinite(found.table.query("unit != 'RTTs'")["value"]).all()
    assert {"7.1", "5.2.1"} <= {*found.table["section"].str.split().str[0]}
    if rule.signal == "mark":
        with pytest.raises(ValueError, match="answers congestion marks"):
            evaluate_rfc9743(rule, paths=ONE, duration=5.0, runs=1)
    with pytest.raises(TypeError, match="discipline = 'codel': must be a discipline"):
        evaluate_rfc9743(rule, paths=ONE, discipline="codel")  # type: ignore[arg-type]


def test_intervals_end_where_a_measure_does() -> None:
    found = evaluate_rfc9743(CUBIC(), paths=ONE, duration=5.0, runs=2).table
    shares = found.query(
        "measure.str.startswith('losses') or measure.str.startswith('utilisation')"
    )
    assert (shares["half_width"] > shares["value"]).any()  # which would reach below 0
    assert (shares["low"] >= 0.0).all()
    assert (shares["high"] <= np.maximum(1.0, shares["value"])).all()
    jain = found.query('measure == "Jain\'s index of 8 flows"')
    assert jain["low"].item() >= 1 / 8
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()
    assert (
        found.query("measure.str.startswith('RTT exponent')")["low"].item() < 0.0
    )  # it may be anything


# What is measured for RFC 9743: each queue of 7.1 keeps the delay below that of drop-tail.

AT = Bench(Bottleneck(1000.0, 0.04, 160, duration=20.0, warm_up=4.0), seed=1)


@pytest.mark.parametrize("name", QUEUES)
def test_managed_queues_are_shorter_and_carry_almost_as_much(name: str) -> None:
    ask = {measure: function for _, measure, _, function in MEASURES}
    assert ask[f"utilisation of 2 flows with {name}"](AT, NewReno()) > 0.85
    longest = ask["queueing delay of one flow"](AT, NewReno())
    assert ask[f"delay of 2 flows with {name}"](AT, NewReno()) < 0.5 * longest


def test_measures_have_names_of_their_own() -> None:
    names = [measure for _, measure, _, _ in MEASURES]
    assert len(set(names)) == len(names)
