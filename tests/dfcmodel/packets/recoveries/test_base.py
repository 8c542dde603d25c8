"""Loss recoveries of users: NewReno written again is the built-in one, and what is wrong is refused with its name."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import Packets, simulate
from dfcmodel.recoveries import (
    LossRecovery,
    NewRenoRecovery,
    RenoRecovery,
    grow_window,
    limited_transmit,
    reduce_window,
    restart_timer,
    retransmit,
)
from responsefn import CUBIC, NewReno, Vegas
from tests.dfcmodel.packets.conftest import plan_of, random_scenario
from tests.dfcmodel.packets.test_equal_deliveries import shared
from tests.oracles.engines import check_records, run_engine, run_reference


class Own(LossRecovery):
    """RFC 6582, written for this test with the public functions alone and whole numbers without a point."""

    class State(NamedTuple):
        """Partial ACKs of this recovery."""

        partial_acks: float = 0.0

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Count three, then fast retransmit; in recovery inflate the window."""
        if s.dupacks < 3:
            s = limited_transmit(s)
            return s._replace(burst=0)
        s = s._replace(burst=2)
        if s.recovering:
            return s._replace(inflation=s.inflation + 1)
        if s.dupacks == 3 and s.snd_una > s.recover + 1:
            s = reduce_window(s)
            s = restart_timer(s)
            s = retransmit(s, s.snd_una)
            return s._replace(recovering=1, inflation=3, timing=0, partial_acks=0)
        return s

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Retransmit the next hole, or leave."""
        if s.snd_una > s.recover:
            s = grow_window(s)
            return s._replace(recovering=0, inflation=0)
        inflation, cwnd = s.inflation - e.acked + 1, s.cwnd
        if s.inflation <= e.acked:
            cwnd, inflation = cwnd - (e.acked - s.inflation), 1.0
        s = retransmit(s, s.snd_una)
        if s.partial_acks == 0:
            s = restart_timer(s)
        if e.timed:
            s = s._replace(timing=0, backoff=1)
        return s._replace(cwnd=max(1.0, cwnd), inflation=inflation, partial_acks=s.partial_acks + 1, burst=2)


class SlowButSteady(NewRenoRecovery):
    """RFC 6582, Sect. 4: the timer restarts with every partial ACK."""

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Restart the timer at each partial ACK."""
        s = NewRenoRecovery_on_ack(s, e)
        if s.recovering == 1.0:
            return restart_timer(s)
        return s


NewRenoRecovery_on_ack = NewRenoRecovery.on_ack


def compared(run: Any) -> dict[str, Any]:
    """Return what two runs of one network must have alike."""
    names = ("window", "acked", "delivered", "lost", "waiting", "drops", "timeouts", "loss_events")
    return {name: getattr(run, name) for name in names}


@pytest.mark.parametrize(("jitter", "pacing", "loss"), [(0.0, False, 0.0), (0.0, False, 0.02), (5e-4, True, 0.1)])
@pytest.mark.slow
def test_newreno_of_a_user_gives_the_bits_of_the_built_in_one(jitter: float, pacing: bool, loss: float) -> None:
    scenario = shared((NewReno(), CUBIC(), Vegas()), 20.0, 6.0, pacing=pacing, delayed_acks=True)
    lose = {"in->out": loss} if loss else None
    runs = []
    for recovery in ("newreno", Own()):
        plan = plan_of(scenario, Packets(seed=3, recovery=recovery, loss=lose), jitter=jitter)
        runs.append(run_engine(plan))
        check_records(runs[-1], run_reference(plan))
    assert runs[0].drops.sum() > 20
    assert (runs[0].loss_events > runs[0].timeouts).all(), "fast recovery is what is compared"
    for name, expected in compared(runs[0]).items():
        np.testing.assert_array_equal(compared(runs[1])[name], expected, err_msg=name)


@pytest.mark.parametrize("seed", range(1, 9))
def test_newreno_of_a_user_is_the_built_in_one_on_random_networks(seed: int) -> None:
    scenario = random_scenario(("fifo", "red", "ecn", "fair")[seed % 4], seed)
    runs = [run_engine(plan_of(scenario, Packets(seed=seed, recovery=recovery))) for recovery in ("newreno", Own())]
    assert runs[0].loss_events.sum() > 0
    for name, expected in compared(runs[0]).items():
        np.testing.assert_array_equal(compared(runs[1])[name], expected, err_msg=name)


@pytest.mark.slow
def test_a_variant_runs_bit_equal_in_both_engines_and_is_another_recovery(one_link) -> None:
    """Slow-but-Steady: many losses in a window take a round trip each, and no timeout (RFC 6582, 4)."""
    link = replace(one_link.links[0], buffer=40.0)
    flow = replace(one_link.flows[0], max_window=500.0)
    scenario = replace(one_link, links=(link,), flows=(flow,), duration=4.0)
    runs = {}
    for recovery in ("newreno", SlowButSteady()):
        plan = plan_of(scenario, Packets(seed=1, recovery=recovery))
        runs[str(recovery)] = run_engine(plan)
        check_records(runs[str(recovery)], run_reference(plan))
    impatient, steady = runs.values()
    assert impatient.timeouts.sum() > steady.timeouts.sum()


def test_flows_have_recoveries_of_their_own(one_link) -> None:
    flows = tuple(replace(one_link.flows[0], name=name) for name in "abc")
    scenario = replace(one_link, flows=flows)
    method = Packets(seed=1, recovery={"a": Own(), "b": RenoRecovery()})
    run = simulate(scenario, method)
    assert run.recoveries == ("Own()", "RenoRecovery()", "newreno")
    same = simulate(scenario, Packets(seed=1, recovery={"b": "reno"}))
    np.testing.assert_array_equal(run.window, same.window)


def test_first_values_are_those_given_and_make_recoveries_equal() -> None:
    assert Own(partial_acks=2) == Own(partial_acks=2.0) != Own()
    assert Own(partial_acks=2).own == (2.0,)
    assert repr(Own(partial_acks=2)) == "Own(partial_acks=2)"
    method = Packets(recovery=NewRenoRecovery(partial=1))
    assert pickle.loads(pickle.dumps(method)) == method
    assert hash(Own()) == hash(Own())


def made(**members: Any) -> type[LossRecovery]:
    """Return a class of recoveries with some members."""
    return type("Made", (LossRecovery,), members)


def test_wrong_functions_and_values_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Made.on_ack: must be a @staticmethod .* \(s, e\)"):
        made(on_ack=lambda s, e: s)
    with pytest.raises(ValueError, match=r"Made.on_ack: must be a @staticmethod"):
        made(on_ack=staticmethod(lambda s: s))
    with pytest.raises(ValueError, match=r"Made.State = 3: must be a NamedTuple"):
        made(State=3)
    with pytest.raises(ValueError, match="other = 3: State of Own has partial_acks"):
        Own(other=3)
    with pytest.raises(ValueError, match="partial_acks of Own = nan"):
        Own(partial_acks=float("nan"))
    with pytest.raises(ValueError, match=r"recovery = Own: is a class; write Own\(\)"):
        Packets(recovery=Own)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="recovery of flow 'a' = 3: must be one of 'tahoe'"):
        Packets(recovery={"a": 3})  # type: ignore[dict-item]
