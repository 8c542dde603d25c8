"""zheng2002: quotes of the runs, weights, and claims judged without their own quotes."""

from __future__ import annotations

import numpy as np
import pytest

from validation import table
from validation.inference import zheng2002
from validation.inference.designs import settings


def test_the_setting_of_the_bundled_pairs_has_their_ratios() -> None:
    """The same dumbbell by other starts: ratios of one run against the mean of ten, whose deviation is below .1."""
    setting = {"decrease": "1-b", "size": 1000, "low": 30, "rto": 0.2, "window": 10000}
    at = settings("zheng2002").index(setting)
    frame = table("zheng2002/pairs-8x8")
    frame = frame[(frame["reading"] == "1-b") & (frame["background"] == 0)]
    shares = {each.claim: each for each in zheng2002.quotes() if each.name == "share"}
    for claim, (pair, _, _) in zheng2002.PAIRS.items():
        own = frame[frame["pair"] == f"{pair[0]} with {pair[1]}"].groupby("kind")["rate"].mean()
        assert shares[claim].values[at] == pytest.approx(own[pair[0]] / own[pair[1]], rel=0.2)


def test_known_noise_is_that_of_the_bundled_seeds() -> None:
    """Ten seeds of nine pairs: a standard deviation of that many is known within 15 %."""
    frame = table("zheng2002/pairs-8x8").query("background == 0")
    spreads = []
    for (pair, _), runs in frame.groupby(["pair", "reading"]):
        rates = runs.groupby(["seed", "kind"])["rate"].mean().unstack()
        one, other = str(pair).split(" with ")
        spreads.append(np.log(rates[one] / rates[other]).std())
    assert np.sqrt(np.mean(np.square(spreads))) == pytest.approx(zheng2002.NOISE, rel=0.15)


def test_halves_are_reproduced_by_exchanged_parameters_alone() -> None:
    """The square-root law gives .61 and .55 for them, and 1.0 for what the paper defines."""
    every = settings("zheng2002")
    half = [each for each in zheng2002.quotes() if each.printed == 0.5]
    assert len(half) == 4
    wide = np.array([each["window"] == 10000 for each in every])
    means = {
        way: np.mean(
            [
                abs(each.residuals[wide & np.array([s["decrease"] == way for s in every])]).mean()
                for each in half
            ]
        )
        for way in ("1-b", "b", "exchanged")
    }
    assert means["exchanged"] < means["b"] < means["1-b"]


def test_what_is_inferred() -> None:
    found = zheng2002.inferred()
    assert found.runs == found.settings == 162
    assert found.used + found.aside == len(zheng2002.quotes())
    assert {weight.claim for weight in found.claims} == {
        "Z03",
        "Z04",
        "Z06",
        "Z07",
        "Z08",
        "Z09",
        "Z10",
    }
    for weight in found.claims:
        assert 0.0 <= weight.every <= min(weight.statements.values()) + 1e-12
