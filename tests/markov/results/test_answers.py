"""What every answer has: a table whose first row is the status, and measures."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hopflow import Status
from markov import (
    MM1K,
    PauseTandem,
    stationary,
)


def test_a_failure_shows_first():
    answer = dataclasses.replace(stationary(MM1K()), status=Status.NEGATIVE)
    assert repr(answer).splitlines()[1].split("  ")[-1].strip() == str(Status.NEGATIVE)


def test_measures_have_units_and_dimensions():
    answer = stationary(PauseTandem())
    data = answer.measures
    assert data.throughput.attrs["units"] == "packets/s"
    assert data.mean_queue.dims == ("queue",)
    assert data.queue.values.tolist() == [1, 2]
    np.testing.assert_array_equal(data.mean_queue, answer["mean_queue"])
    with pytest.raises(KeyError):
        answer["speed"]


def test_a_summary_has_the_scalar_measures_and_the_cost():
    answer = stationary(PauseTandem())
    about = answer.summary()
    assert about["throughput"] == f"{answer.throughput:.6g} packets/s"
    assert "mean_queue" not in about  # one number per queue: in the dataset
    assert about["residual"] == f"{answer.residual:.1e}"
    assert about["memory"] == f"{answer.memory / 1e6:.3g} MB"


def test_a_chain_without_a_throughput_says_so():
    answer = stationary([[-1.0, 1.0], [1.0, -1.0]])
    assert not answer.measures
    with pytest.raises(AttributeError, match=r"^Stationary: the chain has no throughput"):
        answer.throughput  # noqa: B018
