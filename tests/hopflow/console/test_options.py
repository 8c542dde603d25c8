"""Each option of each command in each mode: it changes the output or a file, or it is refused by name."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import validation.generate.__main__ as generator
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
PATH = """\
name = "path"
duration = 0.3

links = [
    {source = "a", target = "b", rate = 1000, delay = 0.002, buffer = 4},
    {source = "b", target = "a", rate = 1000, delay = 0.002, buffer = 4},
]
flows = [{name = "only", path = ["a", "b"], source = "Reno"}]
"""
TOPOLOGY = """\
cables = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["c", "e"], ["e", "f"], ["f", "b"]]
"""
LOOKUP = """\
speed,cable,xoff
100000,5m,190000
100000,40m,200000
100000,300m,240000
400000,5m,60000
400000,40m,330000
400000,300m,500000
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
    ("data", "show"): {"text": "zheng2002/window-sweep", "JSON": "zheng2002/window-sweep --json"},
    ("data", "regenerate"): {"text": "zheng2002/periodic-loss"},
    ("data", "verify"): {"text": ""},
    ("cache",): {"text": "", "clear": "--clear"},
    ("cc-header",): {"text": ""},
    ("deadlock",): {"text": "topology.toml", "JSON": "topology.toml --json"},
    ("headroom", "audit"): {
        "table": "lookup.csv",
        "JSON": "lookup.csv --json",
        "without rates": "cables.csv --rate 100Gbps",
    },
    ("pde",): {"chain": "takano2006/1 --periods 20", "JSON": "takano2006/1 --periods 20 --json"},
    ("simulate",): {
        "automatic": "takano2006/1 --duration 40ms",
        "fluid": "takano2006/1 --duration 40ms --level fluid",
        "packets": "takano2006/1 --duration 40ms --level packets",
        "JSON": "takano2006/1 --duration 40ms --level packets --json",
        "ensemble": "takano2006/1 --duration 200ms --runs 2",
        "ensemble, JSON": "takano2006/1 --duration 200ms --runs 2 --json",
        "file": "path.toml",
    },
    ("compare",): {
        "text": "newreno --bandwidth 1.2Mbps --rtt 40ms --buffer 20kB --duration 1s --runs 2",
        "JSON": "newreno --bandwidth 1.2Mbps --rtt 40ms --buffer 20kB --duration 1s --runs 2 --json",
    },
    ("conform",): {
        "text": "newreno --suite incidents",
        "JSON": "newreno --suite incidents --json",
    },
    ("explain",): {
        "scenario": "takano2006/1 --duration 60ms --runs 2",
        "JSON": "takano2006/1 --duration 60ms --runs 2 --json",
        "losses": "takano2006/1 --duration 200ms --runs 2 --measures losses",
        "file": "path.toml --runs 2",
    },
    ("judge",): {
        "text": "Z02",
        "JSON": "Z02 --json",
        "no runs": "D01",
        "reading": "D01 --reading 'packets of 1500 bytes'",
    },
    ("infer",): {"paper": "zheng2002", "JSON": "zheng2002 --json"},
    ("explore",): {"page": "tcp", "JSON": "tcp --json"},
    ("validate",): {"claim": "--claim Z01", "JSON": "--claim Z01 --json"},
    ("figure",): {"list": "", "list, JSON": "--json", "claim": "Z01", "JSON": "Z01 --json"},
}
"""Words of each mode of a command."""
SLOW_MODES = {"many rules", "capacity", "file", "table", "xoff", "model"}
"""Modes whose calls compile, or take long."""
SLOW_COMMANDS = {("validate",), ("judge",), ("infer",), ("data", "verify"), ("data", "regenerate"), ("explore",)}
SLOW_OPTIONS = {"--animation"}
VALUES: dict[str, str] = {
    "--rtt": "50ms", "--p": "2e-3", "--invert": "cubic", "--rate": "200", "--bandwidth": "24Mbps", "--packet-size": "9kB",
    "--unit-check": "--no-unit-check --rtt 6", "--plot": "out.svg", "--csv": "out.csv", "--cable": "100m", "--mtu": "1518",
    "--lossless-mtu": "4200", "--cell": "254", "--response": "3us", "--response-measured": "--response 10ns | --response-measured",
    "--interface": "200ns", "--gearbox": "100ns", "--pipeline": "1us", "--classes": "3", "--velocity": "1.9e8",
    "--small-packets": "--cell 254 | --small-packets 0.3", "--smallest": "--small-packets 1 --cell 100 | --smallest 180", "--exceeded": "--cell 254 --small-packets 0.3 | --exceeded 0.01",
    "--merged": "--classes 3 | --merged", "--resume-queued": "--resume-queued", "--headroom": "300kB", "--ports": "9",
    "--size": "1.1MB", "--shared": "50kB", "--xoff": "50kB", "--alpha": "0.25", "--blocked": "2us", "--active-ports": "2",
    "--active-classes": "1", "--paused": "0.2", "--buffers": "12,20", "--high-threshold": "10pkt", "--low-threshold": "3pkt",
    "--link-rate": "--arrival-rates 20,2 | --link-rate 2Mbps", "--paused-rate": "10", "--states": "2", "--bottleneck-rate": "--arrival-rates 20,2 | --bottleneck-rate 50", "--arrival-rates": "20,2", "--recovery": "up",
    "--pause-at-threshold": "both", "--certificate": "out.cert", "--set": "arrival_rate=0.3", "--method": "krylov",
    "--property": "P=?[F<=1 n=5]", "--properties": "queue.props", "--const": "a=2", "--proof": "off", "--exact": "--exact",
}  # fmt: skip
"""Values of options; before a bar, options without which it has no effect, which the call to compare with has too."""
OF_COMMAND: dict[tuple[str, ...], dict[str, str]] = {
    ("simulate",): {
        "--dfc": "--no-dfc", "--tcp": "vegas", "--host": "unshaped", "--duration": "20ms", "--level": "fluid", "--seed": "--packet-jitter 5ms | --seed 7",
        "--steps": "8", "--steps-per-delay": "8", "--runs": "3", "--packet-jitter": "100us", "--animation": "out.gif",
        "--netcdf": "out.nc", "--save": "out.toml", "--max-cpu-time": "1e-9", "--native": "--native", "--record": "calls",
        "--sample": "--json | --sample 5ms",
    },
    ("compare",): {
        "--rtt": "80ms", "--buffer": "10", "--loss": "2%", "--duration": "2s", "--runs": "3", "--seed": "7", "--warm-up": "0.5s",
        "--recovery": "own", "--discipline": "codel", "--pacing": "--pacing",
        "--record": "calls",
    },
    ("conform",): {"--suite": "robustness", "--against": "newreno", "--known": "known.toml", "--strict": "--strict",
        "--junit": "out.xml", "--report": "out.html", "--record": "calls"},
    ("explain",): {
        "--measures": "first_loss", "--tcp": "vegas", "--duration": "30ms", "--since": "20ms", "--runs": "3", "--seed": "7",
        "--packet-jitter": "100us", "--shared": "--shared", "--table": "out.csv",
    },
    ("pde",): {"--packets": "100", "--node": "5", "--periods": "10", "--feedback": "--no-feedback"},
    ("headroom",): {"--rate": "200Gbps", "--chip": "tomahawk4"},
    ("pool",): {"--rate": "200Gbps"},
    ("deadlock",): {"--most": "1"},
    ("headroom", "audit"): {"--rate": "400Gbps", "--cable": "300m", "--chip": "tomahawk5"},
    ("judge",): {"--threshold": "tolerance=0.01", "--reading": "packets of 1500 bytes on each of the five hops of Fig. 2", "--seeds": "--seeds"},
    ("infer",): {"--rerun": "--rerun", "--record": "--record"},
    ("explore",): {"--port": "5123", "--browser": "--no-browser"},
    ("validate",): {
        "--claim": "Z02", "--report": "pages", "--fresh": "--fresh", "--record": "--record", "--recompute": "3",
        "--dask": "tcp://127.0.0.1:1", "--verbose": "--verbose",
    },
    ("figure",): {"--folder": "drawn", "--tables": "--tables", "--csv": "--csv"},
    ("data", "show"): {"--table": "link", "--rows": "3", "--value": "timeouts"},
    ("cache",): {"--clear": "--clear"},
}  # fmt: skip
"""Values of options of one command."""
SPEED: dict[tuple[str, ...], dict[str, str]] = {
    ("validate",): {
        "--fresh": "checks claims that are cached again, with the same findings",
        "--dask": "checks on the workers of a cluster, with the same findings: tests/validation/test_cli.py",
    },
    ("data", "regenerate"): {"--jobs": "simulators side by side"},
    ("solve", "file"): {"--max-seconds": "limit of a predicted time; tests/markov/test_cli.py has its refusals"},
}
"""Options that change the time alone, with the reason."""
NOT_RUN: dict[tuple[str, ...], str] = {}
"""Commands that this file does not run, with the reason."""


REFUSED: dict[tuple[str, ...], dict[str, str]] = {
    ("response",): {
        "catalogue": "--bandwidth --csv --invert --p --packet-size --plot --rate --rtt --unit-check",
        "rules": "--bandwidth --invert --rate",
        "many rules": "--bandwidth --invert --packet-size --rate",
        "JSON": "--bandwidth --invert --packet-size --rate",
        "inverse": "--bandwidth --csv --p --packet-size --plot",
        "inverse, JSON": "--bandwidth --csv --p --packet-size --plot",
        "capacity": "--invert --rate",
        "file": "--bandwidth --invert --rate",
    },
    ("headroom",): {
        "one": "--chip",
        "JSON": "--chip",
        "table": "--chip --plot",
    },
    ("pool",): {
        "alpha": "--xoff",
        "xoff": "--alpha",
    },
    ("solve", "pause"): {
        "JSON": "--verbose",
    },
    ("solve", "chain"): {
        "JSON": "--verbose",
    },
    ("solve", "file"): {
        "long run": "--exact",
        "JSON": "--exact --verbose",
        "property": "--method --plot --proof --properties --states --verbose",
        "exact": "--method --plot --proof --properties --property --states --verbose",
    },
    ("check",): {
        "alone": "--const",
    },
    ("data", "show"): {
        "JSON": "--plot --value",
    },
    ("headroom", "audit"): {
        "table": "--cable --rate",
        "JSON": "--cable --rate",
        "without rates": "--cable",
    },
    ("simulate",): {
        "automatic": "--max-cpu-time --native --record",
        "fluid": "--max-cpu-time --native --record",
        "packets": "--max-cpu-time --native --record --steps --steps-per-delay",
        "JSON": "--max-cpu-time --native --record --steps --steps-per-delay",
        "ensemble": "--animation --max-cpu-time --native --netcdf --record",
        "ensemble, JSON": "--animation --max-cpu-time --native --netcdf --record",
        "file": "--dfc --host --max-cpu-time --native --record --tcp",
    },
    ("compare",): {"text": "--record", "JSON": "--record"},
    ("conform",): {"text": "--against --record", "JSON": "--against --record"},
    ("explain",): {
        "losses": "--since",
        "file": "--tcp",
    },
    ("infer",): {
        "paper": "--record",
        "JSON": "--record",
    },
    ("figure",): {
        "list": "--csv --folder --tables",
        "list, JSON": "--csv --folder --tables",
    },
    ("judge",): {
        "text": "--reading",
        "JSON": "--reading",
        "no runs": "--seeds",
        "reading": "--seeds",
    },
}
"""Options that a mode of a command refuses by name: it would not use them, or the value is beyond a limit that they set."""


def runs() -> list[Any]:
    """Return command, mode and option of each run."""
    options = {
        command: {
            max(option.opts, key=len): option for option in ALL[command].params if option.param_type_name == "option"
        }
        for command in MODES
    }
    return [
        pytest.param(
            command,
            mode,
            option,
            id=f"{' '.join(command)}, {mode}, {option}",
            marks=[pytest.mark.slow]
            if mode in SLOW_MODES or command in SLOW_COMMANDS or option in SLOW_OPTIONS
            else [],
        )
        for command, modes in MODES.items()
        for mode, words in modes.items()
        for option in sorted(options[command].keys() - {"--help"} - SPEED.get(command, {}).keys())
        if option not in words.split() or not (options[command][option].is_flag or mode == words.split()[-1])
    ]


def write_files(folder: Path) -> None:
    """Write the files that modes name."""
    texts = {
        "queue.sm": QUEUE,
        "queue.props": '"empty": S=? [ n=0 ];\n',
        "mine.py": RULE,
        "known.toml": '"incidents/idle" = "a rule of rates"\n',
        "path.toml": PATH,
        "topology.toml": TOPOLOGY,
        "lookup.csv": LOOKUP,
        "cables.csv": "cable,xoff\n5m,25000\n300m,60000\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    cached = folder / "cache" / "native" / "kernel.hopflow"
    cached.parent.mkdir(mode=0o700, parents=True)
    cached.parent.parent.chmod(0o700)
    cached.write_bytes(b"machine code")


def replace_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace what changes the checkout, runs simulators or waits for Ctrl-C by files of the current folder."""

    def rebuild(names: list[str], jobs: int) -> list[str]:
        Path("rebuilt").write_text(str(names), encoding="utf-8")
        return []

    def record(findings: object) -> None:
        Path("recorded").touch()

    def interrupt(loop: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(generator, "rebuild", rebuild)
    monkeypatch.setattr("validation._cli.write_records", record)
    monkeypatch.setattr("validation.commands.infer_command.record", record)
    monkeypatch.setattr("webbrowser.open", lambda address: Path("opened").write_text(address, encoding="utf-8"))
    if importlib.util.find_spec("tornado") is not None:
        monkeypatch.setattr("tornado.platform.asyncio.BaseAsyncIOLoop.start", interrupt)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    replace_effects(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMPARED = (".csv", ".toml", ".cert", ".png")
"""Files whose content is compared; of others the name."""
TIMES = r"(seconds\W+|time +|simulated in |claims? in )[\d.e+-]+( \w+)?"
"""Times in outputs, which differ from call to call."""
USAGE_ERROR = 2
"""Exit status of words that the command line does not take."""


class Outcome(NamedTuple):
    """Output without times, exit status, and files of a call; ``is_refusal``: whether it refused its words."""

    text: str
    status: int
    files: frozenset[tuple[str, bytes]]
    is_refusal: bool


def outcome(command: tuple[str, ...], words: list[str], folder: Path) -> Outcome:
    """Return the outcome of a call; the command of the cache has a cache of its own."""
    if command == ("check",) and not (folder / "queue.cert").exists():
        invoke(["solve", "file", "queue.sm", "--const", "a=1", "--certificate", "queue.cert"])
    environment = {"HOPFLOW_CACHE_DIR": str(folder / "cache")} if command == ("cache",) else {}
    result = invoke([*command, *words], env=environment)
    has_error = result.exception is not None and not isinstance(result.exception, SystemExit)
    text = re.sub(TIMES, "", result.output) + (str(result.exception) if has_error else "")
    text = text.replace(str(folder), "")  # the call to compare with may have run in another folder
    files = frozenset(
        (str(path.relative_to(folder)), path.read_bytes() if path.suffix in COMPARED else b"")
        for path in folder.rglob("*")
        if path.is_file()
    )
    return Outcome(text, result.exit_code, files, has_error or result.exit_code == USAGE_ERROR)


def calls(command: tuple[str, ...], mode: str, option: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words of a mode without and with an option, then, if it needs others, both with them."""
    words, is_flag = shlex.split(MODES[command][mode]), next(x for x in ALL[command].params if option in x.opts).is_flag
    values = VALUES | OF_COMMAND.get(command, {})
    needed, _, value = (values.get(option, option) if is_flag else values[option]).rpartition(" | ")
    added = value.split() if value.startswith("--") else [option, value]
    if option in words:
        index = words.index(option) + 1
        yield words, [*words[:index], value, *words[index + 1 :]]
        return
    others = [word for word in needed.split() if word not in words]
    yield [*words, *others], [*words, *others, *added]
    yield words, [*words, *others, *added]


_outcomes: dict[tuple[tuple[str, ...], tuple[str, ...]], Outcome] = {}
"""Outcomes of calls to compare with, which many options of a mode have in common."""


def outcome_without(command: tuple[str, ...], words: list[str], make_folder: Callable[[], Path]) -> Outcome:
    """Return the outcome of a call in a folder of its own, run once for all options with the same words."""
    key = command, tuple(words)
    if key not in _outcomes:
        _outcomes[key] = outcome(command, words, make_folder())
    return _outcomes[key]


@pytest.fixture
def make_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """Return a function that enters a new folder with the files that modes name."""
    replace_effects(monkeypatch)

    def make() -> Path:
        folder = tmp_path_factory.mktemp("options")
        write_files(folder)
        monkeypatch.chdir(folder)
        return folder

    return make


@pytest.mark.parametrize(("command", "mode", "option"), runs())
def test_an_option_changes_something_or_is_refused(
    command: tuple[str, ...], mode: str, option: str, make_folder: Callable[[], Path]
) -> None:
    if command == ("explore",):
        pytest.importorskip("bokeh", reason="needs hopflow[explore]")
    attempts = calls(command, mode, option)
    without, with_option = next(attempts)
    before = outcome_without(command, without, make_folder)
    if before.is_refusal:  # options that are not accepted without this one
        without, with_option = next(attempts, (without, with_option))
        before = outcome_without(command, without, make_folder)
    assert not before.is_refusal, before.text
    after = outcome(command, with_option, make_folder())
    assert after.is_refusal == (option in REFUSED.get(command, {}).get(mode, "").split()), after.text
    if after.is_refusal:
        names = [word for word in with_option if word not in without and not word.isdigit()]
        spellings = [*names, *(name.lstrip("-").replace("-", "_") for name in names)]
        assert any(spelling in after.text for spelling in spellings), after.text
    else:
        assert after != before, f"{option} is accepted and changes nothing"


def test_each_command_is_run_or_has_a_reason() -> None:
    assert {*MODES, *NOT_RUN} == {*LEAVES, ("headroom",)}
    assert not {*MODES} & {*NOT_RUN}


# Every option with a unit: the same value in several units is the same answer.


HEADROOM = "headroom --rate 100Gbps --cable 300m --json"
POOL = "pool --headroom 225792B --rate 400Gbps --ports 8 --classes 2 --size 1MB --shared 4MB --xoff 100kB --json"
AUDIT = "headroom audit lookup.csv --json"
PAUSE = "solve pause --json"
SIMULATE = "simulate takano2006/1 --duration 40ms --level packets --json"
COMPARE = "compare newreno --bandwidth 1.2Mbps --rtt 40ms --buffer 20kB --duration 1s --runs 2 --json"
EXPLAIN = "explain takano2006/1 --duration 60ms --runs 2 --json"
SIZES, TIMES_OF_PORTS = ("4608", "4608B", "4.5KiB", "4.608kB"), ("1.25us", "1250ns", "0.00125ms")
IN_UNITS: dict[str, dict[str, tuple[str, ...]]] = {
    "response newreno --p 1e-3 --json": {
        "--rtt": ("31.25ms", "31250us", "31250\N{MICRO SIGN}s", "31250\N{GREEK SMALL LETTER MU}s", "0.03125"),
        "--p": ("0.5%", "0.005"),
    },
    "response vegas --p 1e-3 --rtt 40ms --bandwidth 8Mbps --json": {
        "--bandwidth": ("1.024Mbps", "1000Kibit/s", "1000Kibps"), "--packet-size": ("9kB", "9000", "8.7890625KiB"),
    },
    "response --invert reno --rate 100 --json": {"--rate": ("1.536Mbps", "1500Kibit/s", "128", "128pkt/s")},
    HEADROOM: {
        "--rate": ("100Gbps", "100000Mbps", "97656250Kibit/s"), "--cable": ("250m", "0.25km"), "--mtu": ("9216", "9216B", "9KiB", "9.216kB"),
        "--lossless-mtu": SIZES, "--cell": ("256", "256B", "0.25KiB"), "--smallest": ("128", "128B", "0.125KiB"),
        "--response": ("3us", "3000ns", "300000bits"), "--interface": TIMES_OF_PORTS, "--gearbox": TIMES_OF_PORTS, "--pipeline": TIMES_OF_PORTS,
        "--small-packets": ("30%", "0.3"), "--exceeded": ("1% --small-packets 0.3 --cell 256", "0.01 --small-packets 0.3 --cell 256"),
    },
    AUDIT: {
        "--cell": ("256", "256B", "0.25KiB"), "--mtu": ("9216", "9KiB"), "--lossless-mtu": SIZES, "--response": ("3us", "3000ns"),
    },
    "headroom audit cables.csv --rate 100Gbps --json": {"--rate": ("100Gbps", "100000Mbps")},
    "headroom audit rates.csv --cable 300m --json": {"--cable": ("250m", "0.25km")},
    POOL: {
        "--headroom": ("220.5KiB", "225792", "225.792kB"), "--rate": ("409.6Gbps", "400000000Kibit/s"), "--size": ("1MiB", "1048576"),
        "--shared": ("0.5MiB", "524288B"), "--xoff": ("48KiB", "49.152kB"), "--blocked": ("2us", "2000ns"), "--paused": ("20%", "0.2"),
    },
    PAUSE: {
        "--buffers": ("12,20", "18kB,30kB"), "--high-threshold": ("12", "12pkt", "18kB"), "--low-threshold": ("12", "12pkt", "18kB"),
        "--link-rate": ("1.536Mbps --arrival-rates 20,2", "1500Kibit/s --arrival-rates 20,2", "128 --arrival-rates 20,2"),
        "--paused-rate": ("0.12Mbps", "120kbps", "10"), "--arrival-rates": ("0.24Mbps,24kbps", "20,2"), "--rtt": ("1500ms", "1.5s", "1.5"),
        "--bottleneck-rate": ("0.24Mbps --arrival-rates 20,2", "20 --arrival-rates 20,2"),
    },
    SIMULATE: {
        "--duration": ("20ms", "20000us", "0.02"), "--packet-jitter": ("100us", "0.1ms"), "--sample": ("5ms", "5000us", "0.005"),
        "--max-cpu-time": ("1min", "60s", "60"),
    },
    COMPARE: {
        "--bandwidth": ("1.536Mbps", "1500Kibit/s", "128"), "--rtt": ("50ms", "0.05"), "--buffer": ("20pkt", "30kB", "20"), "--duration": ("2s", "2000ms", "2"),
        "--warm-up": ("500ms", "0.5"), "--loss": ("2%", "0.02"), "--packet-size": ("3kB", "3000"),
    },
    EXPLAIN: {"--duration": ("50ms", "0.05"), "--since": ("20ms", "0.02"), "--packet-jitter": ("100us", "0.1ms")},
}  # fmt: skip
"""Calls, and texts of options for one value each."""
NUMBERS_OR_NAMES = {
    "--invert", "--response-measured", "--classes", "--velocity", "--chip", "--ports", "--alpha", "--active-ports",
    "--active-classes", "--recovery", "--pause-at-threshold", "--certificate", "--set", "--method", "--states", "--property", "--properties",
    "--const", "--proof", "--max-seconds", "--plot", "--csv", "--table", "--tcp", "--host", "--level", "--steps-per-delay", "--steps", "--seed", "--runs",
    "--animation", "--netcdf", "--save", "--discipline", "--measures", "--packets", "--node", "--periods", "--most", "--threshold", "--reading", "--port",
    "--claim", "--report", "--recompute", "--dask", "--folder", "--rows", "--value", "--jobs",
    "--record", "--suite", "--against", "--known", "--junit",
}  # fmt: skip
"""Options that take numbers without a unit, names or files. ``--max-seconds`` has its unit in its name."""


def answer(words: list[str]) -> str:
    """Return the output of a call without what differs from call to call and the text of the option."""
    result = invoke(words)
    assert result.exit_code in (0, 1), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return re.sub(r'"(?:seconds|history|created)[^\n]*', "", result.stdout)


@pytest.mark.parametrize(
    ("call", "option"),
    [
        pytest.param(call, option, marks=[pytest.mark.slow] if call in (SIMULATE, COMPARE, EXPLAIN) else [])
        for call, options in IN_UNITS.items()
        for option in options
    ],
)
def test_a_value_in_other_units_is_the_same_value(call: str, option: str, folder: Path) -> None:
    (folder / "rates.csv").write_text("speed,xoff\n100000,190000\n400000,300000\n", encoding="utf-8")
    answers = set()
    for text in IN_UNITS[call][option]:
        words, (value, *others) = call.split(), text.split()
        index = words.index(option) + 1 if option in words else None
        words = [*words, option, value] if index is None else [*words[:index], value, *words[index + 1 :]]
        answers.add(answer([*words, *others]))
    assert len(answers) == 1, "\n".join(answers)


def test_every_option_is_run_in_units_or_takes_none() -> None:
    in_units = {
        (command, option)
        for call, options in IN_UNITS.items()
        for command in MODES
        if call.split()[: len(command)] == list(command) and not (command == ("headroom",) and "audit" in call)
        for option in options
    }
    others = {
        (command, max(option.opts, key=len))
        for command in MODES
        for option in ALL[command].params
        if option.param_type_name == "option" and not option.is_flag
    } - in_units
    assert {(command, option) for command, option in others if option not in NUMBERS_OR_NAMES} == set()
