"""Conformance suites: hopflow's own rules pass, wrong rules turn the case red that is about their mistake."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from dfcmodel import conformance
from dfcmodel.sharing.bbr_cases import EMPTY_PATH
from dfcmodel.sharing.bbr_conformances import judge
from dfcmodel.sharing.suites.cases import Observation, Suite, SuiteCase, Tolerance
from dfcmodel.sharing.suites.connections import connect, lose_at
from dfcmodel.sharing.suites.index import SUITES
from dfcmodel.sharing.suites.judging import SuiteVerdict, judge_case, judge_suite
from dfcmodel.sharing.suites.known_deviations import deviations_of_own_rules
from dfcmodel.sharing.suites.reports import write_junit, write_page
from dfcmodel.sharing.suites.results import SuiteConformance
from dfcmodel.sharing.suites.rfc9743 import answers_of
from responsefn import BBR, CUBIC, LEDBAT, NewReno, QUICNewReno, Scalable, WindowRule
from tests.surface import invoke

QUICK = ("rfc5681", "rfc9438", "robustness", "incidents")


class DoubleReduction(CUBIC):
    """Apply beta to the lowered W_max of fast convergence, as quinn-proto 0.11.14 did: 0.7 x 0.85 = 0.595."""

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        below = s.cwnd < s.peak
        s = CUBIC.on_loss(s, q, e)
        return s._replace(cwnd=0.85 * s.cwnd) if below else s


class NoReset(CUBIC):
    """Leave the window as it is at a timeout."""

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        return s


class Milliseconds(CUBIC):
    """Take times for milliseconds in the cubic: C is per s^3."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return CUBIC.on_ack(s, q._replace(C=q.C * 1e9), e)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        return CUBIC.on_loss(s, q._replace(C=q.C * 1e9), e)


class Bytes(NewReno):
    """Begin with a window in bytes."""

    class State(NewReno.State):
        """Window in bytes."""

        __slots__ = ()

        def __new__(cls, cwnd: float = 15_000.0, ssthresh: float = float("inf")) -> Any:
            return super().__new__(cls, cwnd, ssthresh)


class NotANumber(NewReno):
    """Divide zero by zero at a loss of the smallest window."""

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        s = NewReno.on_loss(s, q, e)
        return s._replace(cwnd=s.cwnd if s.cwnd > 1.0 else float("nan"))


class Shared(NewReno):
    """Count ACKs outside of the state, and grow at every second one."""

    acks: ClassVar[list[int]] = [0]

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        Shared.acks[0] += 1
        return NewReno.on_ack(s, q, e) if Shared.acks[0] % 2 == 0 else s


class Overflow(CUBIC):
    """Wrap the window at 2^31 bytes of packets of 65,535 bytes."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        s = CUBIC.on_ack(s, q, e)
        return s._replace(cwnd=s.cwnd if s.cwnd * 65_535.0 < 2.0**31 else 1.0)


class LongStage(CUBIC):
    """Go on with the stage of before a timeout after slow start."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        n = CUBIC.on_ack(s, q, e)
        in_slow_start = s.cwnd < s.ssthresh < float("inf")
        return n._replace(peak=s.peak, plateau=s.plateau, since=s.since) if in_slow_start else n


class RoundTripInMilliseconds(CUBIC):
    """Take W_cubic(t + RTT) with the round-trip time in ms."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return CUBIC.on_ack(s, q, e._replace(rtt=1e3 * e.rtt))


class TwoPerRoundTrip(NewReno):
    """Add two packets per round trip."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 2.0 / s.cwnd))


class HalfPerRoundTrip(NewReno):
    """Add half a packet per round trip."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 0.5 / s.cwnd))


class CountedState(NamedTuple):
    """Window, threshold, and acknowledged packets since the last growth; the first window has 14720 bytes."""

    cwnd: float = 14720.0 / 1500.0
    ssthresh: float = math.inf
    counted: float = 0.0


class ByteCounting(NewReno):
    """Count acknowledged bytes, and grow by a packet when they reach the window (RFC 3465, Sect. 2.1)."""

    State = CountedState  # type: ignore[assignment]
    packets: ClassVar[float] = 1.0
    """Growth at each count."""

    @classmethod
    def on_ack(cls, s: Any, q: Any, e: Any) -> Any:
        if s.cwnd < s.ssthresh:
            return s._replace(cwnd=s.cwnd + 1.0)
        if s.counted + 1.0 < s.cwnd:
            return s._replace(counted=s.counted + 1.0)
        return s._replace(cwnd=s.cwnd + cls.packets, counted=s.counted + 1.0 - s.cwnd)


class ResetCount(ByteCounting):
    """Count from the loss on."""

    @classmethod
    def on_loss(cls, s: Any, q: Any, e: Any) -> Any:
        return super().on_loss(s, q, e)._replace(counted=0.0)


class TwoPerCount(ByteCounting):
    """Grow by two packets."""

    packets = 2.0


class HalfPerCount(ByteCounting):
    """Grow by half a packet."""

    packets = 0.5


class NoThreshold(NewReno):
    """Leave ssthresh as it is at a timeout."""

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        return s._replace(cwnd=1.0)


class SignedBytes(NewReno):
    """Hold the window as a signed number of bytes, of packets of 65,535 bytes."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        n = NewReno.on_ack(s, q, e)
        return n._replace(cwnd=n.cwnd if n.cwnd * 65_535.0 < 2.0**31 else 1.0)


class GrowthInBytes(NewReno):
    """Divide the growth by the bytes of the window."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 1.0 / (1500.0 * s.cwnd)))


class LowThreshold(NewReno):
    """Let ssthresh fall to one packet at a loss."""

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        s = NewReno.on_loss(s, q, e)
        return s._replace(ssthresh=s.cwnd)


class WindowOfFour(NewReno):
    """Leave four packets at least after a loss."""

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        s = NewReno.on_loss(s, q, e)
        return s._replace(cwnd=max(s.cwnd, 4.0))


class ThresholdOfFour(CUBIC):
    """Let ssthresh be at least four packets after a timeout."""

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        s = CUBIC.on_timeout(s, q, e)
        return s._replace(ssthresh=max(s.ssthresh, 4.0))


class NoGrowth(NewReno):
    """Stop growing at 2^32 bytes of packets of 65,535 bytes."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return NewReno.on_ack(s, q, e) if s.cwnd * 65_535.0 < 2.0**32 else s


class WholeBytes(NewReno):
    """Add whole bytes of packets of 1500 bytes, rounded down, in congestion avoidance."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else (1500.0 / s.cwnd) // 1.0 / 1500.0))


class NoRoundTrip(CUBIC):
    """Take W_cubic(t) in place of W_cubic(t + RTT)."""

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return CUBIC.on_ack(s, q, e._replace(rtt=0.0))


class PacketsState(NamedTuple):
    """The state of CUBIC with its window in packets, and the window in whole packets in its place."""

    cwnd: float
    ssthresh: float
    exact: Any


class WholePackets(CUBIC):
    """Report windows in whole packets, rounded down."""

    @classmethod
    def start(cls, rtt: float) -> Any:
        return cls._rounded(CUBIC().start(rtt))

    @classmethod
    def on_ack(cls, s: Any, q: Any, e: Any) -> Any:
        return cls._rounded(CUBIC.on_ack(s.exact, q, e))

    @classmethod
    def on_loss(cls, s: Any, q: Any, e: Any) -> Any:
        return cls._rounded(CUBIC.on_loss(s.exact, q, e))

    @classmethod
    def on_timeout(cls, s: Any, q: Any, e: Any) -> Any:
        return cls._rounded(CUBIC.on_timeout(s.exact, q, e))

    @staticmethod
    def _rounded(exact: Any) -> Any:
        return PacketsState(float(math.floor(exact.cwnd)), exact.ssthresh, exact)


class Crash(NewReno):
    """Fail at a timeout."""

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        raise ZeroDivisionError("no window")


on_delivery_of_the_draft = BBR.on_delivery


class Forgetful(BBR):
    """Advance the filter of the bandwidth in each round: without the line that ends ACKS_PROBE_STOPPING."""

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        before = s.ack_phase
        s = on_delivery_of_the_draft(s, q, e)
        if before == 4.0 and s.ack_phase == 0.0:
            s = s._replace(ack_phase=4.0)
        return s


def failed(rule: WindowRule, *suites: str) -> dict[str, Any]:
    """Return the failed cases of suites by name."""
    return {verdict.name: verdict for verdict in conformance(rule, suite=suites).failures}


@pytest.mark.parametrize("rule", [CUBIC(), NewReno(), BBR()], ids=repr)
def test_our_own_rules_pass(rule: WindowRule) -> None:
    result = conformance(rule, suite=QUICK)
    assert result.exit_status() == 0, result
    applies = [judged.applies for judged in result.suites]
    assert applies == [rule.claims == "newreno", rule.claims == "cubic-rfc9438", True, True]
    for judged in result.suites:
        assert judged.judged >= len(judged.verdicts) - 2


@pytest.mark.parametrize(
    ("rule", "case", "found"),
    [
        (DoubleReduction(), "rfc9438/consecutive-losses", "0.595"),
        (NoReset(), "rfc9438/timeout-window", "100 packets"),
        (NoReset(), "robustness/timeout", "100 packets"),
        (Milliseconds(), "rfc9438/concave", ""),
        (Milliseconds(), "robustness/growth", ""),
        (CUBIC(beta=0.5), "rfc9438/decrease", "0.5"),
        (CUBIC(C=4.0), "rfc9438/concave", ""),
        (CUBIC(friendly=0), "rfc9438/reno-friendly", ""),
        (Bytes(), "robustness/initial-window", "15000 packets"),
        (Shared(), "robustness/two-at-once", ""),
        (LongStage(), "rfc9438/after-timeout", ""),
        (RoundTripInMilliseconds(), "rfc9438/largest-growth", ""),
        (TwoPerRoundTrip(), "rfc5681/congestion-avoidance", ""),
        (NoThreshold(), "rfc5681/timeout-threshold", ""),
        (SignedBytes(), "robustness/window-2-31", ""),
        (GrowthInBytes(), "rfc5681/congestion-avoidance", ""),
        (HalfPerRoundTrip(), "rfc5681/congestion-avoidance", ""),
        (TwoPerCount(), "rfc5681/congestion-avoidance", ""),
        (HalfPerCount(), "rfc5681/congestion-avoidance", ""),
        (Overflow(), "robustness/window-2-31", ""),
        (NoGrowth(), "robustness/window-2-32", "0.90"),
        (WindowOfFour(), "rfc5681/small-windows", "4 packets"),
        (ThresholdOfFour(), "rfc9438/small-windows", "4 packets"),
        (LowThreshold(), "rfc5681/minimum-threshold", "1.25 packets"),
        (WholeBytes(), "rfc5681/large-windows", "0 packets"),
        (NoRoundTrip(), "rfc9438/concave", ""),
        (Crash(), "robustness/timeout", "ZeroDivisionError: no window"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_wrong_rule_turns_a_case_red(rule: WindowRule, case: str, found: str) -> None:
    name, _, id = case.partition("/")
    suite = SUITES[name](CUBIC())
    alone = replace(suite, cases=tuple(each for each in suite.cases if each.id == id))
    result = SuiteConformance(rule, (judge_suite(alone, rule, {}),), {})
    verdict = result.verdict_on(case)
    assert (verdict.verdict, result.exit_status()) == ("failed", 1)
    assert found in verdict.found


@pytest.mark.parametrize("rule", [ByteCounting(), ResetCount()], ids=["of all ACKs", "since the loss"])
def test_counts_of_acknowledged_bytes_are_congestion_avoidance(rule: WindowRule) -> None:
    """A window of 100.4 packets grows an ACK after its first round trip of 100 ACKs (RFC 5681, Sect. 3.1; RFC 3465)."""
    verdict = conformance(rule, suite="rfc5681").verdict_on("rfc5681/congestion-avoidance")
    assert verdict.verdict == "passed", verdict
    growth = [row.found for row in verdict.observations[:10]]
    assert growth[-1] in (9.0, 10.0)
    if isinstance(rule, ResetCount):
        assert growth[0] == 0.0


def verdict_of(rule: WindowRule, case: str) -> SuiteVerdict:
    """Return the verdict of a case of `rfc9438` on a rule."""
    (chosen,) = [each for each in SUITES["rfc9438"](rule).cases if each.id == case]
    return judge_case("rfc9438", chosen, rule, {})


@pytest.mark.parametrize("case", ["largest-growth", "alpha-one"])
def test_windows_in_whole_packets_grow_as_the_rfc_says(case: str) -> None:
    """A single ACK adds a packet, and a single round trip none or two."""
    verdict = verdict_of(WholePackets(), case)
    assert verdict.verdict == "passed", verdict


@pytest.mark.parametrize(("share", "passes"), [(0.5, True), (0.52, False)])
def test_twenty_acks_tell_a_growth_above_half_a_packet(share: float, passes: bool) -> None:
    class Steep(CUBIC):
        """Grow by ``share`` of a packet at every ACK above ssthresh, up to 500 packets."""

        @staticmethod
        def on_ack(s: Any, q: Any, e: Any) -> Any:
            if s.cwnd < s.ssthresh:
                return CUBIC.on_ack(s, q, e)
            return s._replace(cwnd=max(s.cwnd, min(s.cwnd + share, 500.0)))

    assert (verdict_of(Steep(), "largest-growth").verdict == "passed") == passes


@pytest.mark.parametrize(("rate", "passes"), [(0.84, False), (0.87, True), (1.13, True), (1.17, False)])
def test_ten_round_trips_tell_a_growth_that_is_15_percent_wrong(rate: float, passes: bool) -> None:
    class Scaled(NewReno):
        @staticmethod
        def on_ack(s: Any, q: Any, e: Any) -> Any:
            return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else rate / s.cwnd))

    verdict = conformance(Scaled(), suite="rfc5681").verdict_on("rfc5681/congestion-avoidance")
    assert (verdict.verdict == "passed") == passes, verdict


def test_a_growth_that_is_a_packet_at_ssthresh_alone_is_told() -> None:
    """RFC 5681, Sect. 3.1, eq. 3 divides by cwnd, not by ssthresh."""

    class Multiplied(NewReno):
        @staticmethod
        def on_ack(s: Any, q: Any, e: Any) -> Any:
            return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 1.0 / s.ssthresh))

    verdict = conformance(Multiplied(), suite="rfc5681").verdict_on("rfc5681/congestion-avoidance")
    assert verdict.verdict == "failed"
    assert "after a loss at 60 packets" in verdict.event


def test_the_first_event_outside_is_named() -> None:
    verdict = failed(DoubleReduction(), "rfc9438")["rfc9438/consecutive-losses"]
    assert verdict.event == "loss 2 at a window of 280 packets"
    assert (verdict.expected, verdict.found) == ("0.7 +- 0.01", "0.595")
    assert [row.expected for row in verdict.observations] == [0.7, 0.7]


class ZeroWindow(NewReno):
    """Answer a window of 0 after a loss."""

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        return s._replace(cwnd=0.0)


def test_a_window_of_zero_is_no_division_by_it() -> None:
    for name in ("rfc5681/consecutive-losses", "robustness/packet-size", "rfc5681/congestion-avoidance"):
        verdict = failed(ZeroWindow(), name.partition("/")[0])[name]
        assert "Error" not in verdict.found, verdict
    assert "window = 0 packets at" in verdict.found


def test_a_fault_of_a_suite_is_none_of_the_rule(tmp_path: Path) -> None:
    def fail(rule: WindowRule) -> Any:
        raise KeyError("no such path")

    cases = [
        SuiteCase("faulty", "q", "", "text", "=", Tolerance(), "source", fail),
        SuiteCase("sound", "q", "", "text", "=", Tolerance(), "source", lambda _: [Observation("start", 1.0, 1.0)]),
    ]
    suite = Suite("own", 1, "source", (), tuple(cases))
    result = SuiteConformance(NewReno(), (judge_suite(suite, NewReno(), {}),), {})
    verdict = result.verdict_on("own/faulty")
    assert verdict.verdict == "error"
    assert "no fault of the rule: KeyError: 'no such path'" in verdict.reason
    assert result.suites[0].headline == "judged 1 of 2: 1 passed, 1 error"
    assert (result.exit_status(), result.exit_status(strict=True)) == (2, 2)
    write_junit(result, xml := tmp_path / "junit.xml")
    root = ET.parse(xml).getroot()[0]
    assert (root.get("errors"), root.get("failures"), root.get("skipped")) == ("1", "0", "0")
    assert root[0].find("error") is not None


def test_invalid_numbers_are_found() -> None:
    verdict = failed(NotANumber(), "robustness")["robustness/numbers"]
    assert verdict.event.startswith("event 1 of a loss before any ACK")
    assert "window nan" in verdict.found


def test_an_empty_path_tells_a_filter_that_forgets() -> None:
    assert judge(Forgetful(), 23, EMPTY_PATH, [1, 2, 3, 4, 5]).verdict == "deviates"
    assert judge(BBR(), 23, EMPTY_PATH, [1, 2, 3, 4, 5]).verdict == "as expected"
    assert "incidents/empty-path" in failed(Forgetful(), "incidents")


def test_a_suite_of_another_specification_does_not_apply() -> None:
    result = conformance(Scalable(), suite=("rfc9438", "bbr-draft"))
    assert result.exit_status() == 2
    assert result.suites[0].headline == "does not apply: it is for rules that claim cubic-rfc9438"
    assert result.verdicts == ()


def test_a_rule_says_whether_its_smallest_window_is_that_of_quic() -> None:
    class TwoPackets(NewReno):
        @staticmethod
        def on_timeout(s, q, e):
            return s._replace(cwnd=2.0, ssthresh=max(2.0, 0.5 * s.cwnd))

    class OfQUIC(TwoPackets):
        timeout_window = 2.0

    assert {"rfc5681/timeout-window", "robustness/timeout"} <= failed(TwoPackets(), "rfc5681", "robustness").keys()
    for rule in (OfQUIC(), QUICNewReno()):
        assert not failed(rule, "rfc5681", "robustness")


def test_windows_that_a_rule_without_slow_start_does_not_reach_are_not_judged() -> None:
    """LEDBAT grows by a packet per round trip: it failed for want of a window of 29,000 packets."""
    verdicts = {v.name: v for v in conformance(LEDBAT(), suite="robustness").verdicts}
    for name in ("robustness/window-2-31", "robustness/window-2-32"):
        assert verdicts[name].verdict == "not judged"
        assert "need not have a slow start that reaches such windows" in verdicts[name].reason


def test_known_deviations_do_not_fail_unless_strict(tmp_path: Path) -> None:
    rule = NoReset()
    names = failed(rule, "robustness")
    known = dict.fromkeys(names, "a gentler rule")
    file = tmp_path / "known.toml"
    file.write_text("".join(f'"{name}" = "a gentler rule"\n' for name in known), encoding="utf-8")
    for given in (known, file, str(file)):
        result = conformance(rule, suite="robustness", known=given)
        assert (result.exit_status(), result.exit_status(strict=True)) == (0, 1)
    assert result.verdict_on("robustness/timeout").reason == "a gentler rule"
    assert not result.unused_known


def test_an_entry_that_passes_or_names_no_case_is_printed_and_fails_if_strict() -> None:
    known = {"robustness/timeout": "old", "robustness/nothing": "misspelt", "rfc9438/decrease": "not run"}
    result = conformance(NewReno(), suite="robustness", known=known)
    assert result.unused_known == {"robustness/timeout": "passed", "robustness/nothing": "no such case"}
    assert (result.exit_status(), result.exit_status(strict=True)) == (0, 1)
    assert "known: robustness/timeout" in result.summary()
    assert conformance(NewReno(), suite="robustness").exit_status(strict=True) == 0


def test_known_deviations_of_own_rules_do_not_hold_for_subclasses() -> None:
    assert set(deviations_of_own_rules(CUBIC())) >= {"rfc9438/fast-convergence"}
    assert deviations_of_own_rules(DoubleReduction()) == {} == deviations_of_own_rules(Scalable())


def test_verdicts_are_deterministic() -> None:
    one, other = (conformance(NewReno(), suite="incidents").table for _ in range(2))
    assert one.equals(other)


@pytest.mark.parametrize("name", SUITES)
def test_each_case_says_what_it_expects_and_where_from(name: str) -> None:
    suite = SUITES[name](CUBIC())
    assert suite.label == f"{name}@{suite.version}"
    assert len({case.id for case in suite.cases}) == len(suite.cases)
    for case in suite.cases:
        assert case.source
        assert case.expectation
        assert case.relation in ("=", ">=", "<=")
        if case.tolerance != Tolerance():
            assert case.about_tolerance


@pytest.mark.parametrize(
    ("relation", "found", "holds"),
    [("=", 10.4, True), ("=", 10.6, False), ("=", 9.4, False), (">=", 9.6, True), (">=", 9.4, False),
     (">=", 99.0, True), ("<=", 10.4, True), ("<=", 10.6, False), ("<=", 0.0, True), ("=", float("nan"), False)],
)  # fmt: skip
def test_relations_and_tolerances(relation: str, found: float, holds: bool) -> None:
    case = SuiteCase("id", "q", "s", "text", relation, Tolerance(0.3, 0.02), "source", lambda _: ())
    assert case.holds(Observation("", 10.0, found)) == holds


def test_a_round_trip_has_as_many_acks_as_the_window_had() -> None:
    """Slow start doubles the window in a round trip."""
    connection = connect(NewReno(), 0.1)
    for expected in (2.0, 4.0, 8.0, 16.0):
        for _ in range(int(expected / 2.0)):
            connection.ack()
        assert connection.window == expected
    assert connection.now == pytest.approx(0.4)
    assert lose_at(connection, 32.0) == (32.0, 16.0)


@pytest.mark.slow
def test_bbr_passes_the_36_cases_of_its_suite_but_two() -> None:
    result = conformance(BBR(), suite="bbr-draft")
    assert result.exit_status() == 0
    assert result.suites[0].headline == "judged 36 of 36: 34 passed, 2 known deviation"


@pytest.mark.slow
@pytest.mark.longest
def test_answers_of_cubic_are_those_that_are_bundled() -> None:
    path = Path(judge_suite.__code__.co_filename).with_name("rfc9743_cubic.json")
    assert json.loads(path.read_text(encoding="utf-8")) == answers_of(CUBIC())


@pytest.mark.slow
@pytest.mark.longest
@pytest.mark.parametrize("rule", [NewReno(), BBR()], ids=repr)
def test_sections_of_rfc9743_fail_where_cubic_is_not_contradicted(rule: WindowRule) -> None:
    result = conformance(rule, suite="rfc9743")
    assert result.exit_status() == 0, result
    assert len(result.verdicts) == 23


def test_reports(tmp_path: Path) -> None:
    result = conformance(DoubleReduction(), suite="rfc9438")
    xml, page = tmp_path / "junit.xml", tmp_path / "report.html"
    write_junit(result, xml)
    suite = ET.parse(xml).getroot()[0]
    assert suite.get("name") == "rfc9438@5"
    failures = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failures == [verdict.case.id for verdict in result.failures]
    assert suite.get("failures") == str(len(failures))
    assert suite.get("tests") == str(len(suite)) == "29"
    write_page(result, page)
    text = page.read_text(encoding="utf-8")
    for words in ("RFC 9438, Sect. 4.6 and 4.7", "loss 2 at a window of 280 packets", "0.595", "data:image/png"):
        assert words in text
    assert text.count("<img") == len(result.failures)
    assert all(f'id="{verdict.name}"' in text and f'href="#{verdict.name}"' in text for verdict in result.failures)
    assert text.count('<td title="passed case">') == sum(v.verdict == "passed" for v in result.verdicts)


RULE = """\
from responsefn import CUBIC

class NoReset(CUBIC):
    @staticmethod
    def on_timeout(s, q, e):
        return s

rule = NoReset()
"""


def test_the_command_has_a_status_for_ci(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(RULE, encoding="utf-8")
    done = invoke(["conform", str(file), "--suite", "robustness", "--junit", str(tmp_path / "j.xml")])
    assert done.exit_code == 1
    assert "robustness/timeout" in done.output
    assert (tmp_path / "j.xml").exists()
    assert invoke(["conform", "newreno", "--suite", "robustness"]).exit_code == 0
    assert invoke(["conform", "newreno", "--suite", "rfc9438"]).exit_code == 2
    data = json.loads(invoke(["conform", "cubic", "--suite", "rfc9438,robustness", "--json"]).output)
    assert (data["status"], data["claims"], len(data["cases"])) == (0, "cubic-rfc9438", 39)


def test_what_is_refused(refused: Any, tmp_path: Path) -> None:
    refused(["suite = 'rfc9439'", "rfc9438"], lambda: conformance(CUBIC(), suite="rfc9439"))
    refused(
        ["suite = 'RFC9002'", "NewReno of TCP and QUIC is in 'rfc5681'"], lambda: conformance(CUBIC(), suite="RFC9002")
    )
    refused(["cases = (1,)", "None with suite"], lambda: conformance(BBR(), suite="all", cases=(1,)))  # type: ignore[call-overload]
    refused(["known = {}", "None without suite"], lambda: conformance(BBR(), known={}))  # type: ignore[call-overload]
    wrong = tmp_path / "known.toml"
    wrong.write_text("x = 3\n", encoding="utf-8")
    refused(["x = 3", "rfc9438/fast-convergence"], lambda: conformance(CUBIC(), suite="all", known=wrong))
    wrong.write_text("x = \n", encoding="utf-8")
    refused(["must be TOML"], lambda: conformance(CUBIC(), suite="all", known=wrong))
    with pytest.raises(TypeError, match="rule"):
        conformance(3, suite="all")  # type: ignore[call-overload]
