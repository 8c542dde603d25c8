"""TCP at both levels: each row of the table of differences in docs/tcp-levels.md, and one home for the constants."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dfcmodel import Flow, Fluid, Link, Packets, Pause, Scenario, chain, simulate
from dfcmodel.recoveries import PRRRecovery
from hopflow import tcp_constants
from responsefn import NewReno

ROOT = Path(__file__).parents[2]
LEVELS = (Fluid(), Packets(seed=1))
HOMES = {
    "fluid": ("dfcmodel/engine/kernel/**/*.py",),
    "packets": ("dfcmodel/packets/**/*.py", "dfcmodel/network/**/*.py"),
    "responsefn": ("responsefn/**/*.py",),
}


def one_flow(duration: float = 1.0, **changes: object) -> Scenario:
    """Return one flow over a link of 1000 packets/s and 5 ms."""
    flow = replace(Flow("f", (1, 2), NewReno(), 20.0), **changes)
    return Scenario("one", [Link(1, 2, 1e3, 5e-3, 15)], [flow], duration=duration)


def paused_for_ever(storm: float, start: float, min_rto: float) -> Scenario:
    """Return a flow whose path is paused from a time on: after it nothing is acknowledged."""
    rule = Pause(high=50, low=25)
    links = list(chain(3, rate=1e3, delay=5e-3, buffer=100, discipline=rule))
    links[1] = replace(links[1], discipline=replace(rule, storm=storm))
    flow = Flow("f", (1, 2, 3), NewReno(), 20.0, start=start, host="direct")
    return Scenario("paused", links, [flow], duration=1.0, min_rto=min_rto)


def timeouts_at(scenario: Scenario, times: list[float]) -> list[list[int]]:
    """Return how many timeouts there were a bit before and after each time, at both levels."""
    return [
        [int(simulate(scenario, method, duration=t + e).timeouts[0]) for t in times for e in (-0.02, 0.03)]
        for method in LEVELS
    ]


def amounts() -> None:
    fluid, packets = (simulate(one_flow(), method).delivered for method in LEVELS)
    assert (packets % 1.0 == 0.0).all()
    assert (fluid % 1.0 != 0.0).any()


def recoveries() -> None:
    for recovery in ("prr", "rack", PRRRecovery()):
        assert Packets(recovery=recovery).recovery == recovery
        with pytest.raises(ValueError, match="recovery"):
            Fluid(recovery=recovery)  # type: ignore[arg-type]


def packets_in_flight() -> None:
    assert Fluid().pipe == "rfc6675"
    assert Fluid(pipe="fall1996").pipe == "fall1996"
    with pytest.raises(TypeError, match="pipe"):
        Packets(pipe="rfc6675")  # type: ignore[call-arg]


def timeout_without_a_sample() -> None:
    """The path is paused before the first packet."""
    scenario = paused_for_ever(0.0, 0.1, 0.2)
    first = 0.1 + 3.0  # RFC 2988, 2.1
    fluid, _ = timeouts_at(scenario, [first, first + 0.4, first + 1.2])
    assert fluid == [0, 1, 1, 2, 2, 3]
    first = 0.1 + 1.0  # RFC 6298, 2.1
    _, packets = timeouts_at(scenario, [first, first + 2.0, first + 6.0])
    assert packets == [0, 1, 1, 2, 2, 3]
    link = Link(1, 2, 1e3, 5e-3, 15)
    sends = Scenario("lost", [link], [Flow("f", (1, 2), NewReno(), 20.0)], duration=4.0)
    method = Packets(convention="ns2", seed=1, loss={"1->2": 1.0 - 1e-9})
    counts = [int(simulate(sends, method, duration=t).timeouts[0]) for t in (2.9, 3.1)]
    assert counts == [0, 1]


def largest_timeout() -> None:
    """Timeouts of 10 s, doubled at each one: to 640 s, or to a minute."""
    scenario = paused_for_ever(1.0, 0.0, 10.0)
    fluid, packets = (int(simulate(scenario, method, duration=1300.0).timeouts[0]) for method in LEVELS)
    assert fluid == 7  # after 10, 30, 70, 150, 310, 630, 1270 s
    assert packets == 3 + (1300 - 71) // 60  # after 10, 30, 70 s, then every minute


def delayed_acks() -> None:
    """The round trip of a single packet."""
    for method, longer in zip(LEVELS, (0.0, 0.1), strict=True):
        trips = [
            simulate(one_flow(0.5, size=1, delayed_acks=delayed), method).round_trip[0, -1] for delayed in (False, True)
        ]
        assert trips[1] - trips[0] == pytest.approx(longer, abs=1e-9)


def handshake() -> None:
    with pytest.raises(ValueError, match="data in the SYN are for packets"):
        simulate(one_flow(handshake="data"), Fluid())
    assert simulate(one_flow(size=1, handshake="data"), Packets(seed=1)).finished[0] < 0.01
    for method in LEVELS:
        done = [simulate(one_flow(size=1, handshake=asked), method).finished[0] for asked in (False, True)]
        assert done[1] - done[0] == pytest.approx(0.01, abs=1.5e-3)
    lost = [simulate(one_flow(5.0, size=1, handshake=True), m) for m in _losing()]
    assert max(run.timeouts[0] for run in lost) > 0


def _losing() -> list[Packets]:
    return [Packets(seed=seed, loss={"1->2": 0.5}) for seed in range(1, 9)]


def pacing() -> None:
    with pytest.raises(ValueError, match="pacing is for packets"):
        simulate(one_flow(pacing=True), Fluid())
    assert simulate(one_flow(pacing=True), Packets(seed=1)).delivered[0, -1] > 100.0


def data_of_applications() -> None:
    for changes in ({"idle": 0.1, "size": 10}, {"stop": 0.5}):
        with pytest.raises(ValueError, match=r"use method=Packets\(\)"):
            simulate(one_flow(**changes), Fluid())
        assert simulate(one_flow(**changes), Packets(seed=1)).delivered[0, -1] >= 10.0


ROWS: dict[str, Callable[[], None]] = {
    "amounts": amounts,
    "recoveries": recoveries,
    "packets in flight with SACK": packets_in_flight,
    "timeout without a sample": timeout_without_a_sample,
    "largest timeout": largest_timeout,
    "delayed ACKs": delayed_acks,
    "handshake": handshake,
    "pacing": pacing,
    "data of applications": data_of_applications,
}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_table_is_true(row: str) -> None:
    ROWS[row]()


def test_the_page_has_these_rows() -> None:
    page = (ROOT / "docs" / "tcp-levels.md").read_text(encoding="utf-8")
    table = page.partition("|---|---|---|\n")[2].partition("\n\n")[0]
    assert [line.split("|")[1].strip() for line in table.splitlines()] == list(ROWS)


def used_by(patterns: tuple[str, ...]) -> set[str]:
    """Return the constants that modules import from their home, in kernels by way of `tcp_constants` there."""
    found = set()
    for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        if path.name != "tcp_constants.py":
            for names in re.findall(r"tcp_constants import (\([^)]*\)|.*)", text):
                found |= set(re.findall(r"\w+", names))
    return found


def test_each_constant_is_used_and_shared() -> None:
    used = {home: used_by(patterns) for home, patterns in HOMES.items()}
    assert set.union(*used.values()) == set(tcp_constants.__all__)
    assert used["fluid"] & used["packets"] >= {
        "DUP_THRESH", "MAX_BACKOFF", "OLD_INITIAL_RTO", "RTO_DEVIATIONS", "RTTVAR_GAIN", "SRTT_GAIN",
    }  # fmt: skip
    assert used["responsefn"] == {"INITIAL_WINDOW"}


def test_each_constant_names_its_source() -> None:
    text = Path(tcp_constants.__file__).read_text(encoding="utf-8")
    stated = re.findall(r'^([A-Z_]+) = .*\n"""([^"]*)"""', text, flags=re.MULTILINE)
    assert [name for name, _ in stated] == re.findall(r"^([A-Z_]+) =", text, flags=re.MULTILINE)
    for name, meaning in stated:
        assert re.search(r"RFC \d+, \d", meaning), name
    assert np.isfinite([getattr(tcp_constants, name) for name, _ in stated]).all()
