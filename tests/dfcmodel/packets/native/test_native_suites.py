"""Conformance suites on native rules: ports end as the rules in Python do, and crashes end a case."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dfcmodel import NativeRule, conformance
from dfcmodel.sharing.bottlenecks import Bottleneck
from dfcmodel.sharing.rfc9743_measures import MEASURES, Bench
from dfcmodel.sharing.suites import isolation, native_connections
from dfcmodel.sharing.suites.connections import connect, lose_at
from dfcmodel.sharing.suites.index import SUITES
from dfcmodel.sharing.suites.judging import judge_case, judge_suite
from dfcmodel.sharing.suites.native_connections import NativeConnection
from hopflow.errors import RuleError
from responsefn import CUBIC, NewReno, WindowRule
from tests.surface import invoke

pytestmark = pytest.mark.compilers

PORTS = {"newreno.c": NewReno(), "newreno.rs": NewReno(), "cubic.c": CUBIC()}
LARGE_WINDOWS = ("large-windows", "window-2-31", "window-2-32")
"""Cases in which a library that counts packets begins with more of them than a rule in Python."""
Native = Callable[..., NativeRule]


@pytest.mark.parametrize("suite", ["rfc9438", "robustness", "incidents"])
@pytest.mark.parametrize(("source", "rule"), PORTS.items(), ids=PORTS)
def test_ports_end_as_the_rules_in_python_do(native: Native, source: str, rule: WindowRule, suite: str) -> None:
    port = native(source)
    assert port.claims == rule.claims
    one, other = (judge_suite(SUITES[suite](CUBIC()), each, {}) for each in (port, rule))
    assert one.applies == other.applies
    for mine, theirs in zip(one.verdicts, other.verdicts, strict=True):
        assert (mine.name, mine.verdict) == (theirs.name, theirs.verdict)
        if suite == "incidents":  # packets: rules in Python have another loss recovery by default
            continue
        if mine.case.id in LARGE_WINDOWS:
            continue
        assert mine.event == theirs.event
        for row, expected in zip(mine.observations, theirs.observations, strict=True):
            assert row.event == expected.event
            assert math.isclose(row.found, expected.found, rel_tol=1e-6, abs_tol=1e-5)


def test_measures_of_rfc_9743_are_those_of_the_rule_in_python(native: Native) -> None:
    bench, port = Bench(Bottleneck(1000.0, 0.02, 20, duration=6.0, warm_up=1.0), 1), native("newreno.c")
    for measure in MEASURES:
        assert measure.run(bench, port) == measure.run(bench, NewReno()), measure.name


@pytest.mark.parametrize("flags", [0, 1, 2, 3])
def test_events_that_are_fed_are_those_of_the_header(native: Native, flags: int) -> None:
    """The probe counts what differs: slots, times, packets in flight, orders."""
    rule = native("probe.c", f"PROBE_FLAGS={flags}", "PROBE_TIMER=0.25", "PROBE_WINDOW=20.0")
    connection = connect(rule, 0.1, 1200)
    for number in range(1, 200):
        connection.ack()
        if number % 20 == 0:
            connection.report_loss()
        if number % 70 == 0:
            connection.time_out()
    library = rule.loaded
    label, numbers = library.observe(connection._row.state)  # type: ignore[attr-defined]
    seen = dict(zip(library.observed, numbers, strict=True))
    assert label == "sending"
    assert seen["wrong"] == 0.0
    assert connection.window == 20.0
    assert (seen["timeouts"], seen["lost"]) == (2.0, 9.0 + 2.0 * 20.0)
    assert seen["sent"] - seen["acked"] - seen["lost"] == 20.0
    assert seen["timers"] == math.floor((connection.now + 0.1) / 0.25)


@pytest.mark.parametrize(("event", "calls"), [("loss", 2.0), ("timeout", 19.0), ("timeout in a recovery", 20.0)])
def test_fed_events_repair_what_a_timeout_lost(native: Native, event: str, calls: float) -> None:
    """The ACK of the last of 20 packets ends a repair; a loss of one has a call before that of the others."""
    rule = native("probe.c", "PROBE_ACK=s->timers += (event->flags & HOPFLOW_CC_REPAIRING) != 0")
    connection = connect(rule)
    connection.ack_round_trip()
    connection.report_loss() if event == "loss" else connection.time_out(in_recovery="in a recovery" in event)
    for _ in range(3):
        connection.ack_round_trip()
    label, numbers = rule.loaded.observe(connection._row.state)  # type: ignore[attr-defined]
    assert label == "sending"
    assert dict(zip(rule.loaded.observed, numbers, strict=True))["timers"] == calls


def test_bytes_give_the_windows_of_packets(native: Native) -> None:
    text = "control->window = 10.0 * s->unit"
    rule = native("probe.c", "PROBE_FLAGS=1", f"PROBE_INIT={text}")
    assert [connect(rule, 0.1, size).window for size in (1500, 9000)] == [10.0, 10.0]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("control->window = NAN", "on_ack answers window = nan packets: must be at least one packet"),
        ("control->pacing_rate = -1.0", "on_ack answers pacing_rate = -1"),
        ("control->window = 0.5", "on_ack answers window = 0.5 packets"),
        ("control->departure = -1.0", "on_ack answers departure = -1"),
        ("control->timer = -1.0", "on_ack answers timer = -1"),
        ("control->send_quantum = NAN", "on_ack answers send_quantum = nan packets"),
    ],
)
def test_decisions_that_cannot_be_are_refused_with_the_event(native: Native, statement: str, words: str) -> None:
    connection = connect(native("probe.c", f"PROBE_ACK=if (event->lost_count) {statement}"))
    with pytest.raises(RuleError, match=r"0 packets acknowledged, 1 lost, 19 in flight") as error:
        lose_at(connection, 20.0)
    assert words in str(error.value)


def test_a_library_that_crashes_or_does_not_return_ends_its_case(
    native: Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets of 9000 bytes end the process, those of 65,535 bytes are never acknowledged."""
    monkeypatch.setattr(isolation, "CALL_LIMIT", 8.0)
    result = conformance(native("faults.c"), suite="robustness")
    assert result.exit_status() == 1
    found = {verdict.case.id: verdict for verdict in result.verdicts}
    assert len(found) == 10
    first = found["initial-window"]
    assert (first.verdict, first.event) == ("failed", "init, after start with packets of 1500 bytes")
    assert first.found == "the library ended its process: Segmentation fault (SIGSEGV)"
    assert found["packet-size"].event == "init"
    assert "SIGSEGV" in found["packet-size"].found
    for case in ("window-2-31", "window-2-32"):
        assert (found[case].verdict, found[case].found) == ("failed", "the library did not return within 8 s")
    assert found["numbers"].verdict == "passed"


def test_a_crash_is_named_by_its_call_as_its_record_has_it(native: Native, tmp_path: Path) -> None:
    """A loss at a window of 20 packets: after 20 packets and 20 pairs of an ACK and a packet."""
    library = native("probe.c", "PROBE_ACK=if (event->lost_count) *(volatile int *)(uintptr_t)s->wrong = 1")
    result = conformance(library.replace(record=str(tmp_path)), suite="robustness")
    verdict = result.verdict_on("robustness/numbers")
    assert verdict.event == "on_ack at t = 1e-06 s, call 20 of the connection"
    assert verdict.found == "the library ended its process: Segmentation fault (SIGSEGV)"
    assert any(len(file.read_bytes()) for file in tmp_path.iterdir())
    assert result.summary()["robustness/numbers"].startswith("failed at on_ack at t = 1e-06 s, call 20")


def test_what_a_library_prints_stands_under_the_name_of_the_case_once(
    native: Native, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two lines per connection, one of them with an address; each case has connections."""
    conformance(native("probe.c", 'PROBE_INIT=fprintf(stderr, "begins\\nat %p\\n", (void *)s)'), suite="rfc5681")
    assert capsys.readouterr().err == ""  # does not apply
    conformance(native("probe.c", 'PROBE_INIT=fprintf(stderr, "begins\\nat %p\\n", (void *)s)'), suite="robustness")
    lines = capsys.readouterr().err.splitlines()
    heads = [line for line in lines if line.endswith(": the library prints")]
    assert len(heads) == 1
    at = lines.index(heads[0])
    assert heads[0].startswith("robustness/initial-window")
    assert lines[at + 1] == "  begins"
    assert lines[at + 2].startswith("  at 0x")
    assert sum("begins" in line for line in lines) <= 2  # connections of the first case
    assert "robustness/growth: the library prints" not in lines
    assert any(line.startswith("robustness/packet-size") and line.endswith("more lines as before") for line in lines)


def test_a_library_that_answers_bytes_without_its_flag_is_told(native: Native) -> None:
    cases = {case.id: case for case in SUITES["robustness"](CUBIC()).cases}
    rule = native("newreno.c", "NEWRENO_BYTES", "NEWRENO_NO_FLAG")
    verdict = judge_case("robustness", cases["initial-window"], rule, {})
    assert (verdict.found, verdict.verdict) == ("1500 packets", "failed")
    assert "HOPFLOW_CC_BYTES" in verdict.reason
    for name in ("window-2-31", "window-2-32"):  # the first window is beyond them
        assert "Error" not in judge_case("robustness", cases[name], rule, {}).found
    assert judge_case("robustness", cases["initial-window"], native("newreno.c", "NEWRENO_BYTES"), {}).reason == ""


def test_a_crash_in_runs_that_cases_share_ends_all(native: Native) -> None:
    result = conformance(native("probe.c", "PROBE_ACK=*(volatile int *)(uintptr_t)s->wrong = 1"), suite="rfc9743")
    assert result.suites[0].headline == "judged 23 of 23: 0 passed, 23 failed"
    assert {verdict.found for verdict in result.verdicts} == {
        "the library ended its process: Segmentation fault (SIGSEGV)"
    }


def test_a_port_of_bbr_follows_a_decrease_of_the_bandwidth_in_which_timers_expire(native: Native) -> None:
    """Data that were lost at a timeout and arrive later begin no round trips."""
    case = SUITES["bbr-draft"](CUBIC()).cases[15]
    assert case.expectation == "Decreasing bandwidth 10x"
    verdict = judge_case("bbr-draft", case, native("bbr.c"), {})
    assert verdict.verdict == "passed", verdict


@pytest.mark.parametrize(
    ("definitions", "reason"),
    [
        (("PROBE_FLAGS=0",), "its window limits sequence numbers"),
        (("PROBE_FLAGS=4",), "observe returns the state 'sending'; states are Startup, Drain"),
    ],
)
def test_bbr_cases_are_not_judged_without_the_variables_of_the_draft(
    native: Native, definitions: tuple[str, ...], reason: str
) -> None:
    rule = native("probe.c", 'PROBE_TABLE=rule.claims = "bbr-draft"; rule.recovery = "rack"', *definitions)
    verdict = judge_case("bbr-draft", SUITES["bbr-draft"](CUBIC()).cases[0], rule, {})
    assert (verdict.verdict, verdict.reason[: len(reason)]) == ("not judged", reason)


def test_the_command_takes_a_library(build: Callable[..., Path], tmp_path: Path) -> None:
    library = str(build("newreno.c"))
    done = invoke(["conform", library, "--suite", "robustness", "--junit", str(tmp_path / "j.xml")])
    assert (done.exit_code, (tmp_path / "j.xml").exists()) == (0, True)
    assert "judged 10 of 10: 10 passed" in done.output


@contextmanager
def loop_from(minimum: int, maximum: int = 2**16) -> Iterator[list[int]]:
    """Let the compiled loop send ``minimum`` packets in a row or more, at most ``maximum`` at once; yield its counts."""
    sent: list[int] = []
    run = native_connections._run_loop

    def run_and_count(*arguments: Any) -> int:
        sent.append(run(*arguments))
        return sent[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_connections, "MIN_COMPILED_PACKETS", minimum)
        patch.setattr(native_connections, "MAX_COMPILED_PACKETS", maximum)
        patch.setattr(native_connections, "_run_loop", run_and_count)
        yield sent


def contents(connection: NativeConnection) -> tuple[Any, ...]:
    """Return the clock, the counts, the event, the decision, the packets in flight and what the library reports."""
    row = connection._numbers.copy()
    row["packet"] -= connection._at if row["packet"][0] else 0
    for name in ("state", "acked", "lost"):  # addresses
        row[name] = 0
    packets = connection._packets[connection._first : connection._last]
    counts = connection._clock, connection._number, connection._timers, connection._transmissions
    return *counts, row.tobytes(), packets.tobytes(), connection._library.observe(connection._row.state)


WAVE = "control->window = s->unit * (12.0 + 8.0 * sin((double)s->sent))"


@pytest.mark.parametrize("flags", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("definitions", "is_limited"),
    [
        (("PROBE_TIMER=0.025",), False),  # in the first window, too
        (("PROBE_TIMER=0.003", "PROBE_WINDOW=50.0"), True),
        (("PROBE_GAP=0.001",), False),
        (
            (f"PROBE_SENT={WAVE}",),
            True,
        ),  # the window changes while packets leave, above and below the packets in flight
    ],
)
def test_packets_of_the_compiled_loop_are_those_of_calls_one_by_one(
    native: Native, flags: int, definitions: tuple[str, ...], is_limited: bool
) -> None:
    rule = native("probe.c", f"PROBE_FLAGS={flags}", *definitions)
    traces, counts = [], []
    for minimum, maximum in ((2, 7), (10**9, 1)):
        with loop_from(minimum, maximum) as sent:
            connection = connect(rule, 0.1, 1200)
            assert isinstance(connection, NativeConnection)
            trace = [contents(connection)]
            for number in range(1, 120):
                if is_limited and number % 30 == 0:
                    connection.limit_application([15, 25, math.inf][number // 30 % 3])
                connection.ack(packets=5)
                if number % 20 == 0:
                    connection.report_loss()
                if number % 50 == 0:
                    connection.time_out()
                trace.append(contents(connection))
        traces.append(trace)
        counts.append(sent)
    assert traces[0] == traces[1]
    assert dict(zip(rule.loaded.observed, traces[0][-1][-1][1], strict=True))["wrong"] == 0.0
    assert counts[1] == []
    assert max(counts[0]) == 7
    assert sum(counts[0]) > 100


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("control->window = 0.5", "on_sent answers window = 0.5 packets"),
        ("control->ssthresh = NAN", "on_sent answers ssthresh = nan packets"),
        ("control->pacing_rate = -1.0", "on_sent answers pacing_rate = -1"),
        ("control->departure = INFINITY", "on_sent answers departure = inf"),
        ("control->timer = -1.0", "on_sent answers timer = -1"),
        ("control->send_quantum = NAN", "on_sent answers send_quantum = nan packets"),
    ],
)
def test_decisions_in_the_compiled_loop_are_refused_with_the_event(native: Native, statement: str, words: str) -> None:
    rule = native("probe.c", "PROBE_WINDOW=50.0", f"PROBE_SENT=if (s->sent == 30) {statement}")
    messages = []
    for minimum in (2, 10**9):
        with loop_from(minimum) as sent, pytest.raises(RuleError, match="30 in flight") as error:
            connect(rule, 0.1, 1200)
        messages.append(str(error.value))
        assert sent == ([30] if minimum == 2 else [])
    assert messages[0] == messages[1]
    assert words in messages[0]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("*(volatile int *)(uintptr_t)s->wrong = 1", "the library ended its process: Segmentation fault (SIGSEGV)"),
        ("for (volatile int n = 0; n < 1;) {}", "the library did not return within 8 s"),
    ],
)
def test_a_call_of_the_compiled_loop_that_ends_a_case_is_named(
    native: Native, monkeypatch: pytest.MonkeyPatch, statement: str, found: str
) -> None:
    """The packets of the first window leave evenly over a round trip of 50 ms."""
    monkeypatch.setattr(isolation, "CALL_LIMIT", 8.0)
    rule = native("probe.c", "PROBE_WINDOW=5000.0", f"PROBE_SENT=if (s->sent == 3000) {statement}")
    case = [case.id for case in SUITES["robustness"](CUBIC()).cases].index("two-at-once")
    with isolation._Process(("robustness", CUBIC(), rule, {}, case), set()) as process:
        answer, event, failure = process.next_verdict()
    assert (answer, event) == ((), "on_sent at t = 0.03 s, call 2999 of the connection")
    assert failure == found
