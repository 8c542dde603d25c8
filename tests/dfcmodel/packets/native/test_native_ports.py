"""Ports of rules to C and Rust give the same runs as the rules in Python, sample by sample."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import (
    FIFO,
    RED,
    CoDel,
    Flow,
    Link,
    NativeRule,
    Packets,
    PathOptions,
    Poisson,
    Scenario,
    cc_header,
    compare,
)
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.packets.simulation import simulate_packets
from dfcmodel.recoveries import RackRecovery
from dfcmodel.results import Trajectory
from dfcmodel.sharing.bbr_observations import LINK
from dfcmodel.sharing.bbr_observations import Path as BottleneckPath
from hopflow.results import same
from responsefn import BBR, CUBIC, DeliveryRule, NewReno
from tests.dfcmodel.packets.native.conftest import RUST_OPTIONS, find, run

pytestmark = pytest.mark.compilers

PORTS = {"newreno.c": NewReno(), "newreno.rs": NewReno(), "cubic.c": CUBIC(), "bbr.c": BBR()}
RECORDED = (
    "window", "delivered", "round_trip", "in_transit", "queued", "lost", "timeouts", "cumulative_loss_events",
    "carried", "marks", "emitted",
)  # fmt: skip


class Network(NamedTuple):
    """A drawn network, without its rules."""

    seed: int
    links: tuple[Link, ...]
    options: dict[str, Any]
    method: Packets
    jitter: float
    min_rto: float

    def scenario(self, *rules: Any) -> Scenario:
        """Return the scenario of flows with these rules, one each."""
        flows = [
            Flow(f"flow {n}", (f"sender {n}", "queue", "receiver"), rule, start=0.1 * n, **self.options)
            for n, rule in enumerate(rules)
        ]
        return Scenario(f"network {self.seed}", self.links, flows, min_rto=self.min_rto)

    def run(self, *rules: Any) -> Trajectory:
        """Return the run of flows with these rules, one each."""
        scenario = self.scenario(*rules)
        return simulate_packets(scenario, self.method, duration=4.0, sample=0.02, packet_jitter=self.jitter)


def network(seed: int, rule: Any) -> Network:
    """Draw a network of two senders in which ports see all that the rule sees.

    Data may arrive at random for rules without a clock of their own, since idle phases are not time of rules in Python.
    Rules that follow deliveries draw random numbers, between which the sender draws those of a packet jitter. Their
    recovery is RACK, since with another one they count the packet of limited transmit as in flight before it is sent.
    No timer expires: data that were lost at a timeout and are acknowledged later are deliveries for them, and not
    reported to libraries.
    """
    rng = np.random.default_rng(seed)
    rate, delay = float(rng.uniform(200.0, 3000.0)), float(rng.uniform(0.002, 0.08))
    discipline: Any = rng.choice([FIFO(), FIFO(), RED(ecn=True), CoDel()])
    bottleneck = Link("queue", "receiver", rate, delay, int(rng.integers(3, 100)), discipline)
    access = [Link(f"sender {n}", "queue", 10.0 * rate, 0.001 * (1 + n), 1000) for n in range(2)]
    options = {
        "delayed_acks": [False, True, "counted"][rng.integers(3)],
        "arrivals": [None, Poisson(0.5 * rate)][isinstance(rule, NewReno) * rng.integers(2)],
        "max_window": float(rng.integers(10, 400)),
        "handshake": bool(rng.integers(2)),
        "initial_window": [None, 10.0][rng.integers(2)],
    }
    recovery: Any = str(rng.choice(["sack", "sack", "prr", "rack", "linux-6.12"]))
    loss = float(rng.choice([0.0, 0.0, 1e-3, 0.02, 0.1]))
    jitter, min_rto = float(rng.choice([0.0, 1.0 / rate])), 0.2
    if isinstance(rule, DeliveryRule):
        recovery, jitter, min_rto = RackRecovery(), 0.0, 10.0
    method = Packets(seed=seed, recovery=recovery, loss={"queue->receiver": loss} if loss else None)
    return Network(seed, (bottleneck, *access), options, method, jitter, min_rto)


def assert_equal(one: Trajectory, other: Trajectory) -> None:
    """Assert that all recorded arrays are equal."""
    for name in RECORDED:
        values = getattr(one, name), getattr(other, name)
        assert same(*values), name


@pytest.mark.parametrize("source", PORTS)
@pytest.mark.parametrize("seed", range(10))
def test_a_port_equals_its_rule_on_drawn_networks(seed, source, native) -> None:
    rule, port = PORTS[source], native(source)
    drawn = network(seed, rule)
    assert_equal(drawn.run(rule, rule), drawn.run(port, port))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "compiler"),
    [(source, compiler) for source in PORTS for compiler in (["gcc", "clang"] if source.endswith(".c") else ["rustc"])],
)
def test_a_port_equals_its_rule_on_a_hundred_drawn_networks(source, compiler, native) -> None:
    rule, port, events = PORTS[source], native(source, compiler=compiler), 0
    for seed in range(100, 200):
        drawn = network(seed, rule)
        one = drawn.run(rule, rule)
        assert_equal(one, drawn.run(port, port))
        events += int(one.loss_events.sum() + one.timeouts.sum())
    assert events > 1000


def test_a_port_of_bbr_equals_its_rule_where_the_bandwidth_falls(native) -> None:
    """On the path of a case of the draft, up to the first timeout."""
    path = BottleneckPath(rate=5000.0, rtt=0.04, buffer=200, elements=(RateTrace(LINK, (0.0, 4.0), (5000.0, 500.0)),))
    by_rule, by_port = (
        simulate_packets(path.scenario(rule), Packets(seed=1, recovery=RackRecovery()), duration=4.8, sample=0.004)
        for rule in (BBR(), native("bbr.c"))
    )
    assert_equal(by_rule, by_port)
    assert (by_rule.timeouts[0], by_rule.loss_events[0] > 0) == (0, True)


def test_a_port_shares_a_path_with_its_rule_as_two_of_the_rule_do(native) -> None:
    """One flow with the port and one with the rule: no flow depends on how the other one is computed."""
    drawn, rule, port = network(3, CUBIC()), CUBIC(), native("cubic.c")
    expected = drawn.run(rule, rule)
    assert_equal(expected, drawn.run(port, rule))
    assert_equal(expected, drawn.run(rule, port))
    assert not np.array_equal(expected.window, drawn.run(rule, NewReno()).window)


def test_the_example_in_rust_gives_the_run_of_that_in_c(tmp_path) -> None:
    """Of docs/howto-native.md, built as it says; a static library of it plays the record of the run."""
    page = (Path(__file__).parents[4] / "docs" / "howto-native.md").read_text(encoding="utf-8")
    (rust,), (c,) = (
        re.findall(r"```rust\n(.*?)```", page, re.DOTALL),
        re.findall(r'write_text\(r"""(.*?)"""', page, re.DOTALL),
    )
    (tmp_path / "mycc.rs").write_text(rust, encoding="utf-8")
    (tmp_path / "mycc.c").write_text(c, encoding="utf-8")
    shutil.copy(cc_header() / "hopflow_cc.rs", tmp_path)
    in_c, in_rust, static, program = (tmp_path / name for name in ("c.so", "rust.so", "libmine.a", "replay"))
    run(find("cc"), "-std=c99", "-O2", "-fPIC", "-shared", "-I", cc_header(), tmp_path / "mycc.c", "-o", in_c, "-lm")
    run(find("rustc"), *RUST_OPTIONS, tmp_path / "mycc.rs", "-o", in_rust)
    drawn = network(3, NewReno())
    recorded = NativeRule(in_rust, record=tmp_path / "records")
    result = drawn.run(recorded, NativeRule(in_rust))
    assert_equal(drawn.run(NativeRule(in_c), NativeRule(in_c)), result)
    assert result.loss_events.sum() > 0
    panics = ("-C", "panic=abort", "--crate-type", "staticlib")
    run(find("rustc"), "-g", "--edition", "2021", *panics, tmp_path / "mycc.rs", "-o", static)
    run(
        "cc",
        "-g",
        "-I",
        cc_header(),
        cc_header() / "hopflow_cc_replay.c",
        static,
        "-o",
        program,
        "-lpthread",
        "-ldl",
        "-lm",
    )
    (record,) = (tmp_path / "records").iterdir()
    done = subprocess.run([program, record], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert done.stdout.endswith("calls as recorded\n")


def test_a_port_in_bytes_stays_within_a_packet_of_its_rule(native) -> None:
    """Over 100 round trips with losses, where 1500 bytes times 1500 bytes over the window is rounded otherwise."""
    port = native("newreno.c", "NEWRENO_BYTES")
    links = Link("sender", "queue", 1e5, 1e-3, 1000), Link("queue", "receiver", 1000.0, 0.02, 20)
    windows = [
        simulate_packets(
            Scenario("path", links, [Flow("flow", ("sender", "queue", "receiver"), rule)]),
            Packets(seed=1, recovery="sack", loss={"queue->receiver": 1e-3}), duration=7.0, sample=0.01,
        )
        for rule in (NewReno(), port)
    ]  # fmt: skip
    by_rule, by_port = windows
    assert port.loaded.counts_bytes
    assert by_rule.delivered[0, -1] > 100 * 42
    assert by_rule.loss_events[0] > 5
    assert 7.0 / np.nanmax(by_rule.round_trip) > 100
    assert abs(by_rule.window - by_port.window).max() <= 1.0


def test_compare_gives_a_port_the_place_of_its_rule(native) -> None:
    options: dict[str, Any] = {"bandwidth": 400.0, "rtt": 0.04, "buffer": 16, "runs": 2}
    options["options"] = PathOptions(duration=10.0)
    by_rule = compare([CUBIC(), NewReno()], **options)
    by_port = compare([native("cubic.c"), NewReno()], **options)
    assert isinstance(by_port.rules[0], NativeRule)
    assert by_port.rules[0].sha256[:12] in str(by_port)
    # compare runs NewReno with its own recovery
    assert np.array_equal(by_rule.rate[0], by_port.rate[0])
    assert np.array_equal(by_rule.share, by_port.share)


def test_the_header_is_that_of_the_arrays(tmp_path: Path) -> None:
    """Sizes and offsets that C computes are those of the records of the engine."""
    from dfcmodel.packets.kernel.layout import NATIVE_RULE, SENT_PACKET

    names = list(NATIVE_RULE.names or ())
    control, event = names[: names.index("now")], names[names.index("now") : names.index("state")]
    first = NATIVE_RULE.fields["now"][1]  # type: ignore[index]
    checks = [f"sizeof(hopflow_cc_packet) == {SENT_PACKET.itemsize}", f"sizeof(hopflow_cc_control) == {first}"]
    for kind, fields, begin in (("control", control, 0), ("event", event, first)):
        for name in fields:
            offset = NATIVE_RULE.fields[name][1] - begin  # type: ignore[index]
            checks.append(f"offsetof(hopflow_cc_{kind}, {name}) == {offset}")
    for name, (_, offset) in (SENT_PACKET.fields or {}).items():
        checks.append(f"offsetof(hopflow_cc_packet, {name}) == {offset}")
    lines = [f"typedef char check_{n}[({check}) ? 1 : -1];" for n, check in enumerate(checks)]
    source = tmp_path / "layout.c"
    source.write_text("\n".join(["#include <stddef.h>", '#include "hopflow_cc.h"', *lines]) + "\n", encoding="utf-8")
    run(find("cc"), "-std=c99", "-pedantic", "-I", cc_header(), "-c", source, "-o", tmp_path / "layout.o")
