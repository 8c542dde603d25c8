"""Benchmarks use names that exist; what they measure is looked at where they run."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import levels
from dfcmodel import explain

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("__"))


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    """Those in benchmarks/peers need the peers."""
    assert importlib.import_module(f"benchmarks.{name}").__doc__


def test_the_table_of_explanations_is_made_from_its_values() -> None:
    """And in every row the parts lead from the bare fluid to packets, to the digits written."""
    values = pd.read_csv(FOLDER / "results" / "explanations.csv")
    text = levels.markdown(values) + "\n" + levels.conclusion(values)
    assert (FOLDER / "results" / "explanations.md").read_text(encoding="utf-8") == text
    for _, own in values.groupby(["scenario", "quantity"]):
        means = own.set_index("row")["mean"]
        parts = means.drop("packets").sum()
        assert parts == pytest.approx(means["packets"], abs=1e-5 * means.abs().max())


@pytest.mark.slow
def test_explanations_follow_from_their_seeds() -> None:
    values = pd.read_csv(FOLDER / "results" / "explanations.csv")
    (case,) = (each for each in levels.cases() if each.scenario.name == "incast under pause")
    own = values[values["scenario"] == case.scenario.name]
    runs = int(own["runs"].iloc[0])
    found = explain(case.scenario, case.measures, runs=runs, **case.arguments).table()
    np.testing.assert_allclose(found["mean"], own["mean"], rtol=1e-5, atol=1e-9)
