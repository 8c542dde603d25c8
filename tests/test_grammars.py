"""Readers with random files from a grammar of their format: each is read, or refused by an error of hopflow, within bounds.

A grammar gives alternatives for each of its names. ``<name>`` stands for one of them and ``<name*>`` for none to four. Half of the
sentences are changed afterwards: a part is left out, doubled, or replaced.
"""

from __future__ import annotations

import re
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from markov import read_explicit, read_jani, read_prism, read_sbml
from markov.errors import TooLargeError
from responsefn import read_qlog, read_ss
from tests.test_unknown_keys import FORMATS, SBML

MOST_SECONDS, MOST_BYTES = 10.0, 1 << 30
"""CPU time and further memory of a file of some hundred characters."""
COMMON = {
    "n": ["0", "1", "2", "2", "3", "3", "7", "-1", "65536", "9223372036854775808", "1" + 400 * "0", "007", "1_0", "\u0663"],
    "r": ["0", "1", "0.5", "2.5", "1", "2", "-1", "1e-308", "1e308", "1e999", "nan", "inf", "-0.0", ".5", "1e", "0x1p3"],
    "u": ["1Mbps", "1Gbps", "5m", "1ms", "10us", "1500B", "60 kB", "3000", "0", "-1ms", "1e400s", "nan", "5 zz", ""],
    "word": ["x", "y", "a", "init", "deadlock", "zz", "true", "\u00e9", "", "0x"],
    "text": ['"a"', '"x"', '"zz"', '""', '"\\u0000"', '"1e999"'],
}  # fmt: skip
JSON = {
    "value": [
        "<n>",
        "<r>",
        "<text>",
        "null",
        "true",
        "[]",
        "{}",
        "[<value>, <value>]",
        "{<text>: <value>}",
    ],
}
GRAMMARS: dict[str, dict[str, list[str]]] = {
    "prism": {
        "file": ["<type>\n<constant*>module m\n<variable*><command*>endmodule\n<reward*><label*>"],
        "type": ["ctmc", "ctmc", "ctmc", "dtmc", "mdp"],
        "constant": ["const int c<n> = <n>;\n", "const double a = <e>;\n", "formula f = <e>;\n"],
        "variable": ["x : [0..<n>] init <n>;\n", "x : [0..2];\n", "y : bool;\n", "b : [<e>..<e>];\n"],
        "command": ["[] <g> -> <e> : (x'=<e>);\n", "[go] <g> -> <e> : (x'=<e>) + <e> : true;\n", "[] <g> -> (x'=1);\n"],
        "g": ["true", "x = <n>", "x < 2", "x > 0 & y", "!(<g>)", "(<g> | <g>)", "<e> >= <e>"],
        "e": ["<r>", "<n>", "x", "a", "x + 1", "x - 1", "(<e> * <e>)", "<e> / <e>", "min(<e>, <e>)", "pow(<e>, <e>)", "<g> ? <e> : <e>", "mod(<e>, <e>)", "floor(<e>)", "log(<e>, <e>)"],
        "reward": ['rewards "r"\n<g> : <e>;\nendrewards\n', 'rewards "r"\n[go] true : <r>;\nendrewards\n'],
        "label": ['label "full" = <g>;\n', 'label <text> = <g>;\n'],
    },
    "jani": {
        "file": ['{"jani-version": <one>, "name": <text>, "type": <type>, "variables": [<variable>], "properties": [], "system": {"elements": [{"automaton": <name>}]}, "automata": [{"name": "m", "locations": [{"name": "a"}, {"name": "b"}], "initial-locations": ["a"], "edges": [<edge>, <edge>]}]}'],
        "one": ["1", "1", "1", "<value>"],
        "type": ['"ctmc"', '"ctmc"', '"ctmc"', '"mdp"', "<value>"],
        "name": ['"m"', '"m"', "<value>"],
        "variable": ['{"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": <n>}, "initial-value": <n>}', '{"name": "x", "type": "int", "initial-value": <e>}', '{"name": "x", "type": <value>}'],
        "edge": ['{"location": "a", "rate": {"exp": <e>}, "destinations": [{"location": "b", "assignments": [{"ref": "x", "value": <e>}]}]}', '{"location": "b", "rate": {"exp": <e>}, "guard": {"exp": <e>}, "destinations": [{"location": "a", "probability": {"exp": <e>}}]}', '{"location": <value>, "destinations": <value>}'],
        "e": ["1", "2.5", '"x"', "<value>", '{"op": "+", "left": <e>, "right": <e>}', '{"op": "<", "left": "x", "right": <e>}', '{"op": "pow", "left": <e>, "right": <e>}', '{"op": <text>, "exp": <e>}', '{"op": "ite", "if": <e>, "then": <e>, "else": <e>}'],
        **JSON,
    },
    "sbml": {
        "file": [re.sub(r">0\.5<|value=\"0\.5\"", 'value="<r>"', SBML).replace('initialAmount="3"', 'initialAmount="<n>"').replace('stoichiometry="1"', 'stoichiometry="<n>"').replace("<apply><times/><ci>mu</ci><ci>X</ci></apply>", "@").replace("<", "\\<").replace('"\\<r>"', '"<r>"').replace('"\\<n>"', '"<n>"').replace("@", "<m>")],
        "m": ["\\<ci>X\\</ci>", "\\<ci>mu\\</ci>", "\\<cn><r>\\</cn>", '\\<cn type="e-notation"><r>\\<sep/><n>\\</cn>', "\\<apply>\\<times/><m><m>\\</apply>", "\\<apply>\\<<op>/><m*>\\</apply>", "\\<piecewise>\\<piece><m>\\<apply>\\<gt/><m><m>\\</apply>\\</piece>\\<otherwise><m>\\</otherwise>\\</piecewise>"],
        "op": ["plus", "minus", "divide", "power", "root", "exp", "ln", "log", "factorial", "abs", "floor", "and", "xor", "zz"],
    },
    "transitions": {
        "file": ["<n> <n>\n<line*>", "2 2\n0 1 <r>\n1 0 <r>\n", "ctmc\n<line*>", "3 <n>\n<line*>"],
        "line": ["<n> <n> <r>\n", "0 1 <r>\n", "1 0 2.5 <word>\n", "# <word>\n", "<word> <n>\n"],
    },
    "matrix market": {
        "file": ["%%MatrixMarket matrix <form> <field> <symmetry>\n<n> <n> <n>\n<line*>", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 <r>\n2 1 <r>\n", "%%MatrixMarket matrix array real general\n2 2\n<r>\n<r>\n<r>\n<r>\n"],
        "form": ["coordinate", "array", "<word>"],
        "field": ["real", "integer", "pattern", "complex"],
        "symmetry": ["general", "symmetric", "skew-symmetric", "hermitian"],
        "line": ["<n> <n> <r>\n", "% <word>\n", "<r>\n"],
    },
    "qlog": {
        "file": ['{"qlog_version": "0.3", "traces": [{"common_fields": {<common>}, "events": [<sent>, <sent>, <sent>, <event>, <event>]}]}', '{"qlog_version": <value>, "traces": <value>}'],
        "common": ['"time_format": "absolute"', '"time_format": "delta"', '"time_format": <text>', '"group_id": <value>', ""],
        "sent": ['{"time": <r>, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}, "header": {"packet_number": <n>}}}'],
        "event": ['{"time": <r>, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": <r>}}', '{"time": <r>, "name": "recovery:packet_lost", "data": {"header": {"packet_number": <n>}}}', '{"time": <value>, "name": <value>, "data": <value>}', "<value>"],
        **JSON,
    },
    "ss": {
        "file": ["<row*>", "ESTAB 0 0 10.0.0.1:22 10.0.0.2:41000\n cubic<field*> rtt:<r>/<r> mss:1448 retrans:0/<n> data_segs_out:<n> delivery_rate <r>Mbps\n"],
        "row": ["ESTAB 0 0 10.0.0.1:<n> 10.0.0.2:<n>\n cubic rtt:<r>/1.2 mss:<n> retrans:0/1 data_segs_out:100<field*>\n", "<word> 0 0 [::1]:22 [::1]:<n>\n<field*>\n"],
        "field": [" rto:<r>", " cwnd:<n>", " minrtt:<r>", " delivery_rate <r>bps", " app_limited", " <word>:<n>", " timer:(on,<n>ms,0)", " mss:<n>"],
    },
    "connection matrix": {
        "file": ["Nodes <n>\nConnections <n>\n<line*>", "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start <n> size <n> send_done_trigger 1\n1->2 id 2 trigger 1 size <n>\ntrigger id 1 <kind>\n"],
        "kind": ["oneshot", "barrier", "<word>", "oneshot count <n>"],
        "line": ["<n>-><n> id <n> start <n> size <n>\n", "0->1 size <r>\n", "trigger id <n> <kind>\n", "# <word>\n", "failure <n>\n"],
    },
    "config_db.json": {
        "file": ['{"PORT": {"Ethernet0": {"speed": <text>}}, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "<u>"}}, "BUFFER_PG": {"Ethernet0|<pg>": {"profile": <text>}}, "BUFFER_PROFILE": {"a": {"xoff": "<n>", "size": "<n>"}}<more>}', '{"BUFFER_PROFILE": {"pg_lossless_100000_<u>_profile": {"xoff": "<n>"}}<more>}'],
        "pg": ["3-4", "3", "<n>", "<n>-<n>", ""],
        "more": ["", "", ', "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "<n>,<n>"}}', ', <text>: <value>'],
        **JSON,
    },
    "lookup": {
        "file": ["# speed cable size xon xoff threshold\n<row*>", "# speed cable <word> xoff\n<row*>"],
        "row": ["<n> <u> <n> <n> <n> <r>\n", "100000 5m 19456 19456 <n> 0\n", "<word>\n", "100000 <u> 1 1 44032 0\n"],
    },
    "scenario": {
        "file": ['name = "one"\nlinks = [{source = "a", target = "b", rate = "<u>"<discipline>}]\nflows = [{name = "f", path = ["a", "b"], source = {kind = <rule>}, size = "<u>"}]\n<tables>'],
        "discipline": ["", "", ', discipline = {kind = "Pause", high = <n>, low = <n>}', ', discipline = {kind = <text>}', ", buffer = <r>"],
        "rule": ['"Reno"', '"Reno"', '"CUBIC"', "<text>", '"AIMD", a = <r>, b = <r>'],
        "tables": ['[link]\ndelay = "<u>"\nbuffer = "<u>"\n', '[link]\ndelay = "1 ms"\nbuffer = 50\n[flow]\nstart = <r>\n', "", "<word> = <n>\n"],
    },
    "topology": {
        "file": ['cables = [["a", "b"]<cable*>]\nhosts = ["a", <text>]\nflows = [{path = ["a", "b", <text>], priority = <n>}]\n[link]\nrate = "<u>"\n', "<table*>"],
        "cable": [', ["b", "c"]', ", [<text>, <text>]", ", <n>"],
        "table": ["cables = [[<text>, <text>]]\n", "hosts = <text>\n", "[flow]\npriority = <r>\n", "<word> = <text>\n"],
    },
}  # fmt: skip


def sentences(grammar: dict[str, list[str]]) -> st.SearchStrategy[str]:
    """Return the texts that a grammar makes of ``<file>``."""
    strategies: dict[str, st.SearchStrategy[str]] = {}

    def part(text: str) -> st.SearchStrategy[str]:
        name = text[1:-1]
        if not re.fullmatch(r"<\w+\*?>", text):
            return st.just(text.replace("\\<", "<"))
        one = st.deferred(lambda: strategies[name.removesuffix("*")])
        return st.lists(one, max_size=4).map("".join) if name.endswith("*") else one

    for name, alternatives in {**COMMON, **grammar}.items():
        forms = [
            st.tuples(*map(part, re.split(r"((?<!\\)<\w+\*?>)", each))).map("".join)
            for each in alternatives
        ]
        strategies[name] = st.one_of(forms)
    return strategies["file"]


@st.composite
def files(draw: Callable[..., Any], grammar: dict[str, list[str]]) -> str:
    """Return a sentence of a grammar, or one with a part left out, doubled, or replaced."""
    text = draw(sentences(grammar))
    change = draw(st.sampled_from(("", "", "", "cut", "doubled", "replaced")))
    if change:
        first, last = sorted(draw(st.tuples(*2 * [st.integers(0, len(text))])))
        piece = {"cut": "", "doubled": 2 * text[first:last], "replaced": draw(st.text(max_size=4))}
        text = text[:first] + piece[change] + text[last:]
    return text


@contextmanager
def bounded() -> Iterator[None]:
    """Limit the memory of this process to what it has and `MOST_BYTES`, and fail after `MOST_SECONDS` of CPU time."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    start = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.process_time() - start < MOST_SECONDS


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "prism": ("a.prism", read_prism),
    "jani": ("a.jani", read_jani),
    "sbml": ("a.xml", lambda path: read_sbml(path, limits=5)),
    "transitions": ("a.tra", read_explicit),
    "matrix market": ("a.mtx", read_explicit),
    "qlog": ("a.qlog", read_qlog),
    "ss": ("a.txt", read_ss),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAMMARS)
def test_a_file_is_read_or_refused_by_an_error_of_hopflow(name: str, tmp_path: Path) -> None:
    file, read = READERS.get(name) or (FORMATS[name].file, FORMATS[name].read)
    path = tmp_path / file
    ended = {"read": 0, "refused": 0}

    @hypothesis.settings(max_examples=2000, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(files(GRAMMARS[name]))
    def check(text: str) -> None:
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings(), bounded():
            warnings.simplefilter("ignore")
            try:
                read(path)
                ended["read"] += 1
            except (ValueError, TooLargeError):
                ended["refused"] += 1

    check()
    assert min(ended.values()) >= 20, ended
