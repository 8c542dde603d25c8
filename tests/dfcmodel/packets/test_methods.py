"""Packets: what it refuses, and how flows recover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Fluid, Packets
from responsefn import BBR


@pytest.mark.parametrize(
    ("arguments", "part"),
    [({"seed": -1}, "seed"), ({"seed": 0, "convention": "ns2"}, "seed"),
     ({"convention": "ns3"}, "convention"), ({"recovery": "cubic"}, "recovery"),
     ({"recovery": {"flow": "cubic"}}, "recovery of flow 'flow'"), ({"phases": (0.0,)}, "phases"),
     ({"phases": (0.01,), "convention": "ns2"}, "phases"),
     ({"count_smoothing": -1.0}, "count_smoothing"), ({"count_smoothing": np.nan}, "count_smoothing"),
     ({"ack_transmission": 1}, "ack_transmission"),
     ({"ack_transmission": False, "convention": "ns2"}, "ack_transmission"), ({"loss": {"1->2": 1.0}}, "loss of 1->2")],
)  # fmt: skip
def test_a_wrong_parameter_is_named(arguments, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        Packets(**arguments)


@pytest.mark.parametrize("method", [Fluid, Packets])
def test_the_choice_of_an_engine_was_removed(method) -> None:
    with pytest.raises(TypeError, match=r"\(backend=\): was removed; .* compiled engine"):
        method(backend="reference")


def test_a_rule_says_how_it_recovers_unless_the_method_does(one_link) -> None:
    assert Packets().recovery_of(one_link) == ("newreno",)
    assert Packets(recovery="sack").recovery_of(one_link) == ("sack",)
    assert Packets(recovery={"flow": "tahoe"}).recovery_of(one_link) == ("tahoe",)
    with pytest.raises(ValueError, match="recovery: flow"):
        Packets(recovery={"other": "tahoe"}).recovery_of(one_link)


def test_rules_that_set_the_window_in_recovery_keep_sack_under_prr(one_link) -> None:
    assert Packets(recovery="prr").recovery_of(one_link) == ("prr",)
    other = replace(one_link, flows=(replace(one_link.flows[0], source=BBR()),))
    assert Packets(recovery="prr").recovery_of(other) == ("sack",)
