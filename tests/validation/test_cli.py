"""The command's subcommands of validation: tables, JSON, refusals, what fits into a terminal."""

from __future__ import annotations

import importlib.metadata
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import typer
from rich.console import Console

from hopflow.shell import main
from markov import PauseTandem, stationary
from tests.dask_clusters import dask_client
from tests.surface import invoke
from validation import Verdict, cases, ledger
from validation._cli import _end
from validation.claims import find
from validation.commands import dask_clusters, explained_claims
from validation.commands.checking import checked_under_a_bar, print_rows
from validation.commands.claim_lines import (
    print_details,
    print_legend,
    print_not_judged,
    print_papers,
    print_row,
    print_surprises,
    print_tables,
)
from validation.display.picture_points import COLUMNS
from validation.display.waterfalls import ABOUT
from validation.judgements import running
from validation.judgements.recording import recorded
from validation.judgements.verdicts import Sides
from validation.networks import recomputing
from validation.records import entries
from validation.report import folders, tally

# The ``hopflow`` command: claims, reports and data.


CONTRADICTED, NOT_APPLICABLE = Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE


def test_unknown_claim() -> None:
    with pytest.raises(ValueError, match=r"claim = 'Q99': must be one of"):
        find("Q99")
    assert find("m06") is find("M06")
    assert {"D02", "M06", "Z01", "K11", "S04"} <= set(ledger())


def test_command_checks_one_claim_and_writes_the_report(tmp_path: Path, monkeypatch) -> None:
    """With --json standard output has the rows of the report, and nothing else."""
    monkeypatch.chdir(tmp_path)
    done = invoke(["validate", "--claim", "Z01", "--json"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report" / "index.html").exists()
    rows = json.loads((tmp_path / "report/claims.json").read_text())
    assert [row["id"] for row in rows] == ["Z01"]
    assert json.loads(done.stdout) == rows
    assert "Models: of 1 claim of a paper 1 holds." in done.stderr


def test_help_has_the_parts_that_there_are() -> None:
    done = invoke(["validate", "--help"], env={"COLUMNS": "400"})
    assert f"from 0 to {recomputing.PARTS - 1}," in done.output


def test_command_refuses_an_unknown_claim_before_any_work(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["hopflow", "validate", "--claim", "Q99"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "Q99" in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_command_exits_with_1_when_a_verdict_differs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = replace(recorded()["Z01"], verdicts=Sides(CONTRADICTED, NOT_APPLICABLE))
    monkeypatch.setattr(folders, "recorded", lambda: {"Z01": known})
    done = invoke(["validate", "--claim", "Z01"])
    assert done.exit_code == 1
    assert "not as recorded: Z01 (model and packets)" in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["claims"],
        ["data", "list"],
        ["data", "show", "zheng2002/periodic-loss", "--plot", "loss.png"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_lists(tmp_path: Path, monkeypatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(arguments)
    assert done.exit_code == 0, done.output


def test_explain_takes_the_claims_that_it_can_explain() -> None:
    assert set(explained_claims.explained) == set(ABOUT)
    assert "nothing" not in explained_claims.explained
    done = invoke(["explain", "nothing"])
    assert done.exit_code != 0


def test_the_points_of_a_figure_are_a_table_beside_it(tmp_path) -> None:
    done = invoke(["figure", "M03", "--tables", "--json", "--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (about,) = json.loads(done.stdout)
    assert about["points"] == str(tmp_path / "M03-1.csv")
    found = pd.read_csv(about["points"])
    assert list(found) == list(COLUMNS)
    assert found[["x_quantity", "x_unit", "y_unit"]].drop_duplicates().to_numpy().tolist() == [["RTT", "s", "%"]]
    model = found.query("kind == 'line' and curve == 'T1 = T2 = 15' and panel == 'lambda1 = 25 packets/s'")
    rtt = float(model["x"].iloc[3])
    chains = [PauseTandem(arrival_rates=(25.0, 1.0), rtt=rtt, high_threshold=t) for t in (15, 20)]
    gain = [stationary(chain).throughput for chain in chains]
    assert model["y"].iloc[3] == pytest.approx(100 * (gain[0] / gain[1] - 1), abs=1e-6)
    assert (tmp_path / "M03-numbers.csv").exists()
    done = invoke(["figure", "--help"], env={"COLUMNS": "400"})
    assert "one row per point" in done.stdout


# What is printed of claims, and that it fits.


R, C, A = (str(v) for v in (Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE))


def row(id: str, model: str, **changed: object) -> dict:
    return {
        "id": id, "paper": entries()[id].paper, "paraphrase": "A [b].", "headline": "Found 1 of 2.",
        "model": model, "simulation": C, "packet_level": A, "simulators": {"ns-2": C},
        "in_words": {"model": model, "simulation": C},
        "statements_hold": {"model": [2, 2], "simulation": [1, 2]},
        "statements": [], "contradicted_by_all": [], "deciding": 3, "judged": {"model": 3, "ns-2": 1, "level": 3},
        "default": {"model": C, "packets": C},
    } | changed  # fmt: skip


def printed(function, *arguments: object) -> list[str]:
    file = io.StringIO()
    function(*arguments, Console(file=file, width=80))
    return file.getvalue().splitlines()


def test_the_tables_of_all_claims_fit_into_100_columns() -> None:
    """With every verdict, so that no column is left out."""
    kinds = [str(verdict) for verdict in Verdict]
    rows = [row(id, kinds[n % len(kinds)]) for n, id in enumerate(entries())]
    file = io.StringIO()
    print_tables(rows, Console(file=file, width=100))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    assert not [line for line in lines if "\u2026" in line]
    assert any(line.split()[:2] == ["malhotra2005", "17"] for line in lines)


def test_a_claim_is_one_line_of_100_columns_with_a_word_for_each_source() -> None:
    """Every word of a source fits into its column, with the part of the statements that it judges."""
    (line,) = printed(print_row, row("D05", Verdict.INCONCLUSIVE, packet_level=R))
    assert len(line) <= 100
    assert line.split() == ["D05", "inconclusive", C, "1/3", "-", "-", R]
    head = printed(print_legend)[-1]
    for name, word in (
        ("model", "inconclusive"),
        ("ns-2", f"{C} 1/3"),
        ("ns-3", "-"),
        ("own packets", R),
    ):
        assert line[head.index(name) :].startswith(word)
    many = row("D05", Verdict.INCONCLUSIVE, judged={"model": 12, "ns-2": 1, "level": 3}, deciding=13)
    (line,) = printed(print_row, many)
    assert line.startswith("D05 inconclusive 12/13 contradicted 1/13 ")


def test_the_last_screen_of_all_claims_has_at_most_40_lines() -> None:
    """One line a paper, three findings of two lines, what is not judged; ten that differ and two of the end are left for."""
    judged = [
        row(
            id,
            word,
            simulation=word,
            packet_level=word,
            headline="word " * 20,
            contradicted_by_all=[1],
            statements=[{"statement": "word " * 20, "simulation": C}],
        )
        for n, id in enumerate(entries())
        for word in (str(list(Verdict)[n % 6]),)
    ]
    printers = (
        lambda rows, console: print_rows(rows, console, verbose=False),
        print_surprises,
        print_not_judged,
    )
    lines = [line for function in printers for line in printed(function, judged)]
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 40 - 10 - 2
    text = "\n".join(lines)
    assert not re.search(r"\.\.\.|^[A-Z]\d\d .*-  ", text)
    for paper in {entry.paper for entry in entries().values()} - {"hopflow"}:
        assert len([line for line in lines if line.startswith(f"  {paper} (")]) == 1
    assert "  takano2006 (20): " in text
    assert "  yang2001 (17): " in text  # without Y06, which no sentence states
    assert "1 of 3 statements contradicted: word word" in text
    assert re.search(r"and \d+ more on the report's first page", text)


def test_a_few_claims_have_a_line_and_their_answer_and_all_have_both_with_verbose() -> None:
    some = [row(id, R) for id in ("D05", "D06")]
    lines = printed(lambda console: print_rows(some, console, verbose=False))
    assert any(line.startswith("D05 holds ") for line in lines)
    assert "D06 Found 1 of 2." in lines
    every = [row(id, R) for id in entries()]
    lines = printed(lambda console: print_rows(every, console, verbose=True))
    assert sum(line.startswith(tuple(f"{id} holds " for id in entries())) for line in lines) == len(every)


def test_what_is_not_judged_is_said() -> None:
    none = row("D06", A, simulation=A, statements=[{"simulation": "undecidable"}, {"simulation": C}])
    (line,) = printed(print_not_judged, [row("D05", R), none])
    assert line == "Not judged: D06 (1 of 2 claims), and 1 of 2 statements; the pages say why."


@pytest.mark.parametrize(("number", "lines"), [(3, 3), (12, 11)])
def test_at_most_ten_claims_that_differ_are_named(number: int, lines: int) -> None:
    file = io.StringIO()
    with pytest.raises(typer.Exit):
        _end(
            [f"D{n:02} (model; {'threshold ' * 30})" for n in range(number)],
            True,
            Console(file=file, width=200),
        )
    said = file.getvalue().splitlines()
    assert len(said) == lines
    assert said[0].startswith("not as recorded: D00 (model;")
    assert (said[-1] == "and 2 more that are not as recorded") == (number == 12)


def test_details_have_the_direction_and_the_count() -> None:
    words = {"model": "holds; contradicted if another host", "simulation": C}
    text = " ".join(" ".join(printed(print_details, row("D05", R, in_words=words))).split())
    assert text == (
        "D05 A [b]. model holds; contradicted if another host; packets contradicted; ns-2 contradicted. "
        "Statements that hold: 2 of 2 in model, 1 of 2 in packets. Found 1 of 2."
    )


# ``hopflow data`` in JSON, and its names.


def test_the_list_has_every_case_and_a_paper_its_own() -> None:
    every = json.loads(invoke(["data", "list", "--json"]).stdout)
    assert [each["case"] for each in every] == list(cases())
    some = json.loads(invoke(["data", "list", "yang2001", "--json"]).stdout)
    assert some == [each for each in every if each["paper"] == "yang2001"] != []


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    """Before any simulator is looked for."""
    done = invoke(["data", "regenerate", "zheng2002/periodic-los", "--json"])
    with pytest.raises(ValueError, match=r"case = 'zheng2002/periodic-los': must be .*periodic-loss'"):
        raise done.exception
    assert not done.stdout
    done = invoke(["data", "list", "yang2002"])
    with pytest.raises(ValueError, match=r"did you mean 'yang2001'\?"):
        raise done.exception


def test_a_case_is_shown_by_the_name_that_the_list_prints() -> None:
    def shown(name):
        return invoke(["data", "show", name, "--json"])

    whole, alone = shown("linux/cubic-and-reno"), shown("cubic-and-reno")
    assert alone.exit_code == 0
    assert alone.stdout == whole.stdout
    with pytest.raises(ValueError, match=r"'linux/periodic-loss', 'zheng2002/periodic-loss'"):
        raise shown("periodic-loss").exception


def test_a_case_without_a_picture_is_described(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(["data", "show", "roce"], env={"COLUMNS": "400"})
    assert done.exit_code == 0
    assert "flows.csv.xz" in done.stdout
    assert "no picture of this table: no column is a result in one unit" in done.stdout
    assert "figure:" not in done.stdout
    done = invoke(["data", "show", "htsim/roce", "--plot", "roce.png"])
    with pytest.raises(ValueError, match=r"^plot = 'roce.png': no picture .*name a column \(--value\)"):
        raise done.exception
    assert not list(tmp_path.iterdir())


def test_that_titles_are_left_out_is_said() -> None:
    for columns, said in (("80", True), ("140", False)):
        done = invoke(["data", "list", "yang2001"], env={"COLUMNS": columns})
        assert ("Titles are shown from 100 columns on" in done.stdout) == said


# ``hopflow validate`` interrupted: what was found so far, and nothing where there is nothing.


def test_the_bar_leaves_nothing_in_a_file() -> None:
    file = io.StringIO()
    assert not list(checked_under_a_bar([], Console(file=file), fresh=False))
    assert file.getvalue() == ("\n" if importlib.metadata.version("rich").startswith("13.") else "")


@pytest.mark.parametrize("done", [0, 1])
def test_ctrl_c_leaves_what_was_found_so_far(tmp_path: Path, monkeypatch, done: int) -> None:
    def interrupted(claims, *, fresh, executor, recompute):
        yield from ((claim, claim.check()) for claim in claims[:done])
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "checked", interrupted)
    ended = invoke(["validate", "--claim", "Y11", "--claim", "Y12"])
    assert ended.exit_code == 130
    assert f"interrupted: {done} of 2 claims" in ended.output
    assert ("of 1 claim of a paper" in ended.output) is (done > 0)  # the counts
    assert f"{done} of 2 claims checked so far" in (tmp_path / "report/index.html").read_text()


# ``hopflow infer``: tables, JSON, refusals.


def test_tables_and_json_say_the_same() -> None:
    shown = invoke(["infer", "zheng2002"])
    assert shown.exit_code == 0, shown.output
    assert "162 settings run" in shown.output
    told = invoke(["infer", "zheng2002", "--json"])
    (found,) = json.loads(told.stdout)
    assert found["paper"] == "zheng2002"
    assert [each["name"] for each in found["parameters"]] == [
        "decrease", "size", "low", "rto", "window",
    ]  # fmt: skip
    assert all(each["claim"] in shown.output for each in found["claims"])


def test_other_papers_are_refused() -> None:
    result = invoke(["infer", "malhotra2005"])
    assert isinstance(result.exception, ValueError)
    with pytest.raises(ValueError, match="paper = 'malhotra2005'"):
        raise result.exception


def test_settings_are_run_again_in_a_checkout_only(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "validation.generate.__main__", None)
    done = invoke(["infer", "zheng2002", "--rerun"])
    with pytest.raises(ValueError, match=r"^rerun: the generators are in the source repository"):
        raise done.exception


# ``hopflow judge``.


def judge(*arguments: str) -> str:
    done = invoke(["judge", *arguments], env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    return done.output


def test_it_shows_what_turns_and_where() -> None:
    said = judge("Z02", "--threshold", "tolerance=0.035")
    assert "holds -> contradicted" in said
    assert "tolerance = 0.035 (as judged here: 0.5)" in said
    assert "below 0.04993: model holds -> contradicted" in said


def test_it_shows_the_readings_and_takes_one() -> None:
    about = json.loads(judge("Z09", "--reading", "decrease setting", "--json"))
    assert about["before"]["model"] == "depends"
    assert about["after"]["model"] != "depends"
    assert about["reading"] in about["readings"]
    assert {each["statement"] for each in about["statements"]}


def test_it_names_the_statements_that_a_reading_does_not_judge() -> None:
    """M04 has one round-trip time in a reading, of which there is a gain but no range over the times."""
    said = judge("M04")
    assert "RTT 0.1 s: model holds; statement 2 not judged in this reading, ns-3" in said


@pytest.mark.slow
def test_it_says_where_nothing_turns() -> None:
    """No threshold changes the verdict of Z16's model and that of ns-2; both change that of the packet level."""
    said = judge("Z16")
    assert "below 0.001106: packet level contradicted -> inconclusive" in said
    assert "from 9.8e-06 to 0.45 the verdict stays: model, ns-2\n" in said
    assert "below 0.0003413: packet level contradicted -> inconclusive" in said
    assert "from 9.8e-07 to 1 the verdict stays: model, ns-2\n" in said


def test_it_leaves_out_seeds() -> None:
    assert "without seed 3: model holds" in judge("Z02", "--seeds")


@pytest.mark.parametrize("text", ["tolerance", "tolerance=", "tolerance=high"])
def test_a_threshold_is_a_name_and_a_number(text: str) -> None:
    done = invoke(["judge", "Z02", "--threshold", text])
    assert isinstance(done.exception, ValueError)
    assert "NAME=VALUE" in str(done.exception)


# ``hopflow validate --dask``: on the workers of a cluster, and addresses where there is none.


@pytest.fixture
def distributed():
    return pytest.importorskip("distributed", reason="needs hopflow[scale]")


@pytest.mark.slow
def test_claims_are_checked_on_the_workers_of_a_cluster(tmp_path):
    """The same finding as in this process, of a claim that is checked again."""
    with dask_client() as client:
        on_workers = ["--dask", client.cluster.scheduler_address, "--fresh"]
        rows = []
        for where in (on_workers, ["--fresh"]):
            command = ["validate", "--claim", "M06", "--json", "--report", str(tmp_path), *where]
            result = invoke(command)
            assert result.exit_code == 0, result.output
            rows.append(json.loads(result.stdout))
    assert rows[0] == rows[1]
    assert [row["id"] for row in rows[0]] == ["M06"]


@pytest.mark.slow
def test_a_scheduler_without_workers_is_refused(distributed):
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        pytest.raises(typer.BadParameter, match="has no workers; start some: dask worker tcp:"),
    ):
        dask_clusters.connected(cluster.scheduler_address)


def test_an_address_without_a_scheduler_is_refused(distributed, monkeypatch, tmp_path):
    """Before anything is written."""
    monkeypatch.setattr(dask_clusters, "ANSWER_TIME", 0.2)
    command = ["validate", "--dask", "tcp://127.0.0.1:9", "--report", str(tmp_path / "report")]
    result = invoke(command)
    assert result.exit_code == 2
    said = " ".join(result.output.replace("│", " ").split())
    assert "no scheduler of Dask answers there" in said
    assert not (tmp_path / "report").exists()


# ``hopflow explore`` says where its pages are.


def test_explore_prints_the_addresses_as_json(tmp_path: Path) -> None:
    pytest.importorskip("bokeh", reason="needs hopflow[explore]")
    command = [sys.executable, "-m", "validation", "explore", "dfc", "--no-browser", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            line = server.stdout.readline()
            assert line, text
            text += line
        server.terminate()
    said = json.loads(text)
    assert said["view"] == "dfc"
    assert set(said["addresses"]) == {
        "threshold", "dfc", "tcp", "headroom", "audit", "credits", "pool",
    }  # fmt: skip
    assert said["addresses"]["dfc"].startswith("http://127.0.0.1:")


def test_the_counts_of_the_papers_are_those_of_the_first_page() -> None:
    """By packets and by models apart: a claim that packets do not judge is none of theirs."""
    row = {
        "paper": "yang2001",
        "simulators": {},
        "packet_level": "not applicable",
        "default": {"model": "holds", "packets": "holds"},
    }
    verdicts = [
        ("holds", "holds"),
        ("holds", "not applicable"),
        ("contradicted", "holds"),
        ("not applicable", "depends"),
    ]
    rows = [row | {"id": f"Y0{n}", "model": a, "simulation": b} for n, (a, b) in enumerate(verdicts, 1)]
    output = io.StringIO()
    print_papers(rows, Console(file=output, width=200))
    lines = output.getvalue().splitlines()
    assert lines[1:3] == ["  by packets (3): 2 hold, 1 depends", "  by models (3): 2 hold, 1 contradicted"]
    assert lines[-1] == "  yang2001 (4): 3 hold, 1 depends"
    bars = {title: bar[0] for title, bar in tally.bars(rows).items()}
    assert [sum(count.claims for count in bar.counts) for bar in bars.values()] == [3, 3]
