"""Known limits of packet runs over several paths."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import (
    INT,
    PFC,
    Cable,
    Fabric,
    Packets,
    Scenario,
    SelectiveRepair,
    all_reduce,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from responsefn import HPCC, FixedRate


def _all_reduce(source, discipline, routes: str) -> Scenario:
    """Return an all-reduce of 4 hosts over 2 spines."""
    cables = {"access": Cable("100Gbps", "10m"), "trunk": Cable("100Gbps", "50m")}
    fabric = Fabric(
        leaf_spine(2, 2, hosts=2), buffer="2 MB", packet_size=4096, discipline=discipline, **cables
    )
    options = {"source": source, "links": fabric.links, "routes": routes}
    flows = all_reduce(fabric.hosts, 100, "halving-doubling", **options)
    return fabric.scenario("all-reduce", flows, duration=1e-3)


class _Loads(HPCC):
    """A rule of a user that reads telemetry."""


PATIENT = SelectiveRepair(reordering=64)
TELEMETRY, GO_BACK = "telemetry over several paths", "go-back-N over several paths"


@pytest.mark.parametrize(
    ("source", "routes", "recovery", "expected"),
    [
        (HPCC(), "spray", PATIENT, [TELEMETRY]),
        (HPCC(), "spray", "selective", [TELEMETRY]),
        (HPCC(), "spray", None, [TELEMETRY, GO_BACK]),
        (_Loads(), "spray", PATIENT, [TELEMETRY]),
        (HPCC(), "even", None, []),
        (HPCC(), "ecmp", None, []),
        (FixedRate(), "spray", None, [GO_BACK]),
        (FixedRate(), "spray", PATIENT, []),
        (FixedRate(), "even", None, []),
    ],
)
def test_sprayed_flows_say_what_spraying_spoils(source, routes, recovery, expected) -> None:
    discipline = INT() if isinstance(source, HPCC) else PFC(counts="switch")
    scenario = _all_reduce(source, discipline, routes)
    run = simulate(scenario, Packets(seed=1, recovery=recovery))
    assert [each.partition(":")[0] for each in run.limits] == expected
    for each in expected:
        assert f"limit, {each}" in run.summary()


def test_flows_that_went_back_are_counted() -> None:
    run = simulate(_all_reduce(FixedRate(), PFC(counts="switch"), "spray"), Packets(seed=1))
    (limit,) = run.limits
    back = run.loss_events > 0
    assert f"went back {run.loss_events.sum()} times" in limit
    assert f"sent {run.emitted[back].sum():.0f} packets" in limit
    assert run.emitted[back].sum() > run.delivered[back, -1].sum()
    assert np.array_equal(run.emitted[~back], run.delivered[~back, -1])
    assert run.lost.sum() == 0.0
    assert "and 0 lost ones" in limit
