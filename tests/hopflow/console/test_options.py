"""Each option of each command in each mode: it changes the output or a file, or it is refused by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.hopflow.console.test_commands import ALL, LEAVES
from tests.surface import invoke

QUEUE = """\
ctmc
const double a;
module queue
  n : [0..5];
  [in] n<5 -> a : (n'=n+1);
  [out] n>0 -> 1.5 : (n'=n-1);
endmodule
rewards true : n; endrewards
"""
NETWORK = """\
[[link]]
name = "a"
nodes = [1, 2]
rate = "12Mbps"
delay = "5ms"
buffer = 20
"""
RULE = """\
from responsefn import Reno

rule = Reno()
"""
MODES: dict[tuple[str, ...], dict[str, str]] = {
    ("response",): {
        "catalogue": "",
        "rules": "reno",
        "many rules": "reno cubic tfrc hstcp",
        "JSON": "reno --json",
        "inverse": "--invert reno --rate 100",
        "inverse, JSON": "--invert reno --rate 100 --json",
        "capacity": "vegas --bandwidth 12Mbps",
        "file": "mine.py",
    },
    ("headroom",): {
        "one": "--rate 400Gbps --cable 300m",
        "JSON": "--rate 400Gbps --cable 300m --json",
        "table": "--rate 100Gbps --rate 400Gbps --cable 300m",
    },
    ("pool",): {
        "alpha": "--headroom 225792B --rate 400Gbps --ports 8 --classes 2 --size 1MB --shared 4MB --alpha 0.125",
        "xoff": "--headroom 225792B --rate 400Gbps --ports 8 --classes 2 --size 1MB --shared 4MB --xoff 100kB --json",
    },
    ("solve", "pause"): {"text": "", "JSON": "--json"},
    ("solve", "chain"): {"text": "mm1k --set capacity=4", "JSON": "mm1k --json", "method": "mm1k --method gth"},
    ("solve", "file"): {
        "long run": "queue.sm --const a=1",
        "JSON": "queue.sm --const a=1 --json",
        "property": "queue.sm --const a=1 --property S=?[n=5]",
        "exact": "queue.sm --const a=1 --property S=?[n=5] --exact",
    },
    ("check",): {"alone": "queue.cert", "model": "queue.cert queue.sm --const a=1"},
    ("claims",): {"text": ""},
    ("data", "list"): {"all": "", "paper": "yang2001"},
}
"""Words of each mode of a command."""
SLOW_MODES = {"many rules", "capacity", "file", "table", "xoff", "model"}
"""Modes whose calls compile, or take long."""
VALUES: dict[str, str] = {
    "--rtt": "50ms", "--p": "2e-3", "--invert": "cubic", "--rate": "200", "--bandwidth": "24Mbps", "--packet-size": "9kB",
    "--unit-check": "--no-unit-check --rtt 6", "--plot": "out.svg", "--csv": "out.csv", "--cable": "100m", "--mtu": "1518",
    "--lossless-mtu": "4200", "--cell": "254", "--response": "1us", "--response-measured": "--response 10ns | --response-measured",
    "--interface": "200ns", "--gearbox": "100ns", "--pipeline": "1us", "--classes": "3", "--velocity": "1.9e8",
    "--small-packets": "--cell 254 | --small-packets 0.3", "--smallest": "--small-packets 1 --cell 100 | --smallest 180", "--exceeded": "100",
    "--merged": "--classes 3 | --merged", "--resume-queued": "--resume-queued", "--chip": "tomahawk4", "--headroom": "300kB", "--ports": "9",
    "--size": "1.1MB", "--shared": "5MB", "--xoff": "50kB", "--alpha": "0.25", "--blocked": "2us", "--active-ports": "2",
    "--active-classes": "1", "--paused": "0.2", "--buffers": "12,20", "--high-threshold": "10pkt", "--low-threshold": "3pkt",
    "--link-rate": "2Mbps", "--paused-rate": "10", "--bottleneck-rate": "50", "--arrival-rates": "20,2", "--recovery": "--recovery",
    "--pause-at-threshold": "--pause-at-threshold", "--certificate": "out.cert", "--set": "arrival_rate=0.3", "--method": "krylov",
    "--property": "P=?[F<=1 n=5]", "--properties": "queue.props", "--const": "a=2", "--proof": "off", "--exact": "--exact",
}  # fmt: skip
"""Values of options; before a bar, options without which it has no effect, which the call to compare with has too."""
SPEED: dict[tuple[str, ...], dict[str, str]] = {}
"""Options that change the time alone, with the reason."""
NOT_RUN = {
    ("validate",): "judges all claims: minutes; its options are tested in tests/validation/test_cli.py",
    ("figure",): "simulates: tests/validation/test_cli.py",
    ("judge",): "judges: tests/validation/test_judging.py",
    ("infer",): "infers: tests/validation",
    ("explain",): "compiles and simulates at both levels: tests/dfcmodel/test_cli.py",
    ("simulate",): "compiles both levels: tests/dfcmodel/test_cli.py",
    ("compare",): "simulates: tests/dfcmodel/test_cli.py",
    ("pde",): "solves equations: tests/dfcmodel/test_cli.py",
    ("deadlock",): "needs a topology: tests/dfcmodel/lossless",
    ("headroom", "audit"): "needs tables: tests/dfcmodel/lossless/audits",
    ("explore",): "opens a browser",
    ("cache",): "empties the cache: tests/hopflow/console/test_commands.py",
    ("data", "show"): "tests/validation",
    ("data", "regenerate"): "runs simulators",
    ("data", "verify"): "hashes all data",
}
"""Commands that this file does not run, with the reason."""


def runs() -> list[Any]:
    """Return command, mode and option of each run."""
    options = {
        command: {max(option.opts, key=len) for option in ALL[command].params if option.param_type_name == "option"}
        for command in MODES
    }
    return [
        pytest.param(
            command,
            words,
            option,
            id=f"{' '.join(command)}, {mode}, {option}",
            marks=[pytest.mark.slow] if mode in SLOW_MODES else [],
        )
        for command, modes in MODES.items()
        for mode, words in modes.items()
        for option in sorted(options[command] - {"--help"} - SPEED.get(command, {}).keys())
        if option not in words.split()
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "queue.sm").write_text(QUEUE, encoding="utf-8")
    (tmp_path / "queue.props").write_text('"empty": S=? [ n=0 ];\n', encoding="utf-8")
    (tmp_path / "mine.py").write_text(RULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcome(command: tuple[str, ...], words: list[str], folder: Path) -> tuple[int, str, frozenset[str]]:
    """Return exit status, output without times, and the files of a call."""
    if command == ("check",) and not (folder / "queue.cert").exists():
        invoke(["solve", "file", "queue.sm", "--const", "a=1", "--certificate", "queue.cert"])
    result = invoke([*command, *words])
    error = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    text = re.sub(r"(seconds\W+|time +)[\d.e+-]+( \w+)?", "", result.output)
    return result.exit_code, text + error, frozenset(path.name for path in folder.iterdir())


@pytest.mark.parametrize(("command", "words", "option"), runs())
def test_an_option_changes_something_or_is_refused(
    command: tuple[str, ...], words: str, option: str, folder: Path
) -> None:
    flag = next(x for x in ALL[command].params if option in x.opts).is_flag
    value = VALUES.get(option, option if flag else "")
    needed, _, value = value.rpartition(" | ")
    base = [*words.split(), *(word for word in needed.split() if word not in words.split())]
    status, text, files = outcome(command, base, folder)
    if status:
        base, value = words.split(), f"{needed} {value}"  # one is not accepted without the other
        status, text, files = outcome(command, base, folder)
    assert status == 0, text
    added = value.split() if value.startswith("--") else [option, value]
    new_status, new_text, new_files = outcome(command, [*base, *added], folder)
    if new_status == 0:
        assert (new_text, new_files) != (text, files), f"{option} is accepted and changes nothing"
    else:
        names = [word for word in added if word.startswith("--")]
        assert any(name in new_text or name.lstrip("-").replace("-", "_") in new_text for name in names), new_text


def test_each_command_is_run_or_has_a_reason() -> None:
    assert {*MODES, *NOT_RUN} == {*LEAVES, ("headroom",)}
    assert not {*MODES} & {*NOT_RUN}
