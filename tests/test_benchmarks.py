"""Benchmarks use names that exist; what they measure is looked at where they run."""

from __future__ import annotations

import importlib
import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import fresh_networks, levels
from benchmarks.__main__ import SUITES
from benchmarks.machines import Machine
from benchmarks.records import FLOORS, below_floors, save
from benchmarks.timing import Row
from dfcmodel import explain

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("__"))


@pytest.mark.parametrize("name", MODULES)
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
    assert (
        below_floors({"laws": rows(0.1)}, path) == []
    )  # of a suite that was not run nothing is said
    missing = "chains, another: theirs was not measured"
    assert below_floors({"chains": rows(3.0)}, path) == [missing]
    low = "chains, a task: theirs has 2.90, must have 3"
    assert below_floors({"chains": rows(2.9)}, path) == [low, missing]
    assert len(below_floors({"chains": rows(float("nan"))}, path)) == 2


def test_the_floors_are_of_suites() -> None:
    floors = tomllib.loads(FLOORS.read_text(encoding="utf-8"))
    assert set(floors) <= set(SUITES)
    assert all(
        floor > 0.0 for own in floors.values() for each in own.values() for floor in each.values()
    )


def test_results_of_a_suite_replace_its_own_alone(tmp_path) -> None:
    machine = Machine("AMD EPYC(TM) 7B13 Processor @ 2 GHz", 2, 0.1, 1e10, "3.11", {"numpy": "2.0"})
    save(machine, {"chains": rows(2.0), "laws": rows(5.0)}, tmp_path)
    path = save(machine, {"chains": rows(3.0)}, tmp_path)
    assert path.name == "amd-epyc-7b13-2-cores.json"
    suites = json.loads(path.read_text(encoding="utf-8"))["suites"]
    assert [suites[name]["rows"][1]["ratio"] for name in ("chains", "laws")] == [3.0, 5.0]
    assert suites["laws"]["machine"] == machine.to_dict()


def test_the_table_of_explanations_is_made_from_its_values() -> None:
    """And in every row the parts lead from the bare fluid to packets, to the digits written."""
    values = pd.read_csv(FOLDER / "results" / "explanations.csv")
    text = levels.markdown(values) + "\n" + levels.conclusion(values)
    assert (FOLDER / "results" / "explanations.md").read_text(encoding="utf-8") == text
    for _, own in values.groupby(["scenario", "quantity"]):
        means = own.set_index("row")["mean"]
        parts = means.drop("packets").sum()
        assert parts == pytest.approx(means["packets"], abs=1e-5 * means.abs().max())


def test_the_fluid_with_whole_packets_is_compared_with_the_packet_level() -> None:
    """On one fresh network: both shares are within two standard errors of the packet level's."""
    found = fresh_networks.differences(["mixed-rules-2-4"])
    assert list(found.shares["group"]) == ["Tahoe", "NewReno"]
    assert 0.0 < found.mean_error < 0.03
    assert found.beyond < 0.0
    assert found.losses < 0.05
    assert found.first < 0.01
    table = fresh_networks.by_kind(found)
    assert list(table["kind"]) == ["mixed rules", "mixed rules"]
    assert (table["mean"] == found.mean_error).all()
    assert fresh_networks.summary(found)["networks, goodput shares"] == "1, 2"
    assert "| topology | mixed rules | 2 |" in fresh_networks.markdown(found)


@pytest.mark.slow
def test_explanations_follow_from_their_seeds() -> None:
    values = pd.read_csv(FOLDER / "results" / "explanations.csv")
    (case,) = (each for each in levels.cases() if each.scenario.name == "incast under pause")
    own = values[values["scenario"] == case.scenario.name]
    runs = int(own["runs"].iloc[0])
    found = explain(case.scenario, case.measures, runs=runs, **case.arguments).table()
    np.testing.assert_allclose(found["mean"], own["mean"], rtol=1e-5, atol=1e-9)
