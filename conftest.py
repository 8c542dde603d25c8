"""What every run of the tests shares: folders of its own, random order, and slices of the slow tests."""

from __future__ import annotations

import os
import random
import shutil
import signal
import site
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MAX_SLICE_TEST_SECONDS = 60.0
"""A test of a slice that takes longer, with its fixtures, is stopped and skipped."""
USER_FOLDERS = {
    "HOPFLOW_CACHE_DIR": "cache",
    "MPLCONFIGDIR": "matplotlib",
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "jupyter/config",
    "JUPYTER_DATA_DIR": "jupyter/data",
    "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
    "PIP_CACHE_DIR": "pip",
    "RUSTUP_HOME": "rustup",  # pip asks rustc for its version, where there is one
    "XDG_CACHE_HOME": "caches",  # of other packages, such as scapy
    "HOME": "home",
}
"""Variables with folders of this run.

HOME must be empty at the end, and hopflow must have written to its own cache only.
"""
UNSET = (
    "NUMBA_CACHE_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)
RUN = pytest.StashKey[Path]()
USER_CACHE = pytest.StashKey[Path]()
STARTED = pytest.StashKey[float]()
DEADLINE = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of ``make test-random`` and ``make slow-slice``."""
    group = parser.getgroup("order of the tests")
    group.addoption("--random-order", metavar="SEED", help="shuffle test files, and tests in files")
    group.addoption("--slice-date", metavar="DATE", help="shuffle all tests by this date")
    group.addoption("--slice-seconds", type=float, metavar="S", help="start no test after this time")


def pytest_configure(config: pytest.Config) -> None:
    """Create the folders of the run. Workers of xdist and other child processes inherit the variables."""
    config.stash[STARTED] = time.monotonic()
    if hasattr(config, "workerinput"):
        return
    run = config.stash[RUN] = Path(tempfile.mkdtemp(prefix="hopflow-tests-"))
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    config.stash[USER_CACHE] = caches / "hopflow"
    if config.stash[USER_CACHE].exists():  # other processes may write there
        del config.stash[USER_CACHE]
    os.environ.setdefault("PYTHONUSERBASE", site.getuserbase())
    for name in UNSET:
        os.environ.pop(name, None)
    os.environ.setdefault("HOPFLOW_RUSTUP_HOME", os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup"))
    for name, folder in USER_FOLDERS.items():
        (run / folder).mkdir(parents=True)
        os.environ[name] = str(run / folder)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Report an error if the tests wrote to a home folder. pytest prints its summary after this hook's first part."""
    config = session.config
    if RUN in config.stash and (message := _home_writes(config)):
        report = pytest.TestReport(
            nodeid="home folder",
            location=("conftest.py", None, "home folder"),
            keywords={},
            outcome="failed",
            longrepr=message,
            when="teardown",
        )
        config.hook.pytest_runtest_logreport(report=report)
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
    yield


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folders of the run."""
    if RUN in config.stash:
        shutil.rmtree(config.stash[RUN], ignore_errors=True)


def _home_writes(config: pytest.Config) -> str:
    """Return a message that lists what the tests wrote to home folders; empty if nothing."""
    home = config.stash[RUN] / "home"
    own = config.stash[RUN] / USER_FOLDERS["XDG_CACHE_HOME"] / "hopflow"
    files = (path for folder in (home, own) for path in folder.rglob("*") if not path.is_dir())
    written = [path.relative_to(config.stash[RUN]).as_posix() for path in files]
    if written:
        return f"the tests wrote to the home folder: {', '.join(sorted(written)[:20])}"
    if USER_CACHE in config.stash and config.stash[USER_CACHE].exists():
        return f"{config.stash[USER_CACHE]} did not exist before the tests: use HOPFLOW_CACHE_DIR"
    return ""


def pytest_report_header(config: pytest.Config) -> str | None:
    """Print how to repeat the order."""
    if seed := config.getoption("random_order"):
        return f"random order: --random-order {seed}"
    if date := config.getoption("slice_date"):
        return f"slice of the tests: DATE={date}, no test starts after {config.getoption('slice_seconds')} s"
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the selected tests, identically in all workers."""
    if seed := config.getoption("random_order"):
        # Whole files, so that fixtures of modules are made once.
        by_file: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
        for item in items:
            by_file[item.path].append(item)
        files = sorted(by_file)
        generator = random.Random(seed)
        generator.shuffle(files)
        for path in files:
            generator.shuffle(by_file[path])
        items[:] = [item for path in files for item in by_file[path]]
    elif date := config.getoption("slice_date"):
        items.sort(key=lambda item: (zlib.crc32(f"{date} {item.nodeid}".encode()), item.nodeid))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Start no test of a slice after its time."""
    limit = item.config.getoption("slice_seconds")
    spent = time.monotonic() - item.config.stash[STARTED]
    return True if limit is not None and spent > limit else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Stop a test of a slice whose fixtures take too long."""
    item.stash[DEADLINE] = time.monotonic() + MAX_SLICE_TEST_SECONDS
    with _stopped_at_deadline(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Stop a test of a slice that takes too long."""
    with _stopped_at_deadline(item):
        return (yield)


@contextmanager
def _stopped_at_deadline(item: pytest.Item) -> Iterator[None]:
    """Skip a test of a slice at its deadline."""
    if item.config.getoption("slice_seconds") is None or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        pytest.skip(f"{item.nodeid} takes more than {MAX_SLICE_TEST_SECONDS:.0f} s: too long here")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(0.01, item.stash[DEADLINE] - time.monotonic()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
