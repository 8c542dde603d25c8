"""Every reader refuses what it does not use, by name: keys, attributes, fields, sections, events, options, keywords.

Each file is read as it is, and again with something added that its format does not have, whose name has ``zz`` in it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import dfcmodel
import markov
import responsefn
from benchmarks.fuzz.targets import JANI, targets
from dfcmodel import Fabric, lossless
from dfcmodel.lossless.topologies.topology_files import load_topology
from responsefn import FixedRate
from tests.dfcmodel.network import chakra_writer as chakra
from tests.responsefn.measurements import test_captures as captures
from tests.surface import app, invoke

FABRIC = Fabric(lossless.leaf_spine(2, 2, hosts=2))
FLOWS: dict[str, Any] = {
    "hosts": FABRIC.hosts,
    "source": FixedRate(),
    "links": FABRIC.links,
}


class Format(NamedTuple):
    """A reader, the name and content of a file that it reads, and changes: what is replaced, once, and by what."""

    read: Callable[[Path], Any]
    file: str
    content: str
    changes: tuple[tuple[str, str], ...]


SCENARIO = """name = "one"
packet_size = 1500
links = [{source = "a", target = "b", rate = "1Mbps", discipline = {kind = "Pause", high = 20, low = 10}}]
flows = [{name = "f", path = ["a", "b"], source = {kind = "Reno"}, size = "3000 B"}]
elements = [{kind = "Jitter", link = "a->b", bound = "1 ms"}]
[link]
delay = "1 ms"
buffer = {size = "60 kB", cell = 80}
[flow]
start = 0
"""
TOPOLOGY = """cables = [["a", "b"]]
links = [{source = "b", target = "c"}]
hosts = ["a", "c"]
flows = [{path = ["a", "b", "c"], priority = 3}]
[link]
rate = "1Gbps"
discipline = {kind = "PFC", classes = [3]}
[flow]
priority = 3
"""
CONFIGURATION = json.dumps({
    "PORT": {"Ethernet0": {"speed": "100000"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}},
    "BUFFER_PG": {"Ethernet0|3-4": {"profile": "p"}},
    "BUFFER_PROFILE": {"p": {"xoff": "44032", "size": "19456"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}},
})  # fmt: skip
MATRIX = """Nodes 4
Connections 2
Triggers 1
0->1 id 1 start 0 size 3000 send_done_trigger 1
1->2 id 2 trigger 1 size 3000
trigger id 1 oneshot
"""
WORKLOAD = """HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4
1
layer -1 9 ALLREDUCE 60000 5 NONE 0 5 ALLREDUCE 60000 1
"""
QLOG = json.dumps({
    "qlog_version": "0.3",
    "traces": [{
        "common_fields": {"time_format": "absolute"},
        "configuration": {"time_offset": 0},
        "events": [
            *({"time": 10.0 * n, "name": "transport:packet_sent",
               "data": {"raw": {"length": 1200}, "header": {"packet_number": n}}} for n in range(3)),
            {"time": 5.0, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": 15.0}},
            {"time": 6.0, "name": "recovery:congestion_state_updated", "data": {"new": "drain"}},
        ],
    }],
})  # fmt: skip
QLOG_CHANGES = (
    ('"qlog_version": "0.3"', '"qlog_version": "0.3", "zz_field": 1'),
    ('"qlog_version": "0.3"', '"qlog_version": "0.zz"'),
    ('"common_fields": {', '"zz_section": {}, "common_fields": {'),
    ('"time_format": "absolute"', '"time_format": "absolute", "zz_field": 1'),
    ('"time_format": "absolute"', '"time_format": "zz_format"'),
    ('"time_offset": 0', '"time_offset": 0, "zz_setting": 1'),
    ('"time_offset": 0', '"time_units": "zz"'),
    ('"time": 5.0', '"time": 5.0, "zz_field": 1'),
    ("recovery:metrics_updated", "recovery:zz_event"),
    ("recovery:metrics_updated", "zz_category:metrics_updated"),
    ('"smoothed_rtt"', '"zz_rtt": 1, "smoothed_rtt"'),
    ('"length": 1200', '"length": 1200, "zz_length": 1'),
    ('"packet_number": 0', '"packet_number": 0, "zz_number": 1'),
    ('"packet_number": 0', '"packet_number": 0, "packet_type": "zz"'),
    ('"new": "drain"', '"new": "drain", "zz_state": 1'),
)
SS = """ESTAB 0 0 10.0.0.1:22 10.0.0.2:41000
 ts sack cubic wscale:7,7 rto:228 rtt:25.5/1.2 mss:1448 retrans:0/12 data_segs_out:40000 delivery_rate 17.4Mbps
"""
PRISM = """ctmc
const double a = 2;
module m
  x : [0..1] init 0;
  [] x = 0 -> a : (x' = 1);
  [] x = 1 -> 1 : (x' = 0);
endmodule
rewards "r"
  x = 1 : 3;
endrewards
"""
SBML = """<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model>
<listOfSpecies><species id="X" initialAmount="3" hasOnlySubstanceUnits="true"/></listOfSpecies>
<listOfParameters><parameter id="mu" value="0.5"/></listOfParameters>
<listOfReactions><reaction id="death" reversible="false">
<listOfReactants><speciesReference species="X" stoichiometry="1"/></listOfReactants>
<kineticLaw><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/><ci>mu</ci><ci>X</ci></apply></math></kineticLaw>
</reaction></listOfReactions></model></sbml>
"""
TRANSITIONS = "2 2\n0 1 1.0\n1 0 2.0\n"
MARKET = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1.0\n2 1 2.0\n"


def _beside(path: Path) -> Any:
    """Return the chain of the transitions that stand beside a file of labels, rewards or states."""
    transitions = path.with_suffix(".tra")
    transitions.write_text(TRANSITIONS, encoding="utf-8")
    return markov.read_explicit(transitions)


def _prism(path: Path) -> Any:
    """Return the mean of the rewards, which are read when they are asked for."""
    return markov.read_prism(path).property('R{"r"}=? [ S ]').value


FORMATS = {
    "scenario": Format(dfcmodel.load_scenario, "a.toml", SCENARIO, (
        ('name = "one"', 'zz_key = "one"'),
        ('name = "one"', 'name = "one"\nzz.key = 1'),
        ("[flow]", "[zz_section]\n[flow]"),
        ("[flow]", "[[zz_sections]]\n[flow]"),
        ('delay = "1 ms"', 'delay = "1 ms"\nzz_key = 1'),
        ("start = 0", "start = 0\nzz_key = 1"),
        ('source = "a", ', 'source = "a", zz_key = 1, '),
        ("high = 20, ", "high = 20, zz_key = 1, "),
        ('kind = "Pause"', 'kind = "ZzPause"'),
        ('{kind = "Reno"}', '{kind = "Reno", zz_key = 1}'),
        ('{kind = "Reno"}', '{kind = "zz"}'),
        ("cell = 80", "cell = 80, zz_key = 1"),
        ('link = "a->b", ', 'link = "a->b", zz_key = 1, '),
        ('kind = "Jitter"', 'kind = "zz_jitter"'),
        ('rate = "1Mbps"', 'rate = "1 Mzz"'),
        ('"3000 B"', '"3000 zz"'),
    )),
    "topology": Format(load_topology, "a.toml", TOPOLOGY, (
        ("cables =", "zz_key = 1\ncables ="),
        ('[["a", "b"]]', '[["zz", "zz"]]'),
        ('[["a", "b"]]', '[["a", "zz"], ["zz", "a"]]'),
        ('{source = "b", target = "c"}', '{source = "b", target = "zz"}, {source = "b", target = "zz"}'),
        ("[flow]", "[zz_section]\n[flow]"),
        ('rate = "1Gbps"', 'rate = "1Gbps"\nzz_key = 1'),
        ("[flow]\n", "[flow]\nzz_key = 1\n"),
        ('source = "b", ', 'source = "b", zz_key = 1, '),
        ("classes = [3]", "zz_classes = [3]"),
        ('"PFC"', '"Zz"'),
        (', priority = 3', ', zz_priority = 3'),
    )),
    "config_db.json": Format(lossless.read_table, "config_db.json", CONFIGURATION, (
        ('"profile": "p"', '"profile": "p", "zz_field": 1'),
        ('"xoff"', '"zz_xoff": 1, "xoff"'),
        ('"pfc_enable"', '"zz_enable": 1, "pfc_enable"'),
        ('"BUFFER_PG"', '"BUFFER_PGzz"'),
        ('Ethernet0|3-4', "Ethernet0|zz"),
        ('"5m"', '"5zz"'),
        ('"speed": "100000"', '"speed": "100zz"'),
    )),
    "lookup": Format(
        lossless.read_table, "a.ini", "# speed cable size xon xoff threshold\n100000 5m 19456 19456 44032 0\n", (
        ("threshold\n", "zz_column\n"),
        ("5m", "5zz"),
        ("44032", "zz44"),
    )),
    "csv": Format(lossless.read_table, "a.csv", "speed,cable,xoff\n100000,5m,44032\n", (
        ("xoff\n100000,5m,44032", "xoff,zz_column\n100000,5m,44032,1"),
        ("5m", "5zz"),
        ("44032", "zz44"),
    )),
    "connection matrix": Format(
        lambda path: dfcmodel.load_connection_matrix(path, **FLOWS), "a.cm", MATRIX, (
        ("Triggers 1\n", "Triggers 1\nZz_section 1\n"),
        ("start 0 ", "start 0 zz_key 1 "),
        ("oneshot", "oneshot zz_key 1"),
        ("oneshot", "zzshot 1"),
        ("size 3000\n", "size 3000zz\n"),
    )),
    "SimAI": Format(lambda path: dfcmodel.load_workload(path, **FLOWS), "a.txt", WORKLOAD, (
        ("HYBRID_TRANSFORMER", "ZZ_TRANSFORMER"),
        ("ep: 1", "ep: 1 zz_size: 1"),
        ("ALLREDUCE 60000 5", "ZZREDUCE 60000 5"),
        ("ALLREDUCE 60000 5", "ALLREDUCE_ZZ 60000 5".replace("ZZ", "zz")),
        ("60000 1\n", "60000 1 zz\n"),
        ("layer -1", "layer zz"),
    )),
    "Mahimahi": Format(lambda path: dfcmodel.read_mahimahi(path, "a->b"), "a.trace", "1\n2\n10\n", (
        ("2\n", "2 zz\n"),
        ("2\n", "zz\n"),
    )),
    "qlog": Format(responsefn.read_qlog, "a.qlog", QLOG, QLOG_CHANGES),
    "qlog of BBR": Format(
        lambda path: dfcmodel.read_qlog_trace(path, packet_size=1200), "a.qlog",
        QLOG, QLOG_CHANGES,
    ),
    "ss": Format(responsefn.read_ss, "ss.txt", SS, (
        ("rto:228", "rto:228 zz_field:3"),
        ("cubic", "cubic zz_flag"),
        ("17.4Mbps", "17.4zz"),
        ("rtt:25.5/1.2", "rtt:25zz"),
    )),
    "PRISM": Format(_prism, "a.sm", PRISM, (
        ("ctmc\n", "zz_type\n"),
        ('rewards "r"', "zz_section endzz\nrewards"),
        ("init 0;", "init 0 zz 3;"),
        ("-> a :", "-> zz_rate :"),
        ("(x' = 1)", "(zz' = 1)"),
        ("x = 1 : 3;", "zz = 1 : 3;"),
        ("a = 2;", "a = 2 zz;"),
    )),
    "SBML": Format(lambda path: markov.read_sbml(path, limits=3), "a.xml", SBML, (
        ("<times/>", "<zz/>"),
    )),
    "JANI": Format(markov.read_jani, "a.jani", JANI, (
        ('"properties": []', '"properties": [], "features": ["zz"]'),
        ('"type": "ctmc"', '"type": "zz"'),
        ('"location": "b"}]', '"location": "zz"}]'),
    )),
    "transitions": Format(markov.read_explicit, "a.tra", TRANSITIONS, (
        ("1.0", "zz"),
        ("0 1 1.0", "0 zz 1.0"),
    )),
    "labels": Format(_beside, "a.lab", '0="init" 1="deadlock"\n0: 0\n1: 1\n', (("1: 1", "1: 7zz"),)),
    "rewards": Format(_beside, "a.srew", "2 1\n0 3.0\n", (("3.0", "zz"),)),
    "states": Format(_beside, "a.sta", "(x)\n0:(0)\n1:(1)\n", (("1:", "zz:"),)),
    "Matrix Market": Format(markov.read_explicit, "a.mtx", MARKET, (("general", "zz"),)),
}  # fmt: skip
"""Of models in other formats the keys and attributes stand in ``tests/markov/files``."""


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_with_something_unknown(name: str, tmp_path: Path) -> None:
    form = FORMATS[name]
    path = tmp_path / form.file
    path.write_text(form.content, encoding="utf-8")
    form.read(path)
    for old, new in form.changes:
        assert old in form.content, old
        path.write_text(form.content.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(ValueError, match=r"(?i)zz") as error:
            form.read(path)
        assert path.stem in str(error.value) or path.suffix == ".txt", new


def test_a_template_with_something_unknown(tmp_path: Path) -> None:
    """A number that is computed is skipped with its profile's name; a field that no profile has is refused."""
    profile = '"pg_lossless_{0}_5m_profile": {{"size": "19456", "xon": "19456", "{1}": "{2}"}}'
    rows = [
        profile.format(100_000, "xoff", 44_032),
        profile.format("400000", "xoff", "{{ zz_number }}"),
    ]
    text = '{"BUFFER_PROFILE": {' + ",\n".join(rows) + "}}"
    path = tmp_path / "a.json.j2"
    path.write_text(text, encoding="utf-8")
    ((name, reason),) = lossless.read_table(path).skipped
    assert (name, "zz_number" in reason) == ("pg_lossless_400000_5m_profile", True)
    path.write_text(text.replace('"size"', '"zz_size"', 1), encoding="utf-8")
    with pytest.raises(ValueError, match="zz_size"):
        lossless.read_table(path)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"zz_attribute": 1}, "zz_attribute"),
        ({"pg_name": "zz_group"}, "zz_group"),
        ({"comm_type": 77}, "77"),
    ],
)
def test_a_trace_of_chakra_with_something_unknown(change: dict[str, Any], match: str) -> None:
    usual = {"comm_type": chakra.ALL_REDUCE, "comm_size": 60_000}

    def read(attributes: dict[str, Any], more: bytes = b"") -> Any:
        one = chakra.trace(chakra.node(1, chakra.COLL, **attributes)) + more
        return dfcmodel.read_workload(4 * [gzip.compress(one)], **FLOWS)

    assert len(read(usual))
    with pytest.raises(ValueError, match=match):
        read(usual | change)


def test_a_node_of_chakra_of_an_unknown_type() -> None:
    with pytest.raises(ValueError, match="type 99"):
        dfcmodel.read_workload(4 * [chakra.trace(chakra.node(1, 99))], **FLOWS)
    node = chakra.node(1, chakra.COMP, duration=3) + chakra.field(99, 1)
    with pytest.raises(ValueError, match="field 99"):
        dfcmodel.read_workload(4 * [chakra.trace(node)], **FLOWS)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (captures.pcap(captures.transfer_of(captures.ipv4), link=147), "147"),
        (b"zzzz" + captures.pcap(captures.transfer_of(captures.ipv4))[4:], "zzzz"),
        (
            captures.pcapng(captures.transfer_of(captures.ipv4), link=101, others=captures.block(0x7A7A, b"")),
            "(?i)7a7a|31354",
        ),
    ],
)
def test_a_capture_with_something_unknown(content: bytes, match: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(captures.pcap(captures.transfer_of(captures.ipv4)))
    responsefn.read_pcap(path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match):
        responsefn.read_pcap(path)


def _leaves(command: Any, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words of the commands below one."""
    if not hasattr(command, "list_commands"):
        return [words]
    return [
        leaf
        for name in command.list_commands(None)
        for leaf in _leaves(command.get_command(None, name), (*words, name))
    ]


@pytest.mark.parametrize("words", _leaves(typer.main.get_command(app)), ids=" ".join)
def test_a_command_with_an_unknown_option(words: tuple[str, ...]) -> None:
    done = invoke([*words, "--zz-option", "1"])
    assert done.exit_code == 2
    assert "--zz-option" in done.output


def test_a_function_with_an_unknown_keyword() -> None:
    for target in targets():
        with pytest.raises((TypeError, ValueError)) as error:
            target.call(**target.arguments, zz_keyword=1)
        assert "zz_keyword" in str(error.value), target.name
