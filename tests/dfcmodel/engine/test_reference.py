"""What holds for every discipline, source and host; the kernel against the naive reference."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.network.queueing.marking import MeanRamp
from responsefn import DCQCN, DCTCP, NewReno, RateRule, Reno, Tahoe, WindowRule
from tests.oracles.engines import ENGINES, advance, compile_scenario
from tests.oracles.fluid import runs as reference
from tests.oracles.fluid.runs import Run

LINK = {"rate": 2000.0, "delay": 2e-3, "buffer": 12.0}


DISCIPLINES = {
    "fifo": dfc.FIFO(),
    "dfc": dfc.DFC(),
    "dfc alpha": dfc.DFC(diffusion=0.3, intensity=1.1, phases="synchronous"),
    "dfc input": dfc.DFC(diffusion=0.2, intensity=1.05, per="input"),
    "pause": dfc.Pause(high=6.013, low=2.987),
    "quanta": dfc.Pause(high=6.013, low=2.987, quanta=100, signalling=1e-3, paused_rate=100.0),
    "red": dfc.RED(low=2.0, high=6.0, weight=0.02),
    "ecn": dfc.RED(low=2.0, high=6.0, weight=0.02, gentle=False, ecn=True, mean_packet=1000.0),
    "fair": dfc.Fair(),
    "priority": dfc.Priority(),
    "pause ecn": dfc.Pause(high=6.013, low=2.987, manager=dfc.RampMarking(2.0, 5.0, 0.2)),
    "pause red": dfc.Pause(high=6.013, low=2.987, manager=dfc.RED(low=2.0, high=6.0, weight=0.02)),
    "fair codel": dfc.Fair(manager=dfc.CoDel(target=2e-3, interval=0.02)),
    "priority pie": dfc.Priority(manager=dfc.PIE(target=2e-3, update=4e-3)),
    "pfc": dfc.PFC(classes=(0, 1), xoff=2.513, xon=1.287, headroom=1.0),
    "pfc ecn": dfc.PFC(classes=(0, 1), xoff=2.5, xon=1.3, headroom=1.0, manager=dfc.RampMarking(2.0, 5.0, 0.2)),
    "mean ecn": MeanRamp(2.0, 5.0, 0.2),
}
"""New ones come last: the place of one is a seed of its random trees."""


ROCE = DCQCN(notification=4e-3, alpha_timer=5e-3, timer=6e-3, counter=20.0, additive=50.0)
"""A rate rule with clocks of the time scale of the link, in which no pauses stop the senders."""


SOURCES = {
    "tcp": (Reno(), NewReno(), Tahoe()),
    "udp": (
        dfc.CBR(1500.0),
        dfc.OnOff(2500.0, 0.02, 0.03),
        dfc.OnOff(2500.0, 0.02, 0.03, random=True),
    ),
    "both": (NewReno(), dfc.CBR(1200.0), dfc.OnOff(2500.0, 0.05, 0.02)),
    "rates": (ROCE, ROCE.replace(g=0.5), dfc.CBR(1200.0)),
}


DURATION = 0.6


def crossing(discipline, sources, host="direct", *, window=60.0, shared=True) -> dfc.Scenario:
    """Return three flows over a chain of five nodes: all of it, its end, and its middle."""
    paths = ((1, 2, 3, 4, 5), (3, 4, 5), (2, 3, 4))
    flows = [
        dfc.Flow(f"flow {f}", path, source, window, 0.01 * f, size, host, priority=f)
        for f, (path, source, size) in enumerate(zip(paths, sources, (np.inf, np.inf, 200.0), strict=True))
    ]
    links = dfc.chain(5, **LINK, discipline=discipline, shared=shared)
    return dfc.Scenario("crossing", links, flows, DURATION, min_rto=0.05)


def hosts_of(name: str) -> tuple[str, ...]:
    return ("direct", "unshaped", "shaped") if name.startswith("dfc") else ("direct", "unshaped")


@cache
def quantum_of(sort: str) -> float:
    """Return the quantum of amounts with some sources, packets."""
    scenario = crossing(dfc.FIFO(), SOURCES[sort])
    return compile_scenario(scenario, dfc.Fluid(), np.random.default_rng(0)).quantum


EVERY = [(name, sort, host) for name in DISCIPLINES for sort in SOURCES for host in hosts_of(name)]


@pytest.mark.parametrize(("name", "sort", "host"), EVERY)
def test_conservation_and_bounds(name: str, sort: str, host: str) -> None:
    """The balance is zero, not small; nothing is negative; no buffer and no link is exceeded."""
    scenario = crossing(DISCIPLINES[name], SOURCES[sort], host)
    run = dfc.simulate(scenario, sample=0.01, level="fluid")
    assert run.imbalance.max() == 0.0
    for values in (run.queued, run.in_transit, run.lost, run.backlog, run.mean_queue):
        assert values.min() >= 0.0
    assert run.peak_queue.max() <= LINK["buffer"]
    assert not np.isinf(run.round_trip).any()
    assert np.diff(run.delivered, axis=1).min() >= 0.0
    assert run.delivered[2, -1] <= 200.0
    assert (run.carried.sum(axis=0) <= LINK["rate"] * scenario.duration * (1 + 1e-12)).all()
    quantum = quantum_of(sort)  # service is rounded down to it in each step
    assert (run.in_transit * run.efficiency.values <= run.in_transit + len(scenario.links) * quantum).all()


def random_network(seed: int) -> dfc.Scenario:
    """Return a random mesh: links of other rates, delays and disciplines, flows of all sources."""
    random = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(7, 0.45, seed=seed, directed=True)
    graph.add_edges_from(itertools.pairwise(range(7)))
    names = [name for name in DISCIPLINES if not name.startswith(("dfc", "pfc"))]
    links = [
        dfc.Link(
            a, b, float(random.uniform(1e3, 4e3)), float(random.uniform(1e-3, 4e-3)),
            float(random.integers(10, 40)), DISCIPLINES[random.choice(names)],
        )
        for a, b in graph.edges
    ]  # fmt: skip
    sources = [*SOURCES["tcp"], *SOURCES["udp"], *SOURCES["rates"], DCTCP()]
    flows = []
    for n, source in enumerate(sources):
        first, last = sorted(random.choice(7, 2, replace=False).tolist())
        path = nx.shortest_path(graph, first, last)
        size = float(random.choice([np.inf, 100.0]))
        host = str(random.choice(["direct", "unshaped"]))
        flows.append(dfc.Flow(f"{n}", tuple(path), source, 50.0, 0.02 * n, size, host, n % 3))
    return dfc.Scenario(f"mesh {seed}", links, flows, 0.8, min_rto=0.05)


def random_fabric(seed: int) -> dfc.Scenario:
    """Return a random network in which all links have PFC, some with marking, flows in three classes."""
    random = np.random.default_rng(seed)
    scenario = random_network(seed)
    rules = [
        dfc.PFC((0, 1), 3.3, 1.9, headroom=float(random.integers(0, 4))),
        dfc.PFC((1,), 4.7, 4.1, headroom=2.0, signalling=1e-3, manager=dfc.RampMarking(2.0, 5.0, 0.2)),
        dfc.PFC((0, 1, 2), 2.9, 1.3, headroom=1.5, manager=dfc.RED(low=2.0, high=6.0, weight=0.02)),
        dfc.PFC((5,)),
    ]
    links = [replace(link, discipline=rules[random.integers(4)], buffer=link.buffer + 80.0) for link in scenario.links]
    return replace(scenario, links=links)


@pytest.mark.parametrize("make", [random_network, random_fabric])
@pytest.mark.parametrize("seed", range(12))
def test_random_networks_of_all_disciplines_and_sources_keep_their_books(seed: int, make) -> None:
    """Balance, bounds in every record, and one answer for one seed."""
    scenario = make(seed)
    run, again = (dfc.simulate(scenario, sample=0.01, seed=seed, level="fluid") for _ in range(2))
    assert run.imbalance.max() == 0.0
    for values in (run.queued, run.in_transit, run.lost, run.backlog, run.mean_queue):
        assert values.min() >= 0.0
    for f, flow in enumerate(scenario.flows):  # of each flow at most what its slowest link carries
        slowest = min(link.rate for link in scenario.path(flow))
        new = np.diff(run.delivered[f], prepend=0.0)
        if not isinstance(flow.source, WindowRule):  # for TCP a filled hole delivers much at once
            assert new.max() <= slowest * 0.01 * (1 + 1e-9) + slowest * run.step
        assert run.delivered[f, -1] <= flow.size
    for node, carried in zip(scenario.senders, run.carried.sum(axis=0), strict=True):
        rate = sum(link.rate for link in scenario.links if link.source == node)
        assert carried <= rate * run.time[-1] * (1 + 1e-12)
    assert run.peak_queue.max() <= max(link.buffer for link in scenario.links)
    np.testing.assert_array_equal(run.queued, again.queued)
    np.testing.assert_array_equal(run.paused, again.paused)


@pytest.mark.parametrize("name", ["fifo", "dfc", "dfc input", "fair"])
def test_a_buffer_of_its_own_for_each_flow(name: str) -> None:
    scenario = crossing(DISCIPLINES[name], SOURCES["udp"], "unshaped", shared=False)
    run = dfc.simulate(scenario, sample=0.01, level="fluid")
    assert run.imbalance.max() == 0.0
    assert run.lost.sum() > 0
    assert run.peak_queue.max() == LINK["buffer"]
    assert run.queued.max() > LINK["buffer"]


@pytest.mark.parametrize("per", ["flow", "input"])
@pytest.mark.parametrize("host", ["shaped", "unshaped", "direct"])
def test_rates_of_dfc_never_exceed_the_link(host: str, per: str) -> None:
    scenario = crossing(dfc.DFC(diffusion=0.3, intensity=1.3, per=per), SOURCES["both"], host)
    plan = compile_scenario(scenario, dfc.Fluid(), np.random.default_rng(1))
    advance(plan, 600, 100)
    for i in range(len(plan.order)):
        J = plan.network.queues["service"][plan.queues_at(i)]
        assert (J >= 0).all()
        assert 0.0 < J.sum() <= LINK["rate"] * plan.step * (1 + 1e-12)


EVERY_STEP = 20
"""Steps between two records."""
APART = 64 * 2.0**-26
"""Packets. Within a stretch of which a part is lost the kernel rounds what is missing each time that a receiver comes
by, the reference once: some quanta in the sequence number, and in what is sent for it. All else is equal to the last bit,
but for marks, whose sums the two take in another order."""


SLOW_EMISSION = 0.1
"""Packets per step: where a sender emits less, a position that is off by `APART` is off by more of a step."""


def round_trip_tolerance(plan: Any, round_trips: Any, steps: int) -> Any:
    """Return how far round-trip times may differ, shape (T, F), in s.

    When a packet was sent is found in what its sender emitted, by step: between two steps it is its position less that at
    the first, over what was emitted. Positions differ by `APART`. A sender whose window is full emits by as little as
    its rule lets it grow, 1e-5 packets in a step, of which one quantum is a thousandth. The ACK of a record came in one of the
    steps since the record before, and its packet was sent a round trip earlier.
    """
    parts = np.full(round_trips.shape, APART / SLOW_EMISSION)
    emitted = plan.transport.emitted[:steps]
    if len(emitted) == steps:  # the whole run is remembered
        own = np.diff(emitted, axis=0, prepend=0.0)
        for n, f in np.ndindex(*round_trips.shape):
            last = (n + 1) * EVERY_STEP - int(round_trips[n, f] / plan.step)
            amounts = own[max(0, last - EVERY_STEP - 1) : max(0, last + 1), f]
            slowest = min(amounts[amounts > 0.0], default=SLOW_EMISSION)
            parts[n, f] = max(parts[n, f], min(1.0, APART / slowest))
    return parts * plan.step


def assert_agree(scenario: dfc.Scenario, fluid: dfc.Fluid | None = None, steps: int = 300, **options) -> Any:
    """Compare a run of the kernel with the reference's; return the kernel's records."""
    plans_ = [compile_scenario(scenario, fluid or dfc.Fluid(), np.random.default_rng(2), **options) for _ in range(2)]
    fast = advance(plans_[0], steps, EVERY_STEP)
    slow = reference.advance(plans_[1], steps, EVERY_STEP)
    np.testing.assert_array_equal(fast.switches[["pause", "on"]], slow.switches[["pause", "on"]])
    np.testing.assert_allclose(fast.switches["time"], slow.switches["time"], atol=1e-6)
    for ours, theirs in ((fast.queued, slow.queued), (fast.lost, slow.lost)):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=APART)
    rates = np.array([isinstance(flow.source, RateRule) for flow in scenario.flows])
    np.testing.assert_allclose(fast.flows[:, :, [0, 1, 3]], slow.flows[:, :, [0, 1, 3]], atol=APART)
    np.testing.assert_allclose(fast.flows[:, ~rates, 2], slow.flows[:, ~rates, 2], rtol=1e-9, atol=APART)
    np.testing.assert_allclose(fast.flows[:, rates, 2], slow.flows[:, rates, 2], rtol=1e-9)
    ours, theirs = fast.flows[:, :, 4], slow.flows[:, :, 4]
    tolerance = round_trip_tolerance(plans_[0], theirs, steps) + 1e-7 * theirs
    assert (np.abs(ours - theirs) <= tolerance).all()
    ours, theirs = (plan.network.flows for plan in plans_)
    for name in ("timeouts", "loss_events"):
        np.testing.assert_array_equal(ours[name], theirs[name])
    for name in ("first_loss", "finished"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-9)
    return fast


AGREEING = [
    pytest.param(name, sort, marks=[] if sort == "both" else pytest.mark.slow)
    for name in DISCIPLINES
    for sort in SOURCES
]


@pytest.mark.parametrize(("name", "sort"), AGREEING)
def test_naive_reference_agrees(name: str, sort: str, long_memories: None) -> None:
    """Through losses, marks, pauses, recovery and timeouts, with every discipline and source."""
    host = hosts_of(name)[-1 if sort == "rates" else 0]
    run = assert_agree(crossing(DISCIPLINES[name], SOURCES[sort], host))
    if name in ("pause ecn", "mean ecn") and sort == "tcp":  # marks cut windows before buffers fill
        assert np.diff(run.flows[:, :, 2], axis=0).min() < -1.0
    elif host == "direct":
        assert run.lost.sum() > 1.0
    if name in ("pause", "quanta", "pfc"):
        assert len(run.switches) > 1


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
@pytest.mark.parametrize(("name", "sort"), AGREEING)
def test_naive_reference_agrees_for_every_host_and_buffer(
    name: str, sort: str, host: str, shared: bool, long_memories: None
) -> None:
    if host not in hosts_of(name) or (name.startswith("pfc") and not shared):
        pytest.skip("no such host, or PFC, which counts in one buffer")
    assert_agree(crossing(DISCIPLINES[name], SOURCES[sort], host, shared=shared))


@pytest.fixture
def long_memories(monkeypatch) -> None:
    """Let the kernel remember all that came and was sent, also while links are paused for long."""
    monkeypatch.setattr("dfcmodel.engine.plan.SPARE_ROWS", 400)
    monkeypatch.setattr("dfcmodel.engine.plan.emission_memory", lambda *_: 1024)


OPTIONS = {
    "tahoe": (dfc.Fluid(recovery="tahoe"), {}),
    "reno": (dfc.Fluid(recovery="reno"), {}),
    "newreno": (dfc.Fluid(recovery="newreno"), {}),
    "sack": (dfc.Fluid(recovery="sack"), {}),
    "lost packets in the pipe": (dfc.Fluid(recovery="sack", pipe="fall1996"), {}),
    "no timeouts": (dfc.Fluid(timeouts=False), {}),
    "starts within steps": (dfc.Fluid(), {"starts": np.array([0.0013, 0.01027, 0.0201])}),
    "random waits": (dfc.Fluid(), {"packet_jitter": 1e-3}),
    "random waits, losses in parts": (dfc.Fluid(whole_losses=False), {"packet_jitter": 1e-3}),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_naive_reference_agrees_for_every_option(option: str) -> None:
    fluid, options = OPTIONS[option]
    scenario = crossing(dfc.FIFO(), (NewReno(), Reno(), dfc.CBR(1200.0)), "unshaped")
    assert assert_agree(scenario, fluid, **options).lost.sum() > 1.0


def random_tree(name: str, seed: int, place: int | None = None) -> dfc.Scenario:
    """Return a random tree of links to one node with flows of all sources, delays that are no whole steps."""
    place = list(DISCIPLINES).index(name) if place is None else place
    random = np.random.default_rng([seed, place])
    nodes = int(random.integers(3, 6))
    down = {n: int(random.integers(0, n)) for n in range(1, nodes)}
    rule = DISCIPLINES[name]
    if isinstance(rule, dfc.PFC):
        rule = replace(rule, xoff=1.5, xon=0.8, headroom=float(random.integers(0, 2)))
    fixed = name.startswith("dfc")  # whose delays are whole steps
    links = [
        dfc.Link(
            n, m, float(random.uniform(800, 2000)), 3e-3 if fixed else float(random.uniform(2e-3, 5e-3)),
            float(random.uniform(8.0, 16.0)) + 24.0 * isinstance(rule, dfc.PFC), rule,
        )
        for n, m in down.items()
    ]  # fmt: skip
    sources = [
        NewReno(), Tahoe(), DCTCP(), ROCE, dfc.CBR(float(random.uniform(300, 900))),
        dfc.OnOff(float(random.uniform(300, 2500)), 0.023, 0.017),
    ]  # fmt: skip
    flows = []
    for f in random.permutation(len(sources))[:4]:
        path = [int(random.integers(1, nodes))]
        while path[-1] in down:
            path.append(down[path[-1]])
        host, size = (
            str(random.choice(["direct", "unshaped"])),
            float(random.choice([np.inf, 60.0])),
        )
        delayed = bool(random.integers(2)) and isinstance(sources[f], WindowRule)
        start = float(random.uniform(0.0, 0.02))
        flows.append(dfc.Flow(f"{f}", path, sources[f], 40.0, start, size, host, f % 2, delayed_acks=delayed))
    return dfc.Scenario(f"tree {seed}", links, flows, duration=0.5, min_rto=0.05)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=[] if seed == 1 else pytest.mark.slow)
        for name in DISCIPLINES
        for seed in range(1, 7)
    ],
)
def test_naive_reference_agrees_on_random_trees(name: str, seed: int, long_memories: None) -> None:
    assert_agree(random_tree(name, seed), dfc.Fluid(2))


def test_a_packet_of_a_step_in_which_little_is_sent(long_memories: None) -> None:
    """1.1e-5 packets in step 111: one quantum there is 1.4e-6 s of the round-trip time at step 139.

    The quantum is from step 133, where the receiver's sequence number differs first, within a stretch with losses.
    """
    scenario = random_tree("pause red", 1, 12)
    assert_agree(scenario, dfc.Fluid(2))
    two = [compile_scenario(scenario, dfc.Fluid(2), np.random.default_rng(2)) for _ in range(2)]
    fast, slow = advance(two[0], 140, 1), reference.advance(two[1], 140, 1)
    differ = fast.flows[:, 0] - slow.flows[:, 0]
    assert np.flatnonzero(differ[:, 1])[0] == 133
    assert abs(differ[133, 1]) <= two[0].quantum
    assert np.flatnonzero(differ[:, 4]).tolist() == [139]
    sent = 139 - slow.flows[139, 0, 4] / two[0].step
    emitted = two[0].transport.emitted
    amount = emitted[int(np.ceil(sent)), 0] - emitted[int(sent), 0]
    assert 0.0 < amount < 2e-5
    assert abs(differ[139, 4]) <= 1.01 * two[0].quantum / amount * two[0].step


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_network, random_fabric])
@pytest.mark.parametrize("seed", range(4))
def test_naive_reference_agrees_on_random_networks(make, seed: int, long_memories: None) -> None:
    assert_agree(make(seed), dfc.Fluid(2), 400)


@pytest.mark.parametrize(("at", "buffer"), [("arrival", 60.0), ("departure", 600.0)])
def test_a_packet_that_two_queues_mark_has_one_mark(at: str, buffer: float, long_memories: None) -> None:
    """Two links that mark all, and lose nothing: DCTCP hears of no more marks than ACKs."""
    rule = dfc.RampMarking(0.1, 0.2, 1.0, at=at)
    scenario = crossing(dfc.FIFO(), SOURCES["udp"])
    links = [replace(link, discipline=rule, buffer=buffer) for link in scenario.links]
    flows = [replace(scenario.flows[0], source=DCTCP(), max_window=60.0), *scenario.flows[1:]]
    scenario = replace(scenario, links=links, flows=flows)
    run = Run(compile_scenario(scenario, dfc.Fluid(), np.random.default_rng(2)))
    heard = []
    for k in range(300):
        run.step(k)
        heard.append(run.ends[0].acks[-1])
    marked = [ack for ack in heard if ack.marked > 0.0]
    assert len(marked) > 20
    assert all(ack.marked <= ack.acks + 2.0**-26 for ack in marked)
    assert_agree(scenario)


@pytest.mark.parametrize("rule", [dfc.Pause(6.013, 2.987), dfc.PFC((0, 1), 2.513, 1.287)])
def test_a_port_that_fails_within_a_step_is_that_of_the_reference(rule) -> None:
    scenario = crossing(dfc.FIFO(), SOURCES["udp"], "unshaped")
    links = [replace(link, buffer=2000.0, discipline=rule) for link in scenario.links]
    links[2] = replace(links[2], discipline=replace(rule, storm=0.03612))
    scenario = replace(scenario, links=links)
    two = [compile_scenario(scenario, dfc.Fluid(), np.random.default_rng(2)) for _ in range(2)]
    fast, slow = (run(plan, 300, 37) for run, plan in zip((advance, reference.advance), two, strict=True))
    begun = np.isclose(fast.switches["time"], 0.03612 / two[0].step)
    assert begun.sum() == 2  # the link and the host that feed it
    np.testing.assert_array_equal(fast.switches[["pause", "on"]], slow.switches[["pause", "on"]])
    np.testing.assert_allclose(fast.queued, slow.queued, atol=10 * 300 * 2.0**-26)


@pytest.mark.parametrize(
    "name",
    [
        "fifo",
        "dfc",
        "pfc ecn",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("dfc input", "ecn", "fair")),
    ],
)
def test_uncompiled_kernel_agrees_to_the_last_bit(name: str) -> None:
    """Through losses, recovery and timeouts: every sum is exact."""
    scenario = crossing(DISCIPLINES[name], (NewReno(), Reno(), dfc.CBR(1500.0)), "unshaped")
    fast, slow = (run(scenario, duration=0.15, method=dfc.Fluid()) for run in ENGINES)
    assert fast.lost.sum() > 0
    for key in ("in_transit", "delivered", "window", "backlog", "lost", "queued", "peak_queue"):
        np.testing.assert_array_equal(getattr(fast, key), getattr(slow, key), err_msg=key)


@pytest.mark.parametrize("case", ["takano", "dumbbell"])
def test_links_that_never_queue_may_be_left_out(case: str, monkeypatch) -> None:
    """Contracted into a delay they give the same run, bit for bit, also through losses."""
    scenario = dfc.takano2006("2", dfc=False, tcp="newreno", host="unshaped")
    if case == "dumbbell":
        ends = {"access_rate": 8000.0, "access_delay": 1e-3}
        links = dfc.dumbbell(2, **LINK, **ends)
        flows = [dfc.Flow(f"{n}", (f"s{n}", "left", "right", f"d{n}"), Reno(), 100.0, 0.01 * n) for n in (1, 2)]
        scenario = dfc.Scenario("dumbbell", links, flows)
    plain = dfc.Fluid(store_and_forward=False)  # parts of steps are interpolated at each queue
    short = dfc.simulate(scenario, duration=0.4, method=plain)
    monkeypatch.setattr("dfcmodel.engine.plan.never_queues", lambda *_: False)
    full = dfc.simulate(scenario, duration=0.4, method=plain)
    assert full.lost.sum() > 0
    assert (full.queued > 0).any(axis=1).sum() < len(scenario.links)
    for key in ("in_transit", "delivered", "window", "lost", "queued", "peak_queue", "carried"):
        np.testing.assert_array_equal(getattr(short, key), getattr(full, key), err_msg=key)


def test_packet_scaling() -> None:
    """Twice the rates and buffers: twice the packets everywhere, without windows."""
    one = crossing(dfc.FIFO(), SOURCES["udp"])
    sources = [
        dfc.CBR(3000.0),
        dfc.OnOff(5000.0, 0.02, 0.03),
        dfc.OnOff(5000.0, 0.02, 0.03, random=True),
    ]
    two = replace(
        one,
        links=[replace(n, rate=2 * n.rate, buffer=2 * n.buffer) for n in one.links],
        flows=[replace(f, source=s, size=2 * f.size) for f, s in zip(one.flows, sources, strict=True)],
    )
    a, b = (dfc.simulate(each, dfc.Fluid(store_and_forward=False)) for each in (one, two))
    assert a.lost.sum() > 0
    # 1200 steps of rounding to 2^-26 packets
    np.testing.assert_allclose(2 * a.queued, b.queued, atol=1200 * 2.0**-26)
    np.testing.assert_allclose(2 * a.lost, b.lost, atol=1200 * 2.0**-26)


@pytest.mark.parametrize("name", ["fifo", "dfc alpha", "fair", "priority", "pause", "pfc"])
def test_names_and_order_of_nodes_and_links_do_not_matter(name: str) -> None:
    one = crossing(DISCIPLINES[name], SOURCES["udp"], "unshaped")
    names = {1: "e", 2: "a", 3: "d", 4: "c", 5: "b"}
    two = replace(
        one,
        links=[replace(n, source=names[n.source], target=names[n.target]) for n in one.links[::-1]],
        flows=[replace(f, path=[names[node] for node in f.path]) for f in one.flows],
    )
    a, b = dfc.simulate(one, level="fluid"), dfc.simulate(two, level="fluid")
    assert a.lost.sum() > 0
    np.testing.assert_array_equal(a.delivered, b.delivered)
    np.testing.assert_array_equal(a.queued, b.queued[::-1])


@pytest.mark.parametrize("name", ["dfc", "red"])
def test_the_seed_decides(name: str) -> None:
    scenario = crossing(DISCIPLINES[name], SOURCES["both"], "unshaped")
    first, again, other = (dfc.simulate(scenario, seed=seed, level="fluid") for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.queued, again.queued)
    assert not np.array_equal(first.queued, other.queued)


@pytest.mark.parametrize("name", ["fifo", "dfc", "red", "fair"])
def test_a_run_lasts_as_long_as_asked_and_its_last_sample_is_shorter(name: str) -> None:
    """0.293 s are 586 steps, 14 samples of 40 and 26; sums over samples are those of single steps."""
    scenario = crossing(DISCIPLINES[name], (NewReno(), Reno(), dfc.CBR(1500.0)), "unshaped")
    run, fine = (dfc.simulate(scenario, duration=0.293, sample=s, level="fluid") for s in (0.02, 0.5e-3))
    assert run.step == 0.5e-3
    assert run.time[-1] == fine.time[-1] == 0.293
    assert np.diff(run.time) == pytest.approx([0.02] * 13 + [0.013])
    assert run.lost.sum() > 0
    np.testing.assert_allclose(run.lost.sum(axis=2), fine.lost.sum(axis=2), rtol=1e-12)
    for key in ("delivered", "window", "backlog", "queued"):
        np.testing.assert_array_equal(getattr(run, key)[:, -1], getattr(fine, key)[:, -1])
    ends = np.searchsorted(fine.time, run.time - 1e-9) + 1
    for n, (begin, end) in enumerate(itertools.pairwise([0, *ends])):
        np.testing.assert_allclose(run.in_transit[:, n], fine.in_transit[:, begin:end].mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(run.mean_efficiency(), fine.mean_efficiency(), rtol=1e-9)
