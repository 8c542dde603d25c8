"""The project as a whole: imports, the wheel, the pins, and what must not be in a tracked file."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.source_facts import facts
from tests.surface import PACKAGES, printed_by

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"jax", "matplotlib", "sympy", "numba", "xarray", "pandas", "networkx"}


@cache
def project() -> dict[str, Any]:
    """Return the table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def sources(package: str) -> list[Path]:
    """Return the Python files of a package, the generators of the evidence included."""
    found = sorted((ROOT / package).rglob("*.py"))
    assert found, f"no Python file in {package}"
    return found


def tracked() -> list[Path]:
    """Return the files of the repository: those git knows and new ones that it does not ignore."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: the files of the repository are not known")
    assert shutil.which("git"), "git is needed: in a checkout this test is not skipped"
    # The checkout may be another user's, as in containers.
    git = ["git", "-c", f"safe.directory={ROOT}"]
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has after a statement."""
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(printed_by("-c", code, cwd=ROOT).split())


@pytest.mark.parametrize(
    ("package", "others"),
    [
        ("hopflow", {"dfcmodel", "markov", "responsefn", "validation", "scipy"}),
        ("markov", {"dfcmodel", "responsefn", "validation"}),
        ("responsefn", {"dfcmodel", "markov", "validation", "scipy"}),
        ("responsefn; responsefn.AIMD(0.2, 0.125).on_ack", {"scipy"}),
        ("dfcmodel", {"markov", "validation"}),
        ("validation", set()),
    ],
)
def test_import_is_light(package: str, others: set[str]) -> None:
    assert loaded_by(f"import {package}") & (HEAVY | others) == set()


def test_light_import_would_notice() -> None:
    assert "wave" in loaded_by("import markov, wave")


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_typed(package: str) -> None:
    assert files(package).joinpath("py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_third_party_imports_are_declared(package: str) -> None:
    listed = project()["project"]
    needed = listed["dependencies"]
    # `read_pcap` and `to_pcap`, stores of sweeps, and `hopflow explore` name the extra if it is missing
    extras = {
        "responsefn": "capture", "dfcmodel": "capture", "hopflow": "scale", "validation": "explore",
    }  # fmt: skip
    if package in extras:
        needed = [*needed, *listed["optional-dependencies"][extras[package]]]
    declared = {canonicalize_name(Requirement(r).name) for r in needed}
    provided_by = importlib.metadata.packages_distributions()
    undeclared = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(package)
        for module, _, level, line in facts(path).imports
        for name in ([] if level else [module.partition(".")[0]])
        if not (name == "pytest" and path.name.startswith("test_"))  # a module for pytest itself
        and name not in sys.stdlib_module_names
        and name not in PACKAGES
        and not declared & {canonicalize_name(d) for d in provided_by.get(name, [name])}
    ]
    assert undeclared == []


def pins() -> dict[str, Version]:
    """Return the version of each distribution in constraints.txt; any other line is an error."""
    found: dict[str, Version] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pin = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][A-Za-z0-9.+!]*)", line)
        assert pin, f"not a plain pin: {line!r}"
        name = canonicalize_name(pin[1])
        assert name not in found, f"{name} is pinned twice"
        found[name] = Version(pin[2])
    return found


def requirements(extra: str) -> dict[str, Requirement]:
    """Return what an installation with an extra needs, over all levels, as far as installed."""
    listed = project()["project"]
    todo = [Requirement(text) for text in listed["dependencies"]]
    todo += [Requirement(text) for text in listed["optional-dependencies"][extra]]
    todo += [Requirement(text) for text in project()["build-system"]["requires"]]
    found: dict[str, Requirement] = {}
    seen = set[tuple[str, frozenset[str]]]()
    while todo:
        this = todo.pop()
        name = canonicalize_name(this.name)
        if (name, frozenset(this.extras)) in seen:
            continue
        seen.add((name, frozenset(this.extras)))
        if name == "hopflow":  # an extra that includes others
            extras = listed["optional-dependencies"]
            todo += [Requirement(text) for each in this.extras for text in extras[each]]
            continue
        found.setdefault(name, this)
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for need in map(Requirement, needs):
            if need.marker is None or any(need.marker.evaluate({"extra": wanted}) for wanted in {"", *this.extras}):
                todo.append(need)
    return found


@pytest.mark.parametrize("extra", ["dev", "browser"])
def test_constraints_pin_everything_that_is_installed(extra: str) -> None:
    if Version(importlib.metadata.version("pandas")) != pins()["pandas"]:  # others need other packages
        pytest.skip("not an environment of constraints.txt")
    missing = sorted(set(requirements(extra)) - set(pins()))
    assert missing == []


def test_constraints_are_within_the_bounds() -> None:
    listed = project()["project"]
    texts = [*listed["dependencies"], *listed["optional-dependencies"]["dev"]]
    pinned = pins()
    for need in map(Requirement, texts):
        assert pinned[canonicalize_name(need.name)] in need.specifier, str(need)


def test_the_oldest_constraints_are_the_lower_bounds() -> None:
    """NumPy's own bound is for markov alone; with Numba and SciPy it is a later one."""
    texts = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    oldest = dict(line.split("==") for line in texts if not line.startswith("#"))
    for need in map(Requirement, project()["project"]["dependencies"]):
        (bound,) = (each for each in need.specifier if each.operator == ">=")
        assert {each.operator for each in need.specifier} <= {">=", "<"}
        same = Version(oldest[need.name]) == Version(bound.version)
        assert same or (need.name == "numpy" and Version(oldest["numpy"]) in need.specifier)


def test_all_is_everything_for_users() -> None:
    extras = project()["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    of_developers = {"all", "browser", "docs", "bench", "dev"}
    assert Requirement(everything).extras == set(extras) - of_developers


def test_one_version() -> None:
    version = project()["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    hopflow = importlib.import_module("hopflow")
    assert hopflow.__version__ == version


# Bracketed letters and groups keep these patterns from matching themselves.
MACHINE = re.compile(r"(?<![\w.)-])/(?:root|work|farm|Users|home/[a-z]\w*|tmp/[\w.-]+)/")
REGISTRY = re.compile(r"py(?:pi|thonhosted)\.org|--(?:extra-)?index-url|--find-[l]inks")


def test_no_machine_path_and_no_registry_host() -> None:
    here = os.fspath(ROOT) + "/"
    wrong = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line) or REGISTRY.search(line) or here in line:
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "cd /" + "root/x",
        "x = '/" + "work/main/a.csv'",
        "https://py" + "pi.org/simple",
        "--index" + "-url x",
    ],
)
def test_the_patterns_find_what_they_look_for(line: str) -> None:
    assert MACHINE.search(line) or REGISTRY.search(line)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel from the checkout, without network."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, the build backend, is not installed (it is part of the dev extra)")
    if Version(importlib.metadata.version("numba")) != pins()["numba"]:
        pytest.skip(f"wheels are built with Numba {pins()['numba']}")
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", os.fspath(folder)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def wheel_metadata(wheel: zipfile.ZipFile) -> Message:
    """Return the core metadata of the wheel."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return HeaderParser().parsestr(wheel.read(name).decode())


def test_wheel_holds_the_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == set(PACKAGES)
    assert not [name for name in names if name.startswith("validation/generate")]
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in tracked()
        if path.relative_to(ROOT).parts[0] in PACKAGES
        and path.relative_to(ROOT).parts[:2] != ("validation", "generate")
    }
    objects = {name for name in names if name.startswith("hopflow/kernels/objects/")}
    assert objects
    assert set(names) - objects == wanted


def test_wheel_metadata(wheel: zipfile.ZipFile) -> None:
    about = wheel_metadata(wheel)
    listed = project()["project"]
    assert (about["Name"], about["Version"]) == ("hopflow", listed["version"])
    assert about["License-Expression"] == "BSD-3-Clause"
    assert about["License-File"] == "LICENSE"
    needs = [Requirement(text) for text in about.get_all("Requires-Dist", [])]
    core = {(need.name, str(need.specifier)) for need in needs if need.marker is None}
    assert core == {(need.name, str(need.specifier)) for need in map(Requirement, listed["dependencies"])}
    assert set(about.get_all("Provides-Extra", [])) == {
        "all", "browser", "capture", "explore", "scale", "lab", "docs", "bench", "test", "dev",
    }  # fmt: skip
    (scripts,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "hopflow = hopflow.shell:main" in wheel.read(scripts).decode()


def test_the_console_script_exists() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="hopflow")
    assert callable(script.load())
