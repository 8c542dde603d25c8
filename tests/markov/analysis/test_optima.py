"""The best value of a parameter: against closed forms, and against every value tried."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov import PauseTandem, best, explore, sweep


def repair(up, q):
    """Fail once per second; repair at a rate."""
    yield not up, 1.0 if up else q.repair


def profit(cost):
    """Return a machine that earns 1 per second while it works; repairs cost by their rate."""
    return explore(
        repair,
        start=True,
        params={"repair": 1.0},
        rewards=lambda up, q: {"profit": up - cost * q.repair, "cost": cost * q.repair + 0.0 * up},
        labels=lambda up, q: {"up": up},
    )


def test_an_optimum_in_an_interval_is_that_of_the_closed_form():
    """r / (1 + r) - c r is largest at r = 1 / sqrt(c) - 1."""
    found = best(profit(0.1), "repair", between=(0.1, 50.0), maximize="profit")
    assert found.value == pytest.approx(math.sqrt(10.0) - 1.0, rel=1e-5)
    assert found.objective.value == pytest.approx((1.0 - math.sqrt(0.1)) ** 2, rel=1e-12)
    assert not found.certain


def test_a_limit_that_binds_is_met_to_within_a_billionth():
    """Working at least 0.8 of the time needs r >= 4."""
    found = best(
        profit(0.1),
        "repair",
        between=(0.1, 50.0),
        maximize="profit",
        subject_to={"up": (0.8, None)},
    )
    assert found.value == pytest.approx(4.0, rel=1e-7)
    assert found.table.up.sel(repair=found.value) >= 0.8


def test_the_best_of_given_values_is_that_of_a_sweep():
    data = sweep(PauseTandem(), high_threshold=range(2, 21))
    found = best(PauseTandem(), "high_threshold", among=range(2, 21), maximize="throughput")
    assert found.value == data.throughput.idxmax("high_threshold")
    assert found.certain
    assert found.rivals == ()
    np.testing.assert_allclose(found.table.throughput, data.throughput, rtol=1e-13)
    assert (found.table.lower <= found.table.throughput).all()
    assert found.answer.throughput == pytest.approx(found.objective.value, rel=1e-14)


def test_strings_are_numbers_in_the_unit_of_the_parameter() -> None:
    texts = best(PauseTandem(), "rtt", among=["1s", "2s", "500ms"], maximize="throughput")
    numbers = best(PauseTandem(), "rtt", among=[1.0, 2.0, 0.5], maximize="throughput")
    assert (texts.value, texts.objective) == (numbers.value, numbers.objective)
    assert texts.table.rtt.values.tolist() == [1.0, 2.0, 0.5]
    assert texts.table.rtt.attrs == {"units": "s"}
    inside = best(PauseTandem(), "rtt", between=("500ms", "2s"), maximize="throughput")
    assert inside.value == best(PauseTandem(), "rtt", between=(0.5, 2), maximize="throughput").value


def test_a_limit_excludes_values():
    limit = {"pause_fraction": (None, 0.4), "loss_rate[0]": (0.1, None)}
    found = best(
        PauseTandem(),
        "high_threshold",
        among=range(2, 21),
        maximize="throughput",
        subject_to=limit,
    )
    table = found.table
    allowed = (table["pause_fraction"] <= 0.4) & (table["loss_rate[0]"] >= 0.1)
    assert (table.allowed == allowed).all()
    assert found.value == table.throughput.where(allowed).idxmax()


def test_values_that_bounds_cannot_tell_apart_are_rivals():
    """The loss probability of M/M/1/K depends on the ratio of the rates alone."""
    model = explore(
        lambda n, q: [*([(n + 1, q.x)] if n < 3 else []), *([(n - 1, q.x)] if n > 0 else [])],
        start=0,
        params={"x": 1.0},
        labels=lambda n: {"full": n == 3},
    )
    found = best(model, "x", among=[1.0, 2.0, 4.0], minimize="full")
    assert len(found.rivals) == 2
    assert not found.certain


def test_the_smallest_is_found_too():
    found = best(profit(0.1), "repair", among=[0.3, 0.1, 0.2], minimize="cost")
    assert found.value == 0.1


def test_the_table_of_a_result_says_what_was_tried():
    found = best(PauseTandem(), "high_threshold", among=[15, 18], maximize="throughput")
    assert found.summary()["values tried"] == "2, 2 allowed"
    assert len(found.plot().lines) == 3
    assert "high_threshold" in repr(found)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maximize": "throughput"}, "among, between: one of the two"),
        ({"among": [1], "between": (0, 1), "maximize": "throughput"}, "one of the two"),
        ({"among": [15]}, "maximize, minimize: one of the two"),
        ({"among": [], "maximize": "throughput"}, "at least one value"),
        ({"among": 15, "maximize": "throughput"}, "among = 15"),
        ({"among": [15, -1], "maximize": "throughput"}, r"among\[1\] = -1: high_threshold"),
        ({"among": [15], "maximize": "goodput"}, "goodput"),
        ({"among": [15], "maximize": "loss_rate"}, r"one of loss_rate\[0\], loss_rate\[1\]"),
        ({"among": [15], "maximize": "throughput[1]"}, "without entries"),
        ({"between": (2.0, 1.0), "maximize": "throughput"}, "first end must be below"),
        ({"among": [15], "maximize": "throughput", "subject_to": {"throughput": 3}}, "least, most"),
        (
            {"among": [15], "maximize": "throughput", "subject_to": {"throughput": (2.0, 1.0)}},
            "least <= most",
        ),
        (
            {"among": [15, 18], "maximize": "throughput", "subject_to": {"throughput": (14.9, None)}},
            "nearest is high_threshold = 18",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        best(PauseTandem(), "high_threshold", **given)


def test_an_unknown_parameter_and_a_bare_generator_are_refused():
    with pytest.raises(ValueError, match=r"parameter = 'threshold': must be one of buffers"):
        best(PauseTandem(), "threshold", among=[1], maximize="throughput")
    with pytest.raises(ValueError, match="a generator has no parameters"):
        best([[-1.0, 1.0], [1.0, -1.0]], "x", among=[1], maximize="y")
