"""Readers with random files from a grammar of their format: each is read, or refused by an error of hopflow, within bounds.

A grammar gives alternatives for each of its names. ``<name>`` stands for one of them and ``<name*>`` for none to four. A third of the
sentences is changed afterwards: a part is left out, doubled, or replaced. Hypothesis draws the seeds of the sentences: to draw each
choice takes it a second for a file.
"""

from __future__ import annotations

import re
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from markov import read_explicit, read_jani, read_prism, read_sbml
from markov.errors import TooLargeError
from responsefn import read_qlog, read_ss
from tests.test_unknown_keys import FORMATS, SBML

MAX_SECONDS, MAX_BYTES = 10.0, 1 << 30
"""CPU time and further memory of a file of some hundred characters."""
MAX_DEPTH = 8
COMMON = {
    "n": ["0", "1", "2", "2", "3", "3", "7", "-1", "65536", "9223372036854775808", "1" + 400 * "0", "007", "1_0", "\u0663"],
    "r": ["0", "1", "0.5", "2.5", "1", "2", "-1", "1e-308", "1e308", "1e999", "nan", "inf", "-0.0", ".5", "1e", "0x1p3"],
    "u": ["1Mbps", "1Gbps", "5m", "1ms", "10us", "1500B", "60 kB", "3000", "0", "-1ms", "1e400s", "nan", "5 zz", ""],
    "word": ["x", "y", "a", "init", "deadlock", "zz", "true", "\u00e9", "", "0x"],
    "text": ['"a"', '"x"', '"zz"', '""', '"\\u0000"', '"1e999"', '"100000"'],
}  # fmt: skip
JSON = {
    "n": ["0", "1", "2", "2", "3", "3", "7", "-1", "65536", "9223372036854775808", "1" + 400 * "0"],
    "r": ["0", "1", "0.5", "2.5", "1", "2", "-1", "1e-308", "1e308", "1e999", "-0.0"],
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
        "file": ["ctmc\nmodule m\nx : [0..3] init 0;\n[] x < 3 -> <r> : (x'=x+1);\n[] x > 0 -> 2 : (x'=x-1);\nendmodule\n<label>", "ctmc\nmodule m\nx : [0..3] init 0;\ny : bool;\n[] x < 3 -> <r> : (x'=x+1);\n[go] x > 0 -> <e> : (x'=x-1);\nendmodule\n<reward*><label*>", "<type>\n<constant*>module m\n<variable*><command*>endmodule\n<reward*><label*>"],
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
        "file": ['{"jani-version": 1, "name": "m", "type": "ctmc", "variables": [{"name": "x", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}, "initial-value": 0}], "properties": [], "system": {"elements": [{"automaton": "m"}]}, "automata": [{"name": "m", "locations": [{"name": "a"}, {"name": "b"}], "initial-locations": ["a"], "edges": [{"location": "a", "rate": {"exp": <plain>}, "destinations": [{"location": "b"}]}, {"location": "b", "rate": {"exp": <plain>}, "guard": {"exp": {"op": "<", "left": "x", "right": <plain>}}, "destinations": [{"location": "a", "assignments": [{"ref": "x", "value": <plain>}]}]}]}]}', '{"jani-version": <one>, "name": <text>, "type": <type>, "variables": [<variable>], "properties": [], "system": {"elements": [{"automaton": <name>}]}, "automata": [{"name": "m", "locations": [{"name": "a"}, {"name": "b"}], "initial-locations": ["a"], "edges": [<edge>, <edge>]}]}'],
        "one": ["1", "1", "1", "1", "1", "<value>"],
        "plain": ["1", "2", "2.5", "1", '{"op": "+", "left": 1, "right": 2}', "<e>"],
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
        "file": ['{"qlog_version": "0.3", "traces": [{"common_fields": {"time_format": "relative"<scale>}, "events": [{"time": 0, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}, "header": {"packet_number": 0}}}, {"time": 1, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}, "header": {"packet_number": 1}}}, {"time": 2, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}, "header": {"packet_number": 2}}}, {"time": 3, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}, "header": {"packet_number": 3}}}, {"time": 5, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": <r>}}, <lost>]}]}', '{"qlog_version": "0.3", "traces": [{"common_fields": {<common>}, "events": [<sent>, <sent>, <sent>, <event>, <event>]}]}', '{"qlog_version": <value>, "traces": <value>}'],
        "scale": ["", "", ', "group_id": "a"', ', <text>: <value>'],
        "lost": ['{"time": 6, "name": "recovery:packet_lost", "data": {"header": {"packet_number": <n>}}}', "<event>"],
        "common": ['"time_format": "absolute"', '"time_format": "delta"', '"time_format": <text>', '"group_id": <value>', ""],
        "sent": ['{"time": <r>, "name": "transport:packet_sent", "data": {"raw": {"length": 1200}, "header": {"packet_number": <n>}}}'],
        "event": ['{"time": <r>, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": <r>}}', '{"time": <r>, "name": "recovery:packet_lost", "data": {"header": {"packet_number": <n>}}}', '{"time": <value>, "name": <value>, "data": <value>}', "<value>"],
        **JSON,
    },
    "ss": {
        "file": ["<row*>", *3 * ["ESTAB 0 0 10.0.0.1:22 10.0.0.2:41000\n cubic rto:<r> rtt:<r>/<r> mss:1448 cwnd:<n><option> retrans:0/<n> data_segs_out:<n> delivery_rate <r>Mbps\n"]],
        "n": ["1", "2", "3", "10", "100", "1448", "0", "-1", "007", "1" + 400 * "0"],
        "r": ["1", "0.5", "2.5", "12", "40.25", "1e308", "nan"],
        "row": ["ESTAB 0 0 10.0.0.1:<n> 10.0.0.2:<n>\n cubic rtt:<r>/1.2 mss:<n> retrans:0/1 data_segs_out:100<field*>\n", "<word> 0 0 [::1]:22 [::1]:<n>\n<field*>\n"],
        "option": ["", "", " minrtt:<r>", " timer:(on,<n>ms,0)", " app_limited", " <word>:<n>"],
        "field": [" rto:<r>", " cwnd:<n>", " minrtt:<r>", " delivery_rate <r>bps", " app_limited", " <word>:<n>", " timer:(on,<n>ms,0)", " mss:<n>"],
    },
    "connection matrix": {
        "file": ["Nodes <n>\nConnections <n>\n<line*>", "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start <n> size <n> send_done_trigger 1\n1->2 id 2 trigger 1 size <n>\ntrigger id 1 <kind>\n"],
        "kind": ["oneshot", "barrier", "<word>", "oneshot count <n>"],
        "line": ["<n>-><n> id <n> start <n> size <n>\n", "0->1 size <r>\n", "trigger id <n> <kind>\n", "# <word>\n", "failure <n>\n"],
    },
    "config_db.json": {
        "file": ['{"PORT": {"Ethernet0": {"speed": <speed>}}, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "<u>"}}, "BUFFER_PG": {"Ethernet0|<pg>": {"profile": <text>}}, "BUFFER_PROFILE": {"a": {"xoff": "<n>", "size": "<n>"}}<more>}', '{"PORT": {"Ethernet0": {"speed": <speed>}}, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "<cable>"}}, "BUFFER_PG": {"Ethernet0|3-4": {"profile": "a"}}, "BUFFER_PROFILE": {"a": {"xoff": "<n>", "size": "<n>"}}}', '{"BUFFER_PROFILE": {"pg_lossless_100000_<u>_profile": {"xoff": "<n>"}}<more>}'],
        "cable": ["5m", "40m", "300m", "<u>"],
        "speed": ['"100000"', '"40000"', "<text>"],
        "pg": ["3-4", "3", "<n>", "<n>-<n>", ""],
        "more": ["", "", ', "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "<n>,<n>"}}', ', <text>: <value>'],
        **JSON,
    },
    "lookup": {
        "file": ["# speed cable size xon xoff threshold\n<row*>", "# speed cable <word> xoff\n<row*>"],
        "row": ["<n> <u> <n> <n> <n> <r>\n", "100000 5m 19456 19456 <n> 0\n", "100000 5m 19456 18432 44032 <r>\n", "<word>\n", "100000 <u> 64 64 44032 0\n"],
    },
    "scenario": {
        "file": ['name = "one"\nlinks = [{source = "a", target = "b", rate = "<rate>"<discipline>}]\nflows = [{name = "f", path = ["a", "b"], source = {kind = <rule>}<size>}]\n<tables>'],
        "rate": ["1Mbps", "10Mbps", "1Gbps", "5 Mbit/s", "<u>"],
        "time": ["1 ms", "10us", "0.5 s", "<u>"],
        "size": ["", "", ', size = "<u>"', ", size = <n>"],
        "discipline": ["", "", ', discipline = {kind = "Pause", high = <n>, low = <n>}', ', discipline = {kind = <text>}', ", buffer = 50", ", delay = <time>", ", buffer = <r>"],
        "rule": [*4 * ['"Reno"'], '"CUBIC"', "<text>", '"AIMD", a = <r>, b = <r>'],
        "tables": [*4 * ['[link]\ndelay = "<time>"\nbuffer = 50\n'], '[link]\ndelay = "<time>"\nbuffer = "<u>"\n', '[link]\ndelay = "1 ms"\nbuffer = 50\n[flow]\nstart = <r>\n', "", "<word> = <n>\n"],
    },
    "topology": {
        "file": ['cables = [["a", "b"]<cable*>]\nhosts = ["a", <text>]\nflows = [{path = ["a", "b", <text>], priority = <n>}]\n[link]\nrate = "<u>"\n', "<table*>"],
        "cable": [', ["b", "c"]', ", [<text>, <text>]", ", <n>"],
        "table": ["cables = [[<text>, <text>]]\n", "hosts = <text>\n", "[flow]\npriority = <r>\n", "<word> = <text>\n"],
    },
}  # fmt: skip


def sentence(grammar: dict[str, list[str]], random: Random) -> str:
    """Return a text that a grammar makes of ``<file>``; a third of them with a part left out, doubled or replaced.

    Names below a depth of `MAX_DEPTH` have the shortest alternative that is no list of further ones.
    """
    alternatives = {**COMMON, **grammar}

    def expand(text: str, depth: int) -> str:
        parts = re.split(r"((?<!\\)<\w+\*?>)", text)
        for n in range(1, len(parts), 2):
            name, count = parts[n][1:-1], 1
            if name.endswith("*"):
                name, count = name[:-1], random.randrange(5) if depth < MAX_DEPTH else 0
            forms = alternatives[name]
            if depth >= MAX_DEPTH:
                forms = [min(forms, key=lambda form: (form.count("<"), len(form)))]
            parts[n] = "".join(expand(random.choice(forms), depth + 1) for _ in range(count))
        parts[::2] = [part.replace("\\<", "<") for part in parts[::2]]
        return "".join(parts)

    text = expand("<file>", 0)
    first, last = sorted(random.choices(range(len(text) + 1), k=2))
    piece = {"cut": "", "doubled": 2 * text[first:last], "replaced": chr(random.randrange(0xD800))}
    change = random.choice([*6 * [""], *piece])
    return text[:first] + piece[change] + text[last:] if change else text


@contextmanager
def bounded() -> Iterator[None]:
    """Limit the memory of this process to what it has and `MAX_BYTES`, and fail after `MAX_SECONDS` of CPU time."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MAX_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    start = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert time.process_time() - start < MAX_SECONDS


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
    @hypothesis.given(st.integers(0, 2**64 - 1))
    def check(seed: int) -> None:
        text = sentence(GRAMMARS[name], Random(seed))
        hypothesis.note(text)
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
