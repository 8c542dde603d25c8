"""What tests of the drivers share: a run of a simulator beside the bundled rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from validation import evidence
from validation.generate import programs
from validation.generate.__main__ import all_cases
from validation.generate.cases import csv_text
from validation.generate.htsim.program import htsim_program
from validation.generate.linux.program import kernel_folder
from validation.generate.ns3_rdma.program import rdma_folder

INSTALLED_BY = {
    **dict.fromkeys(("ns-2", "ns-3"), "`make data-tools`"),
    "Linux": "validation/generate/linux/build.sh",
    "htsim": "validation/generate/htsim/README.md",
    "uet-htsim": "validation/generate/htsim/README.md",
    "ns-3 RDMA": "validation/generate/ns3_rdma/README.md",
}
FOUND_BY = {
    "ns-3": programs.ns3_folder,
    "Linux": kernel_folder,
    "htsim": htsim_program,
    "uet-htsim": partial(htsim_program, "htsim_uec"),
    "ns-3 RDMA": rdma_folder,
}
"""What says where a program is."""


def installed(tool: str) -> bool:
    if tool == "ns-2":
        return shutil.which("ns") is not None
    try:
        FOUND_BY[tool]()
    except FileNotFoundError:
        return False
    return tool != "ns-3" or shutil.which("g++") is not None


@pytest.fixture
def repeats(tmp_path: Path) -> Callable[..., None]:
    """Run one run of a case; all digits of all of its rows must be among those bundled."""

    def run_one(name: str, **chosen: object) -> None:
        case = all_cases()[name]
        if not installed(case.program.tool):
            pytest.skip(f"{case.program.tool} is not installed: {INSTALLED_BY[case.program.tool]} does it")
        run = next(r for r in case.runs if all(r.get(key) == value for key, value in chosen.items()))
        found = case.execute(run, tmp_path)
        for table, columns in case.tables.items():
            bundled = evidence.table(name, table)
            text = bundled.to_csv(index=False, float_format="%.10g", lineterminator="\n")
            again = csv_text(found[table], columns).decode().splitlines()
            assert set(again) <= set(text.splitlines()), table

    return run_one
