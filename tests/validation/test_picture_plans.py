"""What becomes an axis, a curve, a panel in a picture of a case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from validation import cases, provenance, table
from validation.picture_plans import COUNTING, GIVEN, NAMING, NoPictureError, plan

WITHOUT = {
    "htsim/roce runs", "htsim/uec runs", "kaneko2007/unstated-parameters settings", "ns3/rdma runs", "packets/explained-claims waterfalls",
    "packets/seeds runs", "yang2001/unstated-parameters settings",
}  # fmt: skip
"""Tables of inputs, and of numbers in several units; besides these the drops and settings of Linux's runs."""
ALIKE = {"htsim/roce runs"}
"""Of the kind of another table without a picture."""


def tables(each_kind_once: bool) -> Iterator[tuple[str, dict[str, Any], pd.DataFrame]]:
    """Yield case and table, what is known of it, and the table; the shortest of each kind."""
    every = [
        (case, file, about) for case in cases() for file, about in provenance(case)["files"].items()
    ]
    if each_kind_once:
        every.sort(key=lambda each: -each[2]["rows"])
        every = list(
            {(*a["index"], "", *a["columns"]): (case, file, a) for case, file, a in every}.values()
        )
    for case, file, about in every:
        name = file.split(".")[0]
        yield f"{case} {name}", about, table(case, name)


@pytest.mark.parametrize(
    "each_kind_once", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["kinds", "all"]
)
def test_a_result_is_drawn_or_it_is_said_that_there_is_none(each_kind_once) -> None:
    without, count = set(), 0
    for name, about, frame in tables(each_kind_once):
        count += 1
        try:
            y = plan(frame, about).y
        except NoPictureError:
            without.add(name)
        else:
            assert y not in GIVEN, name
            assert y not in about["index"] or y in COUNTING, name
            assert about["columns"][y]["unit"], name
    assert count > len(without) > 0
    linux = {n for n in without if n.startswith("linux/") and n.split()[1] in ("drops", "settings")}
    assert without - linux == (WITHOUT - ALIKE if each_kind_once else WITHOUT)


@pytest.mark.parametrize("case", ["alone", "cubic-and-bbr", "periodic-loss", "random-loss"])
def test_what_is_drawn_of_runs_of_linux_is_what_arrived(case) -> None:
    about = next(iter(provenance(f"linux/{case}")["files"].values()))
    assert plan(table(f"linux/{case}"), about).y == "bytes"
    assert plan(table(f"linux/{case}"), about, "buffer").y == "buffer"


@pytest.mark.slow
def test_names_are_no_axis_and_panels_have_few_curves() -> None:
    for case in cases():
        about = next(iter(provenance(case)["files"].values()))
        frame = table(case)
        try:
            chosen = plan(frame, about)
        except NoPictureError:
            continue
        assert chosen.x not in {*NAMING, *COUNTING, "seed"}, case
        assert chosen.x is None or frame[chosen.x].nunique() > 2, case
        told = frame[[*chosen.panels, *chosen.curves]].drop_duplicates()
        if chosen.panels and chosen.curves:
            assert told.groupby(list(chosen.panels)).size().max() <= 10, case


@pytest.mark.parametrize(
    "case",
    ["malhotra2005/fixed-thresholds", "takano2006/scenario-4s-with-dfc", "zheng2002/access-delay"],
)
def test_nothing_that_was_varied_is_left_out(case) -> None:
    about = next(iter(provenance(case)["files"].values()))
    frame = table(case)
    chosen = plan(frame, about)
    varied = [c for c in about["index"] if c not in ("seed", *chosen.pooled)]
    assert len(frame[varied].drop_duplicates()) == len(frame[chosen.point].drop_duplicates())


def test_a_column_without_an_entry_is_refused() -> None:
    case = "kaneko2007/small-bdp-ns2"
    about = next(iter(provenance(case)["files"].values()))
    with pytest.raises(ValueError, match=r"value = 'goodput': has no entry"):
        plan(table(case).assign(goodput=np.nan), about, "goodput")
