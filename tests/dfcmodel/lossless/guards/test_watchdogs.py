"""Watchdogs: settings, false alarms, and runs of packets."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, PFC, Flow, Link, Packets, Pause, Scenario, chain, pause_propagation, simulate
from dfcmodel.lossless import (
    Watchdog,
    recommend_watchdog,
    simulate_watchdog,
    watch_packets,
    watchdog_risk,
)
from markov import PhaseType
from tests.dfcmodel.lossless.conftest import DOG, short_chain

# Watchdogs: which storms they detect, and what they refuse.


@pytest.mark.parametrize("fraction", [1.0, 0.8])
@pytest.mark.parametrize("polls", [1, 2, 3])
@pytest.mark.parametrize("length", [0.05, 0.15, 0.25, 0.31])
def test_a_single_storm_is_missed_as_often_as_at_random_phases(fraction, polls, length) -> None:
    dog = Watchdog(0.1, 0.1 * polls, 1.0, fraction)
    begin = (np.arange(20_000) + 0.5) / 20_000 * 0.1
    edges = 0.1 * np.arange(7)
    paused = np.clip(edges[:, None], begin, begin + length)
    bad = np.diff(paused, axis=0) >= 0.1 * fraction - 1e-12
    runs = np.lib.stride_tricks.sliding_window_view(bad, polls, axis=0).all(axis=2).any(axis=0)
    assert dog.miss(length) == pytest.approx(1.0 - runs.mean(), abs=2e-4)  # steps of the phase


def test_a_lasting_storm_is_detected_within_the_delay() -> None:
    dog = Watchdog(0.1, 0.3, 1.0, 0.8)
    low, high = dog.delay
    assert dog.miss(high) == pytest.approx(0.0)
    assert 0.0 < dog.miss(low) < 1.0  # ends before the poll that declares it
    shortest = (dog.polls - 2 + 2 * dog.fraction) * dog.period
    assert dog.miss(shortest) == pytest.approx(1.0)


# False alarms of watchdogs: a closed form, an event simulation, and bounds.

GAPS = PhaseType.exponential(1.0)


def test_one_poll_of_whole_intervals_has_a_closed_form() -> None:
    """An alternating renewal process: P(paused throughout) = rho exp(-mu P); restored after one good poll.

    Where pauses hardly ever outlast an interval, dropping leaves nothing out: alarms per poll are that.
    """
    mu, period = 200.0, 0.1
    risk = watchdog_risk(Watchdog(period, period, period), PhaseType.exponential(mu), GAPS)
    rho = (1.0 / mu) / (1.0 / mu + 1.0)
    assert risk.alarms == pytest.approx(rho * np.exp(-mu * period) / period, rel=1e-6)
    assert risk.alarms <= risk.bound


@pytest.mark.parametrize("fraction", [1.0, 0.8])
@pytest.mark.parametrize("pauses", [PhaseType.exponential(10.0), PhaseType.hyperexponential([0.9, 0.1], [50.0, 3.0])])
def test_false_alarms_agree_with_an_event_simulation(fraction, pauses) -> None:
    dog = Watchdog(0.1, 0.2, 0.4, fraction)
    risk = watchdog_risk(dog, pauses, GAPS)
    polls = 300_000
    alarms, dropping = simulate_watchdog(dog, pauses, GAPS, polls=polls, seed=4)
    expected = risk.alarms * polls * dog.period
    assert alarms > 500
    assert abs(alarms - expected) < 4.5 * expected**0.5  # alarms are rarer than in a Poisson process
    assert dropping == pytest.approx(risk.dropping, rel=0.1)
    assert risk.alarms <= risk.bound


def test_pauses_and_gaps_of_many_phases_are_computed() -> None:
    """sonic-swss#4784: storms of 2 s every 4 s, polled every 0.4 s. Of phases far apart, expm has about -1e-16."""
    phases, dog = PhaseType.erlang(10, mean=2.0), Watchdog("400 ms", "400 ms", "400 ms")
    for each in (dog, replace(dog, fraction=0.99)):
        risk = watchdog_risk(each, phases, phases)
        alarms, dropping = simulate_watchdog(each, phases, phases, polls=20_000, seed=1)
        assert (risk.alarms, risk.dropping) == pytest.approx((alarms / (20_000 * 0.4), dropping), rel=0.02)


def test_pauses_in_every_interval_are_never_restored() -> None:
    """Gaps of 5 ms leave an interval of 100 ms without a pause with probability exp(-20), so that dropping goes on."""
    dog, pauses, gaps = Watchdog(0.1, 0.1, 0.1), PhaseType.exponential(10.0), PhaseType.exponential(200.0)
    assert watchdog_risk(dog, pauses, gaps).dropping == pytest.approx(1.0, abs=1e-6)
    assert simulate_watchdog(dog, pauses, gaps, polls=1000, seed=1)[1] > 0.99


def test_a_watchdog_that_always_drops_is_not_recommended() -> None:
    """It declares one storm, which is never restored: no alarms in the long run, and nothing passes."""
    pauses, gaps = PhaseType.exponential(1 / 0.18), PhaseType.exponential(1 / 0.02)
    dog = Watchdog(0.2, 0.4, 0.4)
    risk = watchdog_risk(dog, pauses, gaps)
    assert simulate_watchdog(dog, pauses, gaps, polls=1000, seed=1)[0] == 1
    assert risk.dropping == pytest.approx(1.0)
    assert risk.alarms < 1e-8 < risk.watching <= risk.bound
    # at a poll in a pause, 0.9 of all, the next interval is bad with probability q; alarms are every second of a run
    q = np.exp(-0.2 / 0.18)
    assert risk.watching == pytest.approx(0.9 * q**2 / (1.0 + q) / 0.2, rel=1e-9)
    assert "if each storm were restored at once" in risk.summary()["false alarms per year"]
    with pytest.raises(ValueError, match="no setting fulfils both"):
        recommend_watchdog(pauses, gaps, within="1 s")


def test_alarms_are_those_of_the_time_in_which_a_watchdog_watches() -> None:
    dog, pauses = Watchdog(0.1, 0.2, 0.4, 0.8), PhaseType.exponential(10.0)
    risk = watchdog_risk(dog, pauses, GAPS)
    assert risk.alarms / (1.0 - risk.dropping) == pytest.approx(risk.watching, rel=0.2)
    assert risk.watching <= risk.bound


def test_restorations_too_rare_for_the_solver_are_not_computed() -> None:
    phases = [PhaseType.erlang(25, mean=mean) for mean in (0.18, 0.02)]
    risk = watchdog_risk(Watchdog("200 ms", "400 ms", "800 ms"), *phases)
    assert risk.alarms is None
    assert risk.dropping is None
    assert 0.0 < risk.watching <= risk.bound
    assert "not computed" in risk.summary()["dropping"]


def test_the_paused_time_of_an_interval_is_bounded_where_it_is_not_computed() -> None:
    pauses, gaps = PhaseType.exponential(5e4), PhaseType.exponential(1e4)
    risk = watchdog_risk(Watchdog("100 ms", "200 ms", "1 s", 0.8), pauses, gaps)
    assert risk.alarms is None
    assert risk.bound < 1e-100
    assert "not computed" in repr(risk)
    assert risk.plot().get_ylabel() == "P(not detected)"


@pytest.mark.slow
def test_a_recommendation_keeps_what_it_promises() -> None:
    pauses = PhaseType.exponential(100.0)
    risk = recommend_watchdog(pauses, GAPS, within="1 s", alarms_per_year=0.01)
    assert risk.watchdog.delay[1] <= 1.0 + 1e-9
    assert risk.alarms * 365.25 * 86400.0 <= 0.01
    dog = risk.watchdog
    assert risk.summary()["polling"] == f"{dog.period:g} s"
    assert risk.summary()["detection, restoration"] == f"{dog.detection:g} s, {dog.restoration:g} s"
    partly = watchdog_risk(replace(dog, fraction=0.8), pauses, GAPS)
    assert partly.summary()["polling"] == f"{dog.period:g} s, intervals paused for at least 0.8"
    with pytest.raises(ValueError, match="no setting fulfils both"):
        recommend_watchdog(pauses, GAPS, within="50 ms", alarms_per_year=0.01)


# Watchdogs in packet runs, beside the formulas of `Watchdog.miss` and `watchdog_risk`.


def test_a_watchdog_that_sees_no_storm_changes_nothing() -> None:
    flows = (
        Flow("a", (1, 2, 3), CBR(900.0), host="direct"),
        Flow("b", (2, 3), CBR(800.0), host="direct"),
    )
    scenario = short_chain(Pause(high=20, low=10), *flows)
    plain = simulate(scenario, Packets(seed=1), sample=0.01)
    seen = watch_packets(scenario, Watchdog(0.5, 0.9, 1.0), method=Packets(seed=1))
    assert not seen.alarms
    assert plain.paused is not None
    np.testing.assert_array_equal(seen.run.delivered, plain.delivered)
    np.testing.assert_array_equal(seen.run.queued, plain.queued)


@pytest.mark.parametrize("length", [0.09, 0.115, 0.135, 0.16])
def test_storms_are_missed_as_often_as_the_formula_says(length: float) -> None:
    """40 runs with polls of random phases: 3.5 standard errors of a binomial."""
    scenario = short_chain(Pause(high=50, low=25), duration=0.5)
    runs, storms = 40, {"2->3": [(0.2, 0.2 + length)]}
    missed = sum(
        len(watch_packets(scenario, DOG, storms=storms, method=Packets(seed=seed)).missed)
        for seed in range(1, runs + 1)
    )
    p = DOG.miss(length)
    assert abs(missed / runs - p) <= 3.5 * np.sqrt(p * (1.0 - p) / runs)


def test_alarms_are_as_frequent_as_the_chain_says() -> None:
    """Pauses and gaps drawn from phase-type times; 3.5 standard errors of a Poisson number, which alarms are nearly."""
    pauses = PhaseType.hyperexponential([0.9, 0.1], [500.0, 1 / 30e-3])
    gaps, dog, end = PhaseType.exponential(5.0), Watchdog(0.02, 0.06, 1.0, 0.8), 250.0
    draw = np.random.default_rng(2)
    pairs = [gaps.sample(4000, seed=draw), pauses.sample(4000, seed=draw)]
    times = np.cumsum(np.column_stack(pairs).ravel()).reshape(-1, 2)
    scenario = short_chain(Pause(high=50, low=25), Flow("few", (1, 2, 3), CBR(1.0), host="direct"), duration=end)
    seen = watch_packets(scenario, dog, storms={"2->3": times[times[:, 1] < end].tolist()})
    expected = watchdog_risk(dog, pauses, gaps).alarms
    assert expected is not None
    assert abs(len(seen.alarms) - expected * end) <= 3.5 * np.sqrt(expected * end)


# Watchdogs at single ports: when they declare a storm, what they drop, when they are restored.


def test_a_storm_is_declared_and_restored_and_packets_are_dropped_in_between() -> None:
    scenario = short_chain(Pause(high=50, low=25), duration=1.5)
    seen = watch_packets(scenario, DOG, storms={"2->3": [(0.2, 0.7)]})
    (alarm,) = seen.alarms
    low, high = DOG.delay
    assert low <= alarm.declared - 0.201 <= high  # the message takes 1 ms
    assert 0.2 <= alarm.restored - 0.701 <= 0.25  # four intervals without a pause, after that in which the storm ends
    assert alarm.link == "1->2"
    assert not alarm.false
    # what waits since the pause, and what comes until the end
    assert abs(alarm.dropped - 100.0 * (alarm.restored - 0.201)) <= 2
    assert alarm.dropped == seen.run.lost.sum()
    assert seen.run.imbalance.max() == 0.0
    assert "1, 0 of them false" in repr(seen)
    assert seen.to_xarray().declared.attrs["units"] == "s"
    assert seen.plot().get_xlim() == (0.0, 1.5)


def test_drops_last_as_long_as_the_storms_of_a_switch() -> None:
    """sonic-swss#4784: storms of 2 s every 4 s with all times 400 ms are dropped for 2005.7 ms on average of 255."""
    dog, storms = Watchdog("400 ms", "400 ms", "400 ms"), [(4.0 * n + 1.0, 4.0 * n + 3.0) for n in range(5)]
    flow = Flow("few", (1, 2, 3), CBR(1.0), host="direct")
    scenario = short_chain(Pause(high=50, low=25), flow, duration=20.5)
    alarms = watch_packets(scenario, dog, storms={"2->3": storms}).alarms
    assert [alarm.restored - alarm.declared for alarm in alarms] == pytest.approx([2.0] * 5)


def test_only_the_class_that_is_paused_is_dropped() -> None:
    flows = [Flow(f"class {c}", (1, 2, 3), CBR(100.0), priority=c, host="direct") for c in (0, 3)]
    scenario = short_chain(PFC((3,), xoff=50, xon=25), *flows)
    seen = watch_packets(scenario, DOG, storms={"2->3": [(0.2, 0.7)]})
    assert [(alarm.link, alarm.priority) for alarm in seen.alarms] == [("1->2", 3)]
    lost = seen.run.lost.sum(axis=(1, 2))
    assert lost[0] == 0.0
    assert lost[1] == seen.alarms[0].dropped > 20
    assert seen.run.imbalance.max() == 0.0


def test_pauses_of_a_full_queue_are_false_alarms() -> None:
    flows = (
        Flow("a", (1, 2, 3), CBR(600.0), host="direct"),
        Flow("b", (2, 3), CBR(900.0), host="direct"),
    )
    scenario = short_chain(Pause(high=20, low=10), *flows)
    seen = watch_packets(scenario, Watchdog(0.01, 0.02, 0.05, fraction=0.8))
    assert len(seen.alarms) > 3
    assert all(alarm.false for alarm in seen.alarms)
    assert not seen.missed


@pytest.mark.parametrize("discipline", [PFC((0,), xoff=50, xon=25), Pause(high=50, low=25)])
def test_storms_that_no_watchdog_sees_are_named(discipline: PFC | Pause) -> None:
    """A fault at a switch's own port stops the links that feed it, here the interface of a host alone."""
    flow = Flow("few", ("host", 1, 2, 3), CBR(50.0), host="nic")
    line = chain(3, rate=1e3, delay=1e-3, buffer=2000, discipline=discipline)
    scenario = Scenario("line", [Link("host", 1, 1e3, 1e-3, 2000, discipline), *line], [flow], duration=1.5)
    behind = watch_packets(scenario, DOG, storms={"1->2": [(0.2, 0.9)]})
    assert not behind.alarms
    assert not behind.missed
    assert [(link, begin) for link, _, begin, _ in behind.unwatched] == [("host->1", pytest.approx(0.201))]
    assert "without a watchdog at host->1" in repr(behind)
    declared = watch_packets(scenario, DOG, storms={"2->3": [(0.2, 0.9)]})
    assert [alarm.link for alarm in declared.alarms] == ["1->2"]
    assert not declared.unwatched


def test_storms_at_the_end_of_a_run_are_undecided() -> None:
    """The run ends before the polls that would declare or miss them."""
    scenario = short_chain(Pause(high=50, low=25), Flow("few", (1, 2, 3), CBR(10.0), host="direct"))
    end = scenario.duration
    slow = Watchdog("5 s", "10 s", "10 s")
    for dog, begin, last in ((DOG, end - 0.05, end - 0.01), (DOG, end - 0.05, end + 1.0), (slow, 0.2, 0.3)):
        run = watch_packets(scenario, dog, storms={"2->3": [(begin, last)]})
        assert not run.alarms
        assert not run.missed
        assert [(link, stop) for link, _, _, stop in run.undecided] == [("1->2", pytest.approx(last + 1e-3))]
        assert "1, the run ends too early" in run.summary()["storms undecided"]
    done = watch_packets(scenario, DOG, storms={"2->3": [(0.2, 0.25)]})
    assert (len(done.missed), done.undecided) == (1, ())
    assert "storms undecided" not in done.summary()


@pytest.mark.parametrize("lead", [0.01, -1.0])
def test_faults_that_never_end_are_undecided_once_they_have_begun(lead: float) -> None:
    scenario = short_chain(Pause(high=50, low=25), Flow("few", (1, 2, 3), CBR(10.0), host="direct"))
    stormy = replace(scenario.links[-1], discipline=Pause(high=50, low=25, storm=scenario.duration - lead))
    run = watch_packets(replace(scenario, links=[*scenario.links[:-1], stormy]), DOG)
    assert [stop for *_, stop in run.undecided] == ([math.inf] if lead > 0.0 else [])


def test_times_of_storms_may_have_units() -> None:
    scenario, storm = short_chain(Pause(high=50, low=25)), (0.2, 0.6)
    (plain,) = watch_packets(scenario, DOG, storms={"2->3": [storm]}).alarms
    (alarm,) = watch_packets(scenario, DOG, storms={"2->3": [("200 ms", "0.6 s")]}).alarms
    assert alarm == plain


# Faults in the results of the run.


def paused_chain(duration: float = 1.0) -> Scenario:
    """Return three links with a flow from a host that obeys pauses; a fault of the last link stops all."""
    links = chain(4, rate=1e3, delay=1e-3, buffer=2000, discipline=Pause(high=20, low=10))
    flow = Flow("a", (1, 2, 3, 4), CBR(900.0), host="nic")
    return Scenario("chain", links, [flow], duration=duration)


def test_pauses_by_faults_are_pauses_of_the_run() -> None:
    """The pauses begin at the faulty port, not at the queue that fills before it."""
    faults = {"3->4": [(0.2, 0.5), (0.6, 0.7)]}
    run = watch_packets(paused_chain(), Watchdog(0.5, 1.0, 1.0), storms=faults).run
    table = run.pauses().to_pandas()
    by_faults, others = table[table.fault], table[~table.fault]
    assert list(zip(by_faults.link, by_faults.by, strict=True)) == [("2->3", "3->4")] * 2
    np.testing.assert_allclose(by_faults[["begin", "end"]], [[0.201, 0.501], [0.601, 0.701]])
    assert set(zip(others.link, others.by, strict=True)) == {("1->2", "2->3")}
    assert "2 by faults, on 2 links; longest chain at a time: 1->2, 2->3, 3->4" in run.summary()["pauses"]
    assert list(pause_propagation(run).origins) == ["3"]


@pytest.mark.parametrize("storm", [(0.2, 1.0), (0.2, 5.0), (0.0, 0.9985)])
def test_links_that_a_fault_stops_are_not_deadlocked(storm) -> None:
    run = watch_packets(paused_chain(), Watchdog("5 s", "10 s", "10 s"), storms={"3->4": [storm]}).run
    assert run.delivered[0, -1] == run.delivered[0, 60]
    assert run.deadlock is None
    assert run.storm is None
    assert run.status.label == "completed"


def test_an_endless_storm_is_never_restored() -> None:
    scenario = short_chain(Pause(high=50, low=25))
    links = list(scenario.links)
    links[1] = replace(links[1], discipline=Pause(high=50, low=25, storm=0.2))
    (alarm,) = watch_packets(replace(scenario, links=tuple(links)), DOG).alarms
    assert np.isnan(alarm.restored)
    assert not alarm.false


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ((200, 400, 400), r"^polling = 200: must be at most 3 s without a unit; files of switches have ms: write '200 ms'"),
        ((20, 40, 40), r"^polling = 20: must be at most 3 s without a unit; files of switches have ms: write '20 ms'"),
        ((1, 400, 400), r"^detection = 400: must be at most 5 s without a unit"),
        ((1, 10, 20), r"^detection = 10: must be at most 5 s without a unit"),
        ((0.2, 0.4, 60000), r"^restoration = 60000: must be at most 60 s without a unit"),
    ],
)  # fmt: skip
def test_times_in_ms_without_a_unit_are_refused(times, message) -> None:
    with pytest.raises(ValueError, match=message):
        Watchdog(*times)
    assert Watchdog("200 s", "400 s", "400 s").polling == 200.0
    assert Watchdog(0.2, 0.4, 60).restoration == 60.0
    assert Watchdog(3, 5, 60).detection == 5.0


def test_a_recommended_watchdog_may_be_slower_than_those_of_switches() -> None:
    pauses, gaps = PhaseType.exponential(50.0), PhaseType.exponential(5.0)
    dog = recommend_watchdog(pauses, gaps, within="50 s", pollings=["0.5 s"]).watchdog
    assert (dog.polling, dog.detection, dog.restoration) == (0.5, 49.5, 99.0)
