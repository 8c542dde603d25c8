"""Benchmarks use names that exist; what they measure is looked at where they run."""

from __future__ import annotations

import csv
import importlib
import json
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import benchmarks.__main__ as main
from benchmarks import (
    certified,
    daily_use,
    fresh_networks,
    laws,
    levels,
    network_accuracies,
    ns2_agreement,
    packets,
    responses,
    scale,
)
from benchmarks.__main__ import SUITES
from benchmarks.machines import Machine
from benchmarks.outside.rows import Question
from benchmarks.records import FLOORS, below_floors, save
from benchmarks.timing import Row
from dfcmodel import default_refinements, explain
from dfcmodel.levels.accuracies import measured_accuracies
from responsefn import AIMD
from tests.surface import for_each
from validation import evidence
from validation.networks.network_comparison import Differences
from validation.networks.network_runs import LEVELS
from validation.networks.random_networks import FRESH
from validation.networks.recomputing import RANDOM, Run

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("__"))


@for_each(MODULES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    """Those in benchmarks/peers need the peers."""
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def rows(ratio: float) -> list[Row]:
    return [
        Row("a task", "ours", 1.0, 0.9, 1.2, 1.0),
        Row("a task", "theirs", ratio, ratio, ratio, ratio),
    ]


def test_a_ratio_below_its_floor_and_one_that_is_missing_are_named(tmp_path) -> None:
    path = tmp_path / "floors.toml"
    path.write_text('[chains."a task"]\ntheirs = 3.0\n[chains."another"]\ntheirs = 2.0\n')
    assert below_floors({"laws": rows(0.1)}, path) == []  # of a suite that was not run nothing is said
    missing = "chains, another: theirs was not measured"
    assert below_floors({"chains": rows(3.0)}, path) == [missing]
    low = "chains, a task: theirs has 2.90, must have 3"
    assert below_floors({"chains": rows(2.9)}, path) == [low, missing]
    assert len(below_floors({"chains": rows(float("nan"))}, path)) == 2


def test_the_floors_are_of_suites() -> None:
    floors = tomllib.loads(FLOORS.read_text(encoding="utf-8"))
    assert set(floors) <= set(SUITES)
    assert all(floor > 0.0 for own in floors.values() for each in own.values() for floor in each.values())


def test_results_of_a_suite_replace_its_own_alone(tmp_path) -> None:
    machine = Machine("AMD EPYC(TM) 7B13 Processor @ 2 GHz", 2, 0.1, 1e10, "3.11", {"numpy": "2.0"})
    save(machine, {"chains": rows(2.0), "laws": rows(5.0)}, tmp_path)
    path = save(machine, {"chains": rows(3.0)}, tmp_path)
    assert path.name == "amd-epyc-7b13-2-cores.json"
    suites = json.loads(path.read_text(encoding="utf-8"))["suites"]
    assert [suites[name]["rows"][1]["ratio"] for name in ("chains", "laws")] == [3.0, 5.0]
    assert suites["laws"]["machine"] == machine.to_dict()


def test_the_table_of_packets_is_written_when_all_its_suites_have_run(tmp_path) -> None:
    machine, place = Machine("AMD EPYC", 2, 0.1, 1e10, "3.11", {"numpy": "2.0"}), tmp_path / "p.md"
    found = {"packets": rows(25.0), "fabrics": rows(2.0)}
    assert not packets.write_table(found, machine, place)
    assert not place.exists()
    assert packets.write_table({**found, "htsim": rows(40.0)}, machine, place)
    lines = place.read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("| a task | theirs |") for line in lines) == 3
    assert lines[-1].startswith("CPU times of one thread on AMD EPYC; load average")


def test_a_suite_that_fails_is_named_and_the_next_is_written(tmp_path, monkeypatch) -> None:
    def fails() -> list[Row]:
        raise RuntimeError("no peer")

    monkeypatch.setattr(laws, "rows", fails)
    monkeypatch.setattr(responses, "rows", lambda: rows(3.0))
    monkeypatch.setattr(main, "save", lambda *given: save(*given, tmp_path))
    app = typer.Typer()
    app.command()(main.main)
    done = CliRunner().invoke(app, ["laws", "responses", "--save"])
    assert done.exit_code == 1
    assert "laws failed: RuntimeError: no peer" in done.output
    (path,) = tmp_path.iterdir()
    assert list(json.loads(path.read_text(encoding="utf-8"))["suites"]) == ["responses"]


def test_sizes_that_are_not_measured_again_stay() -> None:
    held = [{"states": n, "method": m, "run": 1} for n in (10, 100) for m in ("A", "MatrixFree")]
    new = [
        {"states": 100, "method": "A", "run": 2},
        {"states": 5, "method": "MatrixFree", "run": 2},
    ]
    cells = scale.merged(held, new)
    assert [(c["states"], c["run"]) for c in cells] == [
        (5, 2), (10, 1), (10, 1), (100, 2), (100, 1),
    ]  # fmt: skip


def test_the_table_of_explanations_is_made_from_its_values() -> None:
    """And in every row the parts lead from the bare fluid to packets, to the digits written."""
    values = pd.read_csv(FOLDER / "results" / "explanations.csv")
    text = levels.markdown(values) + "\n" + levels.conclusion(values)
    assert (FOLDER / "results" / "explanations.md").read_text(encoding="utf-8") == text
    for _, own in values.groupby(["scenario", "quantity"]):
        means = own.set_index("row")["mean"]
        if np.isnan(means["packets"]):
            assert set(own["quantity"]) == {"first loss"}, "of runs without a loss"
            assert means.isna().all()
            continue
        parts = means.drop("packets").sum()
        assert parts == pytest.approx(means["packets"], abs=1e-5 * means.abs().max())


def test_levels_are_compared_with_ns2_on_fresh_networks() -> None:
    """On one of them; the packet level's shares are nearer to ns-2's than the fluid's error is large."""
    found = fresh_networks.differences(["mixed-rules-2-4"], ["fluid", "packet level"])
    for each in found.values():
        assert list(each.shares["group"]) == ["Tahoe", "NewReno"]
        assert 0.0 < each.mean_error < 0.1
        assert each.losses < 0.2
    assert found["packet level"].mean_error < 0.03
    table = fresh_networks.by_kind(found)
    assert list(table["level"]) == ["fluid", "fluid", "packet level", "packet level"]
    means = [each.mean_error for each in found.values()]
    assert list(table["mean"]) == [mean for mean in means for _ in range(2)]
    text = fresh_networks.markdown(found)
    assert "1 networks, 2 shares" in text
    rows = [line for line in text.splitlines() if line.startswith("| topology | mixed rules | 2 |")]
    assert len(rows) == 1
    missed = fresh_networks.criteria(found["fluid"], measured_accuracies()["fluid"].half_width)
    assert any(f"| {name}" in text for name in missed) or "| none |" in text


def test_flows_begin_as_with_first_packets_of_40_bytes() -> None:
    """The one with the longer path begins when it did, the other later by what a full packet takes more there."""
    network = FRESH["chain-2-2"]
    first, second = network.scenario.flows
    moved = fresh_networks.later(network).scenario.flows
    assert moved[0].start == first.start
    links = len(first.path) - len(second.path)
    more = links * (1 - 40 / 1500) / network.rate
    assert moved[1].start == pytest.approx(second.start + more)


def test_both_sides_have_the_two_conventions_of_ns2() -> None:
    """The packet level begins with small packets itself where ns-2 has all rules; CUBIC and Reno stay as they are."""
    own, mixed = FRESH["chain-2-2"], FRESH["mixed-rules-2-2"]
    assert fresh_networks.equal_terms(own, "packet level") is own
    assert fresh_networks.equal_terms(own, "fluid") == fresh_networks.later(own)
    assert any(isinstance(flow.source, AIMD) for flow in mixed.scenario.flows)
    for level in ("packet level", "fluid"):
        flows = fresh_networks.equal_terms(mixed, level).scenario.flows
        pairs = zip(mixed.scenario.flows, flows, strict=True)
        for before, after in pairs:
            gentle = isinstance(before.source, AIMD)
            assert (type(after.source).__name__ == "HalvingAIMD") == gentle
            assert after.start >= before.start


def test_first_losses_are_counted_from_where_ns2_begins() -> None:
    """With small packets the whole network begins sooner there, by what the longest path saves."""
    network = FRESH["chain-2-2"]
    table = pd.DataFrame({"network": [network.name], "first": [0.3], "later": [0.1]})
    found = Differences(table, table)
    saved = max(len(flow.path) - 1 for flow in network.scenario.flows) * (1 - 40 / 1500)
    moved = fresh_networks.since_small_packets(found, "fluid").networks["later"]
    assert moved[0] == pytest.approx(0.1 - saved / network.rate / 0.3)
    assert fresh_networks.since_small_packets(found, "packet level").networks["later"][0] == 0.1


def test_what_misses_a_criterion_is_named_with_its_network() -> None:
    shares = pd.DataFrame(
        [("near", "a", 0.5, 0.57, 0.07, 0.01), ("far", "b", 0.4, 0.5, 0.1, 0.01)],
        columns=["network", "group", "packets", "fluid", "difference", "error"],
    )
    networks = pd.DataFrame(
        [("near", 100.0, 1.1, 1.0, 0.01), ("far", 100.0, 1.3, 2.0, -0.06)],
        columns=["network", "lost", "ratio", "first", "later"],
    )
    text = fresh_networks.outside({"fluid": Differences(shares, networks)})
    assert text.splitlines()[2:] == [
        "| far | share of b | 0.400 | **0.500 ± 0.020** |",
        "| far | packets lost over ns-2's |  | **1.30** |",
        "| far | first loss, later by |  | **-6.0 %** |",
    ]


def test_accuracies_are_those_of_the_networks_seen_before() -> None:
    """Without the fresh ones; the packet level, to which 60 are compared, has the 24 of ns-2."""
    networks = {level: network_accuracies.networks_of(level) for level in LEVELS}
    assert [len(each) for each in networks.values()] == [84, 24]
    fresh = {network.scenario.links for network in FRESH.values()}
    for each in networks.values():
        assert fresh.isdisjoint(network.scenario.links for network in each)
    shares = pd.DataFrame({"difference": np.linspace(0.001, 0.039, 39), "error": 0.0})
    found = network_accuracies.accuracy("fluid", Differences(shares, shares[:5]))
    assert (found.level, found.networks, found.shares) == ("fluid", 5, 39)
    assert found.mean_error == pytest.approx(0.02)
    assert found.half_width == pytest.approx(0.038), "of 39 shares the 38th"


def test_a_run_that_differs_from_ns2_is_named_and_ends_the_benchmark_with_1(monkeypatch, tmp_path, capsys) -> None:
    """Of a run of a parking lot and of a random network; the table of ns-2 has a timeout more in a copy."""
    real, place, some = evidence.frame, tmp_path / "table.md", [
        Run("packets/parking-lots-ns2", "sack", 1, 1), Run(RANDOM, "mixed", 4, 3),
    ]  # fmt: skip
    monkeypatch.setattr(ns2_agreement, "RESULT", place)
    monkeypatch.setattr(ns2_agreement, "bundled_runs", lambda: some)
    monkeypatch.setattr(ns2_agreement, "red_rows", lambda: ["| under RED |"])
    ns2_agreement.main()
    assert "1 of 1 runs and 1 of 1 random networks are equal" in place.read_text()
    assert not capsys.readouterr().out

    def changed(case: str, name: str | None = None) -> pd.DataFrame:
        frame = real(case, name)
        if name == "flows":
            frame["timeouts"] += frame["flow"] == 2
        return frame

    monkeypatch.setattr(evidence, "frame", changed)
    with pytest.raises(typer.Exit) as ended:
        ns2_agreement.main()
    assert ended.value.exit_code == 1
    assert "0 of 1 runs and 0 of 1 random networks are equal" in place.read_text()
    assert capsys.readouterr().out.count("('timeouts',)") == 2


@pytest.mark.slow
def test_explanations_follow_from_their_seeds() -> None:
    values = pd.read_csv(FOLDER / "results" / "explanations.csv")
    (case,) = (each for each in levels.cases() if each.scenario.name == "incast under pause")
    own = values[values["scenario"] == case.scenario.name]
    runs = int(own["runs"].iloc[0])
    parts = default_refinements(case.scenario, shared=True)
    found = explain(case.scenario, case.measures, refinements=parts, runs=runs, **case.keywords).table()
    np.testing.assert_allclose(found["mean"], own["mean"], rtol=1e-5, atol=1e-9)


def test_daily_use_says_what_is_missed() -> None:
    found = [
        daily_use.Figure("a chain", "µs per state", 2.0, 1.9),
        daily_use.Figure("states found", "10^6/s", 2.0, 1.9, more_is_better=True),
    ]
    lines = daily_use.text_of(found, 0.4).splitlines()
    assert lines[2] == "| a chain | 2 | 1.9 µs per state |  |"
    assert lines[3].startswith("| states found | 2 | 1.9 10^6/s | missed")
    assert lines[-1].startswith("Load of the machine at the beginning: 0.4")


def test_parts_of_daily_use_replace_their_rows() -> None:
    first = [daily_use.Figure("a", "s", 1.0, 0.5), daily_use.Figure("kanban, x", "s", 1.0, 0.5)]
    again = [daily_use.Figure("a", "s", 1.0, 0.7), daily_use.Figure("new", "s", 1.0, 2.0)]
    lines = daily_use.merged(daily_use.text_of(first, 0.4), again, 3.0).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:5]] == ["| a", "| new", "| kanban, x"]
    assert "0.7 s" in lines[2]
    assert lines[-2:] == [
        "Load of the machine at the beginning: 0.4.",
        "Load when a to new were measured again: 3.0.",
    ]
    missed = daily_use.row_of(daily_use.Figure("kanban, x", "s", 1.0, 2.0))
    assert "missed. 25 multigrid cycles" in missed


def test_a_missed_target_has_its_bound_beside_it() -> None:
    """Each text is of something that is measured."""
    bounds = tomllib.loads(daily_use.BOUNDS.read_text(encoding="utf-8"))
    source = Path(daily_use.__file__).read_text(encoding="utf-8")
    for begin, text in bounds.items():
        assert begin.split(",")[0].removeprefix("import and ") in source
        found = [daily_use.Figure(f"{begin} and more", "s", 1.0, seconds) for seconds in (0.5, 2.0)]
        reached, missed = daily_use.text_of(found, 0.0).splitlines()[2:4]
        assert text not in reached
        assert missed.endswith(f"| missed. {text} |")


@pytest.mark.slow
@pytest.mark.parametrize("part", [daily_use.chains, daily_use.beside_spsolve, daily_use.search])
def test_a_part_of_daily_use_runs(part, monkeypatch) -> None:
    monkeypatch.setattr(daily_use, "ROUNDS", 1)
    assert all(figure.found > 0.0 for figure in part())


@pytest.mark.parametrize(
    ("theirs", "tolerance", "value", "status"),
    [
        (("0.25", "0.25"), 0.0, "0.25", "contains theirs"),
        (("0.1", "0.3"), 0.0, "0.25", "contains theirs"),
        ((0.1, 0.1), 0.0, "0.1", "theirs is rounded"),
        (("0.249999", "0.249999"), 1e-5, "0.25", "theirs is an iterate, off by 1.0e-06"),
        (("0.249999", "0.249999"), 1e-6, "0.25", "differs"),
        # about 0.3071247593, ten digits
        (("0.30712475927", "0.30712475933"), 0.0, "0.307124759268", "rounds to theirs, outside of their interval by 2.0e-12"),
        (("0.30712475927", "0.30712475933"), 0.0, "0.307124759249", "differs"),
        (("0.30712475927", "0.30712475933"), 0.0, "0.307124759351", "differs"),
    ],
)  # fmt: skip
def test_a_proved_value_is_compared_with_that_of_the_suite(theirs, tolerance, value, status) -> None:
    low, high = map(Fraction, theirs)
    question = Question("s", "m", "", "q", low, high, None, lambda: (0, 0.0), tolerance=tolerance)
    half = Fraction(1, 10**25)
    found = certified._compared(question, Fraction(value) - half, Fraction(value) + half)
    assert found == status


def test_all_stationary_values_of_the_suites_are_certified() -> None:
    with certified.RESULTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["suite"] for row in rows} == {"qcomp", "prism"}
    for row in rows:
        assert (row["certcheck"], row["rows"].partition(" ")[0]) == ("accepts", "re-derived")
        assert row["status"] != "differs"
