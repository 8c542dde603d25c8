"""Upper bounds of jobs: exact where packets follow each other, beyond each run of random fabrics, and refused elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import (
    FIFO,
    PFC,
    Fabric,
    Flow,
    Link,
    Packets,
    Scenario,
    all_reduce,
    all_to_all,
    job_completion,
    permutation,
    simulate,
)
from dfcmodel.lossless import fat_tree, leaf_spine
from responsefn import DCQCN, FixedRate


def bound_of(links: list[Link], paths: list[str], **given: float) -> float:
    """Return the upper bound of transfers of 50 packets at the rates of their interfaces, s."""
    flows = [Flow(path, tuple(path), FixedRate(), size=50, host="nic") for path in paths]
    scenario = Scenario("job", links, flows, duration=9e-3, **given)
    return job_completion(simulate(scenario, Packets(seed=1), sample=9e-3)).upper_bound


def test_it_adds_up_the_packets_of_each_link() -> None:
    ends = ("as", "bs", "st", "sa", "sb", "ts")
    links = [Link(*each, 1e5, 5e-4, 1000, FIFO()) for each in ends]
    two = bound_of(links, ["ast", "bst"], packet_size=640.0)
    assert two == pytest.approx(1e-3 * (0.5 + 0.5 + 1.0 + 0.5))
    # 50 packets from each host and ACKs of 50 on each link of a host; 100 and ACKs of 100 on the other one
    both = bound_of(links, ["ast", "tsb"], packet_size=640.0)
    assert both == pytest.approx(1e-3 * (0.5 + 0.5 + 0.55 + 0.5))


def test_packets_that_go_round_have_none() -> None:
    links = [Link(*each, 1e5, 5e-4, 1000, FIFO()) for each in ("ab", "bc", "ca")]
    assert math.isnan(bound_of(links, ["abc", "bca", "cab"]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("routes", ["ecmp", "spray"])
def test_no_run_of_a_random_fabric_takes_longer(seed: int, routes: str) -> None:
    random = np.random.default_rng(seed)
    graph = (leaf_spine(4, 2, hosts=4), fat_tree(4))[seed % 2]
    fabric = Fabric(
        graph,
        buffer="64 MB",
        packet_size=4096.0,
        discipline=PFC(xoff=1e4, xon=1e3, counts="switch"),
    )
    sizes = random.integers(1, 60, len(fabric.hosts) * (len(fabric.hosts) - 1))
    given = {"source": FixedRate(), "links": fabric.links, "host": "nic", "routes": routes}
    flows = all_to_all(fabric.hosts, sizes=sizes, **given)
    job = job_completion(
        simulate(
            fabric.scenario("all", flows, duration=0.05),
            Packets(seed=seed, recovery="selective", spraying="random"),
            sample=0.05,
        )
    )
    if routes == "ecmp":
        assert job.bound <= job.time <= job.upper_bound < 10.0 * job.bound
    else:  # late packets are sent again
        assert math.isnan(job.upper) or job.time <= job.upper_bound


def job_of(flows, fabric: Fabric, **options: object):
    """Return the job of flows on a fabric."""
    return job_completion(
        simulate(
            fabric.scenario("job", flows, duration=0.05), Packets(seed=1, **options), sample=0.05
        )
    )


def test_it_is_known_only_of_runs_whose_links_are_never_idle() -> None:
    fabric = Fabric(
        leaf_spine(2, 2, hosts=4),
        buffer="64 MB",
        packet_size=4096.0,
        discipline=PFC(xoff=500, xon=50, counts="switch"),
    )
    given = {"links": fabric.links, "host": "nic"}
    known = job_of(permutation(fabric.hosts, 1, sizes=50, source=FixedRate(), **given), fabric)
    assert known.time <= known.upper_bound
    assert "upper bound" in known.summary()
    assert [line.get_label() for line in known.plot().lines[1:]] == ["lower bound", "upper bound"]
    for flows in (
        all_reduce(fabric.hosts, 400, source=FixedRate(), **given),  # flows wait for others
        permutation(fabric.hosts, 1, sizes=50, source=DCQCN(), **given),
        permutation(fabric.hosts, 1, sizes=50, source=FixedRate(sending_rate=1e5), **given),
        permutation(
            fabric.hosts, 1, sizes=50, starts=np.arange(7) * 1e-6, source=FixedRate(), **given
        ),
    ):
        job = job_of(flows, fabric)
        assert math.isnan(job.upper_bound)
        assert "upper bound" not in job.summary()
    paused = Fabric(
        leaf_spine(2, 2, hosts=4),
        buffer="64 MB",
        packet_size=4096.0,
        discipline=PFC(xoff=4, xon=2, counts="switch"),
    )
    given["links"] = paused.links
    flows = all_to_all(paused.hosts, sizes=50, source=FixedRate(), **given)
    assert math.isnan(job_of(flows, paused).upper_bound)


def test_links_that_repeat_frames_may_take_longer() -> None:
    links = [Link(*ends, 1e6, 1e-6, 1000) for ends in ("as", "sd")]
    flows = [Flow("f", ("a", "s", "d"), FixedRate(), size=500, host="nic")]
    scenario = Scenario("retry", links, flows, duration=0.1)
    errors = [simulate(scenario, Packets(seed=1, frame_errors={"s->d": p})) for p in (0.0, 0.7)]
    assert job_completion(errors[0]).time <= job_completion(errors[0]).upper_bound
    assert job_completion(errors[1]).time > job_completion(errors[0]).upper_bound
    assert math.isnan(job_completion(errors[1]).upper_bound)


def test_packets_that_wait_at_random_at_their_senders_have_none() -> None:
    links = [Link(*ends, 1e6, 1e-6, 1000) for ends in ("as", "sd")]
    flows = [Flow("f", ("a", "s", "d"), FixedRate(), size=500, host="nic")]
    scenario = Scenario("waits", links, flows, duration=0.1)
    at_once, late = (
        simulate(scenario, Packets(seed=1), packet_jitter=wait) for wait in (0.0, "1pkt")
    )
    assert math.isfinite(job_completion(at_once).upper_bound)
    assert math.isnan(job_completion(late).upper_bound)
