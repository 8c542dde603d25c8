"""The hopflow command: its messages, its help, its JSON, what it loads, and what other distributions offer it."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import typer
import typer.main
import xarray as xr
from typer.testing import CliRunner

import hopflow
from hopflow import Status, mbps
from hopflow.console import commands
from hopflow.console.command_line import (
    Parameter,
    _near_options,
    as_json,
    examples,
    expand_options,
    plain,
)
from hopflow.console.commands import COMMANDS, app, in_the_shell
from hopflow.errors import DamagedDataError, KernelError
from hopflow.kernels import make_kernel, native
from hopflow.registry import Registry
from hopflow.units import quantities
from tests.surface import for_each, invoke, printed_by, python

# The hopflow command: its messages, its help, its JSON, and what it loads.


# The ``hopflow`` command: its messages, its help, and what it loads.


def of_command(message: str) -> ValueError:
    """Return an error of a command with two options and an argument, as `Command.invoke` leaves it."""
    error: Any = ValueError(message)
    error.parameters = {
        "high_threshold": ("--high-threshold", ""),
        "dfc": ("--dfc", "--no-dfc"),
        "name": ("", ""),
    }
    return error


@pytest.mark.parametrize(
    ("error", "words", "said"),
    [
        (
            ValueError("high_threshold = 30: too many"),
            ["--high-threshold=30"],
            "--high-threshold 30: too many",
        ),
        (ValueError("high_threshold = 30: too many"), [], "high_threshold = 30: too many"),
        (of_command("high_threshold = 30: too many"), [], "--high-threshold 30: too many"),
        (of_command("high_threshold is missing: say 3"), [], "--high-threshold is missing: say 3"),
        (
            of_command("dfc is missing: with high_threshold = 3, say"),
            ["3"],
            "--dfc is missing: with --high-threshold 3, say",
        ),
        (
            of_command("x: give high_threshold=3 or dfc=False"),
            [],
            "x: give --high-threshold 3 or --no-dfc",
        ),
        (of_command("name = 'renoo': no rule"), ["renoo"], "'renoo': no rule"),
        (of_command("rule = 'renoo': no rule"), ["renoo"], "'renoo': no rule"),
        (ValueError("x; unit_check=False allows it"), [], "x; --no-unit-check allows it"),
        (ValueError("path = a.toml: cannot be read"), ["a.toml"], "a.toml: cannot be read"),
        (FileNotFoundError(2, "No such file", "a.toml"), ["a.toml"], "a.toml: No such file"),
        (of_command("a.ini: line 2: high_threshold = '40M': no"), [], "a.ini: line 2: high_threshold = '40M': no"),
    ],
    ids=[
        "option",
        "default",
        "default-of-command",
        "missing",
        "two",
        "within",
        "argument",
        "other-name",
        "switch",
        "path",
        "file",
        "column-of-a-file",
    ],
)
def test_messages_speak_of_options(error, words: list[str], said: str) -> None:
    assert in_the_shell(error, words) == said


ROOT = Path(__file__).parents[3]


def commands_of(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands below one, with the words that call them."""
    yield names, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from commands_of(command.get_command(None, name), *names, name)


GROUP: Any = typer.main.get_command(app)
ALL = dict(commands_of(GROUP))
LEAVES = {names: command for names, command in ALL.items() if not hasattr(command, "list_commands")}


def plain_words(text: str) -> str:
    """Return text without the frames, code marks and line breaks of a help page."""
    return " ".join(re.sub("[│╭╮╰╯─\n]", " ", text.replace("`", "")).split())


@pytest.mark.parametrize("names", ALL, ids=lambda names: " ".join(names) or "hopflow")
def test_help_prints_all_that_was_written(names: tuple[str, ...]) -> None:
    """Markup in square brackets, ``hopflow[explore]``, was removed, and the advice was another one."""
    command = ALL[names]
    done = invoke([*names, "--help"], env={"COLUMNS": "400"})
    printed = plain_words(done.output)
    assert done.exit_code == 0
    for text in (
        command.help,
        command.epilog,
        *(each.help for each in command.params if each.help),
    ):
        for paragraph in (text or "").split("\n\n"):
            assert plain_words(paragraph) in printed
    for line in re.findall(r"pip install (\S+)", printed):
        assert line in {f"'hopflow[{extra}]'" for extra in extras()}


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("names", ALL, ids=lambda names: " ".join(names) or "hopflow")
def test_names_of_options_are_whole_in_the_help(names: tuple[str, ...], width: int, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    words = re.split(r"[\s,/│]+", invoke([*names, "--help"], env={"COLUMNS": str(width)}).output)
    for option in ALL[names].params:
        if option.param_type_name == "option" and not option.hidden:
            assert {*option.opts, *option.secondary_opts} <= {*words}


REPEATED = {"cable", "claim", "const", "p", "property", "rate", "set", "threshold"}
"""Options that may be repeated."""


@for_each(ALL.items())
def test_an_option_given_twice_is_refused_unless_it_may_be_repeated(names, command) -> None:
    """The last one was taken, without a word."""
    options = [each for each in command.params if each.param_type_name == "option"]
    assert {each.name for each in options if each.multiple} <= REPEATED
    for option in options:
        words = [option.opts[-1], *([] if option.is_flag else ["7"])] * 2
        if option.multiple:
            continue
        with pytest.raises(typer.BadParameter, match="is given more than once") as error:
            command.make_context("x", words)
        assert error.value.param.name == option.name


def test_an_option_that_takes_a_number_names_a_value_that_is_none() -> None:
    """Typer's own message is Pydantic's, without the value: "Input should be a valid number"."""
    errors = []
    for command in ALL.values():
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag and not option.multiple:
                try:
                    command.make_context("x", [option.opts[-1], "1/32"])
                except typer.BadParameter as error:  # of an argument that is missing, if the option takes a string
                    errors += [error.message] if error.param is option else []
    assert len(errors) > 5
    for message in errors:
        assert re.search("'1/32'.* valid (integer|number|int|float)", message)


@for_each(
    [
        (["simulte"], "did you mean 'simulate'"),
        (["data", "shw"], "did you mean 'show'"),
        (["headroom", "adit"], "did you mean 'audit'"),
        (["solve", "kanbn"], "did you mean 'kanban'"),
        (["solve", "nosuch"], "must be one of birthdeath,"),
        (["headroom", "--rate", "400Gbps", "audit", "x.ini"], "stands before 'audit'"),
        (["response", "cubic", "--loss", "0.01"], "No such option: --loss; did you mean --p?"),
        (["response", "cubic", "-p", "0.01"], "No such option: -p; did you mean --p or --packet-size or --plot?"),
        (["compare", "cubic", "--bw", "10Mbps"], "No such option: --bw; did you mean --bandwidth?"),
        (["compare", "cubic", "--bandwith", "10Mbps"], "No such option: --bandwith; did you mean --bandwidth?"),
        (["compare", "cubic", "--queue", "20pkt"], "No such option: --queue; did you mean --buffer?"),
        (["compare", "cubic", "--p", "0.01"], "No such option: --p; did you mean --loss?"),
        (["simulate", "x", "--time", "3"], "No such option: --time; did you mean --duration?"),
        (["headroom", "--speed", "100Gbps"], "No such option: --speed; did you mean --rate?"),
        (["headroom", "audit", "x.ini", "--strictt"], "No such option: --strictt; did you mean --strict?"),
        (["solve", "pause", "--buffer", "10"], "No such option: --buffer; did you mean --buffers?"),
        (["response", "cubic", "--xyzzy"], "No such option: --xyzzy; "),
    ]
)
def test_a_wrong_command_is_answered_by_what_there_is(words: list[str], said: str) -> None:
    done = invoke(words, env={"COLUMNS": "400"})
    assert done.exit_code == 2
    assert said in done.output


OTHER_WORDS = {
    "--bandwidth": "bw capacity link-rate speed",
    "--buffer": "buf queue queue-size buffer-size limit",
    "--buffers": "queue queue-size",
    "--cable": "length distance cable-length",
    "--classes": "priorities priority",
    "--const": "constant param parameter set define",
    "--csv": "table output out",
    "--duration": "time seconds length until",
    "--folder": "output out report directory",
    "--loss": "loss-rate drop plr",
    "--mtu": "frame frame-size",
    "--p": "loss-rate loss-event-rate plr probability",
    "--packet-size": "mss segment-size",
    "--plot": "figure draw png",
    "--rate": "speed bw link-rate",
    "--rtt": "delay latency round-trip round-trip-time",
    "--runs": "repetitions repeat n samples",
    "--tcp": "rule rules cc",
}
"""Words for an option, by the option."""


@pytest.mark.parametrize(("option", "words"), OTHER_WORDS.items())
def test_other_words_of_the_field_name_their_option(option: str, words: str) -> None:
    """Among the options of all commands, and where it is the only one."""
    for word in words.split():
        assert option in _near_options(f"--{word}", list(OTHER_WORDS)), word
        assert _near_options(f"--{word}", [option]) == [option], word


@for_each([[], ["-h"], ["solve"], ["data"], ["response", "-h"]])
def test_help_is_no_error(words: list[str]) -> None:
    done = invoke(words)
    assert (done.exit_code, "Usage: " in done.output) == (0, True)


def test_a_closed_pipe_is_no_error() -> None:
    """The rest is discarded, and the command ends with its own status."""
    command = [sys.executable, "-m", "hopflow", "response"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


RULE_FILE = """
from typing import NamedTuple
from hopflow import maximum
from responsefn import WindowRule

class Gentle(WindowRule):
    class Params(NamedTuple):
        kept: float = 0.5
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)
    @staticmethod
    def on_loss(s, q, e):
        after = maximum(1.0, q.kept * s.cwnd)
        return s._replace(cwnd=after, ssthresh=after)
"""


def test_a_rule_in_a_file_is_one_on_the_command_line(tmp_path: Path) -> None:
    """It has the rates of Reno's growth and cut, also as CSV, and shares with Reno as Reno itself."""
    file, table = tmp_path / "gentle.py", tmp_path / "out.csv"
    file.write_text(RULE_FILE, encoding="utf-8")
    words = ["response", str(file), "--p", "1e-3", "--rtt", "100ms", "--csv", str(table), "--json"]
    (rate,) = json.loads(invoke(words, catch_exceptions=False).stdout)["rate"]["Gentle()"]
    assert rate == pytest.approx(math.sqrt(1.5 / 1e-3) / 0.1, rel=0.01)
    assert table.read_text().splitlines()[0] == "rule,p,rtt,rate,in_domain"
    assert float(table.read_text().splitlines()[1].split(",")[3]) == rate
    path = [
        "--bandwidth",
        "500",
        "--rtt",
        "40ms",
        "--buffer",
        "1BDP",
        "--duration",
        "10s",
        "--runs",
        "2",
    ]
    done = invoke(["compare", str(file), "reno", *path, "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["buffer"] == 20
    file.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="0 rules: must have one Response, or a variable named rule"):
        invoke(words, catch_exceptions=False)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        invoke(["response", str(tmp_path / "none.py")], catch_exceptions=False)


def extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return set(project["optional-dependencies"])


def test_every_extra_that_a_text_names_is_one_of_the_project() -> None:
    """In error messages, docstrings and docs."""
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for package in ("hopflow", "markov", "responsefn", "dfcmodel", "validation"):
        texts += (ROOT / package).rglob("*.py")
    named = {
        (extra.strip(), path.name)
        for path in texts
        for found in re.findall(r"hopflow\[([a-z, ]+)\]", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert {extra for extra, _ in named} >= {"explore", "scale", "capture", "test"}
    assert {pair for pair in named if pair[0] not in extras()} == set()


@for_each(COMMANDS)
def test_the_list_of_commands_says_what_their_own_help_does(name: str) -> None:
    own = (ALL[name,].help or "").split("\n\n")[0].removesuffix(".")
    assert plain_words(own).startswith(plain_words(COMMANDS[name].help.removesuffix(".")))


LOADED = """
import runpy, sys
sys.argv = ["hopflow", *{words!r}]
try:
    runpy.run_module("hopflow", run_name="__main__")
except SystemExit:
    pass
print(sorted({{"numpy", "scipy", "numba", "jax", "pandas", "markov.driver", "pydantic", "typer"}} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "environment", "loaded"),
    [
        (["--version"], {}, []),
        (["--help"], {}, ["typer"]),
        (
            [],
            {"_HOPFLOW_COMPLETE": "complete_bash", "COMP_WORDS": "hopflow s", "COMP_CWORD": "1"},
            ["typer"],
        ),
    ],
    ids=["version", "help", "completion"],
)
def test_what_needs_no_model_loads_none(words, environment, loaded) -> None:
    code = LOADED.format(words=words)
    done = python("-c", code, env=environment)
    assert done.stderr.splitlines()[-1] == str(loaded)
    wanted = {
        "version": f"hopflow {hopflow.__version__}",
        "help": "headroom",
        "completion": "simulate",
    }
    key = "completion" if environment else words[0].removeprefix("--")
    assert wanted[key] in done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which hopflow's packages stand, and a distribution that has a package ``markov``, too."""
    root = Path(hopflow.__file__).parents[1]
    for name in ("dfcmodel", "responsefn", "validation"):
        (tmp_path / name).symlink_to(root / name)
    shutil.copytree(root / "hopflow", tmp_path / "hopflow")
    (tmp_path / "markov").mkdir()
    (tmp_path / "markov/__init__.py").write_text("x = 1\n", encoding="utf-8")
    about = tmp_path / "othermarkov-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: othermarkov\nVersion: 1.0\n", encoding="utf-8")
    (about / "RECORD").write_text("markov/__init__.py,,\nothermarkov-1.0.dist-info/METADATA,,\n", encoding="utf-8")
    return tmp_path


def run_at(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages of a folder before all others."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); " + words[0]
    return python("-c", code, *words[1:])


SAID = "the distribution 'othermarkov' has a package markov, too, and has overwritten hopflow's: repair it by"


def test_the_distribution_that_has_overwritten_a_package_is_named(installed: Path) -> None:
    """By a warning of the import, by the error of what needs the package, and by the command, which tells how to repair it."""
    done = run_at(installed, "import hopflow; hopflow.PauseTandem")
    assert done.returncode == 1
    warning, error = (line for line in done.stderr.splitlines() if SAID in line)
    assert "UserWarning" in warning
    assert error.startswith("ImportError")
    assert "`pip uninstall othermarkov`" in error
    assert "`pip install --force-reinstall --no-deps hopflow`" in error
    done = run_at(installed, "from hopflow.shell import main; main()", "claims")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert f"damaged installation: {SAID}" in said
    assert "Traceback" not in said


def test_a_module_that_a_file_of_the_user_lacks_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import a_module_that_nobody_has\n", encoding="utf-8")
    done = python("-m", "hopflow", "solve", "mine.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: 'mine.py', line 1: the file cannot be run: ModuleNotFoundError: No module named 'a_module_that_nobody_has'"
    ]


RANDOM_RULE = """\
import random
from responsefn import WindowRule


class Mine(WindowRule):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + random.random() / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=0.5 * s.cwnd)
"""


def test_a_rule_that_cannot_be_compiled_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(RANDOM_RULE, encoding="utf-8")
    done = python("-m", "hopflow", "response", "mine.py", "--p", "1e-3", "--rtt", "50ms", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: mine.py:8: random: a compiled rule may not use this name"
    assert "Traceback" not in done.stderr


def test_a_chain_larger_than_memory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from markov import MM1K\nchain = MM1K(capacity=10**9)\n", encoding="utf-8")
    limited = "import resource as r, sys; r.setrlimit(r.RLIMIT_AS, (8 * 10**9,) * 2); from hopflow.console.commands import run; sys.argv[1:] = ['solve', 'mine.py']; run()"
    done = python("-c", limited, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "bytes" in done.stderr


GROWING = """import math
from markov import explore

def rules(s, q):
    yield s._replace(n=s.n + 1), 1.5 + math.sin(s.n)  # not followed for infinitely many states
    yield s._replace(m=s.m + 1), 1.0
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.0

chain = explore(rules, start={"n": 0, "m": 0}, most=1_000_000_000)
"""
PRODUCT = """ctmc
module a x : [0..9999] init 0; [] x < 9999 -> 1 : (x' = x + 1); [] x > 0 -> 2 : (x' = x - 1); endmodule
module b = a [x = y] endmodule
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("growing.py", GROWING, r"not enough memory: rules: more than [0-9]+ reachable states: .* that are available"),
        ("product.sm", PRODUCT, r"not enough memory: product\.sm: .* bytes, of .* that are available"),
    ],
)
def test_a_process_below_ulimit_says_how_much_memory_it_would_take(
    file: str, text: str, said: str, tmp_path: Path
) -> None:
    """``ulimit -v`` of a shell: states that are found one by one, or in tables, end in one line before memory does."""
    (tmp_path / file).write_text(text, encoding="utf-8")
    command = f"ulimit -v 1900000; exec {shlex.quote(sys.executable)} -m hopflow solve {file}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "MemoryError" not in done.stderr
    assert re.search(said, " ".join(done.stderr.split())), done.stderr


def test_warnings_of_hopflow_have_no_path_of_its_code(monkeypatch, capsys) -> None:
    """A warning of a file of the user still says where it is."""

    def warned() -> None:
        warnings.warn_explicit("a limit", UserWarning, commands.__file__, 7)
        warnings.warn_explicit("of a file", UserWarning, typer.main.__file__, 7)  # by `warn_caller`
        warnings.warn_explicit("of mine", UserWarning, "mine.py", 7)

    monkeypatch.setattr(commands, "app", warned)
    with pytest.warns(UserWarning, match="^of mine$") as usual:
        commands.run()
    assert capsys.readouterr().err == "warning: a limit\nwarning: of a file\n"
    assert [(str(each.message), each.filename) for each in usual] == [("of mine", "mine.py")]


def test_a_package_that_another_distribution_took_away_is_named(installed: Path) -> None:
    shutil.rmtree(installed / "markov")
    shutil.rmtree(installed / "othermarkov-1.0.dist-info")
    done = run_at(installed, "import hopflow; hopflow.gbps")
    assert done.returncode == 0
    assert "markov/__init__.py is missing: repair it by `pip install" in done.stderr


def test_nothing_is_said_of_an_installation_that_is_whole() -> None:
    assert not printed_by("-W", "error", "-c", "import hopflow")
    assert importlib.metadata.version("hopflow") == hopflow.__version__


# Every command: examples in its help that parse, JSON, and files checked before any work.


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_a_command_has_examples_that_parse(path: tuple[str, ...]) -> None:
    lines = [line for line in LEAVES[path].epilog.splitlines() if line.startswith("$ ")]
    assert lines
    for line in lines:
        words = shlex.split(line)[1:]
        assert words[0] == "hopflow"
        rest = words[1 + len(path) :]
        if words[1 : 1 + len(path)] != list(path):  # hopflow solve FILE is hopflow solve file FILE
            assert path in (("solve", "file"), ("solve", "chain"))
            rest = words[2:]
        context = LEAVES[path].make_context(path[-1], rest, resilient_parsing=False)
        assert context.params


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_a_command_prints_json(path: tuple[str, ...]) -> None:
    assert "--json" in {option for each in LEAVES[path].params for option in each.opts}


def test_completion_is_offered() -> None:
    options = {option for each in typer.main.get_command(app).params for option in each.opts}
    assert {"--install-completion", "--show-completion"} <= options


@for_each(
    [
        (("figure",), "name", "malhotra2005/", "malhotra2005/4"),
        (("figure",), "name", "M0", "M03"),
        (("simulate",), "tcp", "new", "newreno"),
        (("explain",), "tcp", "v", "vegas"),
        (("explain",), "scenario", "d0", "d05"),
        (("compare",), "rules", "CU", "CUbic"),
        (("simulate",), "level", "p", "packets"),
        (("simulate",), "host", "u", "unshaped"),
        (("data", "list"), "paper", "z", "zheng2002"),
        (("response",), "rules", "cu", "cubic"),
        (("validate",), "claim", "D0", "D05"),
        (("judge",), "claim", "m0", "m06"),
        (("data", "show"), "case", "zheng2002/p", "zheng2002/periodic-loss"),
        (("explore",), "view", "t", "threshold"),
    ]
)
def test_names_are_completed(path: tuple[str, ...], name: str, begun: str, found: str) -> None:
    command = LEAVES[path]
    parameter = next(each for each in command.params if each.name == name)
    context = command.make_context(path[-1], [], resilient_parsing=True)
    offered = [each.value for each in parameter.shell_complete(context, begun)]
    assert found in offered
    assert all(each.startswith(begun) for each in offered)


def test_values_become_json() -> None:
    data = xr.Dataset(
        {"rate": (("flow", "node"), [[1.0, np.nan], [3.0, 4.0]]), "total": 8.0},
        coords={"flow": ["a", "b"]},
    )
    assert plain(data) == {
        "rate": {"a": {"0": 1.0, "1": None}, "b": {"0": 3.0, "1": 4.0}},
        "total": 8.0,
    }
    given = {"status": Status.CONVERGED, "p": np.arange(2), "at": Path("x"), "inf": -np.inf}
    assert json.loads(as_json(given)) == {
        "status": "converged",
        "p": [0, 1],
        "at": "x",
        "inf": None,
    }


def test_examples_are_paragraphs() -> None:
    assert examples("hopflow claims").endswith("\n\n$ hopflow claims")


# ``hopflow cache``: location and size of the compiled kernels, and their removal.


def double(x):
    """Template."""
    return 2.0 * x


def test_the_command_shows_and_clears(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "_addresses", {})
    assert make_kernel(double)(1.5) == 3.0
    shown = invoke(["cache"])
    assert shown.exit_code == 0
    assert shown.output.startswith("1 entry, 0.0 MB kept in ")
    cleared = invoke(["cache", "--clear"])
    assert cleared.output.startswith("1 entry, 0.0 MB removed in ")
    assert list((tmp_path / "cache").rglob("*.hopflow")) == []


FIRST_USES = {
    f"{package}: {name}": use
    for package in ("dfcmodel", "responsefn", "markov")
    for name, use in importlib.import_module(f"{package}.first_uses").short_calls().items()
}


@pytest.mark.parametrize(
    "name",
    ["dfcmodel: credits in a fabric", "markov: of a chain of one's own", "responsefn: rates of Reno()"],
)  # fmt: skip
def test_what_is_used_first_compiles_once(name, tmp_path, monkeypatch):
    """A second use leaves nothing in an empty cache folder. All are asked when hopflow is built."""
    assert len(FIRST_USES) > 60
    FIRST_USES[name]()
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    FIRST_USES[name]()
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Line:
    rate: Annotated[float, typer.Option(help="b/s")]
    delay: Annotated[float, typer.Option(help="s")] = 0.5


def test_the_fields_of_a_record_are_options_of_a_command() -> None:
    app = typer.Typer()

    @app.command()
    @expand_options
    def product(name: str, line: Line, *, double: bool = False) -> None:
        """Print a product."""
        typer.echo(f"{name} {line.rate * line.delay * (1 + double)}")

    call = CliRunner().invoke
    assert call(app, ["bits", "--rate", "3", "--double"]).stdout == "bits 3.0\n"
    assert call(app, ["bits", "--rate", "3", "--delay", "2"]).stdout == "bits 6.0\n"
    assert "Missing option '--rate'" in call(app, ["bits"]).output
    assert "Print a product." in call(app, ["--help"]).stdout


@quantities(rate="rate", delay="time")
def product_of(rate: float, delay: float = 0.04, *, factors: int = 2, wait: object = None) -> float:
    """Return a product.

    Parameters
    ----------
    rate
        Rate in packets/s, any shape, or a string such as ``"1Mbps"``. Of the link.
    delay, factors
        Delay in s. Not negative.
    wait
        Pause before, shape (n,); None: none.

    Returns
    -------
    rate
        Not a parameter.
    """
    return rate * delay * factors


def test_an_option_has_unit_default_and_description_of_the_function_that_answers() -> None:
    app = typer.Typer()

    @app.command()
    @expand_options
    def product(
        *,
        rate: Annotated[list[float], Parameter(product_of)],
        delay: Annotated[float, Parameter(product_of)],
        factors: Annotated[int, Parameter(product_of)] = 1,
        packet_size: Annotated[float, Parameter(mbps)],
        wait: Annotated[Any, Parameter(product_of, lambda name, text: f"{name} {text}", "1us..2us")],
    ) -> None:
        """Print products."""
        typer.echo([wait or product_of(each, delay, factors=factors) for each in rate])

    call = CliRunner().invoke
    assert call(app, ["--rate", "12Mbps", "--rate", "100"]).stdout == "[40.0, 4.0]\n"
    assert (
        call(app, ["--rate", "12Mbps", "--packet-size", "3kB", "--delay", "1s", "--factors", "3"]).stdout
        == "[1500.0]\n"
    )
    assert call(app, ["--rate", "1", "--wait", "3us"]).stdout == "['wait 3us']\n"
    assert "Missing option '--rate'" in call(app, []).output
    said = call(app, ["--rate", "fast"]).exception
    assert str(said).startswith("rate = 'fast': must be")
    text = " ".join(call(app, ["--help"], env={"COLUMNS": "300"}).stdout.split())
    assert "Rate in packets/s. Write 1Mbps, or a number of packets/s; may be repeated." in text
    assert "Delay in s. Write 40ms, or a number of s. [default: 0.04]" in text
    assert "Pause before, default: none. Write 1us..2us." in text
    with pytest.raises(TypeError, match=r"product_of has no parameter 'loss', but rate, delay, factors, wait"):

        @expand_options
        def wrong(*, loss: Annotated[float, Parameter(product_of)]) -> None:
            """Never called."""


# What another distribution offers by entry points, in processes of their own with its metadata installed.


MODULE = '''
from typing import NamedTuple

from markov import GTH, ChainModel
from responsefn import WindowRule


class Gentle(WindowRule):
    """One packet per round trip; a tenth off at a loss."""

    class Params(NamedTuple):
        kept: float = 0.9

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        after = max(1.0, q.kept * s.cwnd)
        return s._replace(cwnd=after, ssthresh=after)


class Machine(ChainModel):
    """Up or down."""

    class State(NamedTuple):
        up: int

    class Params(NamedTuple):
        fails: float = 0.25

    def space(self):
        return {"up": range(2)}

    @staticmethod
    def rules(s, q):
        yield s._replace(up=1 - s.up), q.fails if s.up else 1.0

    def labels(self, s):
        return {"works": s.up == 1}


class Exact(GTH):
    """Elimination under another name."""
'''
OFFERED = {"rules": "Gentle", "chains": "Machine", "methods": "Exact"}
CALLS = {
    "rules": ("response", "OFFER", "reno", "--p", "1e-3", "--rtt", "100ms"),
    "chains": ("solve", "OFFER", "--set", "fails=0.5"),
    "methods": ("solve", "mm1k", "--method", "OFFER"),
}


def install(folder, values):
    """Lay out a distribution as an installer does: its module, and its metadata."""
    (folder / "gentle_tcp.py").write_text(MODULE, encoding="utf-8")
    metadata = folder / "gentle_tcp-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: gentle-tcp\nVersion: 1.0\n")
    points = [f"[hopflow.{kind}]\ngentle = gentle_tcp:{value}\n" for kind, value in values.items()]
    (metadata / "entry_points.txt").write_text("\n".join(points))


RUN = """
import json, sys
sys.path.insert(0, {folder!r})
from typer.testing import CliRunner
from hopflow.console.commands import app
done = [CliRunner().invoke(app, words, env={{"COLUMNS": "400"}}) for words in {calls!r}]
print(json.dumps([(each.exit_code, each.stdout, f"{{each.stderr}}{{each.exception}}") for each in done]))
"""


def run(folder, name):
    """Run the commands of some kinds in one process with a distribution on its path; return status, output and errors of each."""
    calls = [[name[kind] if word == "OFFER" else word for word in (*CALLS[kind], "--json")] for kind in name]
    code = RUN.format(folder=str(folder), calls=calls)
    return dict(zip(name, json.loads(printed_by("-c", code).splitlines()[-1]), strict=True))


@pytest.mark.slow
def test_the_command_finds_what_other_distributions_offer(tmp_path):
    install(tmp_path, OFFERED)
    found = run(tmp_path, dict.fromkeys(OFFERED, "gentle"))
    for kind, (status, out, errors) in found.items():
        assert status == 0, errors
        assert kind == "chains" or OFFERED[kind].lower() in out.lower()
    assert json.loads(found["chains"][1])["measures"]["works"] == pytest.approx(2.0 / 3.0)
    unknown = run(tmp_path, {"rules": "gentel", "chains": "gentel.py", "methods": "gentel"})
    for kind, (status, out, errors) in unknown.items():
        assert status != 0
        assert kind == "chains" or "gentle" in out + errors


@pytest.mark.parametrize("kinds", [("rules", "chains"), ("methods",)], ids="-".join)
def test_an_entry_point_of_another_kind_is_named(tmp_path, kinds):
    install(tmp_path, dict.fromkeys(kinds, "NamedTuple"))
    for kind, (status, out, errors) in run(tmp_path, dict.fromkeys(kinds, "reno")).items():
        assert status != 0
        said = " ".join((out + errors).split())
        assert f"entry point gentle = gentle_tcp:NamedTuple of hopflow.{kind}: must be a" in said


def test_names_are_those_of_the_classes_in_any_case():
    known = Registry({"int": "builtins", "float": "builtins"}, "hopflow.nothing", object, "anything")
    assert known.names() == ["float", "int"]
    assert known.named("kind", "FLOAT") is float
    with pytest.raises(ValueError, match=r"kind = 'itn': must be one of .*; did you mean 'int'\?"):
        known.named("kind", "itn")


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (DamagedDataError("files differ"), 1, "damaged data: files differ"),
        (ImportError("no markov", name="markov.files"), 1, "damaged installation: no markov"),
        (ImportError("no sympy", name="sympy"), 1, "error: some answers need SymPy"),
        (KernelError("mine.py:7: np: a compiled rule may not use this name"), 2, "error: mine.py:7: np: a compiled"),
        (ValueError("rtt = 40: must be < 5"), 2, "error: rtt = 40: must be < 5"),
        (FileNotFoundError(2, "there is no such file", "a.pm"), 2, "error: a.pm: there is no such file"),
        (MemoryError("8 GB"), 1, "error: not enough memory: 8 GB"),
        (MemoryError(), 1, "error: not enough memory"),
    ],
    ids=["data", "installation", "light", "rule", "value", "file", "memory", "memory without a message"],
)
def test_each_error_has_its_exit_status_and_message(monkeypatch, capsys, error, status, line):
    def fail() -> None:
        raise error

    monkeypatch.setattr(commands, "app", fail)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(SystemExit) as end:
        commands.run()
    assert end.value.code == status
    assert capsys.readouterr().err.startswith(line)


def test_a_missing_module_of_a_user_is_no_damage_of_hopflow(monkeypatch):
    def fail() -> None:
        raise ImportError("no mine", name="mine")

    monkeypatch.setattr(commands, "app", fail)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(ImportError, match="no mine"):
        commands.run()
