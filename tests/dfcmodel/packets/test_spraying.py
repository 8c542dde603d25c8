"""Packets over several paths: sprayed by hosts, and routed by switches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.lossless import fat_tree, leaf_spine
from dfcmodel.packets.engine import begin_run
from responsefn import DCQCN, NSCC, FixedRate, NewReno
from tests.option_objects import grouped
from tests.oracles.engines import equal_records, plan_scenario

# Sprayed flows: packets over all shortest paths, both engines agree, and what repairs make of their order.

RULES = (
    dfc.FIFO(),
    dfc.PFC(xoff=8.0, xon=4.0, counts="switch"),
    dfc.Credits(),
    dfc.RampMarking(2.0, 20.0, 0.5),
)
SOURCES = (FixedRate(), DCQCN(), NewReno())


def random_spray(seed: int) -> tuple[dfc.Scenario, dfc.Packets]:
    """Return flows between leaves of unequal hosts, most of them sprayed, over any kind of fabric."""
    rng = np.random.default_rng([2050, seed])
    leaves, spines, per = (int(n) for n in rng.integers([2, 2, 1], [4, 5, 4]))
    rate = 1e6
    rule = RULES[seed % len(RULES)]
    links = []
    for leaf in range(leaves):
        for host in range(per):
            own, delay = rate * rng.uniform(0.6, 1.4), rng.uniform(0.5, 5.0) / rate
            ends = f"h{leaf}.{host}", f"leaf{leaf}"
            links += [dfc.Link(*way, own, delay, 30.0, rule) for way in (ends, ends[::-1])]
    up, far = rate * rng.uniform(0.4, 1.5), rng.uniform(0.5, 8.0) / rate
    for leaf in range(leaves):
        for spine in range(spines):
            ends = f"leaf{leaf}", f"spine{spine}"
            links += [dfc.Link(*way, up, far, 60.0, rule) for way in (ends, ends[::-1])]
    if not isinstance(rule, (dfc.FIFO, dfc.RampMarking)):
        links = [replace(link, buffer=1e4) for link in links]
    hosts = [f"h{leaf}.{host}" for leaf in range(leaves) for host in range(per)]
    count = int(rng.integers(3, 9))
    pairs = [rng.choice(len(hosts), 2, replace=False).tolist() for _ in range(count)]
    flows = dfc.flows_from(
        [hosts[a] for a, _ in pairs], [hosts[b] for _, b in pairs], sizes=80, links=links,
        starts=rng.uniform(0.0, 30.0, count) / rate, routes="spray",
        source=[SOURCES[n] for n in rng.integers(0, 3, count)],
        options=dfc.FlowOptions(host="nic", max_window=60.0, after=np.where(np.arange(count) == count - 1, 0, -1)),
    )  # fmt: skip
    selective = dfc.SelectiveRepair(reordering=int(rng.integers(0, 12)))
    method = dfc.Packets(
        seed=seed,
        spraying=("turns", "random")[seed % 2],
        recovery=("go-back-n", selective)[rng.integers(2)],
    )
    return dfc.Scenario(f"spray {seed}", links, flows, duration=1e3 / rate, min_rto=2e-4), method


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.slow) for n in range(4, 60))])
def test_sprayed_flows_are_those_of_the_reference(seed: int) -> None:
    scenario, method = random_spray(seed)
    plan = plan_scenario(scenario, method, duration=1e-3, sample=1e-4, may_spray=True)
    records = equal_records(plan)
    assert records.imbalance.max() == 0.0
    run = dfc.simulate(scenario, method)
    assert len(run.finished) == len(scenario.flows)
    assert run.scenario is scenario
    assert run.lost.sum() == records.lost[:-1, plan.hops.row[~plan.hops.is_ack]].sum()


FABRIC = dfc.Fabric(
    leaf_spine(4, 4, hosts=4), dfc.Cable("100Gbps", "10m"), buffer="1 MB", packet_size=4096,
    discipline=dfc.PFC(xoff=40, xon=20, counts="switch"),
)  # fmt: skip


def completed(fabric: dfc.Fabric, routes: str, recovery: Any, **given: Any) -> Any:
    """Return the run of a permutation, of which all transfers end."""
    flows = dfc.permutation(
        fabric.hosts,
        1,
        sizes=400,
        source=FixedRate(),
        links=fabric.links,
        routes=routes,
        **grouped(dfc.permutation, given, host="nic"),
    )
    scenario = fabric.scenario("permutation", flows, duration=0.02, min_rto=1e-3)
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery=recovery), sample=0.02)
    assert np.isfinite(run.finished).all()
    assert run.finished.max() >= dfc.completion_bounds(scenario).job * (1.0 - 1e-12)
    return run


def test_a_sprayed_permutation_is_as_fast_as_its_interfaces() -> None:
    """Where repair waits for packets that others overtake, nothing is sent twice."""
    sprayed = completed(FABRIC, "spray", dfc.SelectiveRepair(reordering=64))
    hashed = completed(FABRIC, "ecmp", "selective")
    assert sprayed.lost.sum() == 0
    assert sprayed.emitted.sum() == 400 * len(sprayed.scenario.flows)
    assert sprayed.finished.max() < 1.1 * dfc.completion_bounds(sprayed.scenario).job
    assert hashed.finished.max() > 1.5 * sprayed.finished.max()


def test_go_back_n_takes_overtaking_for_loss() -> None:
    """Nothing is lost, and over eight hashes five times as much is sent again as with selective repair; neither waits for what comes late."""
    again = np.zeros(2)
    for seed in range(8):
        fabric = replace(FABRIC, seed=seed)
        patient = completed(fabric, "spray", dfc.SelectiveRepair(reordering=64))
        runs = [completed(fabric, "spray", recovery) for recovery in ("go-back-n", "selective")]
        assert not any(run.lost.sum() for run in runs)
        again += [run.emitted.sum() - patient.emitted.sum() for run in runs]
        assert runs[0].finished.max() > patient.finished.max()
    assert again[0] > 5.0 * again[1] > 0.0


def test_collectives_and_fat_trees_spray() -> None:
    fabric = replace(FABRIC, switches=fat_tree(4))
    flows = dfc.all_reduce(
        fabric.hosts,
        160,
        "ring",
        source=FixedRate(),
        links=fabric.links,
        routes="spray",
        options=dfc.CollectiveOptions(host="nic"),
    )
    assert {len(flow.paths) for flow in flows} == {0, 1, 3}  # of one edge switch, pod, other pods
    scenario = fabric.scenario("ring", flows, duration=0.01, min_rto=1e-3)
    job = dfc.job_completion(dfc.simulate(scenario, dfc.Packets(seed=1, recovery="selective")), "all_reduce", 160)
    assert job.unfinished == 0
    assert job.time >= job.bound * (1.0 - 1e-12)


def test_refusals_name_what_is_allowed_spraying() -> None:
    links = [
        dfc.Link(a, b, 1e6, 1e-6, 100.0)
        for a, b in (("h", "a"), ("a", "s"), ("a", "t"), ("s", "b"), ("t", "b"), ("b", "d"))
    ]
    own, further = ("h", "a", "s", "b", "d"), ("h", "a", "t", "b", "d")
    flow = dfc.Flow("f", own, FixedRate(), size=10, host="nic", paths=(further,))

    def refused(flow: dfc.Flow, message: str, links: Any = links, method: Any = None) -> None:
        with pytest.raises(ValueError, match=message):
            dfc.simulate(dfc.Scenario("refused", links, [flow], duration=1e-3), method or dfc.Packets(seed=1))

    refused(replace(flow, host="direct"), "host of flow 'f' = 'direct': a sprayed flow needs")
    slower = [replace(link, rate=5e5) if link.name == "t->b" else link for link in links]
    refused(flow, "t->b must have the rate and delay of s->b", slower)
    refused(flow, "there is no link t->b", [link for link in links if link.name != "t->b"])
    refused(replace(flow, size=float("inf")), "paths of flow 'f'.*method=Packets", links, dfc.Fluid())
    for paths, message in (
        ((own,), "must differ from each other and from path"),
        ((("h", "a", "b", "d"),), r"paths\[0\] of flow 'f'.*must have as many nodes"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(flow, paths=paths)
    with pytest.raises(ValueError, match="spraying = 'hash'"):
        dfc.Packets(spraying="hash")
    with pytest.raises(ValueError, match="sprayed flows are for simulate alone"):
        plan_scenario(dfc.Scenario("refused", links, [flow]), dfc.Packets(), duration=1e-3, sample=1e-3)


# Routes that switches choose, routing loops and times to live, links that fail: both engines agree, and what follows by arithmetic.

SLOW = [pytest.param(n, marks=pytest.mark.slow) for n in range(4, 40)]


@pytest.mark.parametrize("seed", [*range(4), *SLOW])
def test_switches_choose_as_those_of_the_reference(seed: int) -> None:
    scenario, method = random_spray(seed)
    method = replace(method, spraying="least queue")
    plan = plan_scenario(scenario, method, duration=1e-3, sample=1e-4, may_spray=True)
    assert seed > 3 or any(others != (-1,) for others in plan.choices.values())
    assert equal_records(plan).imbalance.max() == 0.0


def leaf_links(spines: int, rule: Any, rate: float = 1e6, buffer: float = 60.0) -> list[dfc.Link]:
    """Return the links of two leaves with three hosts each and some spines; times of links differ, so that nothing is at once."""
    links = []
    for leaf in range(2):
        for host in range(3):
            ends = f"h{leaf}.{host}", f"leaf{leaf}"
            delay = (1.3 + 0.11 * host + 0.07 * leaf) / rate
            links += [dfc.Link(*way, (0.9 + 0.031 * host) * rate, delay, buffer, rule) for way in (ends, ends[::-1])]
        for spine in range(spines):
            ends = f"leaf{leaf}", f"spine{spine}"
            links += [dfc.Link(*way, rate, 2.9 / rate, buffer, rule) for way in (ends, ends[::-1])]
    return links


FAILURES = {
    "leaf0->spine0": (100e-6, 250e-6),
    "spine1->leaf1": [(50e-6, 90e-6), (300e-6, 320e-6)],
    "leaf1->spine0": (60e-6, float("inf")),
}
PFC_RULE = dfc.PFC(xoff=8.0, xon=4.0, counts="switch")


def failing(seed: int) -> tuple[dfc.Scenario, dfc.Packets]:
    """Return flows between two leaves with three spines, of which two lose links, sprayed or not, lossless or not."""
    rng = np.random.default_rng([2051, seed])
    rule = (dfc.FIFO(), PFC_RULE)[seed % 2]
    links = leaf_links(3, rule, buffer=1e4 if seed % 2 else 40.0)
    spray = seed % 4 > 1
    flows = dfc.flows_from(
        ["h0.0", "h0.1", "h1.0", "h0.2", "h1.2"],
        ["h1.0", "h1.1", "h0.1", "h1.1", "h0.0"],
        sizes=120,
        links=links,
        starts=rng.uniform(0.0, 30e-6, 5),
        source=FixedRate(),
        routes="spray" if spray else "ecmp",
        options=dfc.FlowOptions(host="nic"),
    )
    method = dfc.Packets(
        seed=seed, failures=FAILURES, reroute_delay=(0.0, 7.3e-6)[seed // 2 % 2],
        spraying=("turns", "random", "least queue")[seed % 3], recovery=dfc.SelectiveRepair(reordering=8),
    )  # fmt: skip
    return dfc.Scenario(f"failing {seed}", links, flows, duration=1e-3, min_rto=1e-4), method


@pytest.mark.parametrize("seed", [*range(4), *SLOW])
def test_links_fail_as_in_the_reference(seed: int) -> None:
    """What is lost is sent again, and all of it is counted as lost on the links that were down."""
    scenario, method = failing(seed)
    plan = plan_scenario(scenario, method, duration=1e-3, sample=1e-4, may_spray=True)
    assert equal_records(plan).imbalance.max() == 0.0
    run = dfc.simulate(scenario, method)
    assert np.isfinite(run.finished).all()
    drops = run.drops()
    at = drops.cause == "failure"
    assert at.any()
    assert set(drops.link.values[at.values].tolist()) <= set(FAILURES)


def looping(seed: int) -> tuple[dfc.Scenario, dfc.Packets]:
    """Return a flow in a loop of switches and one that bounces, beside one that arrives."""
    rng = np.random.default_rng([2052, seed])
    rule = (dfc.FIFO(), dfc.PFC(xoff=8.0, xon=6.0, counts=("switch", "output")[seed // 2 % 2]))[seed % 2]
    ends = (
        ("h", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("b", "a"),
        ("g", "c"),
        ("a", "d"),
        ("c", "d"),
    )
    links = [
        dfc.Link(
            *pair,
            1e6 * rng.uniform(0.8, 1.2),
            rng.uniform(1.0, 3.0) * 1e-6,
            1e4 if seed % 2 else 12.0,
            rule,
        )
        for pair in ends
    ]
    host = ("nic", "unshaped")[seed // 4 % 2]
    flows = [
        dfc.Flow("loop", ("h", "a", "b", "c", "a"), dfc.CBR(1e6 * rng.uniform(0.1, 0.4)), ttl=int(rng.integers(3, 12)), host=host),
        dfc.Flow("bounce", ("h", "a", "b", "a", "d"), dfc.CBR(2.1e5), size=40, ttl=8, host=host),
        dfc.Flow("short", ("g", "c", "a", "b", "c", "d"), dfc.CBR(1.3e5), ttl=3, host=host),
    ]  # fmt: skip
    return dfc.Scenario(f"loops {seed}", links, flows, duration=5e-4), dfc.Packets(seed=seed)


@pytest.mark.parametrize("seed", [*range(4), *SLOW])
def test_routes_return_as_in_the_reference(seed: int) -> None:
    scenario, method = looping(seed)
    plan = plan_scenario(scenario, method, duration=5e-4, sample=1e-4)
    assert equal_records(plan).imbalance.max() == 0.0
    run = dfc.simulate(scenario, method)
    loop, bounce, short = run.delivered[:, -1]  # buffers of 12 packets may lose, and loops under PFC deadlock
    assert loop == short == 0.0
    assert 0.0 < bounce == 40.0 - run.lost_by_flow[1] - run.inside[1]
    drops = run.drops()
    assert set(drops.flow.values[drops.cause.values == "ttl"].tolist()) == {"loop", "short"}


def test_the_rate_into_a_loop_that_deadlocks_it() -> None:
    """Each packet of TTL 16 crosses the first link of a loop of two switches 8 times: it is full at an eighth of its rate."""
    rate, ttl = 5e6, 16
    links = [
        dfc.Link(*ends, rate, 1e-6, 5000, dfc.PFC(xoff=40, xon=38, counts="switch")) for ends in ("hA", "AB", "BA")
    ]
    for share, label in ((0.8, "ended"), (1.25, "deadlocked")):
        flow = dfc.Flow("caught", tuple("hABA"), dfc.CBR(share * 2 * rate / ttl), host="nic", ttl=ttl)
        run = dfc.simulate(
            dfc.Scenario("loop", links, [flow], duration=2e-3, packet_size=1000),
            dfc.Packets(seed=1),
            sample=5e-5,
        )
        assert (run.status.label == "deadlocked") == (label == "deadlocked")
        if label == "ended":
            carried = run.carried[0, run.scenario.senders.index("A")]
            assert carried == pytest.approx(8 * share * 2 * rate / ttl * 2e-3, rel=0.02)
            assert run.lost.sum() == run.drops().packets.values.sum()


def test_least_queues_avoid_what_others_fill() -> None:
    """A hashed flow fills the link to one spine; sprayed packets in turn wait there, those with a choice hardly do."""
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=3), dfc.Cable("100Gbps", "10m"), buffer="1 MB", packet_size=4096,
                    discipline=dfc.PFC(xoff=40, xon=20, counts="switch"))  # fmt: skip
    hosts, patient = fabric.hosts, dfc.SelectiveRepair(reordering=64)
    given: dict[str, Any] = {
        "sizes": 200,
        "source": FixedRate(),
        "links": fabric.links,
        "host": "nic",
    }
    hashed = next(
        iter(dfc.flows_from([hosts[0]], [hosts[3]], routes="ecmp", **grouped(dfc.flows_from, given, names=["hashed"])))
    )
    sprayed = next(
        iter(
            dfc.flows_from([hosts[1]], [hosts[4]], routes="spray", **grouped(dfc.flows_from, given, names=["sprayed"]))
        )
    )
    scenario = fabric.scenario("two", [hashed, sprayed], duration=0.01, min_rto=1e-3)
    alone = dfc.simulate(fabric.scenario("one", [hashed], duration=0.01, min_rto=1e-3), dfc.Packets(seed=1)).finished[0]
    turns, least = (
        dfc.simulate(scenario, dfc.Packets(seed=1, recovery=patient, spraying=spraying))
        for spraying in ("turns", "least queue")
    )
    assert least.peak_queue.max() <= 2.0
    assert turns.peak_queue.max() > 10.0
    assert least.finished.max() < 1.02 * alone
    assert turns.finished.max() > 1.2 * alone


def test_a_fat_tree_chooses_at_two_levels() -> None:
    """Flows at line rate settle each on a link of its own and collide further on, where turns spread them: a choice by own queues alone."""
    fabric = dfc.Fabric(fat_tree(4), dfc.Cable("100Gbps", "10m"), buffer="1 MB", packet_size=4096,
                    discipline=dfc.PFC(xoff=40, xon=20, counts="switch"))  # fmt: skip
    flows = dfc.permutation(
        fabric.hosts,
        1,
        sizes=150,
        source=FixedRate(),
        links=fabric.links,
        routes="spray",
        options=dfc.FlowOptions(host="nic"),
    )
    scenario = fabric.scenario("permutation", flows, duration=0.01, min_rto=1e-3)
    turns, least = (
        dfc.simulate(
            scenario,
            dfc.Packets(seed=1, recovery=dfc.SelectiveRepair(reordering=64), spraying=each),
        )
        for each in ("turns", "least queue")
    )
    assert least.lost.sum() == 0
    assert np.isfinite(least.finished).all()
    assert least.finished.max() > 1.1 * turns.finished.max() > 1.1 * dfc.completion_bounds(scenario).job * (1.0 - 1e-12)


def test_ways_around_failures_have_as_many_links() -> None:
    ends = [("a", "s"), ("s", "t"), ("s", "u"), ("u", "t"), ("t", "b")]
    links = [dfc.Link(*hop, 1e6, 1e-6, 100) for hop in ends]
    flow = dfc.Flow("one", ("a", "s", "t", "b"), FixedRate(), size=10, host="nic")
    scenario = dfc.Scenario("detour", links, [flow], duration=1e-3)
    with pytest.raises(ValueError, match="its paths around failures must have as many links, they have 3, 4"):
        dfc.simulate(scenario, dfc.Packets(seed=1, failures={"s->t": (0.0, 1e-5)}))


@pytest.mark.parametrize("routes", ["ecmp", "spray"])
@pytest.mark.parametrize("source", [FixedRate(), NewReno()])
def test_acks_return_around_links_that_fail(routes: str, source: Any) -> None:
    """ACKs over a link of which only the other direction has packets of their flow were lost for ever."""
    links = leaf_links(3, dfc.FIFO(), buffer=1e3)
    hosts = [f"h{leaf}.{host}" for leaf in range(2) for host in range(3)]
    options = dfc.FlowOptions(host="nic")
    flows = dfc.all_to_all(hosts, sizes=60, links=links, source=source, routes=routes, options=options)
    scenario = dfc.Scenario("one direction", links, flows, duration=0.1, min_rto=1e-3)
    method = {"seed": 1, "recovery": dfc.SelectiveRepair(reordering=60) if source == FixedRate() else "sack"}
    failures = {"leaf1->spine1": (2e-5, np.inf)}
    runs = [dfc.simulate(scenario, dfc.Packets(failures=failed, **method)) for failed in (failures, None)]
    assert all(np.isfinite(run.finished).all() for run in runs)
    assert runs[0].finished.max() < 2.0 * runs[1].finished.max() + 2e-3


def test_acks_without_a_path_around_a_failure_are_named() -> None:
    links = [dfc.Link(*pair, 1e6, 1e-6, 100) for hop in ("ax", "bx", "xy", "yc") for pair in (hop, hop[::-1])]
    flows = [dfc.Flow("up", tuple("axyc"), FixedRate(), size=50, host="nic")]
    scenario = dfc.Scenario("one path", links, flows, duration=1e-2, min_rto=1e-3)
    message = "ACKs of flow 'up', and of 1 of 1 flows, return over it, and no path of as many links avoids it"
    with pytest.warns(UserWarning, match="no packet of data passes it"), pytest.warns(UserWarning, match=message):
        dfc.simulate(scenario, dfc.Packets(seed=1, failures={"y->x": (1e-5, 2e-5)}))


def test_ways_around_failures_keep_the_plane_of_a_host() -> None:
    """Hosts with a link to each of two planes of switches: a flow leaves and arrives over the links that it began with."""
    hops = [(h, f"{h}{p}") for h in "ab" for p in range(2)]
    hops += [(f"{h}{p}", f"spine {p}.{n}") for h in "ab" for p in range(2) for n in range(2)]
    links = [dfc.Link(*ends, 1e6, 1e-6, 100) for hop in hops for ends in (hop, hop[::-1])]
    given = grouped(dfc.flows_from, {"sizes": 10, "source": FixedRate(), "links": links, "host": "nic"})
    flows = dfc.flows_from(12 * ["a"], 12 * ["b"], **given)
    scenario = dfc.Scenario("planes", links, flows, duration=1e-2, min_rto=1e-3)
    over = sum(flow.path[1:3] == ("a0", "spine 0.0") for flow in flows)
    assert over > 2
    failed = {"a0->spine 0.0": (2e-5, np.inf)}
    run = dfc.simulate(scenario, dfc.Packets(seed=1, recovery="selective", failures=failed))
    assert np.isfinite(run.finished).all()
    with pytest.raises(
        ValueError, match="a path over its first and last link that never fails, for ACKs: without b0->b"
    ):
        dfc.simulate(scenario, dfc.Packets(seed=1, failures={"b0->b": (2e-5, np.inf)}))


def test_failures_have_times_with_units() -> None:
    failures = {"a->b": ("1 ms", "2 ms"), "b->c": [("2 ms", 4e-3), (0.1, np.inf)]}
    expected = {"a->b": ((1e-3, 2e-3),), "b->c": ((2e-3, 4e-3), (0.1, np.inf))}
    assert dfc.Packets(failures=failures).failures == expected
    with pytest.raises(ValueError, match=r"failures = '5': must be a number and a unit of s, ms, us, ns or min"):
        dfc.Packets(failures={"a->b": ("1 ms", "5")})


def test_failures_without_an_effect_are_named() -> None:
    """Such as times in ms, and a link over which the hash led no flow."""
    links = leaf_links(2, dfc.FIFO())
    given: dict[str, Any] = {"sizes": 10, "links": links, "source": FixedRate(), "host": "nic"}
    flows = dfc.flows_from(["h0.0"], ["h1.0"], **grouped(dfc.flows_from, given))
    scenario = dfc.Scenario("failures", links, flows, duration=1e-4)
    used = flows[0].path[2]
    other = next(f"leaf0->spine{n}" for n in range(2) if f"spine{n}" != used)
    message = f"failures of leaf0->{used} at 1: times are in s, and the run ends at 0.0001 s"
    with pytest.warns(UserWarning, match=message):
        dfc.simulate(scenario, dfc.Packets(seed=1, failures={f"leaf0->{used}": (1.0, 2.0)}))
    with pytest.warns(UserWarning, match=f"^failures of {other}: no packet of data passes it$"):
        dfc.simulate(scenario, dfc.Packets(seed=1, failures={other: (1e-6, 2e-6)}))
    slow = dfc.Packets(seed=1, failures={f"leaf0->{used}": (1e-6, 2e-6)}, reroute_delay=10)
    with pytest.warns(UserWarning, match="^reroute_delay = 10: it is in s, and the run ends at 0.0001 s: no flow is"):
        dfc.simulate(scenario, slow)
    both = {f"leaf0->{used}": (1e-6, 2e-6), other: (3e-6, 4e-6)}
    with pytest.raises(ValueError, match="none is left"):  # a rerouted flow would pass the other one
        dfc.simulate(scenario, dfc.Packets(seed=1, failures=both))


def test_refusals_name_what_is_allowed_switch_routes() -> None:
    links = leaf_links(2, dfc.FIFO())
    given: dict[str, Any] = {"sizes": 10, "links": links, "source": FixedRate(), "host": "nic"}
    flows = dfc.flows_from(["h0.0"], ["h1.0"], **grouped(dfc.flows_from, given))
    scenario = dfc.Scenario("refused", links, flows, duration=1e-4)

    def refused(message: str, **options: Any) -> None:
        with pytest.raises(ValueError, match=message):
            dfc.simulate(scenario, dfc.Packets(seed=1, **options))

    refused("failures of h0.0->leaf0: it is the first link", failures={"h0.0->leaf0": (0.0, 1.0)})
    refused("failures: link = 'x->y'", failures={"x->y": (0.0, 1.0)})
    refused(
        "failures of leaf0->spine0: loss of it must be 0",
        failures={"leaf0->spine0": (0.0, 1.0)},
        loss={"leaf0->spine0": 0.1},
    )
    both = {f"leaf0->spine{n}": (0.0, 1e-5) for n in range(2)}
    refused("for ACKs: without leaf0->spine0, leaf0->spine1 none is left", failures=both)
    refused("for ACKs: without leaf1->h1.0 none is left", failures={"leaf1->h1.0": (0.0, 1e-5)})
    refused("end of pair 0 = 1: must be a finite number > 2", failures={"leaf0->spine0": (2.0, 1.0)})
    refused(
        "begin of pair 1 = 1.5: must be",
        failures={"leaf0->spine0": [(1.0, 2.0), (1.5, 3.0)]},
    )
    refused("must be a pair of times", failures={"leaf0->spine0": (1.0, 2.0, 3.0)})
    refused("reroute_delay = -1", reroute_delay=-1.0)
    with pytest.raises(ValueError, match="must not visit a node twice; a loop needs ttl"):
        dfc.Flow("f", ("h", "a", "b", "a"), dfc.CBR(1.0))
    with pytest.raises(ValueError, match="ttl of flow 'f' = 0"):
        dfc.Flow("f", ("h", "a", "b", "a"), dfc.CBR(1.0), ttl=0)
    with pytest.raises(ValueError, match=r"ttl of flow .* = 4: must be None for a sprayed flow"):
        dfc.flows_from(["h0.0"], ["h1.0"], routes="spray", **grouped(dfc.flows_from, given, ttl=4))
    loop = dfc.Flow("f", ("h", "a", "b", "a"), dfc.CBR(1e3), ttl=5)
    assert loop.path == ("h", "a", "b", "a", "b", "a", "b")
    assert replace(loop, ttl=3).path == ("h", "a", "b", "a", "b")
    with pytest.raises(ValueError, match="ttl of flow 'f' = 5: times to live are for packets"):
        dfc.simulate(
            dfc.Scenario("refused", [dfc.Link(*ends, 1e5, 1e-5, 100) for ends in ("ha", "ab", "ba")], [loop]),
            dfc.Fluid(),
        )


def test_elements_of_paths_stand_where_packets_keep_their_path() -> None:
    """Failures, times to live and backpressure are refused beside them, before anything runs."""
    links = [dfc.Link(*pair, 1000.0, 0.001, 20) for pair in ("ab", "bc", "cb", "ba")]
    flow, jitter = dfc.Flow("f", ("a", "b", "c"), dfc.CBR(100.0)), (dfc.Jitter("b->c", 0.001),)
    scenario = dfc.Scenario("x", links, [flow], duration=0.1, elements=jitter)
    with pytest.raises(ValueError, match=r"elements of 'x': must be \(\) with failures"):
        dfc.simulate(scenario, dfc.Packets(failures={"b->c": ((0.01, 0.02),)}))
    limited = replace(scenario, flows=(replace(flow, ttl=3),))
    with pytest.raises(ValueError, match=r"elements of 'x': must be \(\) with failures of links and times to live"):
        dfc.simulate(limited, dfc.Packets())
    fed = replace(scenario, links=tuple(replace(link, discipline=dfc.BFC()) for link in links))
    with pytest.raises(ValueError, match=r"elements: link of Jitter = 'b->c' with BFC"):
        dfc.simulate(fed, dfc.Packets())


@pytest.mark.parametrize("spraying", ["random", "least queue"])
def test_a_choice_of_paths_without_sprayed_flows_is_named(spraying: str) -> None:
    links = dfc.chain(3, rate=1e6, delay=1e-6, buffer=100)
    one = dfc.Scenario("one", links, [dfc.Flow("a", (1, 2, 3), FixedRate(), size=5, host="nic")], duration=1e-3)
    for choice, named in (("turns", 0), (spraying, 1)):
        limits = dfc.simulate(one, dfc.Packets(seed=1, spraying=choice)).limits
        assert [limit.startswith(f"unused options: spraying = '{choice}': no flow is") for limit in limits] == [
            True
        ] * named


def test_errors_on_sprayed_flows_have_their_names() -> None:
    """Further paths are flows of the plan, which errors called ``path 0 of`` a flow."""
    flows = dfc.permutation(FABRIC.hosts, 1, sizes=4, source=NSCC(), links=FABRIC.links, routes="spray")
    scenario = FABRIC.scenario("permutation", flows, duration=1e-3)
    with pytest.raises(ValueError, match=r"recovery of flow \"\('host', [0-9]*\)->"):
        dfc.simulate(scenario, dfc.Packets(seed=1, recovery="selective"))


@pytest.mark.parametrize(("sizes", "rows"), [(4, 256), (1000, 8192), (float("inf"), 131072)])
def test_memory_of_senders_is_that_of_their_transfers(sizes: float, rows: int) -> None:
    """Windows are at most 10,000 packets, and records of packets had room for these: 35 GB with 64 hosts, 4 packets each."""
    flows = dfc.permutation(FABRIC.hosts, 1, sizes=sizes, source=NSCC(), links=FABRIC.links, routes="spray")
    scenario = FABRIC.scenario("permutation", flows, duration=1e-4)
    plan = plan_scenario(scenario, dfc.Packets(seed=1), duration=1e-4, sample=1e-4, may_spray=True)
    assert plan.spraying.lenders > len(flows)  # paths, which have no sender of their own
    arrays = begin_run(plan).layout.arrays
    assert len(arrays["history"]) == rows * len(flows)
    assert len(arrays["bits"]) == 2 * rows // 4 // 8 * len(flows) + 1
