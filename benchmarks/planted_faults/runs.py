"""Runs of the tests on a copy of the tree with one fault at a time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.planted_faults.faults import Fault, with_fault
from benchmarks.planted_faults.parts import PART_TESTS, Group, stages_of
from hopflow.kernels import cache as kernels
from hopflow.kernels.native import ARCHIVES

ROOT = Path(__file__).resolve().parents[2]
QUICK = "not slow and not simulators and not browser"
TEST_SECONDS = 300
"""A test that takes longer is stopped and counts as failed: a fault can make a loop endless."""
STAGE_SECONDS = 3600
SAME, FACTOR = 1e-9, 2.0
"""Relative difference from which an answer is another one; factor from which an error bound is."""


@dataclass(frozen=True)
class Outcome:
    """What became of a fault.

    Attributes
    ----------
    fault, group
        The fault, and the name of its group.
    result
        ``"caught"``, ``"survived"`` (an answer changes and no test fails) or ``"no answer changed"``.
    by
        The test that failed, or the first answers that changed.
    """

    fault: Fault
    group: str
    result: str
    by: str

    def to_json(self) -> str:
        """Return a line of JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def of_json(cls, line: str) -> Outcome:
        """Return the outcome that a line of JSON holds."""
        values = json.loads(line)
        return cls(Fault(**values.pop("fault")), **values)


class Tree:
    """A copy of the checkout in a temporary folder, with kernels of its own.

    Attributes
    ----------
    root
        Of the copy.
    """

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        self._answers: dict[tuple[str, str], dict[str, Any]] = {}
        self._reliable: set[str] = set()

    @classmethod
    @contextmanager
    def copied(cls) -> Iterator[Tree]:
        """Yield a copy of the files that git tracks or does not ignore, and of the compiled kernels."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="planted_faults_") as scratch:
            root, cache = Path(scratch) / "tree", Path(scratch) / "kernels"
            for name in filter(None, listed.split("\0")):
                if (ROOT / name).is_file():
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, root / name)
            for source, target in (
                (kernels.folder(), cache),
                (ARCHIVES, root / ARCHIVES.relative_to(ROOT)),
            ):
                if source is not None and source.is_dir():
                    shutil.copytree(source, target)
            cache.mkdir(mode=0o700, exist_ok=True)
            yield cls(root, cache)

    @contextmanager
    def changed(self, fault: Fault) -> Iterator[None]:
        """Plant a fault, and remove it again with the kernels that were compiled from it."""
        place = self.root / fault.path
        source = place.read_text(encoding="utf-8")
        known = set(self.cache.rglob("*"))
        _write(place, with_fault(source, fault))
        try:
            yield
        finally:
            _write(place, source)
            for made in sorted(set(self.cache.rglob("*")) - known, reverse=True):
                made.rmdir() if made.is_dir() else made.unlink(missing_ok=True)

    def run(self, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
        """Run a module of Python in the copy.

        Raises
        ------
        subprocess.TimeoutExpired
            When it takes longer.
        """
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "HOPFLOW_CACHE_DIR": str(self.cache),
        }
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.root, env=environment, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    def failing(self, tests: list[str]) -> str:
        """Return the first quick test that fails, or an empty string."""
        if not tests:
            return ""
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", QUICK]
        options += ["-o", f"faulthandler_timeout={TEST_SECONDS}"]
        options += ["-o", "faulthandler_exit_on_timeout=true"]
        try:
            done = self.run("pytest", *options, *tests, seconds=STAGE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"{tests[0]}: longer than {STAGE_SECONDS} s"
        if done.returncode in (0, 5):
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
        return failed[1] if failed else f"{tests[0]}: ended with status {done.returncode}"

    def fails_without_fault(self, test: str) -> bool:
        """Whether a test, or the file that could not be run, fails as it is; to be asked while no fault is planted."""
        if test in self._reliable:
            return False
        if self.failing([test if "::" in test else test.split(": ")[0]]):
            return True
        self._reliable.add(test)
        return False

    def answers(self, group: str, path: str) -> dict[str, Any]:
        """Return the reference answers of a group for a file, or the error under the empty name."""
        try:
            done = self.run("benchmarks.planted_faults.probes", group, path, seconds=STAGE_SECONDS)
        except subprocess.TimeoutExpired:
            return {"": "longer than the limit"}
        if done.returncode:
            return {"": done.stderr.strip().rsplit("\n", 1)[-1]}
        found: dict[str, Any] = json.loads(done.stdout.strip().rsplit("\n", 1)[-1])
        return found

    def reference(self, group: str, path: str) -> dict[str, Any]:
        """Return the answers without a fault, computed once; while no fault is planted."""
        if (group, path) not in self._answers:
            self._answers[group, path] = self.answers(group, path)
            if "" in self._answers[group, path]:
                raise RuntimeError(f"probes of {group}: {self._answers[group, path]['']}")
        return self._answers[group, path]

    def try_fault(self, group: Group, part: str, fault: Fault) -> Outcome:
        """Plant a fault, run its tests, and say what became of it."""
        first, *others = stages_of(self.root, group, fault.path)
        reference = self.reference(group.name, fault.path)
        changed: list[str] = []
        with self.changed(fault):
            caught = self.failing(first)
            if not caught:
                after = self.answers(group.name, fault.path)
                if not (changed := changed_answers(reference, after)):
                    return Outcome(fault, group.name, "no answer changed", f"{len(after)} answers")
            for stage in (*others, list(PART_TESTS[part])):
                caught = caught or self.failing(stage)
        if not caught:
            return Outcome(fault, group.name, "survived", "; ".join(changed[:3]))
        if self.fails_without_fault(caught):
            raise RuntimeError(f"{caught} fails without a fault")
        return Outcome(fault, group.name, "caught", caught)


def _write(place: Path, source: str) -> None:
    """Write a module; Python would take the bytecode of before for that of a file of equal size and time."""
    place.write_text(source, encoding="utf-8")
    for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        compiled.unlink()


def changed_answers(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the names of the answers that differ; those that begin with ``bound`` by a factor."""
    if "" in after:
        return [f"error: {after['']}"]
    names = [*before, *(name for name in after if name not in before)]
    return [name for name in names if not _same(name, before.get(name), after.get(name))]


def _same(name: str, one: Any, other: Any) -> bool:
    if not isinstance(one, list) or not isinstance(other, list):
        return bool(one == other)
    if len(one) != len(other):
        return False
    left, right = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if name.startswith("bound"):
        with np.errstate(all="ignore"):
            near = (left <= FACTOR * right) & (right <= FACTOR * left)
        return bool((near | (np.isnan(left) & np.isnan(right))).all())
    return bool(np.allclose(left, right, rtol=SAME, atol=0.0, equal_nan=True))
