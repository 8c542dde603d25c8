"""What is measured for RFC 9743: each queue of 7.1 keeps the delay below that of drop-tail."""

from __future__ import annotations

import pytest

from dfcmodel.sharing.bottlenecks import Bottleneck
from dfcmodel.sharing.rfc9743_measures import MEASURES, QUEUES, Bench
from responsefn import NewReno

AT = Bench(Bottleneck(1000.0, 0.04, 160, seconds=20.0, warm_up=4.0), seed=1)


@pytest.mark.parametrize("name", QUEUES)
def test_managed_queues_are_shorter_and_carry_almost_as_much(name: str) -> None:
    ask = {measure: function for _, measure, _, function in MEASURES}
    assert ask[f"utilisation of 2 flows with {name}"](AT, NewReno()) > 0.85
    longest = ask["queueing delay of one flow"](AT, NewReno())
    assert ask[f"delay of 2 flows with {name}"](AT, NewReno()) < 0.5 * longest


def test_measures_have_names_of_their_own() -> None:
    names = [measure for _, measure, _, _ in MEASURES]
    assert len(set(names)) == len(names)
