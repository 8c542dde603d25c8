"""The JAX twin: the engine's steps, its derivatives, and the formulas that it confirms."""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    RED,
    ByteBuffer,
    Flow,
    Fluid,
    Link,
    Pause,
    Scenario,
    Twin,
    chain,
    simulate,
    takano2006,
)
from dfcmodel.theory import bare_law
from dfcmodel.theory.law import Loop, advance
from responsefn import AIMD, NewReno

B, d = 10_000.0, 1e-3  # ten packets fit on a link


def network(D: float = 0.1, buffer: float = 1e6, joins=None, **flow) -> Scenario:
    """Five links; a second flow joins at the fourth node after 20 ms, different as ``joins`` says."""
    law = DFC(diffusion=D, phases="synchronous")
    given = {"source": CBR(B), "host": "shaped", "max_window": 500.0} | flow
    target = Flow("target", (1, 2, 3, 4, 5, 6), **given)
    other = Flow("joins", **{"path": (4, 5, 6)} | given | (joins or {}), start=0.02)
    links = chain(6, rate=B, delay=d, buffer=buffer, discipline=law)
    return Scenario("two flows", links, (target, other), duration=0.06)


@pytest.mark.parametrize(("phases", "delays"), [("synchronous", (1,) * 5), ("random", (2, 1, 1, 3, 1))])
@pytest.mark.slow
def test_twin_takes_the_engines_steps(phases: str, delays) -> None:
    """Two shaped hosts: amounts on the engine's grid of 2^-26 packets drift apart by 1e-6.

    With seed 6 no node hears and speaks in the same step, to links of different delays. There the
    engine goes through the links, and what a node says may not yet reflect what it hears.
    """
    plain = network(buffer=1000.0)
    law = DFC(phases=phases)
    links = [replace(link, delay=n * d, discipline=law) for link, n in zip(plain.links, delays, strict=True)]
    scenario = replace(plain, links=tuple(links))
    engine = simulate(scenario, sample=d, seed=6, level="fluid")
    twin = Twin(scenario, sample=d, seed=6)()
    np.testing.assert_allclose(np.asarray(twin.efficiency).T, engine.efficiency.values, atol=1e-6)
    queued = np.asarray(twin.queued).sum(axis=1).T
    np.testing.assert_allclose(queued, engine.occupancy.values, atol=1e-5)


def parking_lot(rule=None) -> Scenario:
    """Three links of unequal rates and delays; a long flow and one that crosses each of them."""
    rule = rule or FIFO()
    given = {"max_window": 60.0, "host": "unshaped"}
    links = (
        Link(1, 2, B, d, 1e3, rule),
        Link(2, 3, 0.9 * B, 1.3 * d, 1e3, rule),
        Link(3, 4, 0.8 * B, d, 1e3, rule),
    )
    flows = (
        Flow("long", (1, 2, 3, 4), NewReno(), **given),
        Flow("one", (1, 2), CBR(4e3), host="direct"),
        Flow("two", (2, 3), AIMD(0.5, 0.5), start=0.02, **given),
        Flow("three", (3, 4), CBR(5e3), start=0.05, host="unshaped"),
    )
    return Scenario("parking lot", links, flows, duration=0.1)


def dumbbell() -> Scenario:
    """Two access links, a bottleneck, links behind that pause it, and two more with DFC."""
    law = DFC(phases="synchronous")
    links = (
        Link("a", "r", 2 * B, d, 300.0),
        Link("b", "r", B, 1.5 * d, 300.0),
        Link("r", "s", B, d, 500.0, Pause(high=61.3, low=37.9)),
        Link("s", "t", 0.53 * B, d, 300.0, Pause(high=43.7, low=21.1)),
        Link("s", "u", 0.37 * B, 1.5 * d, 300.0, Pause(high=40.3, low=22.7, paused_rate=100.0)),
        Link("t", "v", 0.4 * B, d, 300.0, law),
        Link("v", "w", 0.4 * B, 2 * d, 300.0, law),
    )
    flows = (
        Flow("one", ("a", "r", "s", "t"), CBR(0.713 * B), host="unshaped"),
        Flow("two", ("b", "r", "s", "u"), NewReno(), start=0.01, max_window=90.0, host="unshaped"),
        Flow("three", ("b", "r", "s", "t", "v", "w"), CBR(2000.0), host="direct"),
        Flow("four", ("t", "v", "w"), CBR(3500.0), start=0.02),
    )
    return Scenario("dumbbell", links, flows, duration=0.1)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(dumbbell(), id="dumbbell", marks=pytest.mark.slow),
        pytest.param(parking_lot(), id="parking lot", marks=pytest.mark.slow),
        pytest.param(parking_lot(Pause(high=31.3, low=17.9)), id="paused", marks=pytest.mark.slow),
    ],
)
def test_twin_takes_the_engines_steps_on_networks(scenario: Scenario) -> None:
    """FIFO, DFC and pause on links that differ, flows that share some of them; nothing is lost.

    Amounts on the engine's grid of 2^-26 packets drift apart by 1e-6, those that pass thresholds by more.
    """
    plain = Fluid(steps_per_delay=2, store_and_forward=False, timeouts=False)
    engine = simulate(scenario, plain, sample=d)
    twin = Twin(scenario, sample=d, steps_per_delay=2)()
    assert engine.lost.sum() == 0.0
    assert (engine.peak_queue > 20).any()
    queued = np.asarray(twin.queued).sum(axis=1).T
    nodes = [link.source for link in scenario.links]
    at_nodes = [queued[[n == node for n in nodes]].sum(axis=0) for node in engine.occupancy.node]
    np.testing.assert_allclose(at_nodes, engine.occupancy.values, atol=1e-4)
    np.testing.assert_allclose(np.asarray(twin.efficiency).T, engine.efficiency.values, atol=1e-5)
    np.testing.assert_allclose(np.asarray(twin.delivered).T, engine.delivered, atol=1e-4)


@pytest.mark.slow
def test_derivatives_on_a_network() -> None:
    """Delivered packets, queue and loss of a parking lot by the rate and the buffer of each link, rates of flows.

    Central differences over 2e-5 of the parameter, for seven scenarios at once by `jax.vmap`: 1e-6.
    """
    scenario = parking_lot()
    twin = Twin(scenario, sample=d, steps_per_delay=2, smoothing=0.5)

    def outcome(at):
        p = twin.parameters._replace(
            link_rate=B * at[:3],
            buffer=at[3:6] * jnp.array([2.0, 12.0, 4.0]),
            rate=twin.parameters.rate * jnp.array([1.0, at[6], 1.0, 1.0]),
        )
        run = twin(p)
        return jnp.concatenate([run.delivered[-1], run.queued.mean(0).sum(0), run.lost.sum((0, 1))])

    at = np.array([1.0123, 0.9071, 0.8137, 1.0, 0.9, 1.1, 1.037])
    step = 1e-5 * np.diag(at)
    points = np.concatenate([at + step, at - step, np.tile(at, (7, 1))])
    both = jax.jit(jax.vmap(lambda x, along: jax.jvp(outcome, (x,), (along,))))
    values, along = both(points, np.concatenate([np.zeros((14, 7)), np.eye(7)]))
    slopes = np.asarray(along)[14:]
    apart = np.asarray(values[:7] - values[7:14]) / (2 * np.diag(step)[:, None])
    scale = np.abs(slopes).max(axis=0)
    assert (np.abs(slopes).max(axis=1) > 0.1).all()  # every parameter matters
    np.testing.assert_allclose(slopes, apart, rtol=1e-6, atol=1e-6 * scale.max())
    np.testing.assert_allclose(outcome(at), values[14], rtol=1e-12)  # one at a time


def test_bare_law_is_the_same_in_jax() -> None:
    start = np.random.default_rng(0).uniform(0, 10, 8)
    sent = 0.3 * jnp.asarray(start)
    loop = Loop(jnp.asarray(start), jnp.asarray(start), sent, sent)
    for _ in range(5):
        loop = advance(loop, 0.3, xp=jnp)
    expected = bare_law(start, 0.3, 5, base_rate=0.3 * start)[-1]
    np.testing.assert_allclose(loop.packets, expected, rtol=1e-13)


@pytest.mark.slow
def test_derivatives_of_the_bare_law() -> None:
    """By D and alpha, against central differences: 1e-6."""
    start = jnp.asarray(np.random.default_rng(0).uniform(0, 10, 8))

    def spread(D, alpha):
        loop = Loop(start, start, 0.2 * start, 0.2 * start)
        for _ in range(6):
            loop = advance(loop, D, alpha, ends="chain", xp=jnp)
        return (loop.packets**2).sum()

    slopes = jax.grad(spread, argnums=(0, 1))(0.3, 1.02)
    for slope, (dD, da) in zip(slopes, ((1e-5, 0), (0, 1e-5)), strict=True):
        apart = spread(0.3 + dD, 1.02 + da) - spread(0.3 - dD, 1.02 - da)
        assert float(slope) == pytest.approx(float(apart) / 2e-5, rel=1e-6)


@pytest.mark.slow
def test_derivatives_of_the_fluid() -> None:
    """Efficiency, queue, loss and settling time by D, alpha, the buffer and the windows' thresholds.

    Central differences over 2e-5 of the parameter: 1e-6 of the largest slope, away from kinks.
    """
    scenario = network(buffer=9.0, joins={"source": AIMD(0.5, 0.5), "max_window": 60.0})
    twin = Twin(scenario, sample=d, steps_per_delay=2, smoothing=0.5)

    def merits(at):
        D, alpha, buffer, threshold = at
        p = twin.parameters._replace(
            diffusion=D,
            intensity=alpha,
            buffer=buffer,
            slow_start_threshold=jnp.full(2, threshold),
        )
        found = twin.merits(p, since=0.02, tolerance=0.05)
        found = found._replace(settling_time=found.settling_time / d)
        return jnp.concatenate([jnp.atleast_1d(merit) for merit in found])

    at = np.array([0.137, 1.013, 8.7, 11.7])
    step = 1e-5 * np.diag(at)
    points = np.concatenate([at + step, at - step, np.tile(at, (4, 1))])
    # one compilation: values at all points, slopes in the directions of the last four
    both = jax.jit(jax.vmap(lambda x, along: jax.jvp(merits, (x,), (along,))))
    values, along = both(points, np.concatenate([np.zeros((8, 4)), np.eye(4)]))
    slopes = np.asarray(along)[8:]
    apart = np.asarray(values[:4] - values[4:8]) / (2 * np.diag(step)[:, None])
    assert (np.abs(slopes).max(axis=1) > 1e-2).all()  # every parameter matters
    assert (np.abs(slopes).max(axis=0) > 1e-3).all()  # to every merit, one of them
    scale = np.abs(slopes).max(axis=0)
    np.testing.assert_allclose(slopes, apart, rtol=1e-6, atol=1e-6 * scale.max())


@pytest.mark.parametrize(("source", "most"), [(CBR(B), 2.0), pytest.param(NewReno(), 1.5, marks=pytest.mark.slow)])
def test_buffer_that_loses_nothing(source, most: float) -> None:
    """Largest queue where a flow joins a saturated one, D -> 0, in units of B d.

    Node m shares its link from u1 on, tells of it at u2, both in (0, d] after the start, and what it
    told is felt 2 d later: B/2 (2 d + u2 - u1) of the old flow wait by then. Of the new one B/2 d, if
    its host sends at B until it hears r_0; none where it starts slowly. Synchronous: 1.5 and 1 B d.
    """
    scenario = network(D=1e-14, joins={"source": source})
    constant = isinstance(source, CBR)
    for u1, u2 in ((8, 8), (1, 8), (8, 1), (3, 5)):
        phases = (0, 0, 0, u2 % 8, u1 % 8, 0)
        queued = Twin(scenario, sample=d / 8, steps_per_delay=8, phases=phases)().queued
        peak = float(np.asarray(queued)[:, :, 3].sum(axis=1).max()) / (B * d)
        expected = 0.5 * (2 + (u2 - u1) / 8) + (0.5 if constant else 0.0)
        # of a window that starts slowly the first packet may be there too
        assert expected - 1e-10 <= peak <= expected + (1e-10 if constant else 1 / (B * d))
        assert peak <= most + (0 if constant else 1 / (B * d))
    twin = Twin(scenario, sample=d / 8, steps_per_delay=8)
    for D in (0.03, 0.1, 0.5):  # synchronous clocks
        queued = twin(twin.parameters._replace(diffusion=D)).queued
        expected = 1.5 if constant else (4 + D) / (4 + 2 * D)
        assert float(queued[:, :, 3].sum(axis=1).max()) / (B * d) == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow
def test_surplus_window_spreads_evenly() -> None:
    """An unshaped host: W less what is in flight, over the nodes up to the last saturated one.

    That is the last node here. The flow that joins there is given as many packets as the target has
    there, so that eq. (13) gives both B/2. The slowest mode at D = 0.3 falls by 0.97 per period.
    """
    surplus = 200.0 - B / 2 * 12 * d
    joins = {"path": (5, 6), "max_window": surplus / 5 + B / 2 * 4 * d}
    scenario = network(D=0.3, source=NewReno(), max_window=200.0, host="unshaped", joins=joins)
    queue = np.asarray(Twin(scenario, duration=5.0, sample=0.1, steps_per_delay=1)().queued)[-1]
    np.testing.assert_allclose(queue[0], surplus / 5, atol=1e-10)
    np.testing.assert_allclose(queue[1], [0] * 4 + [surplus / 5], atol=1e-10)


@pytest.mark.parametrize("D", [0.1, 0.3])
def test_no_buffer_below_the_surplus_holds(D: float) -> None:
    """One flow before a link of half the rate: W - c R over b nodes; less loses packets.

    More is needed on the way there, at the first node, the more the smaller D is. The slowest mode
    is gone to 1e-6 of the level.
    """
    law = DFC(diffusion=D, phases="synchronous")
    flow = Flow("one", (1, 2, 3, 4, 5, 6), NewReno(), max_window=200.0, host="unshaped")
    level = (200.0 - B / 2 * 12 * d) / 5

    def run(buffer: float):
        links = chain(6, rate=B, delay=d, buffer=buffer, discipline=law)
        links = (*links[:-1], replace(links[-1], rate=B / 2))
        return simulate(Scenario("surplus", links, (flow,), duration=2.0), level="fluid")

    wide = run(1e6)
    np.testing.assert_allclose(wide.occupancy.values[:, -1], level, rtol=1e-6)
    most = wide.peak_queue[0]
    assert most > (1.05 if D == 0.3 else 1.5) * level
    assert run(0.999 * level).lost.sum() > 1.0
    assert run(1.001 * wide.peak_queue.max()).lost.sum() == 0.0


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="sample"):
        Twin(network(), sample=1e-9)
    with pytest.raises(ValueError, match="phases = nan"):
        Twin(network(), phases=math.nan)
    scenario = network()
    marking = replace(scenario.links[0], discipline=RED())
    direct = tuple(replace(flow, host="direct") for flow in scenario.flows)
    with pytest.raises(ValueError, match=r"discipline of link 1->2 = RED.*: must be DFC, FIFO or P"):
        Twin(replace(scenario, links=(marking, *scenario.links[1:]), flows=direct))
    by_input = [replace(link, discipline=DFC(per="input")) for link in scenario.links]
    with pytest.raises(ValueError, match="per of link 1->2 = 'input': must be 'flow'"):
        Twin(replace(scenario, links=tuple(by_input)))
    uneven = replace(scenario.links[2], delay=1.1 * d)
    with pytest.raises(ValueError, match=r"delay of link 3->4 .* is 4\.4 steps; increase"):
        Twin(replace(scenario, links=(*scenario.links[:2], uneven, *scenario.links[3:])))()
    short = replace(scenario.flows[0], size=10.0)
    with pytest.raises(ValueError, match="size of flow 'target' = 10: must be inf"):
        Twin(replace(scenario, flows=(short,)))
    vegas = takano2006("4V")
    with pytest.raises(TypeError, match="source of flow 'target'"):
        Twin(vegas)
    with pytest.raises(ValueError, match="smoothing"):
        Twin(scenario, smoothing=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dfc", "pause"])
def test_a_run_lasts_as_long_as_asked_and_its_last_sample_is_shorter(name: str) -> None:
    """171 steps, 8 samples of 20 and one of 11; what they hold is that of single steps."""
    rule = DFC() if name == "dfc" else Pause(high=4.0, low=2.0)
    links = chain(4, rate=2000.0, delay=2e-3, buffer=20.0, discipline=rule)
    flow = Flow("a", (1, 2, 3, 4), CBR(1900.0), host="unshaped")
    scenario = Scenario("short", links, [flow], duration=0.0855)
    twin, fine = (Twin(scenario, sample=sample) for sample in (0.01, 0.5e-3))
    assert twin.steps == 171
    assert twin.time[-1] == fine.time[-1] == pytest.approx(0.0855)
    assert np.diff(twin.time) == pytest.approx([0.01] * 7 + [0.0055])
    one, two = twin(), fine()
    for key in ("queued", "delivered", "backlog"):
        rows = np.asarray(getattr(two, key))[np.append(20 * np.arange(1, 9), 171) - 1]
        np.testing.assert_allclose(getattr(one, key), rows, rtol=1e-12)
    last = np.asarray(two.efficiency)[160:].mean(axis=0)
    np.testing.assert_allclose(one.efficiency[-1], last, rtol=1e-12)
    lengths = np.diff(twin.time, prepend=0.0)
    means = lengths @ np.asarray(one.efficiency) / 0.0855
    np.testing.assert_allclose(twin.merits(twin.parameters).efficiency, means, rtol=1e-12)


def test_a_buffer_in_bytes_is_one_of_as_many_packets() -> None:
    links = chain(3, rate=1e3, delay=1e-2, buffer=ByteBuffer("48 kB"))
    one = Scenario("one", links, (Flow("x", (1, 2, 3), CBR(1.5e3)),), packet_size=1200.0)
    assert Twin(one, duration=0.1, sample=0.01).parameters.buffer == 40.0
