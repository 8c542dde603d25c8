"""Queueing disciplines, and those that a level knows (`level_options`)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import dfcmodel as dfc
from responsefn import CUBIC, NewReno, Reno, Vegas

# What each discipline and source is for: figures that can be worked out by hand.


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: dfc.DFC(diffusion=-0.1), ["diffusion", "-0.1"]),
        (lambda: dfc.DFC(diffusion=0.0), ["diffusion", "0"]),
        (lambda: dfc.DFC(intensity=0.5), ["intensity", "0.5", ">= 1"]),
        (lambda: dfc.DFC(phases="odd"), ["phases", "'odd'"]),
        (lambda: dfc.Pause(high=10, low=20), ["low", "20", "<= 10"]),
        (lambda: dfc.Pause(quanta=70_000), ["quanta", "70000"]),
        (lambda: dfc.Pause(quanta=1.5), ["quanta", "1.5", "whole number"]),  # type: ignore[arg-type]
        (lambda: dfc.RED(low=5, high=5), ["high", "5", "low < high; for one threshold use StepMarking"]),
        (lambda: dfc.RED(max_p=2.0), ["max_p", "2"]),
        (lambda: dfc.CBR(0.0), ["rate", "0"]),
        (lambda: dfc.OnOff(1.0, on=0.0, off=1.0), ["on", "0"]),
    ],
)
def test_disciplines_and_sources(refused, make, parts) -> None:
    refused(parts, make)


RATE, DELAY = 1000.0, 5e-3


ROUND_TRIP = 6 * DELAY + 1 / RATE + 2 / 1e4
"""Of `bottleneck` in s: a packet takes half its transmission time per link and direction."""


def bottleneck(discipline, *sources, buffer=50.0, window=500.0, **flow) -> dfc.Scenario:
    """Return flows over two fast links of their own, a shared slow one, and a way out."""
    links = [
        dfc.Link("in", "out", RATE, DELAY, buffer, discipline),
        dfc.Link("out", "end", 1e4, DELAY, 1e3),
    ]
    links += [dfc.Link(f"host {f}", "in", 1e4, DELAY, 1e4) for f in range(len(sources))]
    flows = [
        dfc.Flow(f"flow {f}", (f"host {f}", "in", "out", "end"), source, window, priority=f, **flow)
        for f, source in enumerate(sources)
    ]
    return dfc.Scenario("bottleneck", links, flows, duration=5.0)


def goodput(scenario: dfc.Scenario, since: float = 1.0):
    run = dfc.simulate(scenario, level="fluid")
    late = run.time > since
    return (run.delivered[:, late][:, -1] - run.delivered[:, late][:, 0]) / (run.time[late][-1] - run.time[late][0])


def test_fifo_shares_by_arrivals_and_fair_queueing_equally() -> None:
    flows = dfc.CBR(300.0), dfc.CBR(900.0), dfc.CBR(1800.0)
    np.testing.assert_allclose(goodput(bottleneck(dfc.FIFO(), *flows)), [100, 300, 600], rtol=1e-4)
    np.testing.assert_allclose(goodput(bottleneck(dfc.Fair(), *flows)), [300, 350, 350], rtol=1e-4)


def test_priority_serves_the_first_and_starves_the_last() -> None:
    flows = dfc.CBR(300.0), dfc.CBR(600.0), dfc.CBR(1800.0)
    np.testing.assert_allclose(goodput(bottleneck(dfc.Priority(), *flows)), [300, 600, 100], rtol=1e-4)


def test_what_waits_makes_room_for_what_is_served_before_it() -> None:
    """A window that learns from delay keeps the link against one that fills the buffer, as at packet level."""
    first = bottleneck(dfc.Priority(), Vegas(), CUBIC(), buffer=40.0)
    fair = bottleneck(dfc.Fair(), Vegas(), CUBIC(), buffer=40.0)
    run = dfc.simulate(first, level="fluid")
    assert run.lost[0, :, run.time > 1.0].sum() == 0.0 < run.lost[1].sum()
    for scenario, shares in ((first, [RATE, 0.0]), (fair, [RATE / 2, RATE / 2])):
        found = goodput(scenario)
        np.testing.assert_allclose(found, shares, atol=0.02 * RATE)
        whole = dfc.simulate(scenario, dfc.Packets(seed=1))
        late = whole.time > 1.0
        packets = np.ptp(whole.delivered[:, late], axis=1) / np.ptp(whole.time[late])
        np.testing.assert_allclose(found, packets, atol=0.02 * RATE)


def test_loss_is_what_does_not_fit() -> None:
    """Arrivals of 1500/s at 1000/s: 500/s are lost once 50 packets wait."""
    run = dfc.simulate(bottleneck(dfc.FIFO(), dfc.CBR(1500.0)), level="fluid")
    node = list(run.scenario.senders).index("in")
    assert run.peak_queue[node] == 50.0
    filled = 50.0 / 500.0 + DELAY
    assert run.lost.sum() == pytest.approx(500.0 * (5.0 - filled), abs=2.0)


def test_pause_loses_nothing_and_holds_the_queue() -> None:
    """What is under way when the pause is called is one link's and two delays' packets."""
    high, low = 30.0, 10.0
    run = dfc.simulate(bottleneck(dfc.Pause(high, low), dfc.CBR(1500.0), buffer=400.0), level="fluid")
    node = list(run.scenario.senders).index("in")
    assert run.lost[:, node].sum() == 0
    under_way = 2 * DELAY * (1e4 - RATE)
    assert high < run.peak_queue[node] <= high + under_way + 1e4 * run.step
    late = run.queued[node, run.time > 1.0]
    assert late.min() < low  # it resumes below the low threshold, and drains until that is heard
    assert run.carried[0, node] == pytest.approx(RATE * 5.0, rel=0.02)


def test_quanta_pause_for_their_time() -> None:
    """65535 quanta of 512 bit times at 120 Mb/s are 280 ms: the link behind runs dry."""
    run = dfc.simulate(
        bottleneck(dfc.Pause(30.0, 10.0, quanta=65535), dfc.CBR(1500.0), buffer=400.0),
        level="fluid",
    )
    node = list(run.scenario.senders).index("in")
    assert (run.queued[node, run.time > 0.5] == 0.0).mean() > 0.3
    assert run.carried[0, node] < 0.8 * RATE * 5.0


def test_red_drops_the_share_that_balances_constant_traffic() -> None:
    """CBR at 1.1 times the link: in the long run one packet in eleven must go."""
    run = dfc.simulate(
        bottleneck(dfc.RED(5.0, 40.0, weight=0.01, max_p=0.5), dfc.CBR(1100.0), buffer=100.0),
        level="fluid",
    )
    late = run.time > 1.0
    assert run.lost[:, :, late].sum() == pytest.approx(100.0 * 4.0, rel=0.1)
    assert run.peak_queue.max() < 100.0


def test_red_keeps_the_same_queue_whatever_the_number_of_flows() -> None:
    """The same load of constant traffic in 1, 10 and 50 flows."""
    found = []
    for n in (1, 10, 50):
        red = dfc.Link("a", "b", 1000.0, 2e-3, 400.0, dfc.RED(low=20, high=60, max_p=0.2))
        links = [dfc.Link(f"s{i}", "a", 1e5, 1e-3, 1e6) for i in range(n)] + [red]
        flows = [dfc.Flow(f"{i}", (f"s{i}", "a", "b"), dfc.CBR(1100.0 / n), start=1e-3 * i / n) for i in range(n)]
        run = dfc.simulate(dfc.Scenario("red", links, flows, duration=30.0), sample=0.01, level="fluid")
        at = list(run.scenario.senders).index("a")
        found.append(float(run.queued[at, run.time > 10.0].mean()))
    # drops 1.5/p = 11 packets apart on the average: p = 0.136, and the queue 20 + 40 p / 0.2 = 47
    assert found == pytest.approx([found[0]] * 3, rel=0.05)
    assert 40.0 < found[0] < 56.0


def test_marks_replace_losses() -> None:
    law = {"low": 5.0, "high": 40.0, "weight": 0.01}
    lossy = dfc.simulate(bottleneck(dfc.RED(**law), Reno(), window=60.0), level="fluid")
    marked = dfc.simulate(bottleneck(dfc.RED(**law, ecn=True), Reno(), window=60.0), level="fluid")
    assert lossy.lost.sum() > 0
    assert marked.lost.sum() == 0
    assert marked.loss_events[0] >= 3
    assert marked.timeouts[0] == 0


def with_law(scenario: dfc.Scenario, law: dfc.DFC) -> dfc.Scenario:
    return replace(scenario, links=[replace(link, discipline=law) for link in scenario.links])


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
def test_dfc_per_input_is_that_per_flow_where_each_flow_has_its_own_input(host: str) -> None:
    """Two links that meet in a third, as queues of flows and as queues of inputs, through losses."""
    law = dfc.DFC(diffusion=0.2, intensity=1.1)
    links = [dfc.Link("in", "out", RATE, DELAY, 40.0, law)]
    links += [dfc.Link(f"host {f}", "in", 2 * RATE, DELAY, 40.0, law) for f in (0, 1)]
    flows = [
        dfc.Flow(f"{f}", (f"host {f}", "in", "out"), source, 150.0, host=host)
        for f, source in enumerate((NewReno(), dfc.CBR(900.0)))
    ]
    scenario = dfc.Scenario("two into one", links, flows, duration=1.0)
    one, other = (
        dfc.simulate(with_law(scenario, replace(law, per=per)), sample=0.01, level="fluid") for per in ("flow", "input")
    )
    assert other.imbalance.max() == 0.0
    assert (one.lost.sum() > 0) == (host != "shaped")
    # 800 steps in which the law's sums, in another order, are rounded to the grid
    for key in ("delivered", "queued", "lost"):
        np.testing.assert_allclose(getattr(one, key), getattr(other, key), atol=800 * 2.0**-26)


def test_dfc_per_input_keeps_one_queue_for_what_came_over_one_link() -> None:
    """Arrivals of 1500/s and 500/s over one link share the next one of 1000/s as they came."""
    links = [
        dfc.Link("a", "b", 1e4, DELAY, 50.0),
        dfc.Link("b", "c", RATE, DELAY, 50.0, dfc.DFC(per="input")),
    ]
    flows = [dfc.Flow(f"{rate:g}", "abc", dfc.CBR(rate)) for rate in (1500.0, 500.0)]
    shares = goodput(dfc.Scenario("one input", links, flows, duration=5.0))
    np.testing.assert_allclose(shares, [750.0, 250.0], rtol=1e-3)


def test_dfc_per_input_shares_equally_and_loses_nothing() -> None:
    """takano2006's footnote: DFC requires only per-input queues. Each flow has an input at node 15."""
    run = dfc.simulate(
        with_law(dfc.takano2006("1", tcp="newreno"), dfc.DFC(per="input")),
        duration=0.6,
        level="fluid",
    )
    np.testing.assert_allclose(run.mean_efficiency(0.4), 0.5, atol=1e-3)
    assert run.lost.sum() == 0
    assert run.peak_queue.max() <= 2 * run.scenario.links[0].capacity


def test_dfc_per_flow_and_per_input_do_not_mix() -> None:
    links = [
        dfc.Link("a", "b", RATE, DELAY, 50.0, dfc.DFC()),
        dfc.Link("b", "c", RATE, DELAY, 50.0),
    ]
    links[1] = replace(links[1], discipline=dfc.DFC(per="input"))
    with pytest.raises(ValueError, match=r"per of link 'b->c' = 'input': must .* 'flow' on a->b"):
        dfc.Scenario("both", links, [dfc.Flow("one", "abc", dfc.CBR(100.0))])
    with pytest.raises(ValueError, match="per = 'port': must be one of"):
        dfc.DFC(per="port")


def test_a_transfer_ends_when_its_last_packet_is_there() -> None:
    """A window below the pipe: 400 packets of 10 per round trip, the first ones fewer."""
    run = dfc.simulate(bottleneck(dfc.FIFO(), NewReno(), window=10.0, size=400.0), level="fluid")
    assert run.delivered[0, -1] == 400.0
    rounds = 4 + (400 - 15) / 10  # 1, 2, 4, 8 packets, then 10 per round trip
    assert run.finished[0] == pytest.approx((rounds + 0.5) * ROUND_TRIP, rel=0.02)
    assert np.isnan(dfc.simulate(bottleneck(dfc.FIFO(), NewReno()), level="fluid").finished[0])


def test_on_and_off() -> None:
    run = dfc.simulate(bottleneck(dfc.FIFO(), dfc.OnOff(800.0, on=0.25, off=0.75)), level="fluid")
    assert run.delivered[0, -1] == pytest.approx(5 * 0.25 * 800.0, rel=1e-3)
    random = [
        dfc.simulate(
            bottleneck(dfc.FIFO(), dfc.OnOff(800.0, 0.25, 0.75, random=True)),
            seed=seed,
            level="fluid",
        ).delivered[0, -1]
        for seed in range(20)
    ]
    # 5 cycles per run with a relative spread near 0.4 each; 20 runs
    assert np.mean(random) == pytest.approx(1000.0, rel=0.3)
    assert np.std(random) > 50.0


def test_flows_around_a_ring() -> None:
    """Every link is shared by the two flows that start at it and before it: half each."""
    links = dfc.ring(4, rate=RATE, delay=DELAY, buffer=50.0)
    around = (1, 2, 3, 4, 1, 2)
    flows = [dfc.Flow(f"from {n}", around[n - 1 : n + 2], dfc.CBR(900.0), host="unshaped") for n in (1, 2, 3, 4)]
    run = dfc.simulate(dfc.Scenario("ring", links, flows, duration=3.0), level="fluid")
    assert run.imbalance.max() == 0.0
    rates = (run.delivered[:, -1] - run.delivered[:, 1000]) / (run.time[-1] - run.time[1000])
    # x leaves the first link; there it competes as 900 : x
    x = RATE * 900.0 / (900.0 + 558.0)
    np.testing.assert_allclose(rates, rates[0], rtol=1e-6)
    assert rates[0] < x


def test_delays_of_links_with_dfc_are_steps() -> None:
    """They are feedback periods; of other links a part of a step is as good as a whole one."""
    law = dfc.DFC()
    links = [dfc.Link("a", "b", RATE, 1e-3, 50.0, law), dfc.Link("b", "c", RATE, 1.1e-3, 50.0, law)]
    flows = [dfc.Flow("one", "abc", dfc.CBR(100.0))]
    scenario = dfc.Scenario("delays", links, flows, duration=0.1)
    with pytest.raises(ValueError, match=r"b->c = 0\.0011 s: must be a multiple of the step .* steps_per"):
        dfc.simulate(scenario, level="fluid")
    dfc.simulate(scenario, method=dfc.Fluid(10))
    uneven = [links[0], dfc.Link("b", "c", RATE, 1.005e-3, 50.0, law)]
    with pytest.warns(UserWarning, match=r"rounded to 4 steps .* 0\.5 % off"):
        dfc.simulate(dfc.Scenario("delays", uneven, flows, duration=0.1), level="fluid")


def test_a_chain_of_unequal_delays_is_exact() -> None:
    """The first packet arrives after all delays, to the step."""
    links = [*dfc.chain(3, rate=RATE, delay=1e-3, buffer=50.0), dfc.Link(3, 4, RATE, 7e-3, 50.0)]
    scenario = dfc.Scenario("delays", links, [dfc.Flow("one", (1, 2, 3, 4), dfc.CBR(100.0))], 0.02)
    run = dfc.simulate(scenario, sample=2.5e-4, method=dfc.Fluid(store_and_forward=False))
    assert run.time[np.argmax(run.delivered[0] > 0)] == pytest.approx(9e-3 + run.step)


@pytest.mark.parametrize("delay", [7.3e-3, 7.77e-3])
def test_delays_between_steps_are_interpolated_and_every_packet_is_accounted_for(delay) -> None:
    """Constant traffic from t = 0: what has come is rate times (time - delay), to a quantum."""
    links = [dfc.Link("a", "b", 1e4, 1e-3, 50.0), dfc.Link("b", "c", 1e4, delay, 50.0)]
    scenario = dfc.Scenario("delays", links, [dfc.Flow("one", "abc", dfc.CBR(900.0))], 0.05)
    run = dfc.simulate(scenario, sample=2.5e-4, method=dfc.Fluid(store_and_forward=False))
    assert run.imbalance.max() == 0.0
    late = run.time > 0.03
    # the receiver sees in a step what had come at its end; the way back, 8.3 or 8.77 ms as well, is
    # rounded down to steps and what is left of one is on the way there
    back = (1e-3 + delay) % run.step
    came = 900.0 * (run.time[late] - 1e-3 - delay - back)
    np.testing.assert_allclose(run.delivered[0, late], came, atol=1e-4)


def incast(discipline) -> dfc.Scenario:
    """Four windows of ECN-capable senders that meet at one queue, and are paused at their hosts' links."""
    links = [dfc.Link("in", "out", 1e4, 1e-3, 400.0, discipline)]
    links += [dfc.Link(f"host {f}", "in", 1e4, 1e-3, 1e4, dfc.FIFO()) for f in range(4)]
    flows = [dfc.Flow(f"flow {f}", (f"host {f}", "in", "out"), Reno(), 200.0, start=0.01 * f) for f in range(4)]
    return dfc.Scenario("incast", links, flows, duration=3.0)


def test_marks_keep_a_queue_below_the_threshold_of_its_pauses() -> None:
    """PFC with ECN on one queue, as RoCE networks have it: pauses only until senders know the path."""
    alone = dfc.simulate(incast(dfc.Pause(high=100.0, low=50.0)), level="fluid")
    both = dfc.simulate(incast(dfc.Pause(high=100.0, low=50.0, manager=dfc.StepMarking(20.0))), level="fluid")
    marked = dfc.simulate(incast(dfc.StepMarking(20.0)), level="fluid")
    for run in (alone, both):
        assert run.lost.sum() == 0.0
        assert run.imbalance.max() == 0.0
    paused = [run.pauses().to_pandas() for run in (alone, both)]
    assert (paused[0].begin > 1.0).sum() > 50
    assert (paused[1].begin > 1.0).sum() == 0
    assert both.loss_events.sum() > 50 < marked.loss_events.sum()
    assert alone.loss_events.sum() == 0
    late = both.time > 1.0
    np.testing.assert_allclose(  # without pauses it is the marking queue, from other first windows
        both.queued[0, late].mean(), marked.queued[0, late].mean(), rtol=0.2
    )


def test_a_manager_of_fair_queues_keeps_the_buffer_from_being_full() -> None:
    """20 packets/s too many for a link of 1000: CoDel drops them long before 50 packets wait."""
    flows = dfc.CBR(300.0), dfc.CBR(360.0), dfc.CBR(360.0)
    codel = dfc.CoDel(target=5e-3, interval=0.05)
    plain, managed = (dfc.simulate(bottleneck(kind, *flows), level="fluid") for kind in (dfc.Fair(), dfc.Fair(codel)))
    node = list(plain.scenario.senders).index("in")
    assert plain.peak_queue[node] == 50.0
    assert managed.peak_queue[node] < 30.0
    assert managed.imbalance.max() == 0.0
    np.testing.assert_allclose(managed.lost.sum(), 20.0 * 5.0, rtol=0.2)


@pytest.mark.parametrize("kind", [dfc.Pause, dfc.Fair, dfc.Priority])
def test_what_is_no_manager_is_refused(kind) -> None:
    with pytest.raises(ValueError, match=r"manager = FIFO\(\): must be a queue manager, such as"):
        kind(manager=dfc.FIFO())


def test_the_packet_level_marks_below_the_thresholds_of_pauses_too() -> None:
    plain, managed = (
        dfc.simulate(incast(dfc.Pause(high=100.0, low=50.0, manager=manager)), dfc.Packets(seed=1))
        for manager in (None, dfc.StepMarking(20.0))
    )
    node = list(plain.scenario.senders).index("in")
    late = plain.time > 1.0
    assert plain.queued[node, late].max() > 100.0
    assert managed.queued[node, late].max() < 50.0
    assert managed.lost.sum() == 0.0


@dataclass(frozen=True)
class Backwards(dfc.FIFO):
    """A user's own order of service, which the engine does not know."""


@pytest.mark.parametrize("method", [dfc.Fluid(), dfc.Packets(seed=1)], ids=["fluid", "packets"])
def test_a_discipline_that_no_level_knows_is_refused(method) -> None:
    said = r"discipline of link in->out: .* not Backwards; no level runs it$"
    with pytest.raises(ValueError, match=said) as refused:
        dfc.simulate(incast(Backwards()), method)
    assert "use method" not in str(refused.value)


def test_a_discipline_of_one_level_names_it() -> None:
    scenario = incast(dfc.DualPI2())
    assert dfc.simulate(scenario, dfc.Packets(seed=1), duration=1e-3).status is not None
    with pytest.raises(ValueError, match=r"in->out: .* not DualPI2; use method=Packets\(\)"):
        dfc.simulate(scenario, dfc.Fluid())


def test_labels_of_disciplines_have_no_defaults() -> None:
    assert [str(each) for each in (dfc.FIFO(), dfc.DFC(), dfc.DFC(diffusion=0.2))] == [
        "FIFO()",
        "DFC()",
        "DFC(diffusion=0.2)",
    ]
    red = dfc.RED(low=5.0, high=15.0)
    assert eval(str(red), {"RED": dfc.RED}) == red
