"""Conformance to the draft on BBR: test cases, observations, qlog."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from dfcmodel import conformance, read_qlog_trace, write_qlog
from dfcmodel.results import TraceConformance
from dfcmodel.sharing import bbr_observations
from dfcmodel.sharing.bbr_cases import CASES
from dfcmodel.sharing.bbr_conformances import JudgedCase
from responsefn import BBR, NewReno, read_qlog

# The IETF draft's example test cases of BBR: each is as expected, or its deviation is named.


QUICK = (1, 3, 20)
RULE = BBR()
DEVIATIONS = {18, 19}
"""Cases of the appendix on spurious recoveries."""


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in range(1, len(CASES) + 1)],
)
def test_each_case_of_the_appendix(number: int) -> None:
    (case,) = conformance(RULE, cases=(number,)).cases
    expected = "known deviation" if number in DEVIATIONS else "as expected"
    assert case.verdict == expected, case.checks
    assert case.as_expected == (0 if number in DEVIATIONS else 5)


@pytest.mark.parametrize(
    ("runs", "as_expected", "verdict"),
    [(5, 5, "as expected"), (4, 4, "inconclusive"), (5, 4, "inconclusive"), (12, 10, "as expected"), (5, 0, "deviates"),
     (1, 0, "inconclusive")],
)  # fmt: skip
def test_a_verdict_is_on_more_than_half_of_all_seeds(runs: int, as_expected: int, verdict: str) -> None:
    """Clopper and Pearson at 95 %: the least part of seeds is 0.05^(1/5) = 0.549 after five of five, 0.473 after four."""
    case = JudgedCase(1, "", (), "", None, runs, as_expected)  # type: ignore[arg-type]
    test = binomtest(as_expected, runs)
    low, high = (test.proportion_ci(0.9).low, test.proportion_ci(0.9).high)
    assert case.interval == pytest.approx((low, high))
    assert case.verdict == verdict
    assert case._replace(deviation="known").verdict == verdict.replace("deviates", "known deviation")


def test_runs_have_seeds_of_their_own() -> None:
    """The first wait for a probe is random."""
    one, other = (conformance(RULE, cases=(3,), seed=seed).cases[0].trace for seed in (0, 1))
    assert one.bw_probe_wait[-1] != other.bw_probe_wait[-1]


def test_the_appendix_has_22_cases() -> None:
    assert len(CASES) == 22
    assert {n for n, case in enumerate(CASES, 1) if case.deviation} == DEVIATIONS


def test_a_rule_that_leaves_startup_too_early_deviates() -> None:
    """The checks can fail: a small gain in Startup takes slow growth for a plateau."""
    (case,) = conformance(BBR(startup_gain=1.05), cases=(1,)).cases
    assert case.verdict == "deviates"
    assert not all(check.holds for check in case.checks)


def test_an_observation_has_the_draft_s_variables() -> None:
    run = bbr_observations.observe(BBR(), bbr_observations.Path(duration=2.0), seed=1)
    assert run.sequence()[:3] == ("STARTUP", "DRAIN", "CRUISE")
    assert set(run.state) == {*BBR.State._fields, "max_bw", "extra_acked"}
    begin, end = run.spells("STARTUP")[0]
    assert bbr_observations.MODES[int(run.mode[begin])] == "STARTUP" == run.mode_at(end - 1)
    assert run.in_flight.max() <= run.cwnd.max() + 1.0
    assert (np.diff(run.delivered) >= 0.0).all()


def test_the_result_is_a_table_a_picture_and_a_summary() -> None:
    found = conformance(RULE, cases=(1,))
    assert set(found.table["number"]) == {1}
    assert found.table["holds"].all()
    assert found.summary()["1 Exiting STARTUP on bandwidth plateau"] == "as expected, in 5 of 5 runs"
    assert found.plot().get_xlabel() == "time (s)"
    assert found.to_xarray().sizes["row"] == len(found.table)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="rule"):
        conformance(NewReno())  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"cases\[0\] = 23: must be a whole number in 1\.\.22"):
        conformance(BBR(), cases=(23,))


# qlog of BBR's states: written and read again, and where a trace leaves the draft.


SIZE = 1500.0


@pytest.fixture(scope="module")
def run() -> bbr_observations.Observation:
    return bbr_observations.observe(BBR(), bbr_observations.Path(duration=12.0), seed=1)


@pytest.fixture(scope="module")
def file(run: bbr_observations.Observation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("qlog") / "bbr.qlog"
    write_qlog(run, path)
    return path


def event(kind: str, time: float, **data: Any) -> dict[str, Any]:
    return {"time": time, "name": f"recovery:{kind}", "data": data}


def text(*states: tuple[float, str], every: float = 20.0, **others: Any) -> str:
    """Return a trace of states that begin at times in ms, whose variables are those of the state at its begin and later."""
    variables = {"cwnd": {}, "pacing": {}, "flight": {}, "rtt": 40.0, **others}
    events = [event("parameters_set", 0.0, max_datagram_size=SIZE)]
    for (begin, mode), (end, _) in zip(states, [*states[1:], (states[-1][0] + 20.0, "")], strict=True):
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
    return [check.expected for check in conformance(read_qlog_trace(text(*states, **given))).deviations]


def test_a_run_written_and_read_is_the_same(run: bbr_observations.Observation, file: Path) -> None:
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
    assert set(found.trace.modes) == set(bbr_observations.MODES)
    assert "PROBE_RTT" in set(found.table["mode"])
    kinds = {check.expected.split()[0] for check in found.checks}
    assert {"at", "window", "a", "DRAIN", "UP", "CRUISE"} <= kinds
    assert found.summary()["checks"] == f"{len(found.checks)} of {len(found.checks)} hold"
    assert found.to_xarray().sizes["row"] == len(found.checks)
    assert len(found.plot().get_yticks()) == len(bbr_observations.MODES)


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
    trace = read_qlog_trace("\x1e".join(json.dumps(line) + "\n" for line in lines), packet_size=1200)
    assert (trace.modes, trace.cwnd.tolist(), trace.end) == (("STARTUP",), [10.0], 0.002)
    assert conformance(trace).checks == ()


def test_logs_that_are_refused(refused: Any, run: bbr_observations.Observation, tmp_path: Path) -> None:
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
        ["-0.004 s follows one at 0 s", "must not decrease"],
        lambda: read_qlog_trace(json.dumps({"events": window[::-1]}), 1200.0),
    )
    refused(["congestion_state_updated"], lambda: read_qlog_trace(json.dumps({"events": window[:1]})))
    refused(["packet_size = 0"], lambda: write_qlog(run, tmp_path / "x", packet_size=0.0))
    trace: Any = read_qlog_trace(text((0.0, "up")))
    refused(["cases = (1,)", "None for a trace"], lambda: conformance(trace, cases=(1,)))
    with pytest.raises(TypeError, match="trace"):
        write_qlog(3, tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no trace with packet_sent"):
        read_qlog(text((0.0, "up")))
