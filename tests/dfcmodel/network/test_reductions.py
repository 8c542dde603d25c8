"""Collective operations as flows, and their completion in networks where it is known."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import (
    PFC,
    Cable,
    Fabric,
    Packets,
    all_gather,
    all_reduce,
    all_to_all_rounds,
    completion_bounds,
    flows_from,
    reduce_scatter,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from responsefn import FixedRate

ONE_SWITCH = Fabric(
    leaf_spine(1, 1, hosts=8),
    Cable("100Gbps", "10m"),
    buffer="1 MB",
    discipline=PFC(counts="switch"),
)
TWO_TIERS = Fabric(
    leaf_spine(4, 4, hosts=4),
    Cable("100Gbps", "10m"),
    buffer="1 MB",
    discipline=PFC(counts="switch"),
)
GIVEN = {"source": FixedRate(), "routes": "even"}
OPERATIONS = {
    "ring": (all_reduce, {"algorithm": "ring"}, 14),
    "halving-doubling": (all_reduce, {"algorithm": "halving-doubling"}, 6),
    "tree": (all_reduce, {"algorithm": "tree"}, 6),
    "pieces": (all_reduce, {"algorithm": "tree", "pieces": 4}, None),
    "reduce-scatter": (reduce_scatter, {}, 7),
    "all-gather": (all_gather, {}, 7),
    "rounds": (all_to_all_rounds, {}, 7),
}


def _run(fabric: Fabric, flows):
    method = Packets(seed=1, recovery="none")
    return simulate(fabric.scenario("operation", flows, 0.05), method, sample=0.05)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_end_and_keep_their_order(name: str) -> None:
    operation, options, steps = OPERATIONS[name]
    flows = operation(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **options, **GIVEN)
    run = _run(ONE_SWITCH, flows)
    assert run.status.ok
    assert np.isfinite(run.finished).all()
    for f, flow in enumerate(flows):
        ready = max((run.finished[before] for before in flow.after), default=0.0)
        assert run.started[f] == ready
    bound = completion_bounds(run.scenario).job
    assert run.finished.max() >= bound * (1 - 1e-12)
    if steps is not None:  # one switch: no two flows of a step share a link, except into a parent
        assert run.finished.max() <= 1.5 * bound


def test_steps_of_a_ring_take_the_time_of_a_chunk_in_an_empty_network() -> None:
    """Without ACKs each step of a ring at one switch is a transfer of 10 packets over two links."""
    flows = all_reduce(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN)
    run = _run(ONE_SWITCH, flows)
    step = 11 * 1500 * 8 / 100e9 + 2 * 50e-9
    assert np.sort(run.finished).reshape(14, 8) == pytest.approx(
        step * np.arange(1, 15)[:, np.newaxis] + np.zeros(8), rel=1e-9
    )


def test_a_delay_is_between_steps_and_starts_are_of_the_first_flows() -> None:
    flows = all_reduce(
        ONE_SWITCH.hosts, 80, delay=1e-6, starts=5e-6, links=ONE_SWITCH.links, **GIVEN
    )
    run, plain = (
        _run(ONE_SWITCH, each)
        for each in (flows, all_reduce(ONE_SWITCH.hosts, 80, links=ONE_SWITCH.links, **GIVEN))
    )
    assert run.finished.max() == pytest.approx(plain.finished.max() + 5e-6 + 13e-6, rel=1e-9)


def test_flows_of_one_connection_share_a_path() -> None:
    flows = all_reduce(TWO_TIERS.hosts, 160, source=FixedRate(), links=TWO_TIERS.links)
    paths: dict[tuple, set] = {}
    for flow in flows:
        paths.setdefault((flow.path[0], flow.path[-1]), set()).add(flow.path)
    assert len(paths) == 16
    assert all(len(each) == 1 for each in paths.values())
    spines = {path[2] for each in paths.values() for path in each if len(path) == 5}
    assert len(spines) > 1


def test_entropy_decides_the_path_of_a_flow() -> None:
    ends = [TWO_TIERS.hosts[0]] * 64, [TWO_TIERS.hosts[-1]] * 64
    given = {"source": FixedRate(), "links": TWO_TIERS.links}
    same = flows_from(*ends, entropy=np.full(64, 7), **given)
    assert len({flow.path for flow in same}) == 1
    own = flows_from(*ends, entropy=np.arange(64), **given)
    assert own == flows_from(*ends, **given)
    assert len({flow.path for flow in own}) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"algorithm": "butterfly"}, "algorithm = 'butterfly': must be one of 'ring'"),
        ({"pieces": 2}, "pieces = 2: must be 1 for algorithm = 'ring'"),
        ({"delay": -1.0}, "delay = -1"),
        ({"starts": [0.0, 1.0]}, "starts"),
        ({"sizes": 3}, "sizes: must not be given"),
        ({"after": np.zeros(3, dtype=int)}, "after: must not be given"),
        ({"entropy": [1]}, "entropy: 1 values, must be one, or one for each of 112 flows"),
        ({"entropy": [-1] * 112}, "entropy\\[0\\] = -1: must be a whole number in 0"),
        ({"entropy": [0.5] * 112}, "entropy = .*: must be a list of whole numbers"),
        ({"hosts": [("host", 0)]}, "hosts = .*: must be at least two nodes"),
    ],
)
def test_bad_arguments_are_refused(given: dict, said: str) -> None:
    options = {"hosts": ONE_SWITCH.hosts, "packets": 80, "links": ONE_SWITCH.links}
    with pytest.raises((ValueError, TypeError), match=said):
        all_reduce(**{**options, "source": FixedRate(), **given})
