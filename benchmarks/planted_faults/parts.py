"""The parts of the code in which faults are planted, and which tests belong to a file."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.planted_faults.faults import Fault, faults_of, with_fault

KINDS = {
    "constant": 0.35, "comparison": 0.2, "sign": 0.2, "product": 0.1, "extremum": 0.05,
    "range": 0.03, "and/or": 0.05, "not": 0.02,
}  # fmt: skip
"""How often each kind of fault is drawn, where a group has it."""
COMMON_NAMES = {"measure", "judge", "judged", "draw", "readings", "at_packet_level", "run", "rate"}
"""Names of functions in many modules, which tell nothing of whose tests a file has."""
OF_ALL_MODULES = ("test_default_constants.py", "test_published_steps.py")
"""Tests of a part that hold constants, and steps, of many modules."""
ANALYSES = ("analysis", "phases", "infinite", "inference", "results", "sensitivities")
"""Folders of `markov` and of its tests that compute from chains which exist."""
MOST_FILES = 12
"""Test files beside a module's own that are run because they mention its names."""


@dataclass(frozen=True)
class Group:
    """Files in which faults are planted, and their tests.

    Attributes
    ----------
    name
        Of the group; its reference answers are `benchmarks.planted_faults.probes.PROBES` of this name.
    sources
        Patterns of files.
    weight
        How often it is drawn, relative to the others of its part.
    tests
        Files and folders that hold the group's tests where a module has no test file of its name.
    functions
        Pattern of the functions that count, by their name or what they return; all without one.
    """

    name: str
    sources: tuple[str, ...]
    weight: float
    tests: tuple[str, ...] = ()
    functions: str = ""


PARTS: dict[str, tuple[Group, ...]] = {
    "responsefn": (
        Group("rules", ("responsefn/rules/**/*.py",), 5.0, ("tests/responsefn/rules",)),
        Group(
            "laws",
            ("responsefn/laws.py", "responsefn/metrics/*.py"),
            2.0,
            ("tests/responsefn/test_laws.py", "tests/responsefn/closed_forms", "tests/responsefn/metrics"),
        ),
        Group(
            "responsefn kernels",
            ("responsefn/kernel/*.py",),
            2.0,
            (
                "tests/responsefn/simulation",
                "tests/responsefn/test_cycles.py",
                "tests/responsefn/test_attractors.py",
                "tests/responsefn/test_rule_events.py",
            ),
        ),
    ),
    "markov": (
        Group("proofs", ("markov/proofs/**/*.py",), 1.5, ("tests/markov/proofs",)),
        Group(
            "methods",
            tuple(f"markov/{name}/**/*.py" for name in ("elimination", "methods", "multigrid", "time")),
            4.0,
            ("tests/markov/methods", "tests/markov/multigrid", "tests/markov/time"),
        ),
        Group(
            "chains by rules",
            (
                *(f"markov/{name}/**/*.py" for name in ("generators", "models", "computing")),
                *(f"markov/{name}.py" for name in ("chains", "exploration", "selections", "driver")),
            ),
            3.0,
            ("tests/markov/generators", "tests/markov/models", "tests/markov/computing", "tests/markov/test_exploration.py"),
        ),
        Group("model files", ("markov/files/**/*.py",), 4.0, ("tests/markov/files",)),
        Group(
            "analysis",
            (
                *(f"markov/{name}/**/*.py" for name in ANALYSES),
                *(f"markov/{name}.py" for name in ("sweeps", "passage_sweeps")),
            ),
            3.0,
            tuple(f"tests/markov/{name}" for name in ANALYSES),
        ),
    ),
    "dfcmodel": (
        Group(
            "fluid kernel",
            ("dfcmodel/engine/kernel/**/*.py",),
            4.0,
            ("tests/dfcmodel/engine",),
        ),
        Group(
            "packet kernel",
            ("dfcmodel/packets/kernel/**/*.py",),
            4.0,
            ("tests/dfcmodel/packets",),
        ),
        Group(
            "queue managers",
            tuple(f"dfcmodel/network/queueing/{name}.py" for name in ("managers", "marking", "coupled")),
            2.0,
            ("tests/dfcmodel/network",),
        ),
        Group(
            "scenarios to arrays",
            (
                *(f"dfcmodel/network/{name}/**/*.py" for name in ("demands", "endpoints", "scenario_files")),
                *(f"dfcmodel/{name}/*.py" for name in ("network", "engine", "packets", "levels")),
                *(f"dfcmodel/packets/{name}/**/*.py" for name in ("layouts", "fabric", "recoveries", "exports")),
                *(f"dfcmodel/{name}.py" for name in ("explaining", "packet_limits")),
            ),
            5.0,
            tuple(f"tests/dfcmodel/{name}" for name in ("network", "packets", "engine", "levels")),
        ),
        Group(
            "lossless fabrics",
            ("dfcmodel/lossless/**/*.py",),
            4.0,
            ("tests/dfcmodel/lossless",),
        ),
        Group(
            "sharing and results",
            (
                *(f"dfcmodel/{name}/**/*.py" for name in ("sharing", "results", "theory", "twin")),
                *(f"dfcmodel/{name}.py" for name in ("comparing", "ensembles", "sweeps", "simulation")),
            ),
            4.0,
            tuple(f"tests/dfcmodel/{name}" for name in ("sharing", "results", "theory")),
        ),
    ),
    "validation": (
        Group("statistics", ("validation/statistics/*.py",), 4.0, ("tests/validation/statistics",)),
        Group(
            "judges",
            ("validation/claims/**/*.py", "validation/judgements/judging.py", "validation/judgements/verdicts.py"),
            3.0,
            ("tests/validation/test_checks.py",),
            r"^_?judge|Judgement|Verdict",
        ),
    ),
}  # fmt: skip


PART_TESTS = {
    "responsefn": ("tests/responsefn",),
    "markov": ("tests/markov",),
    "dfcmodel": ("tests/dfcmodel",),
    "validation": ("tests/validation/statistics", "tests/validation/test_checks.py"),
}
"""What runs before a fault is said to survive. Of ``validation`` without the other claims' tests, which a fault in what they
share makes simulate everything again."""


def group_of(name: str) -> Group:
    """Return the group with a name."""
    return next(group for groups in PARTS.values() for group in groups if group.name == name)


def files_of(root: Path, group: Group) -> list[str]:
    """Return the files of a group, relative to the checkout."""
    paths = {path for pattern in group.sources for path in root.glob(pattern)}
    kept = (path.relative_to(root).as_posix() for path in paths if path.name != "jit.py")
    return sorted(kept)


def draw_fault(root: Path, part: str, number: int, seed: int) -> tuple[Group, Fault]:
    """Return fault ``number`` of a part: the same one for the same files and seed."""
    rng = np.random.default_rng([seed, number, sorted(PARTS).index(part)])
    groups = PARTS[part]
    weights = np.array([group.weight for group in groups])
    group = groups[rng.choice(len(groups), p=weights / weights.sum())]
    faults = [
        fault
        for path in files_of(root, group)
        for fault in faults_of(path, (root / path).read_text(encoding="utf-8"), group.functions)
    ]
    by_kind = {kind: [fault for fault in faults if fault.kind == kind] for kind in KINDS}
    kinds = [kind for kind in KINDS if by_kind[kind]]
    chances = np.array([KINDS[kind] for kind in kinds])
    while True:
        found = by_kind[kinds[rng.choice(len(kinds), p=chances / chances.sum())]]
        fault = found[rng.integers(len(found))]
        try:
            with_fault((root / fault.path).read_text(encoding="utf-8"), fault)
        except SyntaxError:
            continue
        return group, fault


def stages_of(root: Path, group: Group, path: str) -> list[list[str]]:
    """Return lists of test files, to be run one after the other until a test fails.

    The test file of the module's name, or the one in its folder that mentions its names most, with its table of refused input; other files that mention its names, most mentions
    first; the tests of the group.
    """
    module = Path(path)
    own = root / "tests" / module.parent / f"test_{module.name.lstrip('_')}"
    mentions = _mentioning(root, path)
    beside_own = [test for test in mentions if (root / test).parent == own.parent]
    first = [own.relative_to(root).as_posix()] if own.is_file() else beside_own[:1]
    first += [table for test in first if (root / (table := _refused_beside(test))).is_file()]
    of_all = [f"tests/{module.parts[0]}/{name}" for name in OF_ALL_MODULES]
    beside = [test for test in of_all if (root / test).is_file()]
    beside += [test for test in mentions if test not in [*first, *beside]][:MOST_FILES]
    if not first:  # a kernel: whatever the group has
        return [[*beside[:1], *group.tests], beside[1:]] if beside[1:] else [[*beside, *group.tests]]
    stages = [first, beside, *([test] for test in group.tests)]
    return [stage for stage in stages if stage]


def _refused_beside(test: str) -> str:
    """Return the table of refused input that a test file may have beside it."""
    path = Path(test)
    name = path.stem.replace("test_", "refused_", 1)
    return path.with_name(f"{name}.txt").as_posix()


def _mentioning(root: Path, path: str) -> list[str]:
    """Return the test files that mention public names of a module, those with most mentions per line first."""
    tree = ast.parse((root / path).read_text(encoding="utf-8"))
    names = [
        node.name
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        and not node.name.startswith("_")
        and node.name not in COMMON_NAMES
    ]
    if not names:
        return []
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    counted = []
    for test in (root / "tests" / path.split("/")[0]).rglob("test_*.py"):
        text = test.read_text(encoding="utf-8")
        if count := len(pattern.findall(text)):
            counted.append((-count / (20 + text.count("\n")), test.relative_to(root).as_posix()))
    return [test for _, test in sorted(counted)]
