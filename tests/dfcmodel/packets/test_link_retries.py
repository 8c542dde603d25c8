"""Link-level retry of frames with errors: nothing is lost, both engines agree, the throughput of the chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import FIFO, Flow, Link, Packets, Scenario, chain, simulate
from dfcmodel.lossless import link_retry
from responsefn import FixedRate, NewReno
from tests.dfcmodel.packets.random_fabrics import random_fabric
from tests.dfcmodel.packets.test_link_laws import under_law
from tests.oracles.engines import equal_records, plan_scenario

RATE = 1e6


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 40))]
)
def test_fabrics_with_errors_are_those_of_the_reference(seed: int) -> None:
    scenario = under_law(seed) if seed % 2 else random_fabric(seed)
    rng = np.random.default_rng([2049, seed])
    errors = {link.name: float(rng.uniform(0.0, 0.2)) for link in scenario.links[::2]}
    method = Packets(seed=1, frame_errors=errors, retry_delay=float(rng.integers(2)) * 1e-6)
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=scenario.duration)
    equal_records(plan)


def test_a_line_of_queues_with_errors_is_that_of_the_reference() -> None:
    links = [Link(n, n + 1, RATE, 1.7e-6, 20.0, FIFO()) for n in range(3)]
    flows = [
        Flow("window", (0, 1, 2, 3), NewReno(), max_window=40.0),
        Flow("rate", (0, 1, 2, 3), FixedRate(0.6 * RATE), host="nic"),
    ]
    scenario = Scenario("line", links, [replace(flows[0], host="nic"), flows[1]], duration=2e-3)
    method = Packets(seed=3, frame_errors={"0->1": 0.1, "1->2": 0.3})
    equal_records(plan_scenario(scenario, method, duration=2e-3, sample=2e-4))


@pytest.mark.parametrize("errors", [1e-3, 0.02, 0.2])
def test_the_throughput_is_that_of_the_chain(errors: float) -> None:
    loop, packets = 6, 20_000  # slots from the start of a frame on until its link acts
    links = chain(3, rate=RATE, delay=(loop - 1.0) / 2.0 / RATE, buffer=1e5)
    flow = Flow("a", (1, 2, 3), FixedRate(RATE), size=float(packets), host="nic")
    scenario = Scenario("errors", links, [flow], duration=1.0)
    runs = [
        simulate(scenario, Packets(seed=n, frame_errors={"1->2": errors}), sample=1.0)
        for n in range(1, 6)
    ]
    assert sum(run.lost.sum() for run in runs) == 0
    times = np.array([RATE * run.finished[0] - 2.0 * (loop - 1.0) / 2.0 - 1.0 for run in runs])
    slots = times / packets
    frame = 8 * 4096
    law = replace(link_retry("100Gbps", "10m", 4096), loop=loop * (frame + 160) - frame - 64)
    assert law.slots == loop
    wanted = 1.0 / law.throughput(errors)
    spread = slots.std(ddof=1) / np.sqrt(len(slots))
    assert abs(slots.mean() - wanted) < 4.6 * spread  # Student's t with 4 degrees, 1 % two-sided


def test_refusals_name_what_is_allowed() -> None:
    links = chain(2, rate=RATE, delay=1e-6, buffer=10)
    scenario = Scenario("refused", links, [Flow("a", (1, 2), NewReno())], duration=1e-3)
    with pytest.raises(ValueError, match="frame_errors: link = 'a->b': must be one of '1->2'"):
        simulate(scenario, Packets(frame_errors={"a->b": 0.1}))
    for given, message in (
        ({"frame_errors": {"1->2": 1.0}}, "frame_errors of 1->2 = 1"),
        ({"retry_delay": -1.0}, "retry_delay = -1"),
        ({"frame_errors": {"1->2": 0.1}, "convention": "ns2"}, "frame_errors: must be None"),
    ):
        with pytest.raises(ValueError, match=message):
            Packets(**given)  # type: ignore[arg-type]
