"""Pairs of flows at one setting: what is printed, stated links, equal flows."""

from __future__ import annotations

import pytest

from validation import table
from validation.inference.designs import settings
from validation.inference.rule_pairs import (
    LONG_RTTS,
    NAMES,
    PAIRS,
    Bottleneck,
    experiments,
    rules_of,
    throughputs,
)

SETTING = settings("kaneko2007")[0]


def test_experiments_are_those_of_three_slides() -> None:
    every = list(experiments(SETTING))
    assert len(every) == len(PAIRS) + len(NAMES) - 1 + len(LONG_RTTS) * len(NAMES) == 48
    assert every[0][2] == Bottleneck(100e6, (0.0817, 0.0817), 340, 1e-6)
    assert {link.bits for name, _, link in every if name == "small"} == {30e6}


def test_rules_have_the_values_of_the_setting() -> None:
    rules = rules_of(SETTING)
    assert tuple(rules) == NAMES
    assert rules["CUBIC"].beta == SETTING["cubic_beta"]
    assert rules["BIC"].b == SETTING["bic_b"]


def test_a_bundled_row_is_found_again() -> None:
    """The last experiment but six, 20 s at 30 Mb/s: the same seed gives the same packets."""
    n, (name, pair, link) = next(
        (n, each)
        for n, each in enumerate(experiments(SETTING))
        if each[:2] == ("small", ("CUBIC", "Reno"))
    )
    rows = table("kaneko2007/unstated-parameters", "pairs")
    (row,) = rows[
        (rows["setting"] == 1) & (rows["experiment"] == name) & (rows["first"] == pair[0])
    ].to_dict("records")
    found = throughputs(SETTING, pair, link, seed=100 + n)
    assert found == pytest.approx((row["goodput_first"], row["goodput_second"]), abs=1e-4)
