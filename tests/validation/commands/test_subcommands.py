"""``hopflow data``, ``validate``, ``infer`` and ``judge``: tables, JSON, refusals."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from hopflow.commands import app
from validation import cases, running
from validation.commands import dask_clusters
from validation.commands.checking import checked_under_a_bar

# ``hopflow data`` in JSON, and its names.


def test_the_list_has_every_case_and_a_paper_its_own() -> None:
    every = json.loads(CliRunner().invoke(app, ["data", "list", "--json"]).stdout)
    assert [each["case"] for each in every] == list(cases())
    some = json.loads(CliRunner().invoke(app, ["data", "list", "yang2001", "--json"]).stdout)
    assert some == [each for each in every if each["paper"] == "yang2001"] != []


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    """Before any simulator is looked for."""
    done = CliRunner().invoke(app, ["data", "regenerate", "zheng2002/periodic-los", "--json"])
    with pytest.raises(
        ValueError, match=r"case = 'zheng2002/periodic-los': must be .*periodic-loss'"
    ):
        raise done.exception
    assert not done.stdout
    done = CliRunner().invoke(app, ["data", "list", "yang2002"])
    with pytest.raises(ValueError, match=r"did you mean 'yang2001'\?"):
        raise done.exception


def test_a_case_is_shown_by_the_name_that_the_list_prints() -> None:
    def shown(name):
        return CliRunner().invoke(app, ["data", "show", name, "--json"])

    whole, alone = shown("linux/cubic-and-reno"), shown("cubic-and-reno")
    assert alone.exit_code == 0
    assert alone.stdout == whole.stdout
    with pytest.raises(ValueError, match=r"'linux/periodic-loss', 'zheng2002/periodic-loss'"):
        raise shown("periodic-loss").exception


def test_a_case_without_a_picture_is_described(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["data", "show", "roce"], env={"COLUMNS": "400"})
    assert done.exit_code == 0
    assert "flows.csv.xz" in done.stdout
    assert "no picture of this table: no column is a result in one unit" in done.stdout
    assert "figure:" not in done.stdout
    done = CliRunner().invoke(app, ["data", "show", "htsim/roce", "--plot", "roce.png"])
    with pytest.raises(
        ValueError, match=r"^plot = 'roce.png': no picture .*name a column \(--value\)"
    ):
        raise done.exception
    assert not list(tmp_path.iterdir())


def test_that_titles_are_left_out_is_said() -> None:
    for columns, said in (("80", True), ("140", False)):
        done = CliRunner().invoke(app, ["data", "list", "yang2001"], env={"COLUMNS": columns})
        assert ("Titles are shown from 100 columns on" in done.stdout) == said


# ``hopflow validate`` interrupted: what was found so far, and nothing where there is nothing.


def test_the_bar_leaves_nothing_in_a_file() -> None:
    file = io.StringIO()
    assert not list(checked_under_a_bar([], Console(file=file), fresh=False))
    assert not file.getvalue()


@pytest.mark.parametrize("done", [0, 1])
def test_ctrl_c_leaves_what_was_found_so_far(tmp_path: Path, monkeypatch, done: int) -> None:
    def interrupted(claims, *, fresh, executor, recompute):
        yield from ((claim, claim.check()) for claim in claims[:done])
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "checked", interrupted)
    ended = CliRunner().invoke(app, ["validate", "--claim", "Y11", "--claim", "Y12"])
    assert ended.exit_code == 130
    assert f"interrupted: {done} of 2 claims" in ended.output
    assert ("of 1 claim of a paper" in ended.output) is (done > 0)  # the counts
    assert f"{done} of 2 claims checked so far" in (tmp_path / "report/index.html").read_text()


# ``hopflow infer``: tables, JSON, refusals.

RUN = CliRunner()


def test_tables_and_json_say_the_same() -> None:
    shown = RUN.invoke(app, ["infer", "zheng2002"])
    assert shown.exit_code == 0, shown.output
    assert "162 settings run" in shown.output
    told = RUN.invoke(app, ["infer", "zheng2002", "--json"])
    (found,) = json.loads(told.stdout)
    assert found["paper"] == "zheng2002"
    assert [each["name"] for each in found["parameters"]] == [
        "decrease",
        "size",
        "low",
        "rto",
        "window",
    ]
    assert all(each["claim"] in shown.output for each in found["claims"])


def test_other_papers_are_refused() -> None:
    result = RUN.invoke(app, ["infer", "malhotra2005"])
    assert isinstance(result.exception, ValueError)
    with pytest.raises(ValueError, match="paper = 'malhotra2005'"):
        raise result.exception


# ``hopflow judge``.


def judge(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["judge", *arguments], env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    return done.output


def test_it_shows_what_turns_and_where() -> None:
    said = judge("Z02", "--threshold", "tolerance=0.035")
    assert "holds -> contradicted" in said
    assert "tolerance = 0.035 (as judged here: 0.5)" in said
    assert "tolerance = 0.0442: model " in said


def test_it_shows_the_readings_and_takes_one() -> None:
    about = json.loads(judge("Z09", "--reading", "decrease setting", "--json"))
    assert about["before"]["model"] == "depends"
    assert about["after"]["model"] != "depends"
    assert about["reading"] in about["readings"]
    assert {each["statement"] for each in about["statements"]}


def test_it_says_where_nothing_turns() -> None:
    """Z16 is contradicted by statements that no one threshold changes."""
    said = judge("Z16")
    assert "level from 9.8e-06 to 0.45: the verdicts stay" in said
    assert "least from 9.8e-07 to 1: the verdicts stay" in said


def test_it_leaves_out_seeds() -> None:
    assert "without seed 3: model holds" in judge("Z02", "--seeds")


@pytest.mark.parametrize("text", ["tolerance", "tolerance=", "tolerance=high"])
def test_a_threshold_is_a_name_and_a_number(text: str) -> None:
    done = CliRunner().invoke(app, ["judge", "Z02", "--threshold", text])
    assert isinstance(done.exception, ValueError)
    assert "NAME=VALUE" in str(done.exception)


# ``hopflow validate --dask``: on the workers of a cluster, and addresses where there is none.

distributed = pytest.importorskip("distributed", reason="needs hopflow[scale]")


@pytest.mark.slow
def test_claims_are_checked_on_the_workers_of_a_cluster(tmp_path):
    """The same finding as in this process, of a claim that is checked again."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        on_workers = ["--dask", cluster.scheduler_address, "--fresh"]
        rows = []
        for where in (on_workers, ["--fresh"]):
            command = ["validate", "--claim", "M06", "--json", "--report", str(tmp_path), *where]
            result = CliRunner().invoke(app, command)
            assert result.exit_code == 0, result.output
            rows.append(json.loads(result.stdout))
    assert rows[0] == rows[1]
    assert [row["id"] for row in rows[0]] == ["M06"]


@pytest.mark.slow
def test_a_scheduler_without_workers_is_refused():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        pytest.raises(typer.BadParameter, match="has no workers; start some: dask worker tcp:"),
    ):
        dask_clusters.connected(cluster.scheduler_address)


def test_an_address_without_a_scheduler_is_refused(monkeypatch, tmp_path):
    """Before anything is written."""
    monkeypatch.setattr(dask_clusters, "ANSWER_TIME", 0.2)
    command = ["validate", "--dask", "tcp://127.0.0.1:9", "--report", str(tmp_path / "report")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    said = " ".join(result.output.replace("│", " ").split())
    assert "no scheduler of Dask answers there" in said
    assert not (tmp_path / "report").exists()
