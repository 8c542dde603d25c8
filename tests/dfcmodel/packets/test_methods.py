"""Packets: how flows recover, and what is refused of methods and scenarios."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from dfcmodel import DFC, FIFO, INT, CoDel, DualPI2, Fluid, Packets, Pause, simulate, to_ns2
from responsefn import BBR, CUBIC, HPCC, NewReno, Reno, Tahoe


def test_a_rule_says_how_it_recovers_unless_the_method_does(one_link) -> None:
    assert Packets().recovery_of(one_link) == ("newreno",)
    assert Packets(recovery="sack").recovery_of(one_link) == ("sack",)
    assert Packets(recovery={"flow": "tahoe"}).recovery_of(one_link) == ("tahoe",)
    with pytest.raises(ValueError, match="recovery: flow"):
        Packets(recovery={"other": "tahoe"}).recovery_of(one_link)


def test_rules_that_set_the_window_in_recovery_keep_sack_under_prr(one_link) -> None:
    assert Packets(recovery="prr").recovery_of(one_link) == ("prr",)
    other = replace(one_link, flows=(replace(one_link.flows[0], source=BBR()),))
    assert Packets(recovery="prr").recovery_of(other) == ("sack",)


# What packets refuse of a scenario.


@pytest.mark.parametrize(
    ("discipline", "parts"),
    [(DFC(per="input"), ("per of", "input", "Fluid")),
     (Pause(high=6.0, low=3.0, paused_rate=10.0), ("paused_rate", "Fluid"))],
)  # fmt: skip
def test_a_discipline_without_packets_is_refused(one_link, refused, discipline, parts) -> None:
    links = (replace(one_link.links[0], discipline=discipline),)
    scenario = replace(one_link, links=links)
    refused(("link a->b", *parts), lambda: simulate(scenario, method=Packets()))


class Trim(FIFO):
    """A discipline of a user that no level runs."""


@pytest.mark.parametrize("method", [Fluid(), Packets()])
def test_a_discipline_that_no_level_runs_is_not_sent_to_the_other_level(one_link, refused, method) -> None:
    scenario = replace(one_link, links=(replace(one_link.links[0], discipline=Trim()),))
    refused(("link a->b", "not Trim", "no level runs it"), lambda: simulate(scenario, method))


def test_a_discipline_of_packets_alone_names_the_packet_level(one_link, refused) -> None:
    scenario = replace(one_link, links=(replace(one_link.links[0], discipline=DualPI2()),))
    refused(
        ("link a->b", "not DualPI2", "use method=Packets()"),
        lambda: simulate(scenario, level="fluid"),
    )


def test_buffers_that_flows_do_not_share_are_refused(one_link, refused) -> None:
    scenario = replace(one_link, links=(replace(one_link.links[0], shared=False),))
    refused(("shared of link a->b", "Fluid"), lambda: simulate(scenario, method=Packets()))


def test_ns2_has_its_own_rules_and_disciplines_alone(one_link, refused) -> None:
    ns2 = Packets(convention="ns2")
    cubic = replace(one_link, flows=(replace(one_link.flows[0], source=CUBIC()),))
    pause = replace(one_link, links=(replace(one_link.links[0], discipline=Pause(high=6.0, low=3.0)),))
    refused(("source of flow 'flow'",), lambda: simulate(cubic, method=ns2))
    refused(("discipline of link a->b",), lambda: simulate(pause, method=ns2))


@pytest.mark.parametrize(
    ("rule", "recovery", "words"),
    [
        (Tahoe(), "newreno", ["'newreno'", "Tahoe()", "runs Reno() or NewReno()"]),
        (Tahoe(), "sack", ["'sack'", "Reno() or NewReno()"]),
        (NewReno(), "tahoe", ["'tahoe'", "runs Tahoe()"]),
        (Reno(), "prr", ["'prr'", "'tahoe', 'reno', 'newreno', 'sack'"]),
    ],
)
def test_a_rule_and_a_recovery_of_two_agents_of_ns2_are_refused(
    one_link, refused, rule, recovery: str, words: list[str]
) -> None:
    """The exported program would run the agent of the recovery, without the rule."""
    scenario = replace(one_link, flows=(replace(one_link.flows[0], source=rule),))
    for given in (recovery, {"flow": recovery}):
        method = Packets(convention="ns2", recovery=given)
        advice = 'use convention="standard"'
        refused(["recovery of flow 'flow'", *words, advice], lambda m=method: simulate(scenario, m))
        refused(["recovery of flow 'flow'", *words], lambda m=method: to_ns2(scenario, method=m))
    simulate(scenario, Packets(recovery=recovery), duration=0.01)


def test_a_state_in_another_order_is_refused(one_link, refused) -> None:
    """The compiled engine would take the first number for the window."""

    class Turned(Reno):
        class State(NamedTuple):
            ssthresh: float = 1e9
            cwnd: float = 2.0

    scenario = replace(one_link, flows=(replace(one_link.flows[0], source=Turned()),))
    refused(
        ("source of flow 'flow'", "cwnd, ssthresh must come first", "ssthresh, cwnd"),
        lambda: simulate(scenario, method=Packets()),
    )


def test_averages_of_counts_need_a_law_that_reads_them(one_link, refused) -> None:
    refused(
        ("count_smoothing", "0.001", "DFC"),
        lambda: simulate(one_link, method=Packets(count_smoothing=1e-3)),
    )


def test_random_loss_needs_a_link_that_exists(one_link, refused) -> None:
    refused(("loss: link", "a->b"), lambda: simulate(one_link, method=Packets(loss={"b->c": 0.1})))


@pytest.mark.parametrize("option", ["loss", "frame_errors"])
def test_random_loss_needs_packets_of_data(option, one_link, refused) -> None:
    """At a link that only ACKs pass it lost nothing; together with a link of data it is for that link."""
    links = (*one_link.links, replace(one_link.links[0], source="b", target="a"))
    scenario = replace(one_link, links=links)
    refused(
        (option, "'b->a'", "acks=True"),
        lambda: simulate(scenario, method=Packets(seed=1, **{option: {"a->b": 0.0, "b->a": 0.3}})),
    )
    run = simulate(scenario, method=Packets(seed=1, **{option: {"a->b": 0.1, "b->a": 0.3}}))
    assert run.repeats_frames if option == "frame_errors" else run.lost.sum() > 0.0


def test_random_loss_is_before_queues_of_every_kind(one_link) -> None:
    for discipline in (Pause(high=6.0, low=3.0), CoDel()):
        lossy = replace(one_link, links=(replace(one_link.links[0], discipline=discipline),))
        run = simulate(lossy, method=Packets(seed=1, loss={"a->b": 0.1}))
        assert run.lost.sum() / (run.lost.sum() + run.delivered[0, -1]) > 0.05


def test_ns2_has_no_managers_but_red(one_link, refused) -> None:
    managed = replace(one_link, links=(replace(one_link.links[0], discipline=CoDel()),))
    refused(
        ("discipline of link a->b", "CoDel"),
        lambda: simulate(managed, method=Packets(convention="ns2")),
    )


@pytest.mark.parametrize(("source", "method"), [(None, Packets(convention="ns2")), (BBR(), Packets()), (None, Fluid())])
def test_idle_times_are_refused_where_they_would_be_something_else(one_link, refused, source, method) -> None:
    (flow,) = one_link.flows
    flow = replace(flow, source=source or flow.source, size=10.0, idle=0.1)
    refused(
        ("idle of flow 'flow'", "0.1"),
        lambda: simulate(replace(one_link, flows=(flow,)), method=method),
    )


def test_flows_with_the_source_of_a_checked_one_are_checked(one_link, refused) -> None:
    """Options that are checked make a kind of flow of their own, and paths where links write telemetry."""
    flow = replace(one_link.flows[0], source=NewReno())
    second = replace(flow, name="second", handshake=True)
    scenario = replace(one_link, flows=(flow, second))
    refused(("handshake", "second"), lambda: simulate(scenario, method=Packets(convention="ns2")))
    links = (
        replace(one_link.links[0], discipline=INT()),
        replace(one_link.links[0], source="c", target="d"),
    )
    flow = replace(flow, source=HPCC())
    second = replace(flow, name="second", path=("c", "d"))
    scenario = replace(one_link, links=links, flows=(flow, second))
    refused(("source", "second", "telemetry"), lambda: simulate(scenario, method=Packets()))
