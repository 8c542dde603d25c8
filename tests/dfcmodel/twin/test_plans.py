"""The JAX twin's plans, its loop, the order of packets, and pauses."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dfcmodel import CBR, Flow, Fluid, Link, Pause, Scenario, Twin, chain, simulate, takano2006
from dfcmodel.theory.clocks import tick_phases
from dfcmodel.theory.law import Report, Sharing, rates
from dfcmodel.twin import dfc, orders, pause
from dfcmodel.twin.links import of_all_links, of_links, over_links
from dfcmodel.twin.loop import _arrivals, _drops, _window
from dfcmodel.twin.plans import check_scenario, plan_of, shape_of
from responsefn import AIMD

# Constants of the JAX model: delays in steps, clocks, and who pauses whom.

B, d = 10_000.0, 1e-3  # ten packets fit on a link


def test_an_acknowledgement_takes_the_propagation_delay_and_the_access_link() -> None:
    """The packets' own way is the links' slots; the way back has no queues."""
    scenario = takano2006("4S")
    plan = plan_of(scenario, scenario.links[0].delay / 4)
    assert plan.periods.tolist() == plan.lag[: plan.last[0] + 1].tolist() == [4] * 15
    for f, flow in enumerate(scenario.flows):
        back = 4 * len(flow.hops) + 4  # a shaped host has an access link
        assert plan.ack_delay[f] == back


def test_phases_are_drawn_as_the_engine_draws_them() -> None:
    scenario = takano2006("4S")
    plan = plan_of(scenario, scenario.links[0].delay / 8, seed=3)
    drawn = tick_phases(scenario, 3)
    wanted = [int(drawn[link.target] * 8) for link in scenario.links]
    np.testing.assert_array_equal(plan.feedback_phase, wanted)


def test_what_the_way_back_leaves_of_a_step_is_on_the_way_there() -> None:
    links = (Link("a", "r", B, 1.37, 100), Link("r", "s", B, 1.0, 100))
    plan = plan_of(Scenario("parts", links, [Flow("one", "ars", CBR(1.0), host="direct")]), 1.0)
    assert plan.ack_delay.tolist() == [2]
    np.testing.assert_allclose(plan.lag + plan.part, [1.37, 1.37])
    np.testing.assert_allclose(plan.access_lag + plan.access_part, [0.0])


def test_queues_pause_all_that_feeds_them_but_direct_hosts() -> None:
    """Links c and d pause b; b pauses its host, and a, from which nobody comes directly."""
    rule = Pause(50.0, 25.0)
    links = [Link(*ends, B, d, 100, rule) for ends in ("ar", "br", "rs")]
    links += [Link("s", "t", B, 2 * d, 100, rule), Link("s", "u", B, d, 100)]
    flows = [
        Flow("one", "arst", CBR(1.0), host="direct"),
        Flow("two", "brsu", CBR(1.0), host="unshaped"),
    ]
    plan = plan_of(Scenario("tree", links, flows), d / 2)
    pairs = sorted(zip(plan.pausing.tolist(), plan.paused.tolist(), strict=True))
    assert pairs == [(1, 5 + 1), (2, 0), (2, 1), (3, 2)]
    assert plan.wait.tolist() == [2, 2, 2, 2]
    shape = shape_of(Scenario("tree", links, flows), plan, 10, 2, 0.0)
    assert (shape.diffuses, shape.in_order, shape.pauses) == (False, True, True)


def test_flows_share_buffers_where_links_say_so() -> None:
    links = [Link("a", "b", B, d, 100), Link("b", "c", B, d, 100, shared=False)]
    flows = [Flow(name, "abc", CBR(1.0), host="direct") for name in "xy"]
    plan = plan_of(Scenario("shared", links, flows), d)
    assert plan.buffer_of.tolist() == [0, 1, 0, 3]


def test_a_buffer_bounds_the_steps_that_are_remembered() -> None:
    links = [Link("a", "b", B, d, 100)]
    scenario = Scenario("one", links, [Flow("x", "ab", CBR(1.0), host="direct")])
    plan = plan_of(scenario, d)
    assert shape_of(scenario, plan, 1000, 1, 0.0).waiting == 14  # ten steps at the link's rate
    assert shape_of(scenario, plan, 5, 1, 0.0).waiting == 6


def test_a_handshake_delays_the_start_by_a_round_trip(refused) -> None:
    """Without queues it is 40.1 ms: 40 steps of 1 ms; data in the SYN are refused."""
    links = chain(3, rate=1000.0, delay=0.01, buffer=200)
    flow = Flow("one", (1, 2, 3), AIMD(1.0, 0.5), max_window=64.0, start=0.1, host="direct")
    starts = []
    for handshake in (False, True):
        own = Scenario("one", links, [replace(flow, handshake=handshake)], duration=0.4)
        starts.append(plan_of(own, 1e-3).start.tolist())
    assert starts == [[100], [140]]
    data = replace(own, flows=[replace(flow, handshake="data")])
    refused(["handshake", "'data'", "twin"], lambda: check_scenario(data))


# Pause in the JAX twin: the engine's steps, the exact saw-tooth, its derivatives by the thresholds.

SECOND = 4000.0  # packets/s of the flow that joins at node 2


AT = {"high": 41.3, "low": 22.7, "paused_rate": 530.0, "buffer": 77.0, "rate": SECOND}


def network(high: float, low: float, paused: float = 0.0, **joins) -> Scenario:
    """Three links; node 2, which a second flow joins, fills and pauses node 1."""
    rule = Pause(high=high, low=low, paused_rate=paused)
    links = chain(4, rate=B, delay=d, buffer=90.0, discipline=rule)
    given = {"source": CBR(SECOND), "host": "direct"} | joins
    flows = (
        Flow("first", (1, 2, 3, 4), CBR(B), host="direct"),
        Flow("joins", (2, 3, 4), **{"host": "direct", **given}),
    )
    return Scenario("two flows", links, flows, duration=0.12)


@pytest.mark.parametrize(
    ("high", "low", "joins"),
    [
        (40.0 - 1e-9, 24.0, {}),
        (40.0 - 1e-9, 30.0, {"source": CBR(B), "host": "unshaped"}),
        (41.3, 22.7, {}),
        (43.9, 30.2, {"source": CBR(B), "host": "unshaped"}),
    ],
)
@pytest.mark.slow
def test_twin_takes_the_engines_steps(high: float, low: float, joins) -> None:
    """Thresholds that are met within a step or at its end; node 1 loses packets.

    The first are met 1e-9 packets before the end of a step: a threshold must be exceeded.
    """
    scenario = network(high, low, **joins)
    plain = Fluid(steps_per_delay=1, store_and_forward=False)
    engine = simulate(scenario, plain, sample=d)
    twin = Twin(scenario, sample=d, steps_per_delay=1)()
    queued = np.asarray(twin.queued).sum(axis=1).T
    np.testing.assert_allclose(queued, engine.occupancy.values, atol=1e-6)
    np.testing.assert_allclose(np.asarray(twin.efficiency).T, engine.efficiency.values, atol=1e-7)
    lost = np.asarray(twin.lost).sum(axis=0)
    np.testing.assert_allclose(lost, engine.lost.sum(axis=2), atol=1e-6)
    assert lost.sum() > 10
    starts = np.diff(np.sign(np.diff(queued[1])))
    assert np.count_nonzero(starts) > 8  # it pauses and resumes


def saw_tooth(time, high, low, paused, rate):
    """Packets at node 2: up at ``rate``, down while nothing but ``paused`` comes over link 1.

    What is asked for at a threshold comes to be 2 d later.
    """
    down = B - rate - paused
    peak, trough = high + 2 * d * rate, low - 2 * d * down
    up_time, down_time = (peak - trough) / rate, (peak - trough) / down
    first = d + peak / rate  # until then it rises from zero
    after = time - first
    phase = jnp.mod(after, up_time + down_time)
    later = jnp.where(phase < down_time, peak - down * phase, trough + rate * (phase - down_time))
    return jnp.where(after < 0, rate * jnp.maximum(time - d, 0.0), later)


@pytest.mark.slow
def test_derivatives_by_thresholds() -> None:
    """Queue: the exact saw-tooth and its derivatives, 1e-9. Merits: central differences, 1e-6.

    By both thresholds, what passes while paused, the buffer and a rate; efficiency, queue, loss and
    settling time. Every threshold is met within a step, far from its ends.
    """
    twin = Twin(network(AT["high"], AT["low"]), sample=d, steps_per_delay=1, smoothing=0.5)

    def outcome(at):
        high, low, paused, buffer, rate = at
        p = twin.parameters._replace(high=high, low=low, paused_rate=paused, buffer=buffer, rate=jnp.array([B, rate]))
        found = twin.merits(p, since=0.02, tolerance=0.05)
        found = found._replace(loss=found.loss.sum())  # the second flow loses nothing
        merits = jnp.concatenate([jnp.atleast_1d(merit) for merit in found])
        return merits, twin(p).queued[:, :, 1].sum(axis=1)

    at = np.array(list(AT.values()))
    step = 2e-7 * np.diag(at)
    points = np.concatenate([at + step, at - step, np.tile(at, (5, 1))])
    # one compilation: values at all points, slopes in the directions of the last five
    both = jax.jit(jax.vmap(lambda x, along: jax.jvp(outcome, (x,), (along,))))
    (values, queue), (along, slope) = both(points, np.concatenate([np.zeros((10, 5)), np.eye(5)]))
    slopes = np.asarray(along)[10:]
    apart = np.asarray(values[:5] - values[5:10]) / (2 * np.diag(step)[:, None])
    scale = (np.abs(slopes) * at[:, None]).max(axis=0)
    assert (scale > 1e-3).all()  # every merit depends on something
    weighed = slopes * at[:, None] / scale
    assert (np.abs(weighed).max(axis=1) > 1e-3).all()  # and on everything, one of them
    np.testing.assert_allclose(weighed, apart * at[:, None] / scale, atol=1e-6)

    def exact(at):
        return saw_tooth(twin.time, at[0], at[1], at[2], at[4])

    np.testing.assert_allclose(queue[10], exact(at), atol=1e-9)
    expected = jax.jacfwd(exact)(jnp.asarray(at)).T
    np.testing.assert_allclose(slope[10:], expected, atol=1e-9 * np.abs(expected).max())
    assert np.abs(expected[0]).max() > 5  # the phase runs away from cycle to cycle


def test_what_was_asked_is_heard_in_parts_of_steps() -> None:
    """A pause in the last 0.6 of one step and the first 0.3 of the next, 2.25 steps later: 0.35, 0.55, 0."""
    links = chain(3, rate=B, delay=d, buffer=90.0, discipline=Pause(high=41.3, low=22.7))
    links = (replace(links[0], delay=2.25 * d), links[1])
    twin = Twin(Scenario("x", links, [Flow("one", (1, 2, 3), CBR(B))]), steps_per_delay=1)
    plan = twin._plan
    assert (plan.wait.tolist(), plan.wait_part.tolist()) == ([2], [0.25])
    asked = np.zeros((4, 2))
    asked[0, 1], asked[1, 1] = 0.6, -0.3
    state = pause.Paused(np.zeros(2, dtype=bool), np.zeros(2), jnp.asarray(asked))
    p = twin.parameters._replace(paused_rate=0.0)
    heard = [float(pause.reductions(plan, p, state, k)[0][0]) / (B * d) for k in (2, 3, 4)]
    np.testing.assert_allclose(heard, [0.35, 0.25 + 0.3, 0.0], atol=1e-12)


# Pieces of the JAX model's time loop: windows of AIMD, and drops at a full buffer.


def window(cwnd: float, acked: float, threshold: float = 8.0, most: float = 100.0) -> float:
    plan: Any = SimpleNamespace(increase=1.0)
    p = SimpleNamespace(slow_start_threshold=threshold, max_window=most)
    return float(_window(plan, p, jnp.asarray(cwnd), jnp.asarray(acked)))


@pytest.mark.parametrize(
    ("cwnd", "acked", "wanted"),
    [
        (2.0, 3.0, 5.0),  # slow start: a packet per packet acknowledged
        (10.0, 5.0, 10.5),  # congestion avoidance: 1/cwnd per packet acknowledged
        (6.0, 4.0, 8.0 + 2.0 / 8.0),  # two packets each
    ],
)
def test_a_window_grows_as_rfc_5681_says(cwnd: float, acked: float, wanted: float) -> None:
    assert window(cwnd, acked) == pytest.approx(wanted, rel=1e-6)


TWO_QUEUES: Any = SimpleNamespace(
    buffer_of=np.zeros(2, dtype=int),
    bounded=np.ones(2, dtype=bool),
    link_of=np.zeros(2, dtype=int),
    delay=np.ones(1),
)


def test_drops_are_the_excess_in_proportion_to_the_arrivals() -> None:
    arrivals, queue = jnp.array([3.0, 1.0]), jnp.array([60.0, 42.0])
    np.testing.assert_allclose(_drops(TWO_QUEUES, 100.0, 0.0, arrivals, queue), [1.5, 0.5])
    np.testing.assert_allclose(_drops(TWO_QUEUES, 102.0, 0.0, arrivals, queue), [0.0, 0.0])


def test_queues_with_buffers_of_their_own_drop_what_is_theirs() -> None:
    plan: Any = SimpleNamespace(**(vars(TWO_QUEUES) | {"buffer_of": np.array([0, 1])}))
    arrivals, queue = jnp.array([3.0, 1.0]), jnp.array([60.0, 42.0])
    np.testing.assert_allclose(_drops(plan, 58.5, 0.0, arrivals, queue), [1.5, 0.0])


def test_smoothed_drops_tend_to_the_hard_limit() -> None:
    arrivals, queue = jnp.array([4.0, 0.0]), jnp.array([102.0, 0.0])
    off = [float(_drops(TWO_QUEUES, 100.0, s, arrivals, queue)[0]) - 2.0 for s in (1.0, 0.5, 0.1)]
    assert off[0] > off[1] > off[2] >= 0.0
    assert off[2] == pytest.approx(0.0, abs=1e-6)


def test_what_is_due_was_sent_whole_and_parts_of_steps_ago() -> None:
    sent = jnp.array([[8.0], [16.0], [4.0]])  # in steps 6, 7 and 5
    assert float(_arrivals(sent, np.array([1]), np.array([0.0]), 8)[0]) == 16.0
    assert float(_arrivals(sent, np.array([1]), np.array([0.25]), 8)[0]) == 14.0


# Values of links and of the queues at them in the JAX model.

PLAN_LINKS: Any = SimpleNamespace(link_of=np.array([0, 2, 0]), delay=np.ones(3))


def test_one_number_stands_for_all_links() -> None:
    assert of_all_links(PLAN_LINKS, 7.0).tolist() == [7.0, 7.0, 7.0]
    assert of_links(PLAN_LINKS, 7.0).tolist() == [7.0, 7.0, 7.0]
    assert of_links(PLAN_LINKS, np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 3.0, 1.0]


def test_sums_over_the_queues_of_each_link() -> None:
    assert over_links(PLAN_LINKS, np.array([1.0, 5.0, 2.0])).tolist() == [3.0, 0.0, 5.0]


# Feedback in the JAX model: rates are those of the law, once per period, and reach the next node.


@pytest.fixture(scope="module")
def start():
    twin = Twin(takano2006("4S"), phases=[0] * 16)
    p = jax.tree.map(lambda value: jnp.asarray(value, dtype=float), twin.parameters)
    return twin._plan, p


def test_rates_are_those_of_the_law(start) -> None:
    """Eqs. (1), (2) and (13) with what is known at first: the link rate and an empty next node."""
    plan, p = start
    F, L, queues = len(plan.first), len(plan.periods), (plan.flow_of, plan.link_of)
    queue = np.random.default_rng(0).uniform(0.0, 100.0, (F, L))
    on_path = np.zeros((F, L), dtype=bool)
    on_path[queues] = True
    k = int(4 * np.ceil((plan.start.max() + 1) / 4))  # all flows are active, all clocks tick
    after, _ = dfc.exchange_feedback(plan, p, dfc.begin(plan, p), queue[queues], k)
    full, none = np.full((F, L), float(p.link_rate)), np.zeros((F, L))
    gain = float(p.diffusion) / (4 * plan.step)
    J = rates(Report(full, none), queue, on_path, Sharing(1.0, gain, float(p.link_rate)))
    np.testing.assert_allclose(after.sends, J[queues], rtol=1e-12)


def test_between_two_ticks_nothing_changes(start) -> None:
    plan, p = start
    state = dfc.begin(plan, p)
    after, _ = dfc.exchange_feedback(plan, p, state, jnp.full(len(plan.flow_of), 50.0), 4001)
    for before, now in zip(state, after, strict=True):
        np.testing.assert_array_equal(before, now)


# Order of arrival in the JAX model: who came first leaves first, in proportion within a step.


TWO_FLOWS: Any = SimpleNamespace(flow_of=np.arange(2), link_of=np.zeros(2, dtype=int), delay=np.ones(1))


@pytest.fixture
def in_64_bits():
    with jax.enable_x64(True):
        yield


def served(came, service, remembered: int = 8):
    """Return what two flows at one link send in each step."""
    shape: Any = SimpleNamespace(waiting=remembered)
    state, left = orders.begin(TWO_FLOWS, shape), []
    serve = jax.jit(lambda *given: orders.serve(TWO_FLOWS, *given))
    for k, (arrivals, most) in enumerate(zip(came, service, strict=True)):
        state, out = serve(state, np.array(arrivals), np.array([most]), k)
        left.append(np.asarray(out).tolist())
    return left


@pytest.mark.usefixtures("in_64_bits")
def test_the_oldest_leave_first_and_those_of_one_step_in_proportion() -> None:
    came = [(4.0, 0.0), (1.0, 3.0), (0.0, 0.0), (0.0, 0.0)]
    assert served(came, [2.0, 4.0, 1.0, 9.0]) == [
        [2.0, 0.0],
        [2.5, 1.5],
        [0.25, 0.75],
        [0.25, 0.75],
    ]


@pytest.mark.usefixtures("in_64_bits")
def test_nothing_leaves_while_nothing_is_served() -> None:
    assert served([(4.0, 0.0), (0.0, 4.0), (0.0, 0.0)], [0.0, 0.0, 4.0])[:2] == [[0.0, 0.0]] * 2
    assert served([(0.0, 0.0), (1.0, 0.0)], [1.0, 0.0]) == [[0.0, 0.0]] * 2


@pytest.mark.usefixtures("in_64_bits")
def test_departures_are_nan_where_the_order_is_forgotten() -> None:
    """A queue that is longer than what is remembered of it: no number instead of a wrong one."""
    came, service = [(4.0, 0.0), *([(1.0, 3.0)] * 5)], [0.0] * 5 + [1.0]
    assert np.isnan(served(came, service, remembered=4)[-1]).all()
    assert served(came, service, remembered=8)[-1] == [1.0, 0.0]
