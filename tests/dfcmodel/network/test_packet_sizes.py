"""Bits and bytes stay what they are in packets of any size: units, elements, readers of demands, scenario files."""

from __future__ import annotations

import gzip
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
import hopflow
from dfcmodel.lossless import leaf_spine
from dfcmodel.sharing.bottlenecks import Bottleneck, PathOptions, bottleneck_of
from hopflow import gbps, mbps, to_mbps
from hopflow.units import PacketUnits, in_units, quantity
from responsefn import ARENO, CUBIC, DCQCN, NSCC, FixedRate, NewReno, Vivace
from tests.dfcmodel.network.chakra_writer import (
    ALL_REDUCE,
    ALL_TO_ALL,
    COLL,
    RECV,
    SEND,
    node,
    trace,
)
from tests.dfcmodel.scenario_texts import read_scenario, write_scenario
from tests.option_objects import grouped

SIZES = [500.0, 1000.0, 1500.0, 4096.0, 9000.0]


def _bits(rate: Any, size: float) -> float:
    return float(rate) * 8.0 * size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "rate",
    ["12Mbps", mbps(12), mbps(12, packet_size=700), gbps(0.012)],
    ids=["text", "mbps", "700", "gbps"],
)
def test_bits_and_bytes_are_those_of_any_packet(rate: Any, size: float) -> None:
    """12 Mb/s and 1 MB of links, sources, transfers, thresholds and path elements, whatever the size of packets."""
    step = dfc.StepMarking("90kB")
    elements = [
        dfc.Policer("a->b", rate, "90kB"), dfc.RateTrace("a->b", (0.0, 1.0), (rate, rate)),
    ]  # fmt: skip
    flows = [
        dfc.Flow("sized", ("a", "b"), dfc.CBR(rate), size="1MB"),
        dfc.Flow("own", ("a", "b"), NewReno(), arrivals=dfc.Poisson(rate), max_window="900kB"),
        dfc.Flow("trace", ("a", "b"), dfc.Replay((0.0, 1.0), ("90kB", 1))),
    ]
    links = [dfc.Link("a", "b", rate, 0.01, "900kB", step), dfc.Link("b", "a", 1e3, 0.01, 50)]
    scenario = dfc.Scenario("any", links, flows, packet_size=size, elements=elements)
    policer, changing = scenario.elements
    sized, own, replayed = scenario.flows
    for found in (
        scenario.links[0].rate,
        policer.rate,
        *changing.rates,
        sized.source.rate,
        own.arrivals.rate,
    ):
        assert _bits(found, size) == pytest.approx(12e6, rel=1e-12)
    assert scenario.links[1].rate == 1e3  # a number of packets
    assert scenario.buffer_of(0) == pytest.approx(900e3 / size)
    assert sized.size == math.ceil(1e6 / size)
    assert policer.burst * size == pytest.approx(90e3)
    assert own.max_window * size == pytest.approx(900e3)
    assert replayed.source.packets == (math.ceil(90e3 / size), 1)
    assert scenario.links[0].discipline.numbers(size)["threshold"] == pytest.approx(90e3 / size)
    other = replace(scenario, packet_size=2000.0)
    assert other.links[0].rate == 750.0
    assert other.flows[0].size == 500.0
    assert other.links[1].rate == 1e3


SMALL = {
    "buffer": lambda: dfc.Credits(buffer="700B"),
    "update": lambda: dfc.Credits(buffer="30kB", update="700B"),
    "limit": lambda: dfc.Trimming(limit="700B"),
    "headers": lambda: dfc.Trimming(headers="700B"),
    "burst": lambda: dfc.Policer("a->b", "12Mbps", "700B"),
    "mean_burst": lambda: dfc.HeavyTailed("12Mbps", "700B", tail=1.5),
}
"""Objects with an amount, by its name, that must hold a packet."""


def test_credits_of_receivers_in_bytes_are_whole_packets_of_the_scenario() -> None:
    """64 KiB are 16 packets of 4 KiB. They were refused as 43.7 packets of 1500 bytes."""
    receiver = dfc.RCCC(unsolicited="64KiB", credit_per_pull="16KiB")
    flow = dfc.Flow("f", ("a", "s", "b"), dfc.Credited(), host="nic", receiver=receiver)
    links = [dfc.Link(*ends, "100Gbps", 1e-6, 100, dfc.Trimming()) for ends in ("as", "sb")]
    agent = dfc.Scenario("whole", links, [flow], packet_size=4096).flows[0].receiver
    assert (agent.unsolicited, agent.credit_per_pull) == (16.0, 4.0)
    with pytest.raises(
        ValueError, match=r"unsolicited = '64KiB' \(43.6907 in packets of 1500 bytes\): must be a whole"
    ):
        dfc.Scenario("parts", links, [flow])


@pytest.mark.parametrize("name", SMALL)
def test_amounts_in_bytes_must_hold_a_packet_of_the_scenario(name: str) -> None:
    """700 bytes were refused for packets of 1500 bytes, of which the network has none."""

    def scenario(size: float) -> dfc.Scenario:
        part = SMALL[name]()
        elements = [part] if name == "burst" else []
        source: Any = part if name == "mean_burst" else NewReno()
        discipline = part if isinstance(part, dfc.Credits | dfc.Trimming) else dfc.FIFO()
        links = [dfc.Link("a", "b", "12Mbps", 0.01, "900kB", discipline)]
        return dfc.Scenario("small", links, [dfc.Flow("f", ("a", "b"), source)], packet_size=size, elements=elements)

    assert scenario(500.0).packet_size == 500.0
    for size in (1500.0, 9000.0):
        with pytest.raises(
            ValueError, match=rf"{name} = '700B' \({700 / size:.6g} in packets of {size:g} bytes\): must be"
        ):
            scenario(size)


@pytest.mark.parametrize("option", ["max_window", "initial_window", "ssthresh"])
def test_windows_in_bytes_are_judged_in_packets_of_the_scenario(option: str) -> None:
    """700 bytes are 1.4 packets of 500 bytes, and no packet of 9000: such a sender could never send."""
    flow = dfc.Flow("f", ("a", "b"), NewReno(), **{option: "700B"})
    links = [dfc.Link("a", "b", "12Mbps", 0.01, "900kB")]
    small = dfc.Scenario("small", links, [flow], packet_size=500.0)
    assert getattr(small.flows[0], option) == pytest.approx(1.4)
    run = dfc.simulate(small, dfc.Packets(seed=1), duration=1.0)
    assert run.delivered[0, -1] > 0.0
    for given in (flow, small.flows[0]):
        with pytest.raises(ValueError, match=rf"{option} of a flow = '700B' \(0.0777778 in packets of 9000 bytes\)"):
            dfc.Scenario("large", links, [given], packet_size=9000.0)
    options = dfc.FlowOptions(**{option: "700B"})
    many = dfc.flows_from(["a"] * 3, ["b"] * 3, 100, source=NewReno(), links=links, options=options)
    with pytest.raises(ValueError, match=f"{option} of a flow = '700B'"):
        dfc.Scenario("many", links, many, packet_size=9000.0)
    with pytest.raises(ValueError, match=f"{option} of flow 'f' = 0.5"):
        dfc.Flow("f", ("a", "b"), NewReno(), **{option: 0.5})


@pytest.mark.parametrize("size", ["1000B", "1 kB", 1000], ids=["B", "kB", "number"])
def test_packet_sizes_have_units(size: Any) -> None:
    links = [dfc.Link("a", "b", "8Mbps", 0.01, 50)]
    scenario = dfc.Scenario("x", links, [dfc.Flow("f", ("a", "b"), NewReno())], packet_size=size)
    assert (scenario.packet_size, scenario.links[0].rate) == (1000.0, 1000.0)
    fabric = dfc.Fabric(leaf_spine(1, 1, hosts=2), packet_size=size)
    assert _bits(fabric.links[0].rate, 1000.0) == pytest.approx(100e9)
    assert mbps(8, packet_size=size) == 1000.0 == quantity("rate", "8Mbps", "rate", size)
    text = write_scenario(scenario).replace("packet_size = 1000.0", f"packet_size = '{size}'")
    if isinstance(size, str):
        assert read_scenario(text) == scenario


def test_rates_and_sizes_of_scenario_files_keep_their_bits() -> None:
    """A file with another packet_size has the bits and bytes of the first one; what was given in packets stays in packets."""
    links = [dfc.Link("a", "b", "12Mbps", 0.01, 50, dfc.RampMarking("10kB", "80pkt", 0.1))]
    flows = [
        dfc.Flow("f", ("a", "b"), NewReno(), size="1MB"),
        dfc.Flow("g", ("a", "b"), dfc.CBR(9.0)),
    ]
    elements = [dfc.RateTrace("a->b", (0, 1), ("3Mbps", 7.0)), dfc.Policer("a->b", "2Mbps", "10kB")]
    scenario = dfc.Scenario("file", links, flows, packet_size=2500, elements=elements)
    text = write_scenario(scenario)
    assert read_scenario(text) == scenario
    other = read_scenario(text.replace("packet_size = 2500", "packet_size = '500 B'"))
    assert other == replace(scenario, packet_size=500.0)
    assert other.flows[0].size == 2000.0
    assert other.links[0].discipline.high == 80.0


def test_quantities_are_computed_with() -> None:
    """Multiples, parts, sums and differences are quantities, ratios and comparisons are those of numbers."""
    rate = mbps(12)
    for found, expected in (
        (2 * rate, 3e6), (rate * np.float64(2.0), 3e6), (np.float64(2.0) * rate, 3e6), (np.int64(2) * rate, 3e6),
        (rate / 4, 0.375e6), (rate + rate, 3e6), (sum([rate, rate, rate]), 4.5e6), (0.0 - (0.0 - rate), 1.5e6),
        (rate - mbps(4), 1e6), (rate + mbps(8, packet_size=1000), 2.5e6), (rate * 0.04, 6e4),
        (pickle.loads(pickle.dumps(rate)), 1.5e6), (mbps(np.array([12.0, 24.0]))[1], 3e6),
    ):  # fmt: skip
        assert type(found) is PacketUnits
        assert found.in_packets_of(1000.0) == expected / 1000.0
    assert (rate / mbps(8, packet_size=1000), 1 / rate, rate // 7, 7000 // rate) == (
        1.5,
        1e-3,
        142,
        7,
    )
    assert rate == 1000.0 != mbps(13)
    assert (rate == np.array([1e3, 2e3])).tolist() == [True, False] == (np.array([1e3, 2e3]) == rate).tolist()
    assert mbps(12) != mbps(8, packet_size=1000)  # 1000 packets/s both
    assert np.int64(3) < rate > 3.0
    assert {rate: 1}[1000.0] == 1
    assert type(np.array([rate, rate])[0]) is np.float64
    assert to_mbps(mbps(8, packet_size=1000)) == pytest.approx(8.0)
    assert in_units("rates", mbps(np.array([[12.0], [24.0]])), "rate")[1][0].in_bytes == 3e6
    assert type((mbps(np.array([12.0])) * 2)[0]) is np.float64


def test_defaults_of_rules_are_in_bits_and_bytes() -> None:
    """1 MiB/s of Vivace in bits, 10 Mb/s of ARENO, 150 kB of NSCC, 5 and 200 kB of DCQCN's switch."""
    rules = (Vivace(), ARENO(), NSCC(base_rtt=6e-6), DCQCN())
    links = [dfc.Link("a", "b", "10Gbps", 1e-5, 500, dfc.RampMarking())]
    flows = [dfc.Flow(f"{n}", ("a", "b"), rule) for n, rule in enumerate(rules)]
    scenario = dfc.Scenario("rules", links, flows, packet_size=1000)
    vivace, areno, nscc, dcqcn = (flow.source for flow in scenario.flows)
    assert _bits(vivace.unit_rate, 1000) == pytest.approx(2**20)
    assert _bits(areno.unit_rate, 1000) == pytest.approx(10e6)
    assert (nscc.base_bdp, nscc.bdp) == pytest.approx((150.0, 75.0))
    assert dcqcn == replace(scenario, packet_size=1000.0).flows[3].source
    assert repr(scenario.flows[0].source) == "Vivace()"
    assert (scenario.links[0].discipline.low, scenario.links[0].discipline.high) == (5.0, 200.0)
    red = dfc.RED("5kB", "20kB", mean_packet=500)  # thresholds are in its units
    assert (red.low, red.high) == (10.0, 40.0)


def test_the_shared_bottleneck_has_packets_of_its_size() -> None:
    rate = mbps(24, packet_size=1000)
    assert Bottleneck(rate, 0.04, 80).bandwidth == 2000.0
    path = bottleneck_of("24Mbps", "40ms", "120kB", options=PathOptions(packet_size=1000.0))
    assert (path.bandwidth, path.buffer) == (3000.0, 120)
    assert path.scenario([NewReno()]).packet_size == 1000.0
    run = dfc.coexist(NewReno(), 0.04, rate, 40, options=dfc.PathOptions(duration=2.0))
    assert run.bandwidth == 2000.0


@pytest.mark.parametrize("size", [1000, "1000B", "1 kB"])
def test_comparisons_take_the_size_of_packets(size: Any) -> None:
    """A path of 8 Mb/s and 20 kB in packets of 1000 bytes is one of 1000 packets/s and 20 packets."""
    rules, times = [NewReno(), CUBIC()], {"rtt": 0.02, "duration": 2.0}
    given = {"bandwidth": "8Mbps", "buffer": "20kB", "packet_size": size}
    usual = {"bandwidth": 1000.0, "buffer": 20}
    path = dfc.compare(*rules, runs=1, **grouped(dfc.compare, times, given)).path
    assert (path.bandwidth, path.buffer, path.packet_size) == (1000.0, 20, 1000.0)
    in_products = dfc.compare(*rules, runs=1, **grouped(dfc.compare, times, given | {"buffer": "1BDP"}))
    assert in_products.path == path
    run = dfc.coexist(rules, **grouped(dfc.coexist, times, given, max_window="10kB"))
    equal = dfc.coexist(rules, **grouped(dfc.coexist, times, usual, packet_size=1000, max_window=10))
    assert (run.goodput == equal.goodput).all()
    found = dfc.coexist_sweep(rules, runs=1, **grouped(dfc.coexist_sweep, times, given | {"buffer": ["20kB", "10kB"]}))
    assert (
        found.rate
        == dfc.coexist_sweep(
            rules, runs=1, bandwidth=1000.0, buffer=[20, 10], **grouped(dfc.coexist_sweep, times, packet_size=1000)
        ).rate
    ).all()
    shares = hopflow.sweep(dfc.compare, rules=rules, **times, runs=1, **(given | {"packet_size": [size, 500]}))
    assert (
        shares.share.values[0].tolist()
        == dfc.compare(*rules, runs=1, **grouped(dfc.compare, times, given)).share.tolist()
    )


# Readers of demands: the size of packets is that of the links, and a scenario converts.

CABLE = dfc.Cable("100Gbps", "10m")
FABRIC = dfc.Fabric(leaf_spine(1, 1, hosts=4), CABLE, CABLE, "8MB", 4096)
PLAIN = dfc.links_from(
    FABRIC.links.nodes[1:] + (FABRIC.links.nodes[0],) * 4, (FABRIC.links.nodes[0],) * 4 + FABRIC.links.nodes[1:],
    rate="100Gbps", delay=1e-6, buffer=1e4,
)  # fmt: skip
MATRIX = "Nodes 4\nConnections 2\n1->0 start 0 size 2000000\n2->0 id 7 start 5 size 100\n"
LAYERS = "DATA\n1\nlayer -1 10 NONE 0 0 NONE 0 10 ALLREDUCE 4000000 100\n"
ONE = [
    trace(node(0, COLL, comm_type=ALL_REDUCE, comm_size=4_000_000, is_cpu_op=0), *more)
    for more in (
        [node(1, SEND, comm_dst=1, comm_size=70_000)], [node(1, RECV, comm_src=0, comm_size=70_000)], [], []
    )
]  # fmt: skip
GIVEN: dict[str, Any] = {"source": FixedRate()}


def _bytes_moved(flows: Any, links: Any, size: float) -> float:
    """Return the bytes of all flows in a scenario, in whole packets of a size."""
    scenario = dfc.Scenario("x", links, flows, packet_size=size)
    sizes = scenario.table.numbers("size")
    assert (sizes == np.floor(sizes)).all()
    return float(sizes.sum()) * size


@pytest.mark.parametrize("links", [FABRIC.links, PLAIN], ids=["fabric", "bits"])
@pytest.mark.parametrize("size", [1000.0, 1500.0, 4096.0, 9000.0])
def test_bytes_of_demands_are_those_of_any_packet(links: Any, size: float) -> None:
    """Of a connection ceil(bytes / size) packets; of a ring over 4 ranks 6 chunks of a quarter per rank, to a packet per message."""
    given = {**GIVEN, "links": links}
    assert FABRIC.links.packet_size == 4096
    matrix = dfc.read_connection_matrix(MATRIX, FABRIC.hosts, **given)
    scenario = dfc.Scenario("x", links, matrix, packet_size=size)
    assert [flow.size for flow in scenario.flows] == [math.ceil(2e6 / size), 1.0]
    layers = dfc.read_workload(LAYERS, FABRIC.hosts, **given)
    ring = 6 * 4_000_000
    for flows, total in (
        (layers, ring),
        (dfc.read_workload(ONE, FABRIC.hosts, **given), ring + 70_000),
    ):
        moved = _bytes_moved(flows, links, size)
        assert total <= moved <= total + len(flows) * (size + 4096)
    pairs = [trace(node(0, COLL, comm_type=ALL_TO_ALL, comm_size=4_000_000)) for _ in range(4)]
    flows = dfc.read_workload(pairs, FABRIC.hosts, **given)
    assert _bytes_moved(flows, links, size) == 12 * size * math.ceil(1e6 / size)


@pytest.mark.parametrize("size", [1500.0, 4096.0, 9000.0])
def test_random_traffic_has_its_bytes_in_any_packet(size: float) -> None:
    """The flows are the same; a quarter of the links' rates is used, which are in bits."""
    given = {**GIVEN, "links": FABRIC.links}
    flows = dfc.random_traffic(FABRIC.hosts, "web search", "25%", 0.1, **given, options=dfc.TrafficOptions(seed=3))
    moved = _bytes_moved(flows, FABRIC.links, size)
    assert moved == pytest.approx(0.25 * 0.1 * 4 * 100e9 / 8, rel=0.1)
    first = next(iter(flows)).size
    assert first == math.ceil(first.in_bytes / 4096)


@pytest.mark.parametrize("size", SIZES)
def test_tables_of_flows_over_a_fabric_have_its_packets_before_there_is_a_scenario(size: float) -> None:
    """450 kB are 450, 300 or 110 packets: a number of 1500 bytes beside links of others would be taken for theirs."""
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=2), packet_size=size)
    given = {"source": FixedRate(), "links": fabric.links, "options": dfc.FlowOptions(max_window="90 kB")}
    flows = dfc.incast(fabric.hosts, fabric.hosts[0], sizes=["450 kB", "4490 B", 7], **given)
    of_scenario = fabric.scenario("incast", flows, 1e-3).flows
    assert [flow.size for flow in flows] == [flow.size for flow in of_scenario]
    assert [flow.size for flow in flows] == [math.ceil(450e3 / size), math.ceil(4490 / size), 7]
    assert {flow.max_window for flow in flows} == {90e3 / size}
    given["links"] = [*fabric.links]
    assert dfc.flows_from(fabric.hosts[:1], fabric.hosts[1:2], "450 kB", **given)[0].size == math.ceil(450e3 / size)
    numbers = [dfc.Link("a", "b", 1e6, 1e-6, 100)]
    assert dfc.flows_from(["a"], ["b"], "450 kB", source=FixedRate(), links=numbers)[0].size == 300


def test_a_load_of_numbers_holds_for_its_packets_only() -> None:
    """A fourth of 1e7 packets/s of 1500 bytes is not a fourth of as many of 4096."""
    links = [replace(link, rate=1e7, buffer=1e4) for link in FABRIC.links]
    flows = dfc.random_traffic(FABRIC.hosts, "hadoop", 0.25, 0.01, links=links, **GIVEN)
    assert dfc.Scenario("x", links, flows).table.numbers("size").min() >= 1.0
    with pytest.raises(ValueError, match=r"size of a flow: .* holds for packets of 1500 bytes, and not of 4096"):
        dfc.Scenario("x", links, flows, packet_size=4096)


def test_sizes_in_packets_of_a_fabric_are_named_with_the_default_of_a_scenario() -> None:
    """The array of an all-reduce had 1500 of 4096 bytes per packet in Scenario(...) in place of fabric.scenario(...)."""
    fabric = dfc.Fabric(leaf_spine(2, 2, hosts=2), packet_size=4096)
    flows = dfc.all_reduce(fabric.hosts, 8, source=FixedRate(), links=fabric.links)
    with pytest.warns(
        UserWarning, match=r"packet_size = 1500 is the default.*packets of 4096 bytes.*write packet_size=4096"
    ) as seen:
        dfc.Scenario("default", fabric.links, flows)
    assert {warning.filename for warning in seen} == {__file__}
    for size in (4096, 9000):
        dfc.Scenario("stated", fabric.links, flows, packet_size=size)  # without a warning
    fabric.scenario("of the fabric", flows, duration=1.0)
    in_bytes = dfc.all_to_all(fabric.hosts, sizes="8kB", source=FixedRate(), links=fabric.links)
    assert dfc.Scenario("bytes", fabric.links, in_bytes).flows[0].size == 6
    links = [dfc.Link("a", "b", "12Mbps", 0.01, 50)]
    dfc.Scenario("strings", links, [dfc.Flow("f", ("a", "b"), NewReno(), size=8)])


def test_columns_tell_sizes_apart() -> None:
    """Two packets of 1500 bytes for 2000 and 3000 bytes, and a number of two packets."""
    ends = [FABRIC.hosts[n] for n in (1, 2, 3)], [FABRIC.hosts[0]] * 3
    flows = dfc.flows_from(*ends, [2, "2000B", "3kB"], links=FABRIC.links, **GIVEN)
    scenario = dfc.Scenario("x", FABRIC.links, flows, packet_size=1000)
    assert [flow.size for flow in scenario.flows] == [2, 2, 3]
    links = [dfc.Link("a", "b", 1e3, 0.01, 50), dfc.Link("b", "a", "12Mbps", 0.01, 50)]
    one = dfc.Scenario("x", links, [dfc.Flow("f", ("a", "b"), NewReno())], packet_size=1000)
    assert [link.rate for link in one.links] == [1e3, 1.5e3]
    assert one.by_link(lambda link: link.rate).tolist() == [1e3, 1.5e3]


@pytest.mark.parametrize(("size", "rate"), [(1500, 1000.0), (500, 1504e3 / 504), (4096, 1504e3 / 4100)])
def test_an_opportunity_carries_its_bytes(tmp_path: Path, size: float, rate: float) -> None:
    """1504 bytes each ms, 4 of them before each packet; also where the scenario has the size, not the reader."""
    file = tmp_path / "one.trace"
    file.write_bytes(b"\xef\xbb\xbf1\n# a comment\n\n")  # a byte-order mark
    assert dfc.read_mahimahi(file, "a->b", packet_size=size).rates == pytest.approx((rate,))
    trace = dfc.read_mahimahi(file, "a->b")
    links = [dfc.Link("a", "b", "13Mbps", 0.01, 50)]
    flows = [dfc.Flow("f", ("a", "b"), dfc.CBR(10.0))]
    scenario = dfc.Scenario("x", links, flows, packet_size=size, elements=[trace])
    assert scenario.elements[0].rates == pytest.approx((rate,))


# Files: limits, encodings, what is not used.


def test_a_trace_has_a_limited_number_of_bins(tmp_path: Path) -> None:
    file = tmp_path / "long.trace"
    file.write_text("1\n100000000\n")
    with pytest.raises(ValueError, match=r"long.trace.*: 5e\+06 bins of 0.02 s, must be at most 1000000"):
        dfc.read_mahimahi(file, "a->b")
    assert len(dfc.read_mahimahi(file, "a->b", bin="100s").rates) == 1000


def _readers() -> dict[str, Any]:
    given = {**GIVEN, "links": FABRIC.links}
    return {
        "in.cm": lambda path: dfc.load_connection_matrix(path, FABRIC.hosts, **given),
        "in.txt": lambda path: dfc.load_workload(path, FABRIC.hosts, **given),
        "in.trace": lambda path: dfc.read_mahimahi(path, "a->b"),
    }


@pytest.mark.parametrize("name", ["in.cm", "in.txt", "in.trace"])
def test_files_that_are_no_texts_or_too_large(name: str, tmp_path: Path) -> None:
    """Errors name the file; a file without an end is read up to the limit."""
    read, path = _readers()[name], tmp_path / name
    path.write_bytes("Nodes 4\n".encode("utf-16"))
    with pytest.raises(ValueError, match=rf"{name}.*byte 0: must be a text in UTF-8"):
        read(path)
    path.write_bytes(gzip.compress(b"Nodes 4\n"))
    with pytest.raises(ValueError, match=rf"{name}.*must be a text in UTF-8; it is compressed with gzip, and must be unpacked before"):  # fmt: skip
        read(path)
    with path.open("wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(ValueError, match=rf"{name}.*must have at most \d+ bytes \((16|64) MiB\)"):
        read(path)
    path.write_text("\ufeff" + {"in.cm": MATRIX, "in.txt": LAYERS, "in.trace": "1\n"}[name], encoding="utf-8")
    assert read(path)


def test_packed_traces_have_a_limit(tmp_path: Path) -> None:
    """70 kB of gzip that hold 65 MiB."""
    for rank in range(2):
        (tmp_path / f"bomb.{rank}.et").write_bytes(gzip.compress(bytes(65 * 2**20)))
    with pytest.raises(ValueError, match=r"bomb: rank 0: must have at most 67108864 bytes"):
        dfc.load_workload(tmp_path / "bomb", FABRIC.hosts, links=FABRIC.links, **GIVEN)
