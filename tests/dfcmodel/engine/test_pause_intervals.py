"""From pauses turned on and off to intervals."""

from __future__ import annotations

import numpy as np

from dfcmodel import CBR, Flow, Fluid, Pause, Scenario, chain
from dfcmodel.engine.kernel.records import SWITCH
from dfcmodel.engine.pause_intervals import times_of_pauses
from dfcmodel.engine.plans import compile_scenario
from dfcmodel.network.class_pauses import ALL
from dfcmodel.results.pauses import intervals_of


def test_an_interval_begins_and_ends_a_message_later() -> None:
    """On after 2 and 10 steps, off after 5.25: a message takes 1 ms and 0.1 ms of signalling."""
    pause = Pause(high=20.0, low=10.0, signalling=1e-4)
    links = chain(3, rate=1e4, delay=1e-3, buffer=50.0, discipline=pause)
    flow = Flow("a", (1, 2, 3), CBR(1e3), host="unshaped")
    plan = compile_scenario(Scenario("s", links, [flow]), Fluid(), np.random.default_rng(0))
    numbers = plan.feedback.pauses["paused"].tolist()
    host, link = numbers.index(-1), numbers.index(0)
    switches = np.array([(2, link, 1), (3, host, 1), (5.25, link, 0), (10, link, 1)], dtype=SWITCH)
    found = intervals_of(times_of_pauses(plan, switches), 3.4e-3)
    h, way = plan.step, 1.1e-3
    expected = [(0, 1, ALL, 2 * h + way, 5.25 * h + way, 0), (-1, 0, ALL, 3 * h + way, np.inf, 0)]
    np.testing.assert_allclose(found.tolist(), expected, rtol=1e-12)
    # the third has begun, and the first one lasts, depending on when the run ends
    assert len(intervals_of(times_of_pauses(plan, switches), 3.7e-3)) == 3
    assert intervals_of(times_of_pauses(plan, switches), 2.3e-3)["end"].tolist() == [np.inf, np.inf]
    assert intervals_of(times_of_pauses(plan, switches), 2.3e-3)["resumed"].tolist() == [1, 0]
    assert len(intervals_of(times_of_pauses(plan, switches[:0]), 1.0)) == 0
