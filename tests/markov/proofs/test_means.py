"""Measures with bounds against closed forms, published values and other methods; what a proof is asked for.

`test_random_chains` has bounds against 50 digits. Kanban's values are of the quantitative verification
benchmark set, ctmc/kanban/results, where HOPFLOW_SUITES says where that is.
"""

from __future__ import annotations

import json
import math
import os
import pickle
from pathlib import Path

import mpmath
import numpy as np
import pytest

from hopflow import Status
from markov import (
    GTH,
    MM1K,
    Kanban,
    MarkovChain,
    Multilevel,
    PauseTandem,
    SparseLU,
    explore,
    stationary,
)

SUITES = os.environ.get("HOPFLOW_SUITES")


# --------------------------------------------------------------------------- measures


@pytest.mark.skipif(SUITES is None, reason="HOPFLOW_SUITES: no outside suites here")
def test_kanban_with_one_card_has_the_published_throughput():
    files = sorted((Path(SUITES) / "qcomp/benchmarks/ctmc/kanban/results").glob("*exact.1.*.json"))
    found = json.loads(files[0].read_text())
    values = [v for v in numbers_in(found) if abs(v - 0.0925846346333826) < 1e-9]
    assert values  # of rational arithmetic
    bound = stationary(explore(Kanban(tickets=1))).bound("throughput")
    assert bound.lower - 1e-17 <= values[0] <= bound.upper + 1e-17  # rounded when it was printed
    assert bound.relative_error < 1e-14


def numbers_in(found):
    """Return all floats in a JSON document."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        return [v for part in found for v in numbers_in(part)]
    if isinstance(found, float):
        return [found]
    return []


@pytest.mark.parametrize("tickets", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_throughput_by_multigrid_is_proved_to_twelve_digits(tickets):
    """The two values agree, by methods that share nothing, within their bounds; 2e-13 was asked for."""
    chain = explore(Kanban(tickets=tickets)).chain
    cycles = stationary(chain, Multilevel()).bound("throughput")
    assert cycles.relative_error < 4e-13
    if tickets == 2:
        factors = stationary(chain, GTH()).bound("throughput")
        assert factors.relative_error < 1e-14
        assert cycles.lower <= factors.upper
        assert factors.lower <= cycles.upper


def test_labels_rewards_ratios_and_queues_have_bounds():
    """Each holds the value under pi within what pi may be wrong by."""
    model = PauseTandem(high_threshold=12)
    answer = stationary(model)
    for name in set(answer.measures) - {"throughput_expressions"}:
        found = answer.bound(name)
        values = np.atleast_1d(answer[name])
        found = found if isinstance(found, list) else [found]
        assert len(found) == len(values)
        for bound, value in zip(found, values, strict=True):
            assert bound.lower <= bound.value <= bound.upper
            assert bound.error <= 1e-13 * max(abs(bound.value), 1e-3)
            assert abs(bound.value - value) <= 1e-12 * max(abs(value), 1.0)


def test_a_closed_form_lies_within_the_bound():
    model = MM1K(arrival_rate=9.0, service_rate=10.0, capacity=50)
    ratio = mpmath.mpf(9) / 10
    with mpmath.workdps(50):
        weights = [ratio**k for k in range(51)]
        exact = mpmath.fsum(k * w for k, w in enumerate(weights)) / mpmath.fsum(weights)
        bound = stationary(model).bound(np.arange(51.0))
        assert bound.lower <= exact <= bound.upper
    assert bound.relative_error < 1e-15


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("thruput", "must be a label or reward of PauseTandem"),
        (np.ones(3), "must be"),
        (np.full(50, np.nan), "must be"),
        ("x" * 3, "must be a label"),
        ([object()], "numbers over the states"),
    ],
)
def test_bad_measures(measure, said):
    with pytest.raises(ValueError, match=said):
        stationary(PauseTandem()).bound(measure)


def test_a_name_needs_a_model_and_numbers_must_be_finite():
    answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
    with pytest.raises(ValueError, match="has no measures; pass an array"):
        answer.bound("throughput")
    with pytest.raises(ValueError, match="not finite in state number 1"):
        answer.bound([1.0, math.nan])


# --------------------------------------------------------------------------- what is asked for


def test_without_proof_nothing_is_bounded_or_raised():
    answer = stationary(MM1K(), SparseLU(), proof=False)
    assert answer.status is Status.SOLVED
    assert answer.error_bound == math.inf
    assert "not computed" in repr(answer)


def test_a_tight_proof_is_sharper():
    """For a method that iterates: at most twenty times the true error, where GTH tells that."""
    chain = MarkovChain(PauseTandem(buffers=(22, 43), high_threshold=32))
    loose, tight = (stationary(chain, Multilevel(), proof=proof) for proof in (True, "tight"))
    exact = stationary(chain, GTH())
    truth = 0.5 * np.abs(tight.pi - exact.pi).sum()
    assert truth - exact.error_bound <= tight.error_bound <= 20.0 * (truth + exact.error_bound)
    assert tight.error_bound <= loose.error_bound


@pytest.mark.parametrize("proof", ["loose", 2, None])
def test_proof_is_checked(proof):
    with pytest.raises(ValueError, match="proof"):
        stationary(MM1K(), proof=proof)


def test_an_answer_can_be_pickled_and_bounded_again():
    answer = stationary(MM1K())
    again = pickle.loads(pickle.dumps(answer))
    assert again.error_bound == answer.error_bound
    f = np.arange(len(answer.pi))
    one, other = answer.bound(f), again.bound(f)
    assert one.lower <= other.upper
    assert other.lower <= one.upper
