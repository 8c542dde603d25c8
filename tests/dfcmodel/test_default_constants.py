"""Default constants against the numbers of their sources: disciplines, flows, TCP of both levels, frames."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dfcmodel
from dfcmodel import FIFO, takano2006
from dfcmodel.recoveries import PRRRecovery
from hopflow import mbps
from tests.default_constants import check_row, check_sources, names, rows
from tests.dfcmodel.packets.conftest import recovery_event
from tests.oracles.fluid import timers as fluid_timers
from tests.oracles.packets import senders as reference_senders

DISCIPLINE: type = FIFO.__base__  # type: ignore[assignment]
TABLE = Path(__file__).with_name("default_constants.csv")
OTHERS = (
    "ByteBuffer",
    "Link",
    "Flow",
    "Scenario",
    "OnOff",
    "Packets",
    "Fluid",
    "SelectiveRepair",
    "RCCC",
)
"""Classes with defaults that are not disciplines."""
NUMERICAL = {
    "Fluid.steps_per_delay", "Fluid.whole_losses", "Fluid.accuracy",
    "Fluid.most_steps_per_delay", "Fluid.recovery", "Fluid.contracted", "Packets.phases", "Packets.loss",
}  # fmt: skip
"""How a level computes, and what it is asked for; no paper has them."""


def rtt_samples(first: float, second: float) -> dict[str, tuple[float, float, float]]:
    """Return srtt, rttvar and the timeout after two round-trip times, by oracle; kernels agree with theirs in all runs."""
    found = {}
    clock = reference_senders.Clock(ticks=False, phase=0.0, least=0.0)
    for sample in (first, second):
        clock.measure(sample, 0.0)
    found["tests.oracles.packets.senders"] = clock.srtt, clock.variance, clock.timeout()
    timer = fluid_timers.Timer(0.0, 0.0)
    for sample in (first, second):
        timer.time(0.0, 0.0)
        timer.hear(0.0, 1.0, sample, 0.0)
    found["tests.oracles.fluid.timers"] = timer.srtt, timer.rttvar, timer.rto
    return found


def rfc_6298() -> Iterator[tuple[str, Callable[[], float]]]:
    """Yield alpha, beta and K of each implementation of RFC 6298, from samples of 1 s and 2 s."""
    for place, (srtt, rttvar, timeout) in rtt_samples(1.0, 2.0).items():
        yield f"{place}::alpha", lambda srtt=srtt: srtt - 1.0
        yield f"{place}::beta", lambda rttvar=rttvar: (rttvar - 0.5) / (1.0 - 0.5)
        yield (
            f"{place}::K",
            lambda srtt=srtt, rttvar=rttvar, timeout=timeout: (timeout - srtt) / rttvar,
        )


def first_timeout(ticks: bool) -> float:
    """Return the timeout of a sender before its first sample, s."""
    return reference_senders.Clock(ticks, phase=0.0, least=0.0).timeout()


def smallest_ns2_timeout() -> float:
    """Return the timeout in ns-2's convention when the estimate is zero, s."""
    clock = reference_senders.Clock(ticks=True, phase=0.0, least=0.0)
    clock.current = 0.0
    return clock.timeout()


def extra_segments_of_prr() -> float:
    """Return what may be sent beyond prr_delivered - prr_out where the flight is below ssthresh, packets."""
    zero = PRRRecovery.Sender(*[0.0] * len(PRRRecovery.Sender._fields))
    s = zero._replace(
        snd_una=11.0, recover=90.0, recovering=1.0, pipe=40.0, cwnd=80.0, prr_delivered=30.0,
        prr_out=24.0, recover_fs=100.0,
    )  # fmt: skip
    s = PRRRecovery.on_duplicate_ack(s, recovery_event())
    return float(s.pipe_limit - s.pipe - (s.prr_delivered - s.prr_out))


DERIVED: dict[str, Callable[[], float]] = {
    **dict(rfc_6298()),
    "tests.oracles.packets.senders::first_timeout": lambda: first_timeout(False),
    "tests.oracles.packets.senders::first_ns2_timeout": lambda: first_timeout(True),
    "tests.oracles.packets.senders::smallest_ns2_timeout": smallest_ns2_timeout,
    "dfcmodel.packets.recoveries.prr::extra_segments": extra_segments_of_prr,
}
"""Constants that stand inside functions, derived from what these return."""


def defaults() -> dict[str, Any]:
    """Return the defaults of all disciplines, of links, flows, scenarios and levels, by name."""
    found: dict[str, Any] = {}
    for name in dfcmodel.__all__:
        kind = getattr(dfcmodel, name)
        if name not in OTHERS and not (inspect.isclass(kind) and issubclass(kind, DISCIPLINE)):
            continue
        for field in dataclasses.fields(kind):
            if field.default is not dataclasses.MISSING:
                found[f"{name}.{field.name}"] = field.default
            elif field.default_factory is not dataclasses.MISSING:
                found[f"{name}.{field.name}"] = field.default_factory()
    return {name: value for name, value in found.items() if name not in NUMERICAL}


def test_every_default_has_a_row_and_every_row_a_source() -> None:
    assert set(defaults()) == {name for name in names(TABLE) if ":" not in name}
    assert set(DERIVED) == {name for name in names(TABLE) if "::" in name}
    check_sources(TABLE)


@pytest.mark.parametrize("row", rows(TABLE), ids=lambda row: row["name"])
def test_a_default_is_that_of_its_source(row: dict[str, str]) -> None:
    check_row(row, defaults(), DERIVED, FIFO=FIFO)


TABLE_1 = {"1": 370, "2": 1230, "3": 3700, "4": 12300, "5": 37000, "6": 123000}
"""takano2006, Table 1: link bandwidth in Mb/s."""
WINDOWS = {"1": 5e3, "2": 5e3, "3": 5e3, "4": 1e4, "5": 2e4, "6": 1e5, "4S": 1e4, "4L": 2e4}
"""takano2006, Tables 1 and 2: largest window in packets."""
NODES = {"4S": (16, 8), "4L": (60, 30)}
"""takano2006, Sect. 5: nodes, and where the background flow enters; 30 and 15 in Sect. 4."""
SENDERS = {"4R": "Reno", "4N": "NewReno", "4V": "NS2Vegas", "4V'": "NS2Vegas"}
"""takano2006, Tables 3 and 4; the others have Tahoe."""


@pytest.mark.parametrize("name", [*TABLE_1, *NODES, *SENDERS])
def test_a_scenario_has_the_numbers_of_the_paper(name: str) -> None:
    """takano2006, Tables 1 to 4 and Fig. 5: delays of 0.1 ms, buffers of 1800 packets, 400 in 4V'."""
    scenario = takano2006(name)
    nodes, entry = NODES.get(name, (30, 15))
    assert len(scenario.links) == nodes - 1
    for link in scenario.links:
        assert link.rate == pytest.approx(mbps(TABLE_1[name[0]]), rel=1e-12)
        assert link.delay == pytest.approx(1e-4, rel=1e-12)
        assert link.buffer == (400 if name == "4V'" else 1800)
    target, background = scenario.flows
    assert (target.path[0], target.path[-1], target.start) == (1, nodes, 0.0)
    assert (background.path[0], background.path[-1], background.start) == (entry, nodes, 0.1)
    for flow in scenario.flows:
        assert type(flow.source).__name__ == SENDERS.get(name, "Tahoe")
        assert flow.max_window == WINDOWS.get(name, 1e4)
    assert scenario.duration == (1.5 if name == "6" else 3.0)
