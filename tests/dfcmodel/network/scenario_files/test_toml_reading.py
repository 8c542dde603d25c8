"""Scenarios in TOML: read, written, and refused."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

import responsefn
from dfcmodel import (
    AFD,
    CAKE,
    CBR,
    DFC,
    FIFO,
    INT,
    PFC,
    RED,
    ByteBuffer,
    CoDel,
    DeficitRoundRobin,
    Fair,
    Flow,
    FlowQueueCoDel,
    Link,
    OnOff,
    Pause,
    Priority,
    RampMarking,
    Scenario,
    ScenarioFileError,
    ShortestRemaining,
    StepMarking,
    Trimming,
    WeightedFair,
    load_scenario,
    save_scenario,
    takano2006,
)
from hopflow import gbps, mbps, ms
from responsefn import CUBIC, HSTCP, DeliveryRule, Reno, WindowRule, linux
from tests.dfcmodel.scenario_texts import read_scenario, write_scenario

# Reading of scenario files: units, defaults, and errors with file, line and key.


def scenario(discipline=FIFO(), source=Reno(), **flow) -> Scenario:  # noqa: B008
    links = (Link("a", "b", 1e4 / 3, 1e-3, 1800, discipline), Link("b", 3, 1e3, 0.1, 20.5))
    return Scenario("two hops", links, (Flow("one", ("a", "b"), source, **flow),), packet_size=576)


class Timid(WindowRule):
    """A rule that only a user has."""

    class State(NamedTuple):
        cwnd: float

    class Params(NamedTuple):
        a: float = 1.0
        steps: tuple[float, ...] = (1.0, 2.0)

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=1.0)

    @staticmethod
    def on_timeout(s, q, e):
        return s._replace(cwnd=1.0)


def test_rules_of_ones_own_are_given_to_the_reader() -> None:
    one = scenario(source=Timid(a=0.5, steps=(3.0,)))
    text = write_scenario(one)
    assert read_scenario(text, rules=[Timid]) == one
    with pytest.raises(ScenarioFileError, match=r"flows\[1\].source.kind: 'Timid': must be one of .*rules="):
        read_scenario(text)
    with pytest.raises(ScenarioFileError, match=r"'newreno': must be one of .*'NewReno'"):
        read_scenario(text.replace("Timid", "newreno"), rules=[Timid])


def test_a_rule_with_the_name_of_one_of_hopflows_is_refused() -> None:
    Other = type("Reno", (Timid,), {})
    with pytest.raises(ValueError, match=r"Reno of .*: hopflow has a source of this name"):
        write_scenario(scenario(source=Other()))
    with pytest.raises(TypeError, match="must be a class of rules"):
        read_scenario("", rules=[int])


PAUSE = '{kind = "Pause", high = "9 kB", low = 2}'


TWO = PAUSE + '},\n    {source = "c"'


TWO_LAWS = '{kind = "DFC", per = "input"}},\n    {discipline = "DFC", source = "c"'


HIGH = "links[2].discipline.high"


FIVE = """\
name = "five nodes"
duration = "3 s"
links = [
    {source = "a", target = "b"},
    {source = "b", target = "c", discipline = {kind = "Pause", high = "9 kB", low = 2}},
    {source = "c", target = "d", rate = "1.5 Gb/s"},
    {source = "d", target = "e"},
]

[[flows]]
name = "cubic"
path = ["a", "b", "c", "d", "e"]
source = "CUBIC"

[[flows]]
name = "fusion"
path = ["b", "c", "d"]
source = {kind = "Fusion"}
start = "1 ms"

[link]
rate = "100Mbps"
delay = "0.1 ms"
buffer = "150 kB"
[flow]
max_window = 1000
"""


def test_the_example_of_the_module_is_read() -> None:
    text = sys.modules[load_scenario.__module__].__doc__.partition("::\n")[2].partition("\nPlain numbers")[0]
    one = read_scenario(textwrap.dedent(text))
    assert one.links[1].discipline == Pause(high=600)
    assert [link.rate for link in one.links] == [mbps(370), mbps(100)]


def test_units_and_defaults() -> None:
    one = read_scenario(FIVE)
    assert one.duration == 3.0
    assert [link.rate for link in one.links] == [mbps(100), mbps(100), gbps(1.5), mbps(100)]
    assert {link.delay for link in one.links} == {ms(0.1)}
    assert {link.buffer for link in one.links} == {ByteBuffer(150_000)}
    assert one.links[1].discipline == Pause(high=6, low=2)
    assert one.flows[0] == Flow("cubic", "abcde", CUBIC(), 1000)
    assert one.flows[1].start == ms(1)
    sizes = {"10 MB": 6667.0, "3 kB": 2.0, "33 kB": 22.0, "1.6 kB": 2.0, "7pkt": 7.0}
    for given, packets in sizes.items():  # the last packet of a transfer need not be full
        text = FIVE.replace("[flow]\n", f'[flow]\nsize = "{given}"\n')
        assert read_scenario(text).flows[0].size == packets
    small = read_scenario("packet_size = 750\n" + FIVE)
    assert small.links[0].rate == mbps(100, 750)
    assert small.buffer_of(0) == 200.0


def test_buffers_in_bytes_and_cells_are_read_and_written() -> None:
    cells = '{size = "12 kB", cell = 80}'
    for given, buffer in (
        ('"12 kB"', ByteBuffer(12_000)),
        (cells, ByteBuffer(12_000, cell=80)),
        ('"12 packets"', 12.0),
    ):
        one = read_scenario(FIVE.replace('"150 kB"', given))
        assert one.links[0].buffer == buffer
        assert read_scenario(write_scenario(one)) == one
    with pytest.raises(ScenarioFileError, match=r"line 24, link.buffer.cells: unknown key"):
        read_scenario(FIVE.replace('"150 kB"', cells.replace("cell", "cells")))


@pytest.mark.parametrize(
    ("old", "new", "line", "parts"),
    [
        ("0.1 ms", "0.1 MB", 23, ["link.delay", "'0.1 MB'", "ms"]),
        ("0.1 ms", "0.1", 23, ["link.delay", "'0.1'", "unit"]),
        ('"0.1 ms"', "-1", 23, ["link.delay", "-1", "> 0"]),
        ("100Mbps", "100 ms", 22, ["link.rate", "rate = '100 ms'", "Mb/s"]),
        ("duration", "packet_size = 0\nduration", 2, ["packet_size", "packet_size = 0"]),
        ("150 kB", "-150 kB", 24, ["link.buffer", "size = -150000"]),
        ("buffer =", "bufer =", 24, ["link.bufer", "unknown", "buffer"]),
        ("max_window", "path", 26, ["flow.path", "unknown"]),
        ('rate = "100Mbps"\n', "", 4, ["links[1]", "rate is missing"]),
        ('target = "c"', 'target = "b"', 5, ["links[2].target", "b->b"]),
        ("low = 2", "low = 20", 5, ["links[2].discipline.low", "20"]),
        ('"9 kB"', '"9 MB"', 5, [HIGH, "b->c", "6000", "< 100", "high = 50"]),
        ('"150 kB"', '"9 kB"', 5, [HIGH, "= '9 kB' (6 in packets of 1500 bytes)", "< 6"]),
        (PAUSE, '"Pause"', 5, [HIGH, "= 900", "< 100"]),
        ("[flow]", 'discipline = "Pause"\n[flow]', 4, ["links[1].discipline.high", "a->b", "= 900"]),
        ("2}", "2}, shared = false, buffer = 3", 5, [HIGH, "b->c", "= '9 kB' (6 in", "< 6", "its buffers, 3 packets for each flow", "high = 3"]),
        ('"b"}', '"b", discipline = "DFC"}', 4, ["links[1].discipline", "'a->b'", "cannot feed b->c"]),
        (TWO, TWO_LAWS, 5, ["links[2].discipline.per", "'b->c' = 'input'", "'flow' on c->d"]),
        ('"a", target', '"rate", buffer = -5, target', 4, ["links[1].buffer", "rate->b", "-5"]),
        ('"Pause"', '"Paws"', 5, ["links[2].discipline.kind", "'Paws'", "Pause"]),
        (PAUSE, "3", 5, ["links[2].discipline", "3", "table"]),
        (PAUSE, "{kind = []}", 5, ["links[2].discipline.kind", "[]", "Pause"]),
        (PAUSE, "{kind = {}}", 5, ["links[2].discipline.kind", "{}", "Pause"]),
        ('source = "d"', 'source = "c"', 12, ["flows[1].path", "d->e"]),
        ('"d", target = "e"', '"c", target = "d"', 7, ["links[4]", "c->d", "twice"]),
        ('["b", "c", "d"]', '["b", "d"]', 17, ["flows[2].path", "b->d"]),
        ('"fusion"', '"cubic"', 15, ["flows[2]", "'cubic'", "twice"]),
        ('"CUBIC"', '"CBR"', 13, ["flows[1].source", "rate is missing"]),
        ('"CUBIC"', '{kind = "CUBIC", d = 3}', 13, ["flows[1].source.d", "'C', 'beta'"]),
        ('"CUBIC"', '{kind = "CBR", rate = "-1 b/s"}', 13, ["flows[1].source.rate"]),
        ('"1 ms"', '"1 ms"\nhost = "shaped"', 20, ["flows[2].host", "shaped", "Pause"]),
        ('"3 s"', '"-3 s"', 2, ["duration", "-3"]),
        ("name", "speed = 3\nname", 1, ["speed", "unknown", "min_rto"]),
        ("links = [", "links = 3\nrest = [", 3, ["links", "list"]),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_key(old, new, line, parts, tmp_path) -> None:
    assert old in FIVE
    file = tmp_path / "five.toml"
    file.write_text(FIVE.replace(old, new, 1))
    with pytest.raises(ScenarioFileError) as error:
        load_scenario(file)
    for part in parts:
        assert part in str(error.value)
    assert str(file) in str(error.value)
    assert f"line {line}, {parts[0]}" in str(error.value)


# Scenarios written as TOML are read back as they were.


class Greek(WindowRule):
    """A rule of a user, with a parameter that is no bare key of TOML."""

    class State(NamedTuple):
        cwnd: float

    class Params(NamedTuple):
        α: float = 1.0

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.α / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=1.0)


NAMES = ["1", "2", "3", "4", "5", "6", "4S", "4L", "4R", "4N", "4V", "4V'"]


DISCIPLINES = [
    FIFO(),
    DFC(),
    DFC(diffusion=1 / 3, intensity=1.25, phases="synchronous"),
    Pause(),
    Pause(high=100, low=7.5, quanta=512, signalling=1e-6, paused_rate=2.0),
    RED(),
    RED(low=1 / 3, high=9, weight=1e-300, max_p=1, gentle=False, mean_packet=500, ecn=True),
    Fair(),
    Priority(),
    WeightedFair(1.0, 1 / 3),
    ShortestRemaining(),
    FlowQueueCoDel(target=1e-3),
    AFD(memory=400.0),
    CAKE(queues=64),
    DeficitRoundRobin(),
    INT(),
    Trimming(limit=12.0),
    PFC(acks="class", manager=RampMarking(at="arrival"), managed=0, xoff=9, xon=3),
    StepMarking(at="departure"),
    PFC(classes=(3,), xoff=40.0, xon=20.0, headroom=30.0, counts="switch"),
    Pause(high=100.0, low=50.0, manager=RED(ecn=True)),
    Fair(manager=CoDel(target=0.01)),
    Priority(manager=StepMarking(20.0)),
]


RULES = [
    rule
    for module in (responsefn, linux)
    for rule in (getattr(module, name) for name in module.__all__)
    if isinstance(rule, type)
    if issubclass(rule, WindowRule)
]


SOURCES = [
    *(rule() for rule in RULES if rule not in (WindowRule, DeliveryRule)),
    CUBIC(C=0.1 + 0.2, friendly=0.0),
    HSTCP(table=1),
    CBR(1e5 / 3),
    OnOff(rate=2.0, on=1e-9, off=3, random=True),
]


@pytest.mark.parametrize("name", NAMES)
def test_named_scenarios_come_back(name) -> None:
    for one in (takano2006(name, dfc=True), takano2006(name, dfc=False)):
        assert read_scenario(write_scenario(one)) == one


@pytest.mark.parametrize("discipline", DISCIPLINES, ids=repr)
def test_disciplines_come_back(discipline) -> None:
    one = scenario(discipline)
    assert read_scenario(write_scenario(one)) == one


@pytest.mark.parametrize("source", SOURCES, ids=repr)
def test_sources_come_back(source) -> None:
    one = scenario(source=source)
    assert read_scenario(write_scenario(one)) == one


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
def test_hosts_and_all_other_fields_come_back(host, tmp_path) -> None:
    one = scenario(
        DFC(), host=host, max_window=2.5, start=1 / 7, size=123457.0, priority=-3
    )  # fmt: skip
    file = save_scenario(one, tmp_path / "new" / "one.toml")
    assert load_scenario(file) == one


@pytest.mark.parametrize("nodes", [("a", "b"), (0, -7), ((0, 1), (0, 2)), ('"\\\n\t', "µ ü 網"), (1, "1")], ids=repr)
def test_nodes_come_back(nodes) -> None:
    flow = Flow('a "flow"', nodes, Reno())
    one = Scenario("x", (Link(*nodes, 1.0, 1.0, 1, shared=False),), (flow,))
    again = read_scenario(write_scenario(one))
    assert again == one
    assert list(map(type, again.nodes)) == list(map(type, nodes))


def test_keys_that_are_no_bare_keys_are_quoted() -> None:
    one = scenario(source=Greek(α=0.25))
    assert read_scenario(write_scenario(one), (Greek,)) == one


def test_byte_order_marks(tmp_path: Path) -> None:
    """Files of Windows are read: UTF-8 and UTF-16 with a mark."""
    path = save_scenario(takano2006("1"), tmp_path / "one.toml")
    text = path.read_text(encoding="utf-8")
    for encoding in ("utf-8-sig", "utf-16"):
        path.write_bytes(text.encode(encoding))
        assert load_scenario(path) == takano2006("1"), encoding
