"""Completion of jobs, and the bandwidths of NCCL's tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    Fabric,
    Flow,
    Packets,
    Scenario,
    all_reduce,
    all_to_all,
    chain,
    job_completion,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from responsefn import FixedRate

FABRIC = Fabric(leaf_spine(1, 1, hosts=8), buffer="2 MB", discipline=PFC(counts="switch"))
GIVEN = {"source": FixedRate(), "links": FABRIC.links}


def _run(flows, duration: float = 0.01):
    method = Packets(seed=1, recovery="none")
    return simulate(FABRIC.scenario("job", flows, duration), method, sample=duration)


@pytest.fixture(scope="module")
def ring():
    """Return a run of a ring all-reduce of 8 hosts with 16,000 packets."""
    return _run(all_reduce(FABRIC.hosts, 16_000, starts=1e-4, **GIVEN))


def test_bandwidths_are_those_of_nccl_tests(ring) -> None:
    job = job_completion(ring, "all_reduce", 16_000)
    assert job.time == pytest.approx(ring.finished.max() - 1e-4, rel=1e-12)
    assert (job.hosts, job.size) == (8, 16_000 * 1500)
    assert job.algorithm_bandwidth == job.size / job.time
    assert job.bus_bandwidth == pytest.approx(2 * 7 / 8 * job.size / job.time, rel=1e-15)
    # 14 steps of 2,000 packets, each with one more transmission and 50 ns of delay
    assert job.bus_bandwidth == pytest.approx(
        12.5e9 * 2000 / (2001 + 50e-9 * 100e9 / 12e3), rel=1e-9
    )


def test_the_bound_of_a_ring_is_reached_without_acks(ring) -> None:
    job = job_completion(ring)
    assert job.time == pytest.approx(job.bound, rel=1e-9)
    assert job.bounds.link == ""
    rows = job.summary()
    assert "for these routes and transfers" in str(rows["lower bound"])
    assert str(rows["lower bound"]).endswith("; the run took 1.000 times as long")
    assert "the job did not end" not in rows
    assert math.isnan(job.bus_bandwidth)


def test_an_all_to_all_has_the_factor_of_its_own() -> None:
    run = _run(all_to_all(FABRIC.hosts, sizes=100, **GIVEN))
    job = job_completion(run, "all_to_all", 8 * 100)
    assert job.bus_bandwidth == pytest.approx(7 / 8 * 800 * 1500 / job.time, rel=1e-15)
    assert 0.8 * 12.5e9 < job.bus_bandwidth < 12.5e9
    rows = job.summary()
    assert rows["transfers"] == "56 of 56 complete"
    assert "all_to_all of 8 hosts, 1.2 MB" in rows["operation"]


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_a_broadcast_has_its_algorithm_bandwidth(ring, operation: str) -> None:
    job = job_completion(ring, operation, 1.0)
    assert job.bus_bandwidth == job.algorithm_bandwidth


def test_a_job_that_the_run_cuts_short_has_no_time() -> None:
    job = job_completion(
        _run(all_reduce(FABRIC.hosts, 16_000, **GIVEN), 1e-3), "all_reduce", 16_000
    )
    assert job.unfinished > 0
    assert math.isnan(job.time)
    rows = job.summary()
    assert "time" not in rows
    N = len(job.finished)
    said = f"{job.unfinished} of {N} transfers are missing at the end of the run, at 1 ms"
    assert rows["the job did not end"] == said
    assert np.isfinite(job.bound)


def test_the_figure_has_the_bound(ring) -> None:
    axes = job_completion(ring).plot()
    assert axes.get_xlabel() == "time (ms)"
    assert axes.lines[0].get_ydata()[-1] == 1.0
    bound = axes.lines[1].get_xdata()[0]
    assert bound == pytest.approx(1e3 * ring.finished.max(), rel=1e-9)


def test_a_job_says_why_it_sends_again() -> None:
    fabric = Fabric(leaf_spine(2, 2, hosts=2), buffer="2 MB", discipline=PFC(counts="switch"))
    options = {"source": FixedRate(), "links": fabric.links, "routes": "spray"}
    flows = all_reduce(fabric.hosts, 100, "halving-doubling", **options)
    run = simulate(fabric.scenario("sprayed", flows, 0.01), Packets(seed=1))
    job = job_completion(run)
    assert job.limits == run.limits
    assert "limit, go-back-N over several paths" in job.summary()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("all-reduce", 5), "operation = 'all-reduce': must be one of 'all_reduce'"),
        (("all_reduce",), "packets = nan"),
        (("all_reduce", 0), "packets = 0"),
        ((None, 5), "packets = 5: must be None without an operation"),
    ],
)
def test_bad_operations_are_refused(ring, given: tuple, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        job_completion(ring, *given)


def test_runs_without_a_job_are_refused() -> None:
    links = chain(2, rate=1e3, delay=0.1, buffer=10)
    fluid = simulate(
        Scenario("fluid", links, [Flow("a", (1, 2), CBR(9.0), size=2)], 0.5), level="fluid"
    )
    with pytest.raises(ValueError, match="run of 'fluid': must be at packet level"):
        job_completion(fluid)
    endless = Scenario("endless", links, [Flow("a", (1, 2), CBR(9.0))], 0.5)
    with pytest.raises(ValueError, match="run of 'endless': has no flow of finite size"):
        job_completion(simulate(endless, Packets(seed=1)))
