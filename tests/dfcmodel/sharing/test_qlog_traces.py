"""qlog of BBR's states: written and read again, and where a trace leaves the draft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dfcmodel import conformance, read_qlog_trace, write_qlog
from dfcmodel.results import TraceConformance
from dfcmodel.sharing.bbr_observations import MODES, Observation, observe
from dfcmodel.sharing.bbr_observations import Path as BBRPath
from responsefn import BBR, read_qlog

SIZE = 1500.0


@pytest.fixture(scope="module")
def run() -> Observation:
    return observe(BBR(), BBRPath(duration=12.0))


@pytest.fixture(scope="module")
def file(run: Observation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("qlog") / "bbr.qlog"
    write_qlog(run, path)
    return path


def event(kind: str, time: float, **data: Any) -> dict[str, Any]:
    return {"time": time, "name": f"recovery:{kind}", "data": data}


def text(*states: tuple[float, str], every: float = 20.0, **others: Any) -> str:
    """Return a trace of states that begin at times in ms, whose variables are those of the state at its begin and later."""
    variables = {"cwnd": {}, "pacing": {}, "flight": {}, "rtt": 40.0, **others}
    events = [event("parameters_set", 0.0, max_datagram_size=SIZE)]
    for (begin, mode), (end, _) in zip(
        states, [*states[1:], (states[-1][0] + 20.0, "")], strict=True
    ):
        events.append(event("congestion_state_updated", begin, new=mode))
        for time in np.arange(begin, end, every).tolist():
            numbers = {
                "congestion_window": variables["cwnd"].get(mode, 80.0) * SIZE,
                "bytes_in_flight": variables["flight"].get(mode, 40.0) * SIZE,
                "pacing_rate": variables["pacing"].get(mode, 1000.0) * SIZE * 8.0,
            }
            events.append(event("metrics_updated", time, min_rtt=variables["rtt"], **numbers))
    return json.dumps({"traces": [{"events": events}]})


PACING = {"STARTUP": 2770.0, "DRAIN": 500.0, "DOWN": 900.0, "UP": 1250.0}
CYCLE = ((0.0, "STARTUP"), (200.0, "DRAIN"), (260.0, "DOWN"), (300.0, "CRUISE"), (2400.0, "REFILL"), (2460.0, "UP"),
         (2600.0, "DOWN"), (2640.0, "CRUISE"), (5100.0, "PROBE_RTT"), (5340.0, "CRUISE"))  # fmt: skip


def wrong(states: Any = CYCLE, **others: Any) -> list[str]:
    """Return what does not hold of a trace with the draft's pacing rates and window of ProbeRTT unless given."""
    given = {"pacing": PACING, "cwnd": {"PROBE_RTT": 20.0}, **others}
    return [
        check.expected for check in conformance(read_qlog_trace(text(*states, **given))).deviations
    ]


def test_a_run_written_and_read_is_the_same(run: Observation, file: Path) -> None:
    trace = read_qlog_trace(file)
    start = run.time[0]
    assert trace.modes == run.sequence()
    firsts = np.flatnonzero(np.diff(run.state["mode"], prepend=-1))
    np.testing.assert_allclose(trace.begins[1:], run.time[firsts][1:], rtol=1e-12)
    np.testing.assert_allclose(trace.time[1:], run.time[1:], rtol=1e-12)
    assert start <= run.time[1] - start + 1e-12
    known = ~np.isnan(trace.min_rtt)
    np.testing.assert_allclose(trace.min_rtt[known], run.state["min_rtt"][known], rtol=1e-12)
    for name, found in (("cwnd", trace.cwnd), ("pacing_rate", trace.pacing_rate)):
        np.testing.assert_allclose(found, run.state[name], rtol=1e-12)
    np.testing.assert_allclose(trace.in_flight, run.in_flight, rtol=1e-12)


def test_our_own_bbr_is_as_the_draft_says(file: Path) -> None:
    found = conformance(read_qlog_trace(file))
    assert isinstance(found, TraceConformance)
    assert not found.deviations
    assert set(found.trace.modes) == set(MODES)
    assert "PROBE_RTT" in set(found.table["mode"])
    kinds = {check.expected.split()[0] for check in found.checks}
    assert {"at", "window", "a", "DRAIN", "UP", "CRUISE"} <= kinds
    assert found.summary()["checks"] == f"{len(found.checks)} of {len(found.checks)} hold"
    assert found.to_xarray().sizes["row"] == len(found.checks)
    assert len(found.plot().get_yticks()) == len(MODES)


def test_a_trace_by_hand_holds() -> None:
    assert wrong() == []


@pytest.mark.parametrize(
    ("states", "others", "expected"),
    [
        (((0.0, "STARTUP"), (200.0, "UP")), {}, "STARTUP is followed by DRAIN or PROBE_RTT"),
        ((*CYCLE[:8], (5100.0, "PROBE_RTT"), (5250.0, "CRUISE")), {}, "at least 0.2 s"),
        ((*CYCLE[:8], (4000.0, "PROBE_RTT"), (4240.0, "CRUISE")), {}, "at least 5 s after the last one, or the start"),
        ((*CYCLE[:8], (5900.0, "REFILL")), {}, "at most 3 s until the next probe"),
        ((*CYCLE[:5], (2420.0, "UP")), {}, "a round trip"),
        (CYCLE, {"cwnd": {"PROBE_RTT": 2.0}}, "window of at least 4 packets"),
        (CYCLE, {"cwnd": {"PROBE_RTT": 40.0}}, "window of half of the product"),
        (CYCLE, {"pacing": {**PACING, "DRAIN": 2770.0}}, "DRAIN paces slower than STARTUP"),
        (CYCLE, {"pacing": {**PACING, "UP": 1000.0}}, "UP paces faster than REFILL"),
    ],
)  # fmt: skip
def test_each_deviation_is_found_alone(states: Any, others: dict[str, Any], expected: str) -> None:
    assert wrong(states, **others) == [expected]


def test_no_wait_is_checked_where_no_acks_came() -> None:
    assert wrong((*CYCLE[:8], (5900.0, "REFILL")), flight={"CRUISE": 0.0}) == []


@pytest.mark.parametrize(
    ("name", "mode"),
    [("probe_bw_down", "DOWN"), ("ProbeBW_CRUISE", "CRUISE"), ("bbr_startup", "STARTUP"), ("PROBE_UP", "UP"), ("ProbeRTT", "PROBE_RTT")],
)  # fmt: skip
def test_names_of_states(name: str, mode: str) -> None:
    assert read_qlog_trace(text((0.0, name))).modes == (mode,)


def test_lines_of_newer_drafts_are_read() -> None:
    lines = [
        {"time": 3.0, "name": "quic:congestion_state_updated", "data": {"new": "startup"}},
        {"time": 5.0, "name": "quic:recovery_metrics_updated", "data": {"congestion_window": 12_000}},
    ]  # fmt: skip
    trace = read_qlog_trace(
        "\x1e".join(json.dumps(line) + "\n" for line in lines), packet_size=1200
    )
    assert (trace.modes, trace.cwnd.tolist(), trace.end) == (("STARTUP",), [10.0], 0.002)
    assert conformance(trace).checks == ()


def test_what_is_refused(refused, run: Observation, tmp_path: Path) -> None:
    one = event("congestion_state_updated", 5.0, new="slow_start")
    window = [
        event("metrics_updated", 1.0, congestion_window=1e4),
        event("congestion_state_updated", 5.0, new="up"),
    ]
    refused(["slow_start", "STARTUP"], lambda: read_qlog_trace(json.dumps(one)))
    refused(
        ["packet_size = None", "max_datagram_size"],
        lambda: read_qlog_trace(json.dumps({"events": window})),
    )
    refused(
        ["0.001 s follows", "0.005 s"],
        lambda: read_qlog_trace(json.dumps({"events": window[::-1]}), 1200.0),
    )
    refused(
        ["congestion_state_updated"], lambda: read_qlog_trace(json.dumps({"events": window[:1]}))
    )
    refused(["packet_size = 0"], lambda: write_qlog(run, tmp_path / "x", packet_size=0.0))
    refused(
        ["cases = (1,)", "None for a trace"],
        lambda: conformance(read_qlog_trace(text((0.0, "up"))), cases=(1,)),
    )  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="trace"):
        write_qlog(3, tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no trace with packet_sent"):
        read_qlog(text((0.0, "up")))
