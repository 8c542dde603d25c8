"""Transfers that are not complete at the end, and what they wait for."""

from __future__ import annotations

import pytest

from dfcmodel import (
    CBR,
    PFC,
    Flow,
    Fluid,
    Link,
    Packets,
    Poisson,
    Replay,
    Scenario,
    chain,
    simulate,
)
from hopflow import Status
from responsefn import NewReno

METHODS = [Packets(seed=1), Fluid()]
NAMES = ["packets", "fluid"]


def transfers(*flows: Flow, buffer: float = 20.0, duration: float = 1.0) -> Scenario:
    links = chain(3, rate=1e3, delay=1e-2, buffer=buffer)
    return Scenario("transfers", links, flows, duration=duration)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_reasons_of_sources_without_a_window(method) -> None:
    scenario = transfers(
        Flow("done", (1, 2, 3), CBR(100.0), size=20.0, start=0.5, host="unshaped"),
        Flow("sending", (1, 2, 3), CBR(200.0), size=500.0, host="unshaped"),
        Flow("lost", (2, 3), CBR(5e3), size=1500.0),
        Flow("late", (1, 2, 3), CBR(100.0), size=10.0, start=1.0, host="unshaped"),
        Flow("endless", (1, 2, 3), CBR(10.0), host="unshaped"),
    )
    run = simulate(scenario, method)
    found = {each.name: each for each in run.unfinished}
    assert {name: each.waits_for for name, each in found.items()} == {
        "sending": "still sending",
        "lost": "lost packets, which its source never sends again",
        "late": "starts after the end",
    }
    assert found["sending"].sent == pytest.approx(200.0, abs=1.0)  # one more at its start
    assert found["sending"].delivered < found["sending"].sent
    assert (found["lost"].sent, found["late"].sent) == (1500.0, 0.0)
    assert run.status is Status.COMPLETED
    line = str(run.summary()["unfinished"])
    assert line.startswith("3 of 4 transfers: sending (sent 20")
    assert "unfinished" in run._repr_html_()


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_window_sender_whose_packets_are_all_lost_waits_for_its_timer(method) -> None:
    """They come to a buffer that 20 times the rate of its link keep full, and nothing is sent until the timer expires."""
    scenario = transfers(
        Flow("flood", (2, 3), CBR(2e4)),
        Flow("a", (1, 2, 3), NewReno(), size=3.0, start=0.1, host="unshaped"),
        duration=0.5,
    )
    run = simulate(scenario, method)
    assert run.lost[1].sum() > 0.9  # of its first packet, in a fluid a part passes
    assert [each.waits_for for each in run.unfinished] == ["waits for its retransmission timer"]
    early = simulate(scenario, method, duration=0.105)  # on the first link
    assert [each.waits_for for each in early.unfinished] == ["still sending"]


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_paused_transfer_names_who_pauses_it(method) -> None:
    rule = PFC((0,), xoff=10, xon=5)
    links = [
        *chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=rule),
        Link(3, 4, 10.0, 1e-3, 200, rule),
    ]
    flow = Flow("a", (1, 2, 3, 4), CBR(1e4), size=1000.0, host="unshaped")
    run = simulate(Scenario("slow", links, [flow], duration=0.5), method)
    (found,) = run.unfinished
    assert found.waits_for.startswith("paused by")
    assert "3->4" in found.waits_for
    assert run.status is Status.COMPLETED


def test_many_transfers_are_counted_by_reason() -> None:
    flows = [Flow(f"{n}", (2, 3), CBR(1e3), size=400.0) for n in range(8)]
    run = simulate(transfers(*flows), Packets(seed=1))
    n = len(run.unfinished)
    assert n > 3
    reason = "lost packets, which its source never sends again"
    line = str(run.summary()["unfinished"])
    assert line.startswith(f"{n} of 8 transfers. {reason}: {n}. The first one: ")
    assert line.endswith(str(run.unfinished[0]))


@pytest.mark.parametrize(
    "source", [CBR(5e3), Poisson(5e3), Replay((0.0, 0.1), 100)], ids=["CBR", "Poisson", "Replay"]
)
def test_what_a_source_lost_that_has_ended_before_its_size_is_never_sent_again(source) -> None:
    flow = Flow("a", (2, 3), source, size=1500.0, stop=0.2)
    found = {}
    for duration in (0.15, 0.5):
        (found[duration],) = simulate(
            transfers(flow, duration=duration), Packets(seed=1)
        ).unfinished
    assert 0.0 < found[0.5].delivered < found[0.5].sent < 1500.0
    ended = isinstance(source, Replay)  # its trace, before the stop
    reasons = ["still sending", "lost packets, which its source never sends again"]
    assert found[0.15].waits_for == reasons[ended]
    assert found[0.5].waits_for == reasons[1]
