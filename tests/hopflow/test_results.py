"""Results: tables, figures, files, and what every class of them can do."""

from __future__ import annotations

import base64
import contextlib
import copy
import csv
import doctest
import importlib
import inspect
import io
import os
import pickle
import stat
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from markupsafe import Markup
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import dfcmodel
import markov
import responsefn
from hopflow import NotSolvedError, Status
from hopflow.parameters import Parametrized
from hopflow.results import (
    Result,
    deliver,
    draw_waterfall,
    figure,
    grid_html,
    image_html,
    kind_for,
    png,
    same,
    stack_datasets,
    table_html,
    table_text,
)
from hopflow.text_files import read_rows, write_rows
from hopflow.whole_files import replacing
from tests.surface import PUBLIC, for_each, printed_by

# Results: text, page and pictures.


class Answer(Result):
    def __init__(self, status):
        self.status = status

    def summary(self):
        return {"status": self.status, "a <b>": "1 & 2"}

    def plot(self, ax=None):
        if ax is None:
            _, ax = figure()
        ax.plot([1, 2], [3, 4])
        return ax


class TestResults:
    def test_display(self):
        answer = Answer(Status.CONVERGED)
        assert repr(answer) == "Answer\n  status  converged\n  a <b>   1 & 2"
        page = answer._repr_html_()
        assert "a &lt;b&gt;" in page
        assert "1 &amp; 2" in page
        assert 'alt="plot of Answer" width="512" src="data:image/png;base64,iVBOR' in page
        assert table_text("empty", {}) == "empty"

    def test_pictures_have_two_dots_per_pixel_and_follow_dark_pages(self):
        page = Answer(Status.CONVERGED)._repr_html_()
        code = page.partition("base64,")[2].partition('"')[0]
        size = struct.unpack(">2I", base64.b64decode(code)[16:24])  # IHDR
        assert size == (1024, 576)
        for dark in ("data-jp-theme-light=false", "vscode-dark", "data-theme=dark"):
            assert f"{dark}] .hopflow-figure" in page or f".{dark} .hopflow-figure" in page

    def test_the_same_picture_twice(self):
        pictures = {png(Answer(Status.CONVERGED).plot().figure, 'a "quoted" text') for _ in range(2)}
        assert len(pictures) == 1
        assert 'alt="a &#34;quoted&#34; text"' in pictures.pop()

    def test_bases_ask_for_their_methods(self):
        for method in (Result.summary, Result.plot):
            with pytest.raises(NotImplementedError):
                method(Result())


# Tables of results as HTML: one template, everything escaped.

NASTY = "<b>\"&'"
ESCAPED = "&lt;b&gt;&#34;&amp;&#39;"


def test_a_table_of_names_and_values() -> None:
    assert table_html("t", {}) == "<table><caption>t</caption></table>"


def test_how_it_was_computed_is_folded_away() -> None:
    page = table_html("t", {"rate": 1, "iterations": 7}, ("iterations",))
    assert page.index("rate") < page.index("<details>") < page.index("iterations")
    assert "<details>" not in table_html("t", {"rate": 1})


@pytest.mark.parametrize(
    "page",
    [
        table_html(NASTY, {NASTY: NASTY}),
        table_html(NASTY, {NASTY: NASTY}, (NASTY,)),
        grid_html(NASTY, ["", NASTY], [[NASTY, "1"]]),
        image_html("code", NASTY, 1, NASTY, ""),
    ],
    ids=["table", "folded", "grid", "image"],
)
def test_texts_are_escaped(page: str) -> None:
    assert NASTY not in page
    assert page.count(ESCAPED) >= 2


def test_markup_stays_and_a_grid_needs_no_caption() -> None:
    page = grid_html("", ["a", "b"], [["n", Markup("<code>x</code>")]])
    assert "<caption>" not in page
    assert "<td style='text-align:left'><code>x</code></td>" in page
    assert page.count("<tr>") == page.count("</tr>") == 2


# Labels, and data sets as one.


def test_other_things_are_not_compared() -> None:
    assert kind_for(3) is None


def test_a_missing_variable_is_nan_only_where_that_is_allowed() -> None:
    data = {"a": xr.Dataset({"x": ("t", [1.0, 2.0])}), "b": xr.Dataset({"y": ("t", [3.0, 4.0])})}
    both = stack_datasets(data, "run", "", missing=("x", "y"))
    assert both.x.sel(run="a").to_numpy().tolist() == [1.0, 2.0]
    assert both.x.sel(run="b").isnull().all()  # noqa: PD003
    with pytest.raises(ValueError, match="not all have y"):
        stack_datasets(data, "run", "", missing=("x",))


# The waterfall: where its bars begin and end.


def test_each_bar_begins_where_the_one_before_ends() -> None:
    spread = np.array([0.0, -0.1, 0.1])
    data = xr.Dataset(
        {
            "contribution": (("part", "estimate"), np.array([[2.0], [0.5], [-1.0]]) + spread),
            "start": (("estimate",), 1.0 + spread),
            "packets": (("estimate",), 2.5 + spread),
        },
        {"part": ["bursts", "unexplained", "phases"], "quantity": "share", "units": "1"},
        {"scenario": "two flows", "runs": 4, "start": "bare fluid"},
    )
    axes = draw_waterfall(data)
    bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in axes.patches}
    spans = [(bars[n].get_x(), bars[n].get_x() + bars[n].get_width()) for n in range(5)]
    np.testing.assert_allclose(spans, [(0, 1), (1, 3), (3, 3.5), (3.5, 2.5), (0, 2.5)])
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["bare fluid", "bursts", "unexplained", "phases", "packets"]
    assert axes.get_xlabel() == "share"


# Status of a solution, and delivery of results that are not solved.


class TestStatus:
    def test_status(self):
        usable = [status for status in Status if status.ok]
        assert usable == [
            Status.CONVERGED, Status.COMPLETED, Status.SOLVED, Status.UNPROVED, Status.DEADLOCKED, Status.STORM,
            Status.LOST_LOSSLESS,
        ]  # fmt: skip
        assert str(Status.CONVERGED) == "converged"
        assert str(Status.SOLVED).startswith("solved, error unknown: ")
        for status in Status:
            assert not status.remedy or status.remedy in str(status) != status.remedy
        assert len({status.label for status in Status}) == len(Status)

    def test_deliver(self):
        good, bad = Answer(Status.CONVERGED), Answer(Status.NEGATIVE)
        for on_failure in ("raise", "return"):
            assert deliver(good, on_failure) is good
        assert deliver(bad, "return") is bad
        with pytest.raises(NotSolvedError, match=r"Answer\w*: negative entries: .*GTH") as caught:
            deliver(bad, "raise")
        assert caught.value.result is bad
        with pytest.raises(ValueError, match="on_failure = 'ignore': must be one of 'raise', 'ret"):
            deliver(good, "ignore")


# All results and models have one protocol: table, Dataset, file, figure, equality by value, pickle, copy.


def _classes(base: type[Any]) -> list[type[Any]]:
    found = {}
    for package in PUBLIC:
        module = importlib.import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item) and issubclass(item, base):
                found[item] = None
    return sorted(found, key=lambda kind: kind.__qualname__)


SLOW = {"Evaluation": "four minutes of packets"}
"""Classes whose examples are not run, and why."""
MADE = {
    "Catalogue": lambda: responsefn.results.Catalogue((responsefn.Reno(), responsefn.TFRC())),
    "Curve": lambda: responsefn.curve([responsefn.Reno()], p=[1e-4, 1e-3]),
    "Deadlock": lambda: dfcmodel.lossless.deadlock(dfcmodel.lossless.torus([3, 3])),
    "LevelChoice": lambda: dfcmodel.choose_level(dfcmodel.takano2006("1")),
}
"""Classes whose examples keep no object."""
COSTLY = {"RecombinedEstimate", "LinkRetry", "AnswerComparison"}
"""Classes whose examples take seconds: `make test` runs these examples in `tests/test_examples.py` alone."""
RESULTS = [
    pytest.param(kind, marks=pytest.mark.slow if kind.__name__ in COSTLY else ())
    for kind in _classes(Result)
    if kind.__name__ not in SLOW
]


def _from_example(kind: type[Any]) -> Any:
    """Run the example of a class and return its first object of that class."""
    if kind.__name__ in MADE:
        return MADE[kind.__name__]()
    names = dict(vars(importlib.import_module(kind.__module__)))
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(kind) or "", names, kind.__name__, None, 0)
    for example in test.examples:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                code = compile(example.source, kind.__name__, "eval")
            except SyntaxError:
                exec(compile(example.source, kind.__name__, "exec"), test.globs)  # noqa: S102
            else:
                test.globs["_"] = eval(code, test.globs)
        for value in reversed(list(test.globs.values())):
            if isinstance(value, kind):
                return value
    raise AssertionError(f"the example of {kind.__name__} makes none")


@pytest.fixture(scope="module", params=RESULTS, ids=lambda kind: kind.__name__)
def result(request) -> Any:
    return _from_example(request.param)


def test_it_has_a_table_and_a_figure(result) -> None:
    rows = result.summary()
    assert rows
    assert all(isinstance(name, str) for name in rows)
    assert isinstance(result.plot().figure, Figure)
    assert "<table" in result._repr_html_()
    assert repr(result)


def test_it_is_a_dataset_and_a_table_of_pandas(result) -> None:
    data = result.to_xarray()
    assert isinstance(data, xr.Dataset)
    assert data.variables
    assert isinstance(result.to_pandas(), pd.DataFrame)
    unnamed = [name for name in data.data_vars if f"{name}_0" in data.dims]
    assert len(unnamed) <= 1, "a table would have each value of one beside all values of the others"


def test_a_row_of_a_table_has_values_that_belong_together() -> None:
    fit = responsefn.fit(responsefn.AIMD(b=0.5), [1e-4, 1e-3, 1e-2], 0.1, [1225.0, 387.0, 122.0], by="a")
    assert fit.to_pandas()[["p", "rate"]].to_numpy().tolist() == [[1e-4, 1225.0], [1e-3, 387.0], [1e-2, 122.0]]
    answer = markov.transient(markov.MM1K(capacity=2), [0.1, 1.0, 9.0], start=(0,))
    table = answer.to_pandas()
    assert table.groupby("times")["pi"].sum().round(12).tolist() == [1.0, 1.0, 1.0]
    assert len(table) == answer.pi.size
    chain = np.array([[-1.0, 1.0], [3.0, -3.0]])
    sample = markov.paths(chain, 10.0, start=0, runs=3, seed=1)
    visits = sample.to_pandas()
    for run in range(3):
        times, states = sample.path(run)
        assert visits[visits["run"] == run][["times", "states"]].to_numpy().tolist() == np.c_[times, states].tolist()


def test_a_table_of_pandas_has_at_most_its_rows(monkeypatch) -> None:
    result = responsefn.curve([responsefn.Reno()], [0.01, 0.02], 0.1)
    rows = len(result.to_pandas())
    monkeypatch.setattr("hopflow.results.MAX_TABLE_ROWS", rows)
    assert len(result.to_pandas()) == rows
    monkeypatch.setattr("hopflow.results.MAX_TABLE_ROWS", rows - 1)
    with pytest.raises(ValueError, match=r"^to_pandas: the table has .* rows, more than "):
        result.to_pandas()


class Place(NamedTuple):
    """A state with names."""

    a: int
    b: int


def test_states_with_names_are_other_states_than_plain_ones() -> None:
    plain = markov.explore(lambda s: [(((s[0] + 1) % 3, s[1]), 1.0)], start=(0, 0))
    named = markov.explore(lambda s: [(Place((s.a + 1) % 3, s.b), 1.0)], start=Place(0, 0))
    assert plain != named
    assert not same((1, 2), "12")
    assert not same((1, 2), [1, 2])
    assert same((1, 2), (1.0, 2.0))


def test_it_is_equal_by_value_to_its_copies(result, tmp_path) -> None:
    kind = type(result)
    for other in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert type(other) is kind
        assert other == result
        assert hash(other) == hash(result)
    assert kind.load(result.save(tmp_path / "result")) == result
    assert result != object()


def test_other_results_are_not_equal() -> None:
    scenario = dfcmodel.takano2006("1")
    one, two, again = (dfcmodel.simulate(scenario, level="fluid", duration=0.02, seed=n) for n in (1, 2, 1))
    assert one == again
    assert one != two
    first, other = (markov.stationary(markov.MM1K(capacity=n)) for n in (3, 4))
    assert first != other


def _with_defaults() -> list[type[Any]]:
    found = []
    for kind in _classes(Parametrized):
        if kind not in (responsefn.Law, markov.ChainModel) and not inspect.isabstract(kind):
            found.append(kind)
    return found


LONG_FORMULAS = responsefn.BIC, responsefn.PFTK


@for_each(kind for kind in _with_defaults() if kind not in LONG_FORMULAS)
def test_models_and_rules_are_values(kind) -> None:
    check_values(kind)


@pytest.mark.slow
@for_each(LONG_FORMULAS)
def test_rules_with_long_formulas_are_values(kind) -> None:
    check_values(kind)


def check_values(kind: type[Any]) -> None:
    try:
        made = kind()
    except (TypeError, ValueError, NotImplementedError):
        return  # it has no defaults
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert hash(other) == hash(made)
    assert "<table" in made._repr_html_()


@pytest.mark.parametrize(
    "made",
    [
        dfcmodel.takano2006("1"),
        dfcmodel.takano2006("1").links[0],
        dfcmodel.takano2006("1").flows[0],
        dfcmodel.Packets(seed=1),
        dfcmodel.Fluid(),
        dfcmodel.choose_level(dfcmodel.takano2006("1")),
        markov.MarkovChain(np.array([[-1.0, 1.0], [2.0, -2.0]])),
        markov.explore(markov.Kanban()),
    ],
    ids=lambda made: type(made).__name__,
)
def test_networks_and_chains_are_values(made) -> None:
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert hash(other) == hash(made)
    assert "<table" in made._repr_html_()


def _explored(factor: float = 1.0) -> Any:
    """An explored chain of a function within a function, with a lambda: neither has a name to be found by."""

    def rules(s, q):
        if s.n < 5:
            yield s._replace(n=s.n + 1), factor * q.lam
        if s.n > 0:
            yield s._replace(n=s.n - 1), q.mu

    given = {"start": {"n": 0}, "params": {"lam": 3.0, "mu": 1.0}}
    return markov.explore(rules, **given, rewards=lambda s: {"mean": s.n})


def test_explored_chains_and_their_answers_are_pickled() -> None:
    chain = _explored()
    answer = markov.stationary(chain)
    assert chain == copy.deepcopy(chain) == pickle.loads(pickle.dumps(chain)) == _explored()
    assert chain != _explored(2.0)
    back = pickle.loads(pickle.dumps(answer))
    assert back == answer
    assert back.measures["mean"].item() == answer.measures["mean"].item()
    assert markov.sweep(back.chain, lam=[1.0]).sizes == {"lam": 1}


# Tables of comma-separated values as they are written and read.


def test_a_table_is_written_below_its_comment(tmp_path):
    path = tmp_path / "table.csv"
    write_rows(path, ("name", "value"), [("a, b", 1), ("", 2.5)], "from there")
    assert path.read_bytes() == b'# from there\nname,value\n"a, b",1\n,2.5\n'
    with path.open(newline="") as file:
        next(file)
        assert list(csv.DictReader(file))[1] == {"name": "", "value": "2.5"}


def test_comments_of_a_bundled_table_are_no_rows():
    rows = read_rows("dfcmodel.levels", "measured.csv")
    assert {row["discipline"] for row in rows} == {"FIFO", "DFC", "PFC"}


# A file that is replaced is there whole, before and after an error.


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("before")
    with pytest.raises(TypeError), replacing(path) as scratch:
        scratch.write_text(1)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_as_before_until_all_is_written(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("before")
    with replacing(path) as scratch:
        scratch.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_the_target_of_a_link_is_replaced_and_its_permissions_stay(tmp_path):
    path, link = tmp_path / "table.csv", tmp_path / "link.csv"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path.name)
    with replacing(link) as scratch:
        assert scratch.suffix == ".csv"
        scratch.write_text("after")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("after", 0o640)
    assert link.is_symlink()
    with replacing(tmp_path / f"{'ä' * 120}.csv") as scratch:
        scratch.write_text("a name of 244 bytes")
    assert (tmp_path / f"{'ä' * 120}.csv").exists()


def test_what_is_no_regular_file_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null"), Path("/dev/fd/1"), Path("/proc/self/fd/1")):
        with replacing(path) as scratch:
            assert scratch == path
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert Path("/dev/null").is_char_device()


FULL_DISK = """
import os, resource, sys
from pathlib import Path

import dfcmodel, markov, responsefn
from dfcmodel.sharing.qlog_traces import write_qlog
from hopflow.console.command_line import save_figure
from hopflow.text_files import write_rows

folder = Path(sys.argv[1])
run = dfcmodel.simulate(dfcmodel.takano2006("1"), duration=0.02)
chain = markov.MM1K(arrival_rate=1.0, service_rate=2.0, capacity=300)
answer = markov.stationary(chain)
trace = dfcmodel.conformance(responsefn.BBR(), cases=(1,)).cases[0].trace
WRITERS = {
    "run.result": run.save,
    "run.toml": lambda path: dfcmodel.save_scenario(dfcmodel.takano2006("1"), path),
    "run.nc": run.to_netcdf,
    "run.gif": run.animate(frames=2).save,
    "run.html": run.animate(frames=2).save,
    "run.png": lambda path: save_figure(run.plot(), path, quiet=True),
    "table.csv": lambda path: write_rows(path, ["a"], [[n] for n in range(1000)]),
    "chain.tra": lambda path: markov.write_explicit(chain, path),
    "chain.mtx": lambda path: markov.write_explicit(chain, path),
    "chain.umb": lambda path: markov.write_explicit(chain, path),
    "chain.cert": answer.certificate,
    "chain.cert.gz": answer.certificate,
    "bbr.qlog": lambda path: write_qlog(trace, path),
}
for name, writer in WRITERS.items():
    path = folder / name
    writer(path)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    resource.setrlimit(resource.RLIMIT_FSIZE, (min(100, len(before[name]) // 2), resource.RLIM_INFINITY))
    try:
        writer(path)
    except OSError:
        said = "refused"
    else:
        said = "written"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    print(name, said, after == before)
"""
"""Each writer twice, the second time with a limit on the size of files, as on a full disk."""


@pytest.mark.slow
def test_a_full_disk_leaves_every_old_file(tmp_path):
    pytest.importorskip("matplotlib")
    lines = printed_by("-c", FULL_DISK, tmp_path).splitlines()
    assert len(lines) == 13
    assert [line for line in lines if not line.endswith(" refused True")] == []


def test_an_error_of_a_scratch_file_names_the_file_asked_for(tmp_path: Path) -> None:
    asked = tmp_path / "no folder" / "found.csv"
    with pytest.raises(FileNotFoundError) as error, replacing(asked) as scratch:
        scratch.write_text("1")
    assert error.value.filename == str(asked)
    with pytest.raises(FileNotFoundError) as error, replacing(tmp_path / "found.csv"):
        (tmp_path / "another.csv").read_text()
    assert error.value.filename == str(tmp_path / "another.csv")
    assert not list(tmp_path.iterdir())


KILLED = """
import sys
from pathlib import Path
import hopflow.whole_files
from hopflow import Status
from tests.hopflow.test_results import Answer

usual = hopflow.whole_files.synchronize

def wait(path):
    if sys.argv[2] == ("folder" if path.is_dir() else "file"):
        print("reached", flush=True)
        sys.stdin.read()
    usual(path)

hopflow.whole_files.synchronize = wait
Answer(Status.COMPLETED).save(sys.argv[1])
"""


@pytest.mark.parametrize(("moment", "status"), [("file", Status.CONVERGED), ("folder", Status.COMPLETED)])
def test_a_killed_process_leaves_the_old_file_or_the_new_one(moment, status, tmp_path):
    path = Answer(Status.CONVERGED).save(tmp_path / "answer")
    command = [sys.executable, "-c", KILLED, str(path), moment]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reached\n"
        process.kill()
    assert Answer.load(path).status is status


# A saved result is read back as it was, or not at all.


def test_no_flipped_bit_of_a_saved_result_is_read(tmp_path):
    run = dfcmodel.simulate(dfcmodel.takano2006("1"), level="fluid", duration=0.02)
    path = run.save(tmp_path / "run")
    content = path.read_bytes()
    random = np.random.default_rng(1)
    for bit in {*range(8 * 60), *random.integers(0, 8 * len(content), 200).tolist()}:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"holds no result|is damaged|has no checksum"):
            dfcmodel.results.Trajectory.load(path)
    for length in (0, 5, 20, 40, 100, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"holds no result|is damaged"):
            dfcmodel.results.Trajectory.load(path)
    path.write_bytes(content)
    assert dfcmodel.results.Trajectory.load(path) == run


def test_a_result_without_its_class_is_named(tmp_path, monkeypatch):
    path = Answer(Status.CONVERGED).save(tmp_path / "answer")
    monkeypatch.delattr(sys.modules[__name__], "Answer")
    with pytest.raises(ValueError, match=r"answer': was saved by other code than is installed \(AttributeError: "):
        Result.load(path)
    path.write_bytes(b"hopflow result 1\n" + pickle.dumps(3))
    with pytest.raises(ValueError, match="has no checksum, as an older version wrote it: save it again"):
        Result.load(path)


def test_twenty_lines_of_a_figure_have_twenty_colours() -> None:
    axes = figure()[1]
    colours = [axes.plot([0, 1], [n, n])[0].get_color() for n in range(20)]
    assert len(set(colours)) == 20
    channels = np.array([to_rgb(colour) for colour in colours])
    distances = np.abs(channels[:, None] - channels).sum(axis=2)
    assert distances[~np.eye(20, dtype=bool)].min() > 0.2  # of three channels from 0 to 1
