"""Mistakes of a programmer in ports of rules, each with the case of a suite that it turns red."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from dfcmodel import NativeRule, cc_header
from dfcmodel.sharing.suites.index import SUITES
from dfcmodel.sharing.suites.judging import judge_case
from responsefn import CUBIC

pytestmark = pytest.mark.compilers

FOLDER = Path(__file__).parent


class Mistake(NamedTuple):
    """A port, its definitions, edits of its source, and the case that they turn red."""

    source: str
    name: str
    edits: tuple[tuple[str, str], ...]
    case: str
    definitions: tuple[str, ...] = ()


DELIVERED = (
    "  s->delivered_bytes += (int32_t)event->acked_count * 1500;\n"
    "  s->delivered = (double)s->delivered_bytes / 1500;\n"
)  # fmt: skip
MISTAKES = (
    Mistake("newreno.c", "beta of CUBIC at a timeout", (("(0.5 * control->window, 2.0", "(0.7 * control->window, 2.0"),),
            "rfc5681/timeout-threshold"),
    Mistake("newreno.c", "no ssthresh at a timeout",
            (("  control->ssthresh = maximum(0.5 * control->window, 2.0 * s->packet);\n", ""),),
            "rfc5681/timeout-threshold"),
    Mistake("newreno.c", "half of a window in an int",
            (("double half = 0.5 * control->window;", "int half = (int)control->window / 2;"),),
            "robustness/window-2-31", ("NEWRENO_BYTES",)),
    Mistake("newreno.c", "growth in bytes over bytes",
            (("s->packet * s->packet / control->window", "s->packet / control->window"),),
            "rfc5681/congestion-avoidance", ("NEWRENO_BYTES",)),
    Mistake("newreno.c", "growth in whole bytes",
            (("s->packet * s->packet / control->window", "floor(s->packet * s->packet / control->window)"),),
            "rfc5681/large-windows", ("NEWRENO_BYTES",)),
    Mistake("newreno.c", "ssthresh of four packets at a timeout", (("(0.5 * control->window, 2.0", "(0.5 * control->window, 4.0"),),
            "rfc5681/small-windows"),
    Mistake("newreno.rs", "window of four packets", (("window.max(1.0)", "window.max(4.0)"),), "rfc5681/small-windows"),
    Mistake("newreno.rs", "ssthresh of one packet", (("window.max(2.0);\n    }", "window.max(1.0);\n    }"),),
            "rfc5681/minimum-threshold"),
    Mistake("newreno.rs", "no window at a timeout", (("    control.window = 1.0;\n}", "}"),), "rfc5681/timeout-window"),
    Mistake("newreno.rs", "window in an i32 of bytes",
            (("{ 1.0 / control.window }", "{ 1500.0 / ((control.window * 1500.0) as i32) as f64 }"),),
            "rfc5681/large-windows"),
    Mistake("newreno.rs", "half of a window in an i32 of bytes",
            (("let window = 0.5 * control.window;", "let window = ((control.window * 1500.0) as i64 as i32 / 2) as f64 / 1500.0;"),),
            "robustness/window-2-31"),
    Mistake("newreno.rs", "ssthresh of two packets in bytes",
            (("window.max(2.0);\n    }", "window.max(2.0 * 1500.0);\n    }"),), "rfc5681/congestion-avoidance"),
    Mistake("newreno.c", "QUIC's window at a timeout", (("  control->window = s->packet;\n}", "  control->window = 2.0 * s->packet;\n}"),),
            "rfc5681/timeout-window"),
    Mistake("newreno.c", "a recovery that goes on after a timeout",
            (("  double packet; /* amount of a packet */\n", "  double packet;\n  int recovering;\n"),
             ("newreno *s = malloc(sizeof *s);", "newreno *s = calloc(1, sizeof *s);"),
             ("  const newreno *s = state;\n  if (event->flags", "  newreno *s = state;\n  if (!(event->flags & HOPFLOW_CC_REPAIRING)) s->recovering = 0;\n  if (event->flags"),
             ("    double half = 0.5", "    s->recovering = 1;\n    double half = 0.5"),
             ("n < event->growth; n++)", "n < event->growth && !s->recovering; n++)")),
            "rfc5681/timeout-in-recovery"),
    Mistake("newreno.c", "a reduction for each loss of a recovery",
            (("if (event->flags & (HOPFLOW_CC_STARTS_RECOVERY | HOPFLOW_CC_MARK_EVENT))", "if (event->lost_count > 0 || (event->flags & HOPFLOW_CC_MARK_EVENT))"),),
            "rfc5681/losses-in-recovery"),
    Mistake("cubic.c", "a reduction for each loss of a recovery",
            (("if (event->flags & HOPFLOW_CC_STARTS_RECOVERY)", "if (event->lost_count > 0)"),), "rfc9438/losses-in-recovery"),
    Mistake("newreno.c", "growth while the application limits the window", (("n < event->growth", "n < event->acked_count"),),
            "rfc5681/limited-growth"),
    Mistake("newreno.c", "pacing rate in a uint32_t of bytes per second",
            (("  }\n  for (uint64_t n = 0;", "  }\n  control->pacing_rate = (uint32_t)(uint64_t)(1.25 * control->window / event->latest_rtt);\n  for (uint64_t n = 0;"),),
            "robustness/window-2-31", ("NEWRENO_BYTES",)),
    Mistake("newreno.rs", "ssthresh at a timeout from an i32 of bytes",
            (("(0.5 * control.window).max(2.0)", "(((control.window * 1500.0) as i64 as i32 / 2) as f64 / 1500.0).max(2.0)"),),
            "robustness/window-2-31"),
    Mistake("cubic.c", "alpha of another beta", (("3.0 * (1.0 - BETA) / (1.0 + BETA)", "3.0 * (1.0 - 0.8) / (1.0 + 0.8)"),),
            "rfc9438/reno-friendly"),
    Mistake("cubic.c", "W_max of before a timeout", (("if (slow) {", "if (slow && s->peak == 0.0) {"),),
            "rfc9438/after-timeout"),
    Mistake("cubic.c", "K of before a timeout", (("    s->plateau = 0.0;\n", ""),), "rfc9438/after-timeout"),
    Mistake("cubic.c", "W_max in an int of bytes", (("s->peak = cwnd;\n  s->plateau = pow",
            "s->peak = (int)(cwnd * 1500.0) / 1500.0;\n  s->plateau = pow"),), "rfc9438/large-windows"),
    Mistake("cubic.c", "a target of two windows", (("minimum(1.5 * cwnd", "minimum(2.0 * cwnd"),), "rfc9438/largest-growth"),
    Mistake("cubic.c", "no new stage at a loss", (("  s->since = now;\n  s->reno = window", "  (void)now;\n  s->reno = window"),),
            "rfc9438/limited-application"),
    Mistake("cubic.c", "an application's limits before a stage", (("reduce(state, now, 2.0", "reduce(state, event->now, 2.0"),),
            "rfc9438/limited-application"),
    Mistake("cubic.c", "time of an application's limits", (("s->limited += now - s->counted", "s->limited += 0.0"),),
            "rfc9438/limited-stage"),
    Mistake("cubic.c", "time of an application's limits in ms", (("s->limited += now - s->counted", "s->limited += 1e3 * (now - s->counted)"),),
            "rfc9438/limited-stage"),
    Mistake("cubic.c", "growth while the application limits the window", (("n < event->growth", "n < event->acked_count"),),
            "rfc9438/limited-growth"),
    Mistake("cubic.c", "a window of two packets at a timeout", (("control->window = s->reno = 1.0", "control->window = s->reno = 2.0"),),
            "rfc9438/timeout-window"),
    Mistake("cubic.c", "cwnd_prior of before a timeout",
            (("  int idle;\n", "  int idle;\n  double prior;\n"),
             ("  s->reno = 1.0;\n", "  s->reno = 1.0;\n  s->prior = INFINITY;\n"),
             ("  s->reno = window;\n", "  s->reno = window;\n  s->prior = cwnd;\n"),
             ("s->reno < ssthresh / BETA", "s->reno < s->prior")),
            "rfc9438/alpha-one-after-timeout"),
    Mistake("cubic.c", "alpha of 1 from W_max of fast convergence on", (("s->reno < ssthresh / BETA", "s->reno < 0.85 * ssthresh / BETA"),),
            "rfc9438/reno-friendly-below-peak"),
    Mistake("cubic.c", "round-trip time divided by 1000", (("event->latest_rtt, control)", "1e-3 * event->latest_rtt, control)"),),
            "rfc9438/concave"),
    Mistake("bbr.c", "Startup's gain of BBRv1", (("STARTUP_GAIN 2.77", "STARTUP_GAIN 2.885"),), "bbr-draft/24"),
    Mistake("bbr.c", "no headroom", (("HEADROOM 0.15", "HEADROOM 0.0"),), "bbr-draft/26"),
    Mistake("bbr.c", "short-term bounds stay in a probe",
            (("  s->mode = REFILL;\n  s->bw_shortterm = INFINITY;\n", "  s->mode = REFILL;\n"),), "bbr-draft/27"),
    Mistake("bbr.c", "wait between probes in ms", (("2.0 + fmod(2.0 * e->random, 1.0)", "2000.0 + 1000.0 * fmod(2.0 * e->random, 1.0)"),),
            "bbr-draft/28"),
    Mistake("bbr.c", "minimum of short-term bounds", (("maximum(s->inflight_latest, BETA * flight)",
            "minimum(s->inflight_latest, BETA * flight)"),), "bbr-draft/31"),
    Mistake("bbr.c", "a short-term bound that begins at the inflight of the round trip", (("INFINITY ? s->cwnd : s->inflight_shortterm",
            "INFINITY ? s->inflight_latest : s->inflight_shortterm"),), "bbr-draft/31"),
    Mistake("bbr.c", "no window after ProbeRTT", (("  s->cwnd = maximum(s->cwnd, s->prior_cwnd);\n", ""),), "bbr-draft/32"),
    Mistake("bbr.c", "initial window in bytes in Startup", (("e->delivered < INITIAL_WINDOW)", "e->delivered < 1500.0 * INITIAL_WINDOW)"),),
            "bbr-draft/33"),
    Mistake("bbr.c", "round trips between probes that are not counted", (("  s->rounds_since_probe_up += begins;\n", ""),), "bbr-draft/34"),
    Mistake("bbr.c", "product in an int32_t of bytes", (("return s->min_rtt < INFINITY ? gain * bandwidth(s) * s->min_rtt : INITIAL_WINDOW;",
            "return s->min_rtt < INFINITY ? (int32_t)(int64_t)(gain * bandwidth(s) * s->min_rtt * 1500.0) / 1500.0 : INITIAL_WINDOW;"),),
            "robustness/window-2-32"),
    Mistake("bbr.c", "pacing rate in an int32_t of bytes per second",
            (("  if (paced > 0.0 && (s->full", "  paced = (int32_t)(int64_t)(paced * 1500.0) / 1500.0;\n  if (paced > 0.0 && (s->full"),),
            "bbr-draft/35"),
    Mistake("bbr.c", "short-term bounds stay after ProbeRTT",
            (("  s->bw_shortterm = INFINITY;\n  s->inflight_shortterm = INFINITY;\n  s->mode = STARTUP;\n", "  s->mode = STARTUP;\n"),),
            "bbr-draft/27"),
    Mistake("bbr.c", "slope of the next round trip in a probe", (("pow(2.0, s->bw_probe_up_rounds)", "pow(2.0, s->bw_probe_up_rounds + 1.0)"),),
            "bbr-draft/36"),
    Mistake("bbr.c", "no recovery at a timeout", (("  s->recovering = 1.0;\n  control->window", "  control->window"),), "bbr-draft/30"),
)  # fmt: skip
OVERFLOW = Mistake(
    "bbr.c",
    "delivered bytes in an int32_t",
    (
        ("typedef struct bbr {\n", "typedef struct bbr {\n  int32_t delivered_bytes;\n"),
        ("  s->delivered += acked;\n", DELIVERED),
        ("  s->delivered += (double)event->acked_count;\n", DELIVERED),
    ),
    "bbr-draft/29",
)


def verdicts_with_and_without(mistake: Mistake, build: Callable[..., Path], folder: Path) -> tuple[str, str]:
    """Return the verdicts on a port as it is, and with the mistake."""
    text = (FOLDER / mistake.source).read_text(encoding="utf-8")
    for before, after in mistake.edits:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    header = str(cc_header() / "hopflow_cc.rs")
    file = folder / mistake.source
    file.write_text(
        text.replace("../../../../dfcmodel/network/endpoints/native/hopflow_cc.rs", header), encoding="utf-8"
    )
    suite, _, number = mistake.case.partition("/")
    (case,) = [case for case in SUITES[suite](CUBIC()).cases if case.id == number]
    one, other = (
        judge_case(suite, case, NativeRule(build(source, *mistake.definitions)), {}).verdict
        for source in (mistake.source, str(file))
    )
    return one, other


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.source}: {mistake.name}")
def test_a_mistake_in_a_port_turns_a_case_red(mistake: Mistake, build: Callable[..., Path], tmp_path: Path) -> None:
    assert verdicts_with_and_without(mistake, build, tmp_path) == ("passed", "failed")


@pytest.mark.slow
def test_an_overflow_of_delivered_bytes_turns_a_case_red(build: Callable[..., Path], tmp_path: Path) -> None:
    """Two runs of three million packets."""
    assert verdicts_with_and_without(OVERFLOW, build, tmp_path) == ("passed", "failed")


def test_a_port_of_bbr_passes_what_any_rule_must(native: Callable[..., NativeRule]) -> None:
    """With events that its rule in Python is not fed: a loss before any ACK, and recoveries that acknowledge a window."""
    port = native("bbr.c")
    for case in SUITES["robustness"](CUBIC()).cases:
        assert judge_case("robustness", case, port, {}).verdict == ("not judged" if case.id == "growth" else "passed")
