"""Native rules: what a library is told, what its decisions do, and what is refused."""

from __future__ import annotations

import math
import pickle
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dfcmodel import (
    RED,
    Flow,
    Fluid,
    Link,
    NativeRule,
    Packets,
    PathOptions,
    Poisson,
    Scenario,
    cc_header,
    coexist,
    compare,
    load_scenario,
    save_scenario,
    simulate,
)
from dfcmodel.network.scenario_files.toml_reading import ScenarioFileError
from dfcmodel.packets.engine import begin_run
from dfcmodel.packets.simulation import plan_scenario
from dfcmodel.results import Trajectory
from dfcmodel.sharing.suites.connections import connect
from hopflow import sweep
from hopflow.console.commands import app, in_the_shell
from hopflow.errors import RuleError
from responsefn import CUBIC, NewReno
from tests.dfcmodel.packets.native.conftest import C_OPTIONS, FOLDER, find, run

pytestmark = pytest.mark.compilers
Native = Callable[..., NativeRule]
RATE, DELAY = 1000.0, 0.02


def path(rule: Any, *, buffer: int = 100, **options: Any) -> Scenario:
    """Return one flow over a bottleneck of 1000 packets/s and 20 ms."""
    links = Link("sender", "queue", 100.0 * RATE, 1e-4, 10_000), Link("queue", "receiver", RATE, DELAY, buffer)
    return Scenario("path", links, (Flow("flow", ("sender", "queue", "receiver"), rule, **options),))


def packets(scenario: Scenario, duration: float = 2.0, **options: Any) -> Trajectory:
    """Return a run packet by packet."""
    return simulate(scenario, Packets(seed=1, **options), duration=duration, sample=0.02)


def observed(result: Trajectory, name: str) -> Any:
    """Return what the rule of the only flow reports, over time."""
    assert result.observed is not None
    return result.observed["flow"][name]


# What a library is told.


@pytest.mark.parametrize("recovery", ["sack", "prr", "rack", "linux-6.12"])
@pytest.mark.parametrize("flags", ["0", "HOPFLOW_CC_FLIGHT", "HOPFLOW_CC_BYTES"])
def test_each_packet_is_reported_once_with_its_slot(flags, recovery, native) -> None:
    """The probe counts contradictions: in slots, times, the order of packets, and numbers in flight."""
    probe = native("probe.c", "PROBE_WINDOW=60.0", f"PROBE_FLAGS={flags}")
    result = packets(path(probe, buffer=20), recovery=recovery, loss={"queue->receiver": 0.02})
    sent, acked, lost, wrong = (observed(result, name) for name in ("sent", "acked", "lost", "wrong"))
    assert wrong[-1] == 0
    assert sent[-1] == result.emitted[0]
    assert acked[-1] > 500
    assert lost[-1] > 10
    in_flight = sent - acked - lost
    assert in_flight.min() >= 0
    assert in_flight.max() <= 70


@pytest.mark.parametrize("flags", ["0", "HOPFLOW_CC_FLIGHT"])
@pytest.mark.parametrize("recovery", ["sack", "rack"])
def test_records_of_thousands_of_packets_in_flight_are_kept(recovery, flags, native) -> None:
    """The rings of records begin with 256 and grow while packets are in flight and wait to be sent again."""
    probe = native("probe.c", "PROBE_WINDOW=3000.0", f"PROBE_FLAGS={flags}")
    links = Link("sender", "queue", 1e5, 0.05, 10_000), Link("queue", "receiver", 4e4, 0.05, 1000)
    scenario = Scenario("wide", links, (Flow("flow", ("sender", "queue", "receiver"), probe),))
    result = packets(scenario, duration=1.5, recovery=recovery, loss={"queue->receiver": 0.01})
    sent, acked, lost, wrong = (observed(result, name) for name in ("sent", "acked", "lost", "wrong"))
    assert wrong[-1] == 0
    assert sent[-1] == result.emitted[0]
    assert lost[-1] > 100
    assert (sent - acked - lost).max() > 1024


@pytest.mark.parametrize("handshake", [False, True])
@pytest.mark.parametrize("flags", ["0", "HOPFLOW_CC_FLIGHT"])
def test_the_table_says_whether_packets_are_ecn_capable(flags, handshake, native) -> None:
    """Of an ECN-capable rule no packet is lost at a queue that marks, and of the other none is marked."""
    links = Link("sender", "queue", 1e5, 1e-4, 10_000), Link("queue", "receiver", RATE, DELAY, 1000, RED(ecn=True))
    for ecn in (0, 1, 2):
        probe = native("probe.c", "PROBE_WINDOW=50.0", f"PROBE_FLAGS={flags}", f"PROBE_TABLE=rule.ecn = {ecn}")
        flow = Flow("flow", ("sender", "queue", "receiver"), probe, handshake=handshake)
        result = packets(Scenario("marks", links, (flow,)), duration=4.0)
        assert (result.marks.sum() > 10) == (ecn > 0)
        assert observed(result, "wrong")[-1] == 0


def test_packets_in_flight_are_lost_at_a_timeout(native) -> None:
    probe = native("probe.c", "PROBE_WINDOW=30.0")
    result = packets(path(probe, buffer=3), duration=6.0, loss={"queue->receiver": 0.4})
    assert observed(result, "timeouts")[-1] == result.timeouts[0] > 0
    assert observed(result, "wrong")[-1] == 0


@pytest.mark.parametrize(
    ("outages", "timeouts", "flagged"),
    [([(1.0, 6.0)], 5, 3), ([(1.0, 1.55)], 2, 0), ([(1.0, 1.55), (3.0, 3.55)], 4, 0), ([(1.0, 2.2)], 3, 1)],
    ids=["long", "short", "twice", "middle"],
)
@pytest.mark.parametrize("recovery", ["sack", "rack"])
def test_persistent_congestion_is_that_of_all_packets_lost_since_an_acknowledged_one(
    recovery: str, outages: list[Any], timeouts: int, flagged: int, native: Native
) -> None:
    """Packets lost in an outage span 3 (srtt + 1 ms + 0.1 s) = 0.42 s from its third timeout on (RFC 9002, 7.6.1).

    Only the packets of one timeout counted, which are sent within a round trip or are one alone: it was never set.
    """
    probe = native("probe.c", "PROBE_WINDOW=20.0")
    result = packets(path(probe), duration=9.0, recovery=recovery, failures={"queue->receiver": outages})
    assert observed(result, "timeouts")[-1] == result.timeouts[0] == timeouts
    assert observed(result, "persistent")[-1] == flagged
    assert observed(result, "wrong")[-1] == 0


@pytest.mark.parametrize("flags", ["0", "HOPFLOW_CC_FLIGHT"])
@pytest.mark.parametrize("recovery", ["sack", "rack"])
def test_packets_that_an_earlier_transmission_acknowledged_leave_the_flight(recovery, flags, native) -> None:
    """A round trip of 3 s is above the first timeout of 1 s: what was sent again is acknowledged by the first ACKs.

    The flight held packets that a recovery by time had no record of any more, and the flow stood still.
    """
    probe = native("probe.c", "PROBE_WINDOW=4.0", f"PROBE_FLAGS={flags}")
    links = Link("sender", "queue", 1e5, 1e-4, 10_000), Link("queue", "receiver", RATE, 1.5, 100)
    scenario = Scenario("distant", links, (Flow("flow", ("sender", "queue", "receiver"), probe),))
    result = packets(scenario, duration=90.0, recovery=recovery)
    sent, acked, lost = (observed(result, name) for name in ("sent", "acked", "lost"))
    assert result.timeouts[0] > 0
    assert observed(result, "wrong")[-1] == 0
    assert sent[-1] - acked[-1] - lost[-1] <= 4
    assert acked[-1] > 0.8 * 4.0 * 90.0 / 3.0


def test_data_that_arrive_at_random_and_delayed_acks_are_reported_without_contradiction(native) -> None:
    options = {"arrivals": Poisson(300.0), "delayed_acks": True, "handshake": True}
    result = packets(path(native("probe.c"), **options))
    assert observed(result, "wrong")[-1] == 0
    assert set(observed(result, "state")) == {"idle", "sending"}


# What its decisions do.


def test_a_window_in_bytes_limits_the_packets_that_fit(native) -> None:
    by_packets = packets(path(native("probe.c", "PROBE_WINDOW=7.9")))
    in_bytes = packets(path(native("probe.c", "PROBE_WINDOW=7.9", "PROBE_FLAGS=HOPFLOW_CC_BYTES")))
    assert np.array_equal(by_packets.delivered, in_bytes.delivered)
    rtt = float(by_packets.round_trip[0, -1])
    assert by_packets.delivered[0, -1] == pytest.approx(7 * 2.0 / rtt, rel=0.02)


def sent_at(rule: Any, folder: Path) -> tuple[Any, Any]:
    """Return when packets were sent by a recording rule, s, and how many acknowledgements were received before."""
    result = packets(path(rule.replace(record=str(folder))), duration=1.0)
    assert observed(result, "wrong")[-1] == 0
    times, acks = [], []
    for name, event in calls(next(folder.iterdir())):
        if name == "on_sent":
            times.append(event["now"])
            acks.append(len(acks))
    return np.array(times), result


def calls(file: Path) -> list[tuple[str, Any]]:
    """Return the function and the event of each call in a record."""
    import ctypes

    from dfcmodel.network.endpoints.native_rules import Config, Control
    from dfcmodel.packets.kernel.layout import NATIVE_RULE, SENT_PACKET
    from dfcmodel.packets.kernel.tcp.native_rules import FUNCTIONS
    from dfcmodel.packets.native_runs import MAGIC

    names = list(NATIVE_RULE.names or ())
    kind = np.dtype([(name, NATIVE_RULE[name]) for name in names[names.index("now") : names.index("state")]])
    control, content = ctypes.sizeof(Control), file.read_bytes()
    at, found = len(MAGIC) + 8 + ctypes.sizeof(Config) + 8 + control, []
    while at < len(content):
        function = FUNCTIONS[int(np.frombuffer(content, "u8", 1, at)[0])]
        event = np.frombuffer(content, kind, 1, at + 8)[0]
        listed = int(event["acked_count"] + event["lost_count"]) + (event["packet"] != 0)
        at += 8 + kind.itemsize + listed * SENT_PACKET.itemsize + 2 * control
        found.append((function, event))
    return found


def test_packets_are_spaced_by_the_pacing_rate(native, tmp_path) -> None:
    times, result = sent_at(native("probe.c", "PROBE_RATE=200.0", "PROBE_WINDOW=100.0"), tmp_path)
    assert np.diff(times) == pytest.approx(1 / 200.0, rel=1e-9)
    assert len(times) == result.emitted[0] == 200


def test_packets_of_a_quantum_leave_back_to_back(native, tmp_path) -> None:
    probe = native("probe.c", "PROBE_RATE=200.0", "PROBE_WINDOW=100.0", "PROBE_QUANTUM=4.0")
    gaps = np.diff(sent_at(probe, tmp_path)[0])
    inside = gaps.reshape(-1)[np.arange(len(gaps)) % 4 != 3]
    assert (inside == 0.0).all()
    assert gaps[3::4] == pytest.approx(4 / 200.0, rel=1e-9)


@pytest.mark.parametrize("flags", ["0", "HOPFLOW_CC_NANOSECONDS"])
def test_no_packet_leaves_before_its_departure_time(flags, native, tmp_path) -> None:
    probe = native("probe.c", "PROBE_GAP=0.004", "PROBE_WINDOW=100.0", f"PROBE_FLAGS={flags}")
    assert np.diff(sent_at(probe, tmp_path)[0]) == pytest.approx(0.004, abs=2e-9)


@pytest.mark.parametrize("flags", ["0", "HOPFLOW_CC_NANOSECONDS"])
def test_timers_are_called_at_their_time(flags, native) -> None:
    result = packets(path(native("probe.c", "PROBE_TIMER=0.25", f"PROBE_FLAGS={flags}")), duration=2.1)
    assert observed(result, "timers")[-1] == 8
    assert observed(result, "last_timer")[-1] == pytest.approx(2.0, abs=1e-8)


def test_a_run_is_repeated_and_two_connections_do_not_share_a_state(native) -> None:
    probe = native("probe.c", "PROBE_WINDOW=60.0")
    scenario = path(probe, buffer=20)
    assert packets(scenario) == packets(scenario)
    together = coexist([probe, probe], 0.05, 1000.0, 20, runs=1, options=PathOptions(duration=5.0))
    assert together.share.sum() == pytest.approx(1.0)


def test_the_recovery_of_a_library_is_that_of_its_flow_in_a_comparison(native) -> None:
    """Others have that of the path, SACK by default."""
    by_time, options = native("probe.c", 'PROBE_TABLE=rule.recovery = "rack"'), PathOptions(duration=5.0)
    result = compare([by_time, CUBIC()], bandwidth=400.0, rtt=0.04, buffer=16, runs=1, options=options)
    assert f"sack, and of native rules that of their library (rack: {by_time})" in result.summary()["recovery"]
    same = compare([native("probe.c"), CUBIC()], bandwidth=400.0, rtt=0.04, buffer=16, runs=1, options=options)
    assert "library" not in same.summary()["recovery"]
    one, other = packets(path(by_time, buffer=10)), packets(path(native("probe.c"), buffer=10))
    assert one.recoveries == ("rack",)
    assert other.recoveries == ("sack",)
    assert not np.array_equal(one.delivered, other.delivered)


def test_a_sweep_runs_a_native_rule_over_settings_and_in_other_processes(native) -> None:
    scenario, port = path(CUBIC(), buffer=20), path(native("cubic.c"), buffer=20)
    options: dict[str, Any] = {"seed": [1, 2], "levels": "packets", "duration": "1s", "packet_jitter": "1pkt"}
    swept = sweep(port, **options)
    assert np.array_equal(swept.goodput, sweep(scenario, **options).goodput)
    shares = sweep([native("cubic.c"), NewReno()], rtt=0.04, bandwidth=[400.0], buffer=16, runs=1, duration=5.0)
    assert shares.share.sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_another_process_loads_the_library_by_its_hash(build, tmp_path) -> None:
    file = tmp_path / "libcc.so"
    shutil.copy(build("cubic.c"), file)
    scenario = path(NativeRule(file), buffer=20)
    options: dict[str, Any] = {"seed": [1, 2], "levels": "packets", "duration": "1s", "packet_jitter": "1pkt"}
    expected = sweep(scenario, **options)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert sweep(scenario, executor=pool, **options).identical(expected)
        shutil.copy(build("newreno.c"), file)  # the process has loaded the former one
        assert sweep(scenario, executor=pool, **options).identical(expected)
    message = "is not that of the file; was the library compiled again"
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, pytest.raises(ValueError, match=message):
        sweep(scenario, executor=pool, **options)


# Loading.

TABLES = {
    "rule.abi = 2": "abi of its table = 2: must be 1; compile it with the header of this installation",
    "rule.size = 8": "size of its table = 8: must be 120",
    "rule.init = 0": "init of its table is null: must be a function",
    "rule.on_ack = 0": "on_ack of its table is null: must be a function",
    "rule.on_timeout = 0": "on_timeout of its table is null: must be a function",
    "rule.observe = 0": "observe of its table is null: must be a function, which writes sent",
    'rule.claims = "cubic"': "claims of its table = 'cubic': must be 'newreno', 'cubic-rfc9438', 'bbr-draft', 'other'",
    'rule.recovery = "newreno"': "recovery of its table = 'newreno': must be 'sack', 'prr', 'rack', 'linux-6.12'",
    "rule.flags = 8": "flags of its table = 8: must be at most 7",
    "rule.ecn = 3": "ecn of its table = 3: must be at most 2",
    "return 0": r"hopflow_cc\(1\) returns null: it has no table for version 1 of the interface",
}


@pytest.mark.parametrize("statement", TABLES)
def test_a_table_with_invalid_values_is_refused(statement, native) -> None:
    with pytest.raises(ValueError, match=rf"^library = '.*probe-\d+.so': {TABLES[statement]}"):
        native("probe.c", f"PROBE_TABLE={statement}")


def test_a_library_without_the_function_is_refused(native) -> None:
    with pytest.raises(ValueError, match="has no function hopflow_cc; declare it with HOPFLOW_CC_EXPORT"):
        native("probe.c", "PROBE_NO_FUNCTION")


def test_a_file_that_is_no_library_is_refused(tmp_path) -> None:
    file = tmp_path / "libcc.so"
    with pytest.raises(ValueError, match=r"^library = '.*libcc.so': cannot be loaded: No such file"):
        NativeRule(file)
    file.write_text("no library", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^library = '.*libcc.so': cannot be loaded: .*libcc.so"):
        NativeRule(file)


def test_a_library_that_is_compiled_again_is_another_rule(build, tmp_path) -> None:
    file = tmp_path / "libcc.so"
    shutil.copy(build("probe.c", "PROBE_WINDOW=5.0"), file)
    first = NativeRule(file)
    before = packets(path(first)).delivered[0, -1]
    shutil.copy(build("probe.c", "PROBE_WINDOW=10.0"), file)
    second = NativeRule(file)
    assert first != second
    assert first.sha256 != second.sha256
    assert packets(path(second)).delivered[0, -1] == pytest.approx(2 * before, rel=0.05)
    assert packets(path(first)).delivered[0, -1] == before
    with pytest.raises(ValueError, match="is not that of the file; was the library compiled again"):
        NativeRule(file, sha256=first.sha256)
    assert NativeRule(file, sha256=second.sha256[:8]) == second
    with pytest.raises(ValueError, match="sha256 = 'ab': must be at least 8 digits of a hash, or None"):
        NativeRule(file, sha256="ab")


def test_a_result_can_be_read_where_there_is_no_library(native) -> None:
    result = packets(path(native("newreno.c")), duration=0.2)
    code = (
        "import pickle, sys; run = pickle.load(sys.stdin.buffer); print(run.window.shape, run.scenario.flows[0].source)"
    )
    moved = pickle.dumps(result).replace(b"newreno", b"missing")
    done = subprocess.run([sys.executable, "-c", code], input=moved, capture_output=True, check=False)
    assert done.stdout.startswith(b"(1, 10) NativeRule('"), done.stderr


def test_the_printed_form_names_the_library(native) -> None:
    rule = native("newreno.c")
    assert eval(repr(rule), {"NativeRule": NativeRule}) == rule
    assert rule.claims == "newreno"
    assert rule.recovery == "sack"


# Decisions that cannot be.

DECISIONS = {
    "control->window = NAN": "window = nan packets: must be at least one packet",
    "control->window = 0.5": "window = 0.5 packets: must be at least one packet, or above 0 with a pacing rate",
    "control->window = 2e15": "window = 2e.15 packets",
    "control->pacing_rate = -1.0": "pacing_rate = -1: must be a finite number, at least 0",
    "control->pacing_rate = NAN": "pacing_rate = nan",
    "control->ssthresh = NAN": "ssthresh = nan packets: must be at least 0",
    "control->departure = INFINITY": "departure = inf: must be a finite time",
    "control->timer = -1.0": "timer = -1: must be a later time",
    "control->send_quantum = NAN": "send_quantum = nan packets: must be a finite number",
}


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_that_cannot_be_is_refused_with_its_event(decision, native) -> None:
    probe = native("probe.c", f"PROBE_ACK=if (s->acks == 30) {decision}")
    where = r"NativeRule\(.*\) of flow 'flow' in path, t = 0\.\d+ s: on_ack answers "
    event = r"The event: 1 packets acknowledged, 0 lost, 19 in flight, latest RTT 0\.\d+ s, flags 16"
    with pytest.raises(RuleError, match=f"^{where}{DECISIONS[decision]}.*{event}$"):
        packets(path(probe))


def test_a_window_below_one_packet_needs_a_pacing_rate(native) -> None:
    probe = native("probe.c", "PROBE_RATE=50.0", "PROBE_ACK=if (s->acks == 30) control->window = 0.5")
    assert packets(path(probe)).delivered[0, -1] < 50


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("return 0", "init returns null: it has no state for this connection"),
        ("control->window = 0.0", "init answers window = 0: must be at least one packet"),
        ("control->pacing_rate = -5.0", "init answers pacing_rate = -5"),
        ("control->ssthresh = NAN", "init answers ssthresh = nan"),
    ],
)
def test_a_first_decision_that_cannot_be_is_refused(statement, message, native) -> None:
    with pytest.raises(RuleError, match=message):
        packets(path(native("probe.c", f"PROBE_INIT={statement}")))


def test_a_first_window_that_the_rule_ignores_is_refused(native) -> None:
    message = "the flow has initial_window = 4, and init answers 20 packets"
    with pytest.raises(RuleError, match=message):
        packets(path(native("probe.c"), initial_window=4.0))
    assert packets(path(native("newreno.c"), initial_window=4.0)).delivered[0, 1] >= 4


# Where native rules are refused.


def test_the_fluid_and_rates_refuse_a_native_rule(native) -> None:
    rule = native("newreno.c")
    with pytest.raises(ValueError, match=r"source of flow 'flow' = NativeRule\(.*: a native rule is for packets"):
        simulate(path(rule), Fluid(), duration=1.0)
    with pytest.raises(ValueError, match=r"it is compiled code, which a simulation calls packet by packet"):
        rule.rate(0.01, 0.1)


def test_a_run_with_a_native_rule_cannot_be_copied(native) -> None:
    begun = begin_run(plan_scenario(path(native("newreno.c")), Packets(seed=1), duration=1.0, sample=0.1))
    with pytest.raises(ValueError, match="path: a native rule keeps its state in a library, which cannot copy it"):
        begun.fork(np.random.default_rng(1))


@pytest.mark.parametrize(
    ("options", "method", "message"),
    [
        ({}, {"recovery": "newreno"}, r"recovery of flow 'flow' = 'newreno': must be selective with NativeRule"),
        ({}, {"convention": "ns2"}, r"source of flow 'flow' = NativeRule\(.*: no agent of ns-2 has it"),
        ({"pacing": True}, {}, "pacing of flow 'flow' = True: must be False with NativeRule"),
        ({"segments": True}, {}, "segments of flow 'flow' = True: must be False with NativeRule"),
        ({"stack": "linux-6.12"}, {}, "segments of flow 'flow' = True: .*stack 'linux-6.12' has them"),
    ],
)
def test_options_that_a_native_rule_cannot_have_are_refused(options, method, message, native) -> None:
    with pytest.raises(ValueError, match=message):
        packets(path(native("newreno.c"), **options), **method)


def test_a_scenario_file_loads_a_library_only_if_it_is_permitted(native, tmp_path) -> None:
    scenario = path(native("newreno.c"))
    file = save_scenario(scenario, tmp_path / "path.toml")
    with pytest.raises(ScenarioFileError, match=r"flows\[1\].source.kind: NativeRule runs the code of library = "):
        load_scenario(file)
    assert load_scenario(file, native=True) == scenario
    refused = CliRunner().invoke(app, ["simulate", str(file), "--duration", "1s"])
    assert refused.exit_code != 0
    shown = CliRunner().invoke(app, ["simulate", str(file), "--duration", "1s", "--native"])
    assert shown.exit_code == 0, shown.output


# Commands.


def test_the_command_compares_a_library(build) -> None:
    options = ["--bandwidth", "400pps", "--rtt", "40ms", "--buffer", "16", "--duration", "5s", "--runs", "2"]
    shown = CliRunner().invoke(app, ["compare", str(build("cubic.c")), "newreno", *options])
    assert shown.exit_code == 0, shown.output
    rule = NativeRule(str(build("cubic.c")))
    assert str(rule) == f"CUBIC in C ({rule.sha256[:8]})"
    text = " ".join(shown.output.split())
    assert text.count("NativeRule(") == 1
    assert f"{rule}: NativeRule(" in text
    assert f"against {rule}" in text


def test_the_command_prints_the_folder_of_the_header() -> None:
    assert CliRunner().invoke(app, ["cc-header"]).output.strip() == str(cc_header())


def test_the_command_records_the_calls_of_a_library(build, tmp_path) -> None:
    arguments = ["simulate", "takano2006/1", "--no-dfc", "--tcp", str(build("newreno.c")), "--level", "packets"]
    shown = CliRunner().invoke(app, [*arguments, "--duration", "200ms", "--record", str(tmp_path / "records")])
    assert shown.exit_code == 0, shown.output
    assert len(list((tmp_path / "records").iterdir())) == 2


@pytest.mark.parametrize("command", ["conform", "compare"])
def test_commands_record_the_calls_of_a_suite_or_a_comparison(command, build, replay, tmp_path) -> None:
    folder, library = tmp_path / "records", str(build("newreno.c"))
    options = {
        "conform": ["--suite", "rfc5681"],
        "compare": ["--bandwidth", "400pps", "--rtt", "40ms", "--buffer", "16", "--duration", "2s", "--runs", "2"],
    }
    shown = CliRunner().invoke(app, [command, library, *options[command], "--record", str(folder)])
    assert shown.exit_code == 0, shown.output
    for file in list(folder.iterdir())[:3]:
        done = subprocess.run([replay("newreno.c"), file], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, f"{len(calls(file))} calls as recorded\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "takano2006/1", "--no-dfc", "--tcp", "LIBRARY", "--level", "fluid"], "use --level packets"),
        (["conform", "mycc.c"], "rule = 'mycc.c': is source code: compile it to a shared library"),
        (["compare", "mycc.rs", "cubic", "--bandwidth", "1", "--rtt", "1", "--buffer", "9"], "is source code"),
        (["conform", "cubic", "--record", "r"], "--record r: records the calls of shared libraries"),
        (["conform", "cubic", "--suite", "rfc5681", "--against", "reno"], "must be omitted without the suite rfc9743"),
    ],
)
def test_refusals_of_the_commands_speak_of_their_options(arguments, words, build) -> None:
    library = str(build("newreno.c"))
    shown = CliRunner().invoke(app, [library if word == "LIBRARY" else word for word in arguments])
    assert shown.exit_code == 2 or isinstance(shown.exception, ValueError)
    text = in_the_shell(shown.exception, arguments) if isinstance(shown.exception, ValueError) else shown.output
    assert words.removeprefix("rule = ") in text
    assert "method=" not in text


# Records of calls.


@pytest.fixture(scope="session")
def replay(tmp_path_factory) -> Callable[..., Path]:
    """Return a function that links a rule into the program that replays records."""
    folder, built = tmp_path_factory.mktemp("replay"), dict[tuple[str, ...], Path]()

    def link(source: str, *definitions: str) -> Path:
        key = (source, *definitions)
        if key not in built:
            built[key] = folder / f"{Path(source).stem}-{len(built)}"
            files = (FOLDER / source, cc_header() / "hopflow_cc_replay.c")
            defines = [f"-D{text}" for text in definitions]
            run(find("cc"), *C_OPTIONS, "-g", *defines, "-I", cc_header(), *files, "-o", built[key], "-lm")
        return built[key]

    return link


@pytest.mark.parametrize("source", ["newreno.c", "cubic.c", "bbr.c", "probe.c"])
def test_a_record_is_played_without_python(source, native, replay, tmp_path) -> None:
    rule = native(source)
    scenario, method = path(rule.replace(record=str(tmp_path)), buffer=20), {"loss": {"queue->receiver": 0.01}}
    assert np.array_equal(packets(scenario, **method).window, packets(path(rule, buffer=20), **method).window)
    (file,) = tmp_path.iterdir()
    done = subprocess.run([replay(source), file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(calls(file))} calls as recorded\n")


@pytest.mark.slow
def test_a_record_is_played_under_valgrind_without_an_error(native, replay, tmp_path) -> None:
    """BBR writes the slots of packets and reads them when packets are acknowledged, lost, and lost at a timeout."""
    rule = native("bbr.c").replace(record=str(tmp_path))
    result = packets(path(rule, buffer=20), duration=4.0, loss={"queue->receiver": 0.3})
    assert min(result.timeouts[0], result.loss_events[0]) > 0
    (file,) = tmp_path.iterdir()
    options = ("--error-exitcode=3", "--leak-check=full", "--errors-for-leak-kinds=all", "--quiet")
    command = [find("valgrind"), *options, replay("bbr.c"), file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = (0, f"{len(calls(file))} calls as recorded\n", "")
    assert (done.returncode, done.stdout, done.stderr) == expected


@pytest.mark.parametrize("source", ["newreno.c", "cubic.c", "probe.c"])
def test_the_events_of_a_suite_are_recorded_as_those_of_a_run(source, native, replay, tmp_path) -> None:
    connection = connect(native(source).replace(record=str(tmp_path)), 0.1)
    for number in range(1, 100):
        connection.ack()
        if number % 30 == 0:
            connection.report_loss()
    connection.time_out()
    (file,) = tmp_path.iterdir()
    done = subprocess.run([replay(source), file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(calls(file))} calls as recorded\n")


CRASH = "*(volatile int *)(uintptr_t)s->wrong = 1"  # address 0
CRASHES = [
    (f"PROBE_ACK=if (event->lost_count) {CRASH}", "on_ack at 0."),
    (f"PROBE_INIT={CRASH}", "init"),
]


@pytest.mark.parametrize(("definition", "call"), CRASHES, ids=["on_ack", "init"])
@pytest.mark.parametrize("fed", [True, False], ids=["fed events", "simulated"])
def test_a_record_ends_within_the_call_that_crashed(definition, call, fed, native, replay, tmp_path) -> None:
    """The replay makes that call again."""
    library = native("probe.c", definition).library
    code = (
        "from tests.dfcmodel.packets.native.test_native_rules import *\n"
        f"rule = NativeRule({library!r}, record={str(tmp_path)!r})\n"
    ) + (
        "connection = connect(rule)\nfor _ in range(15): connection.ack()\nconnection.report_loss()"
        if fed
        else "packets(path(rule, buffer=5), duration=1.0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGSEGV, ended.stderr
    (file,) = tmp_path.iterdir()
    again = subprocess.run([replay("probe.c", definition), file], capture_output=True, text=True, check=False)
    assert again.returncode == -signal.SIGSEGV
    assert again.stderr.startswith(f"calling {call}")
    assert again.stderr.endswith("within which the record ends\n")
    sound = subprocess.run([replay("probe.c"), file], capture_output=True, text=True, check=False)
    assert sound.returncode == 0
    number = 0 if call == "init" else int(sound.stderr.partition(", call ")[2].partition(",")[0])
    assert sound.stdout == f"{number} calls as recorded\n"
    assert number > 0 or call == "init"


def test_the_replay_names_a_record_that_cannot_be_opened(replay, tmp_path) -> None:
    done = subprocess.run([replay("newreno.c"), tmp_path / "no"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"{tmp_path / 'no'} cannot be opened: No such file or directory\n")


def test_the_replay_names_the_first_call_that_differs(native, replay, tmp_path) -> None:
    packets(path(native("newreno.c").replace(record=str(tmp_path)), buffer=20))
    (file,) = tmp_path.iterdir()
    done = subprocess.run([replay("cubic.c"), file], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "after call" in done.stdout
    assert "on_ack at 0." in done.stdout
    file.write_bytes(b"other")
    done = subprocess.run([replay("cubic.c"), file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "not a record of version 1 of the ABI\n")


def test_rules_of_libraries_and_of_python_have_the_same_rows_in_results(native) -> None:
    one, other = (packets(path(rule)) for rule in (native("cubic.c"), CUBIC()))
    assert math.isclose(one.delivered[0, -1], other.delivered[0, -1])
    assert one.recoveries == other.recoveries == ("sack",)
    assert other.observed is None
    assert packets(path(NewReno()), recovery="sack").recoveries == ("sack",)
