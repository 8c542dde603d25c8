"""Imports go one way: between the packages, between their parts, and between modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from benchmarks.code_metrics import import_cycles, read_sources
from tests.source_facts import facts
from tests.surface import PACKAGES

ROOT = Path(__file__).resolve().parents[1]

# What each package, and each compiled kernel, may import beside its own modules. An entry allows a module and everything
# below it. hopflow's lazy names are strings, not imports.
MAY_IMPORT = {
    "hopflow": {"hopflow.kernels"},
    "hopflow.kernels": {"hopflow.changes", "hopflow.errors", "hopflow.fork_safety", "hopflow.functions", "hopflow.progress", "hopflow.whole_files"},
    "responsefn": {"hopflow", "responsefn"},
    "responsefn.kernel": {"hopflow.kernels"},
    "markov": {"hopflow"},
    "dfcmodel": {"hopflow", "responsefn", "markov", "dfcmodel"},
    "dfcmodel.engine.kernel": {"hopflow.kernels", "hopflow.tcp_constants", "dfcmodel.theory.feedback_law"},
    "dfcmodel.packets.kernel": {
        "hopflow.kernels", "hopflow.tcp_constants", "dfcmodel.network.drop_causes", "dfcmodel.theory.feedback_law",
    },
    "dfcmodel.packets.fabric.kernel": {
        "hopflow.kernels", "dfcmodel.packets.kernel.called_managers", "dfcmodel.packets.kernel.random_numbers",
    },
    "dfcmodel.sharing.suites.kernel": {
        "hopflow.kernels",
        "dfcmodel.packets.kernel.layout",
        "dfcmodel.packets.kernel.tcp.native_decisions",
    },
    "validation": {"hopflow", "responsefn", "markov", "dfcmodel"},
}  # fmt: skip
REMAINING_CYCLES = {
    "validation: checks claims display judgements networks records statistics",
}
"""Import cycles between the children of a folder that remain to be removed; no other may appear."""


@cache
def modules() -> dict[str, Path]:
    """Return the files of all modules of the packages, by the modules' dotted names."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def imported(path: Path, importing: str = "") -> Iterator[tuple[str, int]]:
    """Yield each module of the packages that is imported anywhere, for types too, and the line."""
    for module, names, level, line in facts(path).imports:
        assert module, "imports name a module"
        source = module
        if level:  # in a kernel, which is copied and compiled as a whole
            assert ".kernel." in importing
            folder = importing.rsplit(".", level)[0]
            assert ".kernel" in folder, "a kernel imports nothing relatively from outside of it"
            source = f"{folder}.{module}"
        full = [f"{source}.{name}" for name in names]
        for name in [each if each in modules() else source for each in full] or [source]:
            if name.partition(".")[0] in {*PACKAGES, "tests", "notebooks", "benchmarks"}:
                yield name, line


@cache
def imports() -> dict[tuple[str, str], str]:
    """Return all imports between modules, (importing, imported), with file and line."""
    found: dict[tuple[str, str], str] = {}
    for name, path in modules().items():
        for target, line in imported(path, name):
            found.setdefault((name, target), f"{path.relative_to(ROOT)}:{line}")
    return found


def part_of(name: str) -> str:
    """Return the longest entry of `MAY_IMPORT` that a module belongs to; "" for tests."""
    while name and name not in MAY_IMPORT:
        name = name.rpartition(".")[0]
    return name


def may_import(name: str, target: str) -> bool:
    """Whether the table allows the module ``name`` to import the module ``target``."""
    own = part_of(name)
    if part_of(target) == own:
        return True
    return any(target == e or target.startswith(f"{e}.") for e in MAY_IMPORT[own])


def test_modules_import_only_what_the_table_allows() -> None:
    wrong = sorted(pair for pair in imports() if not may_import(*pair))
    assert not wrong, [f"{imports()[pair]}: imports {pair[1]}" for pair in wrong]


def test_the_table_itself_has_no_circle() -> None:
    """Parts of a package do not import each other both ways; a package above may import its parts."""
    graph: nx.DiGraph[str] = nx.DiGraph(
        (part, entry)
        for part, allowed in MAY_IMPORT.items()
        for entry in allowed
        if entry in MAY_IMPORT and not part.startswith(entry)
    )
    assert nx.is_directed_acyclic_graph(graph)


def test_no_circle_between_modules() -> None:
    """Imports under TYPE_CHECKING and inside functions count: they are dependences as well."""
    graph: nx.DiGraph[str] = nx.DiGraph(list(imports()))
    circles = {tuple(sorted(knot)) for knot in nx.strongly_connected_components(graph) if len(knot) > 1}
    assert not circles


def test_children_of_a_folder_do_not_import_each_other_in_a_cycle() -> None:
    """Imports for types and inside functions count, and a re-exported name counts for the module that defines it."""
    assert set(import_cycles(read_sources(ROOT, PACKAGES))) == REMAINING_CYCLES


def test_an_import_cycle_would_be_noticed(tmp_path: Path) -> None:
    """Through a name that the package re-exports, and inside of a function."""
    folder = tmp_path / "pack"
    for name, text in {
        "__init__": "",
        "a/__init__": "from .inner import f",
        "a/inner": "def f():\n    from pack import b",
        "b": "from pack.a import f",
        "c": "import pack.b",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    assert import_cycles(read_sources(tmp_path, ["pack"])) == ["pack: a b"]


@pytest.mark.parametrize(
    ("kernel", "records"),
    [
        ("dfcmodel.engine", "records"),
        ("dfcmodel.packets", "layout"),
        ("dfcmodel.packets.fabric", "layout"),
    ],
)
def test_a_kernel_needs_nothing_but_numbers(kernel: str, records: str) -> None:
    """A compiled package imports itself alone; its records stand in a file of their own.

    Its ``jit`` is another file in the compiled copy.
    """
    kernel += ".kernel."
    used = {target for name, target in imports() if name.startswith(kernel)}
    assert f"{kernel}{records}" in used
    outside = {name for name in used if not name.startswith(kernel)}
    assert "hopflow.kernels.marks" in outside
    assert outside <= {
        "hopflow.kernels.marks", "hopflow.tcp_constants", "dfcmodel.theory.feedback_law",
        "dfcmodel.network.drop_causes", "dfcmodel.packets.kernel.called_managers", "dfcmodel.packets.kernel.random_numbers",
    }  # fmt: skip
    assert not [target for name, target in imports() if name == kernel + records]


def test_codes_of_the_engine_have_one_home() -> None:
    """Whole-number constants of the engine stand in records.py, and nowhere else in the kernel."""
    elsewhere = [
        f"{name}: {ast.unparse(node)}"
        for name, path in modules().items()
        if name.startswith("dfcmodel.engine.kernel.") and not name.endswith(".records")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        if any(isinstance(c, ast.Constant) and type(c.value) is int for c in ast.walk(node.value))
    ]
    assert elsewhere == []


def test_nothing_has_the_name_of_its_module() -> None:
    """Otherwise ``import package.module as m`` may give the function instead of the module."""
    assert [name for name, path in modules().items() if path.stem in facts(path).defined] == []


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("hopflow.checks", "dfcmodel.simulation"),
        ("responsefn.rules.cubic", "markov.chains"),
        ("dfcmodel.engine.kernel.loop", "dfcmodel.engine.plan"),
        ("dfcmodel.engine.kernel.loop", "markov.chains"),
        ("validation.report", "tests.conftest"),
    ],
)
def test_an_import_upwards_would_be_noticed(name: str, target: str) -> None:
    assert not may_import(name, target)
