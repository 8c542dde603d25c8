"""Parts of Linux's stack: which a flow has, and that `explain` says what a run without one differs by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, explain, simulate
from dfcmodel.levels.stack_parts import parts_of_stacks
from responsefn import NewReno
from responsefn.linux import LinuxCUBIC

OF_FLOWS = ["initial window", "delayed ACKs", "quick ACKs", "counting of packets"]
OF_CUBIC = ["HyStart", "beta", "whole windows at a loss", "count of ACKs"]
OF_RECOVERY = ["Linux's PRR", "RACK-TLP", "RACK-TLP and PRR"]
METHOD = Packets(seed=1, ack_delay=0.04)


def path(rule: Any, buffer: float = 33.0, **options: Any) -> Scenario:
    """Return a path of 20 Mb/s and 40 ms for one flow."""
    links = [
        Link("a", "b", "20Mbps", "20ms", buffer),
        Link("b", "a", "20Mbps", "20ms", 1000.0),
    ]
    return Scenario("path", links, [Flow("f", ("a", "b"), rule, **options)], duration=6.0)


def names(scenario: Scenario, method: Packets = METHOD) -> list[str]:
    return [part.name for part in parts_of_stacks(scenario, method)]


def test_a_stack_has_the_parts_that_its_flows_and_rules_have() -> None:
    linux = {"stack": "linux-6.12"}
    assert names(path(LinuxCUBIC(), **linux)) == OF_FLOWS + OF_CUBIC + OF_RECOVERY
    assert names(path(NewReno(), **linux)) == OF_FLOWS + OF_RECOVERY
    assert names(path(NewReno())) == []
    assert names(path(NewReno(), **linux), replace(METHOD, recovery="sack")) == OF_FLOWS
    off = path(LinuxCUBIC(hystart=0), initial_window=1, delayed_acks=False, **linux)
    assert names(off) == [*OF_CUBIC[1:], *OF_RECOVERY]


def test_other_flows_stay_as_they_are() -> None:
    one = path(LinuxCUBIC(), stack="linux-6.12")
    both = replace(one, flows=(*one.flows, Flow("g", ("a", "b"), LinuxCUBIC())))
    for part in parts_of_stacks(both, METHOD):
        assert part.scenario.flows[1] == both.flows[1]
        assert dict(part.method.recovery or {}).keys() <= {"f"}


@pytest.mark.parametrize("part", [*OF_FLOWS, *OF_CUBIC, *OF_RECOVERY])
def test_each_part_changes_a_run(part: str) -> None:
    """A buffer that slow start overflows, with a loss now and then so that recoveries act."""
    scenario = path(LinuxCUBIC(), stack="linux-6.12")
    method = replace(METHOD, loss={"a->b": 0.001})
    (off,) = (each for each in parts_of_stacks(scenario, method) if each.name == part)
    runs = [simulate(s, m, sample=0.01) for s, m in ((scenario, method), off[1:])]
    assert not np.array_equal(runs[0].window, runs[1].window)


def test_explain_says_what_a_run_without_a_part_differs_by() -> None:
    scenario = path(LinuxCUBIC(), stack="linux-6.12")
    found = explain(
        scenario, ["losses", "share"], runs=2, packets=METHOD, refinements=[], jitter=0.0
    )
    assert list(found.stack) == OF_FLOWS + OF_CUBIC + OF_RECOVERY
    assert found.packets.shape == (2, 1, 2)
    parts = len(found.stack)
    assert found.without.shape == found.stack_effects.shape == (2, parts, 2)
    lost = [
        simulate(path(LinuxCUBIC(hystart=h), stack="linux-6.12"), METHOD).lost.sum() for h in (3, 0)
    ]
    hystart = found.stack.index("HyStart")
    assert found.stack_effects[:, hystart, 0] == pytest.approx(lost[0] - lost[1])
    assert lost[0] < lost[1]
    rows = found.table().set_index(["quantity", "row"])["mean"]
    assert rows["packets lost", "with HyStart"] == pytest.approx(lost[0] - lost[1])
    assert f"of the stack HyStart {lost[0] - lost[1]:+.3g}" in found.text()
    data = found.to_xarray()
    assert data.stack_effect.dims == ("stack_part", "quantity", "estimate")
    assert f"packets without {parts} parts of the stack in turn" in str(found.summary()["runs"])


def test_without_a_stack_nothing_more_runs() -> None:
    found = explain(path(NewReno()), "losses", runs=2, refinements=[])
    assert found.stack == ()
    assert found.without.shape == (2, 0, 1)
    assert "stack" not in found.text()
    assert "stack_effect" not in found.to_xarray()
