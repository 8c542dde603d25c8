"""Settings that every test shares."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from tests.refused_input import RefusedTable

# Compilers make many objects that live long: looking for garbage less often takes a tenth of the time.
gc.set_threshold(50_000, 20, 100)

# Examples are the same in every run, and take as long as the machine needs.
hypothesis.settings.register_profile("hopflow", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("hopflow")


SLOW_TESTS = Path(__file__).with_name("slow_tests.txt")
"""Tests, and variants of tests, of more than 0.4 s on an idle machine, by node.

One in ten of all tests that are not marked `slow` where they are written, and three quarters of their time."""

LONGEST = "tests/test_notebooks.py"
"""The tests that take longest: last, one process would wait for the other one."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep what JAX compiles for the next run, where pytest keeps anything: it is half of the time of the tests that use it."""
    if not config.pluginmanager.has_plugin("cacheprovider"):
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(config.cache.mkdir("jax"))
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the table as slow, and let the longest tests come first."""
    slow = set(SLOW_TESTS.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in slow or item.nodeid.partition("[")[0] in slow:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect tables of refused input."""
    if file_path.suffix == ".txt" and file_path.name.startswith("refused_"):
        table: pytest.Collector = RefusedTable.from_parent(parent, path=file_path)
        return table
    return None


@pytest.fixture(scope="session")
def ns2() -> str:
    """Return the path of ns-2's interpreter; a test that asks for it is skipped where there is none."""
    path = shutil.which("ns")
    if path is None:
        pytest.skip("ns-2 is not installed: `make data-tools` does it")
    return path


@pytest.fixture(scope="session")
def run_ns2(ns2: str) -> Callable[[Path, str], tuple[np.ndarray, np.ndarray]]:
    """Return a function that runs a program of `to_ns2`: its samples, and rows of (from, to, drops)."""

    def run(folder: Path, program: str) -> tuple[np.ndarray, np.ndarray]:
        (folder / "run.tcl").write_text(program)
        subprocess.run([ns2, "run.tcl"], cwd=folder, check=True, capture_output=True)
        samples, links = (np.loadtxt(folder / f"{name}.txt", ndmin=2) for name in ("samples", "links"))
        return samples, links

    return run
