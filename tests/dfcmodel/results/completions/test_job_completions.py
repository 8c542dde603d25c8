"""Completion of jobs: bandwidths of NCCL's tests, upper bounds, slowdowns by groups of sizes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.lossless import fat_tree, leaf_spine
from responsefn import DCQCN, FixedRate

FABRIC = dfc.Fabric(leaf_spine(1, 1, hosts=8), buffer="2 MB", discipline=dfc.PFC(counts="switch"))
GIVEN = {"source": FixedRate(), "links": FABRIC.links}


def _run(flows, duration: float = 0.01):
    method = dfc.Packets(seed=1, recovery="none")
    return dfc.simulate(FABRIC.scenario("job", flows, duration), method, sample=duration)


@pytest.fixture(scope="module")
def ring():
    """Return a run of a ring all-reduce of 8 hosts with 16,000 packets."""
    return _run(dfc.all_reduce(FABRIC.hosts, 16_000, **GIVEN, options=dfc.CollectiveOptions(starts=1e-4)))


def test_bandwidths_are_those_of_nccl_tests(ring) -> None:
    job = dfc.job_completion(ring, "all_reduce", 16_000)
    assert job.time == pytest.approx(ring.finished.max() - 1e-4, rel=1e-12)
    assert (job.hosts, job.size) == (8, 16_000 * 1500)
    assert job.algorithm_bandwidth == job.size / job.time
    assert job.bus_bandwidth == pytest.approx(2 * 7 / 8 * job.size / job.time, rel=1e-15)
    # 14 steps of 2,000 packets, each with one more transmission and 50 ns of delay
    assert job.bus_bandwidth == pytest.approx(12.5e9 * 2000 / (2001 + 50e-9 * 100e9 / 12e3), rel=1e-9)


def test_the_bound_of_a_ring_is_reached_without_acks(ring) -> None:
    job = dfc.job_completion(ring)
    assert job.time == pytest.approx(job.bound, rel=1e-9)
    assert job.bounds.link == ""
    rows = job.summary()
    assert "for these routes and transfers" in str(rows["lower bound"])
    assert str(rows["lower bound"]).endswith("; the run took 1.000 times as long")
    assert "the job did not end" not in rows
    assert str(rows["time"]).endswith(" from the first transfer on, at 100 µs")
    assert math.isnan(job.bus_bandwidth)


def test_an_all_to_all_has_the_factor_of_its_own() -> None:
    run = _run(dfc.all_to_all(FABRIC.hosts, sizes=100, **GIVEN))
    job = dfc.job_completion(run, "all_to_all", 8 * 100)
    assert job.bus_bandwidth == pytest.approx(7 / 8 * 800 * 1500 / job.time, rel=1e-15)
    assert 0.8 * 12.5e9 < job.bus_bandwidth < 12.5e9
    rows = job.summary()
    assert rows["transfers"] == "56 of 56 complete"
    assert "from" not in str(rows["time"])
    assert "all_to_all of 8 hosts, 1.2 MB" in rows["operation"]


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_a_broadcast_has_its_algorithm_bandwidth(ring, operation: str) -> None:
    job = dfc.job_completion(ring, operation, 16_000)
    assert job.bus_bandwidth == job.algorithm_bandwidth


def test_a_job_that_the_run_cuts_short_has_no_time() -> None:
    job = dfc.job_completion(_run(dfc.all_reduce(FABRIC.hosts, 16_000, **GIVEN), 1e-3), "all_reduce", 16_000)
    assert job.unfinished > 0
    assert math.isnan(job.time)
    rows = job.summary()
    assert "time" not in rows
    N = len(job.finished)
    said = f"{job.unfinished} of {N} transfers are missing at the end of the run, at 1 ms"
    assert rows["the job did not end"] == f"{said}, which is before the lower bound"
    assert rows["lower bound"] == "3.362 ms for these routes and transfers (the delays of a chain of transfers)"


def test_the_figure_has_the_bound(ring) -> None:
    axes = dfc.job_completion(ring).plot()
    assert axes.get_xlabel() == "time (ms)"
    assert axes.lines[0].get_ydata()[-1] == 1.0
    bound = axes.lines[1].get_xdata()[0]
    assert bound == pytest.approx(1e3 * ring.finished.max(), rel=1e-9)


def test_a_job_says_why_it_sends_again() -> None:
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=2), buffer="2 MB", discipline=dfc.PFC(counts="switch"))
    options = {"source": FixedRate(), "links": fabric.links, "routes": "spray"}
    flows = dfc.all_reduce(fabric.hosts, 100, "halving-doubling", **options)
    run = dfc.simulate(fabric.scenario("sprayed", flows, 0.01), dfc.Packets(seed=1))
    job = dfc.job_completion(run)
    assert job.limits == run.limits
    assert "limit, go-back-N over several paths" in job.summary()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("all-reduce", 5), "operation = 'all-reduce': must be one of 'all_reduce'"),
        (("all_reduce",), "packets = nan"),
        (("all_reduce", 0), "packets = 0"),
        (("all_reduce", "4 MB"), r"packets = '4 MB': .* of 1500 bytes write math.ceil\(4000000 / 1500\)"),
        (
            ("all_reduce", 2_000),
            r"packets = 2000: all_reduce .* moves 2.8e\+04 to 1.12e\+05 packets, the run 2.24e\+05",
        ),
        (("all_reduce", 64_000), "packets = 64000: all_reduce of 8 hosts"),
        (("broadcast", 1), "packets = 1: broadcast of 8 hosts .* moves 7 to 14 packets"),
        (("reduce", 64_000), "packets = 64000: reduce of 8 hosts"),
        ((None, 5), "packets = 5: must be None without an operation"),
    ],
)
def test_bad_operations_are_refused(ring, given: tuple, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        dfc.job_completion(ring, *given)


@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving-doubling"])
@pytest.mark.parametrize("packets", [9, 100])
def test_one_all_reduce_is_judged_and_two_are_refused(algorithm: str, packets: int) -> None:
    first, second = (
        dfc.all_reduce(FABRIC.hosts, packets, algorithm, **GIVEN, options=dfc.CollectiveOptions(starts=start))
        for start in (0.0, 1e-3)
    )
    assert dfc.job_completion(_run(first), "all_reduce", packets).hosts == 8
    run = _run(first + second)
    assert dfc.job_completion(run).time > 1e-3
    if packets == 100:  # 9 packets in chunks of up to two may be those of one operation
        with pytest.raises(
            ValueError, match=r"packets = 100: .* one all_reduce at most 175: the run must have one operation"
        ):
            dfc.job_completion(run, "all_reduce", packets)


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_two_broadcasts_are_not_one(operation: str) -> None:
    ends = FABRIC.hosts[:-1], FABRIC.hosts[1:]
    chain = dfc.flows_from(*(ends if operation == "broadcast" else ends[::-1]), sizes=100, **GIVEN)
    assert dfc.job_completion(_run(chain), operation, 100).hosts == 8
    with pytest.raises(ValueError, match=f"one {operation} at most 175"):
        dfc.job_completion(_run(chain + chain), operation, 100)


def test_operations_of_groups_are_not_one_of_all_hosts() -> None:
    halves = [dfc.all_reduce(FABRIC.hosts[n::2], 100, **GIVEN) for n in range(2)]
    with pytest.raises(ValueError, match=r"one all_reduce of all 8 hosts of the run, .* in 2 groups"):
        dfc.job_completion(_run(sum(halves)), "all_reduce", 100)


def test_hosts_of_other_traffic_are_not_those_of_the_operation() -> None:
    beside = dfc.flows_from(FABRIC.hosts[6:7], FABRIC.hosts[7:], **GIVEN)
    job = dfc.job_completion(_run(dfc.all_reduce(FABRIC.hosts[:4], 100, **GIVEN) + beside), "all_reduce", 100)
    assert job.hosts == 4
    assert job.bus_bandwidth == pytest.approx(1.5 * job.algorithm_bandwidth)


def test_the_array_of_an_exchange_has_the_part_of_its_host() -> None:
    run = _run(dfc.all_to_all(FABRIC.hosts, sizes=100, **GIVEN))
    assert dfc.job_completion(run, "all_to_all", 800).hosts == 8
    with pytest.raises(ValueError, match=r"packets = 700: all_to_all of 8 hosts .* moves 4900 packets, the run 5600"):
        dfc.job_completion(run, "all_to_all", 700)


def test_runs_without_a_job_are_refused() -> None:
    links = dfc.chain(2, rate=1e3, delay=0.1, buffer=10)
    fluid = dfc.simulate(
        dfc.Scenario("fluid", links, [dfc.Flow("a", (1, 2), dfc.CBR(9.0), size=2)], 0.5),
        level="fluid",
    )
    with pytest.raises(ValueError, match="run of 'fluid': must be at packet level"):
        dfc.job_completion(fluid)
    endless = dfc.Scenario("endless", links, [dfc.Flow("a", (1, 2), dfc.CBR(9.0))], 0.5)
    with pytest.raises(ValueError, match="run of 'endless': has no flow of finite size"):
        dfc.job_completion(dfc.simulate(endless, dfc.Packets(seed=1)))


# Upper bounds of jobs: exact where packets follow each other, beyond each run of random fabrics, and refused elsewhere.


def bound_of(links: list[dfc.Link], paths: list[str], **given: float) -> float:
    """Return the upper bound of transfers of 50 packets at the rates of their interfaces, s."""
    flows = [dfc.Flow(path, tuple(path), FixedRate(), size=50, host="nic") for path in paths]
    scenario = dfc.Scenario("job", links, flows, duration=9e-3, **given)
    return dfc.job_completion(dfc.simulate(scenario, dfc.Packets(seed=1), sample=9e-3)).upper_bound


def test_it_adds_up_the_packets_of_each_link() -> None:
    ends = ("as", "bs", "st", "sa", "sb", "ts")
    links = [dfc.Link(*each, 1e5, 5e-4, 1000, dfc.FIFO()) for each in ends]
    two = bound_of(links, ["ast", "bst"], packet_size=640.0)
    assert two == pytest.approx(1e-3 * (0.5 + 0.5 + 1.0 + 0.5))
    # 50 packets from each host and ACKs of 50 on each link of a host; 100 and ACKs of 100 on the other one
    both = bound_of(links, ["ast", "tsb"], packet_size=640.0)
    assert both == pytest.approx(1e-3 * (0.5 + 0.5 + 0.55 + 0.5))


def test_packets_that_go_round_have_none() -> None:
    links = [dfc.Link(*each, 1e5, 5e-4, 1000, dfc.FIFO()) for each in ("ab", "bc", "ca")]
    assert math.isnan(bound_of(links, ["abc", "bca", "cab"]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("routes", ["ecmp", "spray"])
def test_no_run_of_a_random_fabric_takes_longer(seed: int, routes: str) -> None:
    random = np.random.default_rng(seed)
    graph = (leaf_spine(4, 2, hosts=4), fat_tree(4))[seed % 2]
    fabric = dfc.Fabric(
        graph,
        buffer="64 MB",
        packet_size=4096.0,
        discipline=dfc.PFC(xoff=1e4, xon=1e3, counts="switch"),
    )
    sizes = random.integers(1, 60, len(fabric.hosts) * (len(fabric.hosts) - 1))
    given = {"source": FixedRate(), "links": fabric.links, "routes": routes, "options": dfc.FlowOptions(host="nic")}
    flows = dfc.all_to_all(fabric.hosts, sizes=sizes, **given)
    job = dfc.job_completion(
        dfc.simulate(
            fabric.scenario("all", flows, duration=0.05),
            dfc.Packets(seed=seed, recovery="selective", spraying="random"),
            sample=0.05,
        )
    )
    if routes == "ecmp":
        assert job.bound <= job.time <= job.upper_bound < 10.0 * job.bound
    else:  # late packets are sent again
        assert math.isnan(job.upper) or job.time <= job.upper_bound


def job_of(flows, fabric: dfc.Fabric, **options: object):
    """Return the job of flows on a fabric."""
    return dfc.job_completion(
        dfc.simulate(
            fabric.scenario("job", flows, duration=0.05),
            dfc.Packets(seed=1, **options),
            sample=0.05,
        )
    )


def test_it_is_known_only_of_runs_whose_links_are_never_idle() -> None:
    fabric = dfc.Fabric(
        leaf_spine(2, 2, hosts=4),
        buffer="64 MB",
        packet_size=4096.0,
        discipline=dfc.PFC(xoff=500, xon=50, counts="switch"),
    )
    given = {"links": fabric.links, "options": dfc.FlowOptions(host="nic")}
    known = job_of(dfc.permutation(fabric.hosts, 1, sizes=50, source=FixedRate(), **given), fabric)
    assert known.time <= known.upper_bound
    assert "upper bound" in known.summary()
    assert [line.get_label() for line in known.plot().lines[1:]] == ["lower bound", "upper bound"]
    for flows in (
        dfc.all_reduce(fabric.hosts, 400, source=FixedRate(), **given),  # flows wait for others
        dfc.permutation(fabric.hosts, 1, sizes=50, source=DCQCN(), **given),
        dfc.permutation(fabric.hosts, 1, sizes=50, source=FixedRate(sending_rate=1e5), **given),
        dfc.permutation(fabric.hosts, 1, sizes=50, starts=np.arange(7) * 1e-6, source=FixedRate(), **given),
    ):
        job = job_of(flows, fabric)
        assert math.isnan(job.upper_bound)
        assert "upper bound" not in job.summary()
    paused = dfc.Fabric(
        leaf_spine(2, 2, hosts=4),
        buffer="64 MB",
        packet_size=4096.0,
        discipline=dfc.PFC(xoff=4, xon=2, counts="switch"),
    )
    given["links"] = paused.links
    flows = dfc.all_to_all(paused.hosts, sizes=50, source=FixedRate(), **given)
    assert math.isnan(job_of(flows, paused).upper_bound)


def test_links_that_repeat_frames_may_take_longer() -> None:
    links = [dfc.Link(*ends, 1e6, 1e-6, 1000) for ends in ("as", "sd")]
    flows = [dfc.Flow("f", ("a", "s", "d"), FixedRate(), size=500, host="nic")]
    scenario = dfc.Scenario("retry", links, flows, duration=0.1)
    errors = [dfc.simulate(scenario, dfc.Packets(seed=1, frame_errors={"s->d": p})) for p in (0.0, 0.7)]
    assert dfc.job_completion(errors[0]).time <= dfc.job_completion(errors[0]).upper_bound
    assert dfc.job_completion(errors[1]).time > dfc.job_completion(errors[0]).upper_bound
    assert math.isnan(dfc.job_completion(errors[1]).upper_bound)


def test_packets_that_wait_at_random_at_their_senders_have_none() -> None:
    links = [dfc.Link(*ends, 1e6, 1e-6, 1000) for ends in ("as", "sd")]
    flows = [dfc.Flow("f", ("a", "s", "d"), FixedRate(), size=500, host="nic")]
    scenario = dfc.Scenario("waits", links, flows, duration=0.1)
    at_once, late = (dfc.simulate(scenario, dfc.Packets(seed=1), packet_jitter=wait) for wait in (0.0, "1pkt"))
    assert math.isfinite(dfc.job_completion(at_once).upper_bound)
    assert math.isnan(dfc.job_completion(late).upper_bound)


# Slowdowns by groups of sizes.

TWO_RATES = dfc.Fabric(leaf_spine(2, 2, hosts=4), buffer="1 MB", discipline=dfc.PFC(counts="switch"))


@pytest.fixture(scope="module")
def run():
    """Return a run of 30 flows to one host, of 1 to 30 packets, the last of which does not end."""
    sizes = [float(n) for n in range(1, 30)] + [1e6]
    flows = dfc.flows_from(
        [TWO_RATES.hosts[1 + n % 7] for n in range(30)],
        [TWO_RATES.hosts[0]] * 30,
        sizes,
        source=FixedRate(),
        links=TWO_RATES.links,
    )
    return dfc.simulate(TWO_RATES.scenario("incast", flows, 1e-3), dfc.Packets(seed=1), sample=1e-3)


def test_groups_have_the_quantiles_of_their_transfers(run) -> None:
    found = dfc.slowdowns(run, [0, 10, 29])
    times = run.completion_times()
    small = times.slowdown.values[:10]
    row = found.table.iloc[0]
    assert (row["transfers"], row["up to"], found.outside) == (10, 10, 1)
    assert row["median"] == np.median(small)
    assert row["99 %"] == np.quantile(small, 0.99)
    assert row["largest"] == small.max()
    assert found.table["transfers"].tolist() == [10, 19]
    assert found.values.min() >= 1.0 - 1e-12  # rounding errors of the quotient


def test_a_row_per_transfer_has_its_flow_its_size_and_its_slowdown(run) -> None:
    times = run.completion_times().to_pandas()
    for limits in (None, [0, 10, 29]):
        table = dfc.slowdowns(run, limits).to_pandas()
        assert table["sizes"].tolist() == times.loc[table["flows"], "size"].tolist()
        assert table["values"].tolist() == times.loc[table["flows"], "slowdown"].tolist()
        assert len(table) == len(dfc.slowdowns(run, limits).values) > 1


def test_groups_without_limits_have_as_many_transfers_each(run) -> None:
    counts = dfc.slowdowns(run).table["transfers"]
    assert len(counts) == 10
    assert counts.sum() == 29
    assert counts.max() - counts.min() <= 2  # 29 transfers


def test_limits_in_bytes_are_those_of_the_packets_of_the_run(run) -> None:
    size = run.scenario.packet_size
    in_packets = dfc.slowdowns(run, limits=[0, 10, 1000])
    in_bytes = dfc.slowdowns(run, limits=[0, f"{10 * size:g} B", f"{1000 * size:g} B"])
    assert in_bytes.limits == pytest.approx(in_packets.limits)
    assert in_bytes.summary() == in_packets.summary()


def test_transfers_outside_of_the_limits_are_counted_apart(run) -> None:
    part = dfc.slowdowns(run, [5, 7])
    assert part.sizes.tolist() == [6.0, 7.0]
    assert (part.unfinished, part.outside) == (0, 28)
    assert part.summary()["transfers"] == "2 complete, 0 not"
    assert part.summary()["left out"] == "28 transfers of other sizes"
    assert "left out" not in dfc.slowdowns(run).summary()


def test_the_figure_shows_the_quantiles(run) -> None:
    axes = dfc.slowdowns(run).plot()
    assert [line.get_label() for line in axes.lines] == ["median", "95 %", "99 %"]
    assert axes.get_xscale() == "log"
    rows = dfc.slowdowns(run).summary()
    assert rows["transfers"] == "29 complete, 1 not"


def test_nothing_complete_is_shown_too() -> None:
    links = dfc.chain(2, rate=1e3, delay=0.1, buffer=10)
    flow = dfc.Flow("a", (1, 2), dfc.CBR(9.0), size=1000)
    found = dfc.slowdowns(dfc.simulate(dfc.Scenario("late", links, [flow], 0.5), dfc.Fluid()))
    assert found.unfinished == 1
    assert len(found.table) == 0
    found.plot()


@pytest.mark.parametrize("limits", [[5], [5, 5], [5, 3], [[1, 2], [3, 4]], [-1, 2]])
def test_bad_limits_are_refused(run, limits) -> None:
    with pytest.raises(ValueError, match="limits"):
        dfc.slowdowns(run, limits)


def test_a_run_without_transfers_is_refused() -> None:
    links = dfc.chain(2, rate=1e3, delay=0.1, buffer=10)
    run = dfc.simulate(dfc.Scenario("endless", links, [dfc.Flow("a", (1, 2), dfc.CBR(9.0))], 0.5), level="fluid")
    with pytest.raises(ValueError, match="run of 'endless': has no flow of finite size"):
        dfc.slowdowns(run)


@pytest.mark.parametrize(("paths", "hops"), [(2, 1), (3, 1), (2, 2)])
def test_a_sprayed_transfer_alone_takes_the_time_of_an_empty_network(paths, hops) -> None:
    """Links of a hop that are slower together than those of the hosts: 2 or 3 of a quarter of the rate."""
    ends = [("s", "l"), ("m", "r")]
    for n in range(paths):
        nodes = ["l", *(f"{n}.{k}" for k in range(hops)), "m"]
        ends += itertools.pairwise(nodes)
    links = [dfc.Link(*hop, 1e6 if {*hop} & {"s", "r"} else 2.5e5, 1e-6, 4000) for hop in ends]
    options = {"links": links, "routes": "spray", "options": dfc.FlowOptions(host="nic")}
    flows = dfc.flows_from(["s"], ["r"], sizes=600, source=FixedRate(), **options)
    scenario = dfc.Scenario("alone", links, flows, duration=0.1, min_rto=1e-2)
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=dfc.SelectiveRepair(reordering=64)))
    assert not run.lost.any()
    times = run.completion_times()
    assert -1e-12 <= float((times.completion_time - times.ideal_time)[0]) < 1.0 / 2.5e5  # a transmission of a hop
    assert dfc.job_completion(run).bound > 600 / paths / 2.5e5


def test_the_summary_says_what_bounds_of_sprayed_transfers_leave_out() -> None:
    """Four hosts of a leaf share two uplinks of half their rate, which the bound of the job does not have."""
    cables = {"access": dfc.Cable("100Gbps", "3m"), "trunk": dfc.Cable("50Gbps", "20m")}
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=4), buffer="4 MB", packet_size=4096, **cables)
    hosts, rows = fabric.hosts, {}
    for routes in ("spray", "even"):
        flows = dfc.flows_from(hosts[:4], hosts[4:], sizes=100, source=FixedRate(), links=fabric.links, routes=routes)
        run = dfc.simulate(fabric.scenario(routes, flows, 0.01), dfc.Packets(seed=1, recovery="selective"))
        job = dfc.job_completion(run)
        rows[routes] = job.summary()
        assert job.bounds.sprayed == (4 if routes == "spray" else 0)
        assert (job.time > 3.5 * job.bound) == (routes == "spray")
    assert str(rows["spray"]["not in the bound"]).startswith("links between the first and the last one of 4 sprayed")
    assert "not in the bound" not in rows["even"]


def test_bounds_of_transfers_that_failures_reroute_have_no_links_between_switches() -> None:
    """Eight flows by one spine, whose link fails, end sooner over three spines than that link allows."""
    fabric = dfc.Fabric(leaf_spine(2, 4, hosts=8), buffer="9 MB", packet_size=4096)
    hosts, inf = fabric.hosts, math.inf
    flows = dfc.flows_from(hosts[:8], hosts[8:], sizes=200, source=FixedRate(), links=fabric.links, routes="first")
    scenario = fabric.scenario("failure", flows, 0.02)
    by_spine = dfc.completion_bounds(scenario)
    failed = by_spine.link
    assert failed.startswith("('leaf', 0)->('spine', ")
    jobs = {}
    for name, failures in {"none": None, "at once": {failed: (0.0, inf)}, "later": {failed: (1e-5, inf)}}.items():
        method = dfc.Packets(seed=1, recovery="selective", failures=failures)
        run = dfc.simulate(scenario, method, sample=0.02)
        jobs[name] = dfc.job_completion(run)
        assert jobs[name].time >= (1.0 - 1e-9) * jobs[name].bound
        assert (run.rerouted is None) == (failures is None)
    assert (jobs["none"].bounds.job, jobs["none"].bounds.link) == (by_spine.job, failed)
    for name in ("at once", "later"):
        job = jobs[name]
        assert (job.bounds.rerouted, job.bounds.sprayed) == (8, 0)
        assert job.time < by_spine.job
        assert math.isnan(job.upper_bound)
        assert "one of 8 rerouted transfers" in str(job.summary()["not in the bound"])
    assert math.isfinite(jobs["none"].upper_bound)
