"""compare: its kinds, labels, and what it refuses."""

from __future__ import annotations

import pytest

import hopflow
from dfcmodel import CBR, Flow, Scenario, chain, compare, simulate
from markov import MM1K, stationary
from responsefn import CUBIC, NewReno

PATH = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "duration": 5.0, "runs": 1}


@pytest.fixture(scope="module")
def run():
    links = chain(2, rate=1e4, delay=1e-3, buffer=20)
    return simulate(
        Scenario("s", links, [Flow("a", (1, 2), CBR(2e4))], duration=0.05), level="fluid"
    )


def test_rules_one_after_another_are_those_of_a_list() -> None:
    assert hopflow.compare is compare
    assert repr(compare(NewReno(), CUBIC(), **PATH)) == repr(compare([NewReno(), CUBIC()], **PATH))


def test_equal_runs_have_labels_of_their_own(run) -> None:
    assert list(compare(run, run, seed=run).compared) == [
        "s: FIFO, CBR, fluid (1)", "s: FIFO, CBR, fluid (2)", "seed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [(lambda run: compare(run), ValueError, "number of runs = 1"),
     (lambda run: compare(run, NewReno()), TypeError, "given: runs and rules"),
     (lambda run: compare(run, stationary(MM1K(1.0, 2.0, 3))), TypeError, "runs and answers"),
     (lambda run: compare(run, 3), TypeError, r"compared\[1\] = 3"),
     (lambda run: compare(run, run, seed=3), TypeError, "seed = 3"),
     (lambda run: compare(NewReno(), CUBIC()), TypeError, "bandwidth: is missing"),
     (lambda run: compare(NewReno(), bandwith=3), ValueError, "did you mean 'bandwidth'")],
)  # fmt: skip
def test_what_cannot_be_compared_is_named(run, call, error, part: str) -> None:
    with pytest.raises(error, match=part):
        call(run)
