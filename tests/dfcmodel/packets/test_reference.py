"""The compiled engine gives what the heap of events gives, bit for bit."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from dfcmodel import Packets, simulate
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.records import Records
from dfcmodel.packets.reference import run_reference
from tests.dfcmodel.packets.conftest import DISCIPLINES, plan_of, random_method, random_scenario

EXACT = (
    "window", "round_trip", "acked", "delivered", "lost", "waiting", "peak", "drops", "carried",
    "first_loss", "finished", "timeouts", "loss_events", "total",
)  # fmt: skip
SUMS = ("transit", "waited")
"""Sums of times whose order of addition differs between the engines."""


def check_equal(one: Records, other: Records) -> None:
    """Compare all records of two runs; those of drops and queues up to the end of the samples."""
    S = one.plan.samples
    for name in EXACT:
        a, b = getattr(one, name), getattr(other, name)
        if name in {"delivered", "lost", "waiting"}:
            a, b = a[:S], b[:S]
        np.testing.assert_array_equal(a, b, err_msg=name)
    for name in SUMS:
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_random_networks_run_bit_equal_in_both_engines(discipline: str, seed: int) -> None:
    scenario = random_scenario(discipline, seed)
    plan = plan_of(scenario, random_method(seed), jitter=0.0 if seed % 3 else 2e-4)
    run = run_engine(plan)
    check_equal(run, run_reference(plan))
    assert run.total.sum() > (10.0 if "pause" in discipline else 100.0)  # pause can deadlock
    assert (run.imbalance == 0.0).all()


@pytest.mark.parametrize("discipline", ["fifo", "pause"])
def test_acks_without_transmission_times_run_bit_equal_in_both_engines(discipline: str) -> None:
    plan = plan_of(random_scenario(discipline, 1), random_method(1, ack_transmission=False))
    check_equal(run_engine(plan), run_reference(plan))


@pytest.mark.parametrize("recovery", ["tahoe", "reno", "newreno", "sack"])
def test_the_conventions_of_ns2_run_bit_equal_in_both_engines(one_link, recovery: str) -> None:
    plan = plan_of(one_link, Packets(convention="ns2", recovery=recovery, seed=3))
    run = run_engine(plan)
    check_equal(run, run_reference(plan))
    assert run.drops.sum() > 0


@pytest.mark.parametrize("discipline", ["fifo", "red"])
def test_random_losses_are_the_same_in_both_engines(one_link, discipline: str) -> None:
    links = (replace(one_link.links[0], discipline=DISCIPLINES[discipline]),)
    method = Packets(seed=1, loss={links[0].name: 0.02})
    runs = [
        simulate(replace(one_link, links=links), method=replace(method, backend=each))
        for each in ("numba", "reference")
    ]
    np.testing.assert_array_equal(runs[0].delivered, runs[1].delivered)
    np.testing.assert_array_equal(runs[0].lost, runs[1].lost)
    assert runs[0].lost.sum() > 0
    assert runs[0].imbalance.max() == 0.0


def test_a_trajectory_is_the_same_from_both_engines(one_link) -> None:
    runs = [
        simulate(one_link, method=Packets(seed=5, backend=backend), duration=1.0)
        for backend in ("numba", "reference")
    ]
    for field in fields(runs[0]):
        if field.name not in {"scenario", "seconds", "in_transit", "mean_queue", "imbalance"}:
            a, b = (getattr(run, field.name) for run in runs)
            np.testing.assert_array_equal(a, b, err_msg=field.name)
