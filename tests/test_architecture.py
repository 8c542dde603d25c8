"""The page on the architecture names what is there, and all of it; claims use public names; disciplines are not asked for their type."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
from pathlib import Path

import pytest

import dfcmodel
import responsefn
from dfcmodel.levels.accuracies import measured_accuracies
from responsefn import RateRule, WindowRule, linux
from tests.surface import PACKAGES, for_each
from validation.records import rows

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
CHOICES = (DOCS / "architecture-choices.md").read_text(encoding="utf-8")
PICTURE = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
PATHS = sorted({path for path in re.findall(r"`([\w./-]+)`", PAGE + CHOICES) if "/" in path})
FOLDERS = sorted(
    path.parent.relative_to(ROOT)
    for package in PACKAGES
    for path in (ROOT / package).glob("*/__init__.py")
    if len(list(path.parent.glob("*.py"))) > 1  # others have public names alone, by their stubs
)


@for_each(PATHS)
def test_a_path_on_the_page_exists(path: str) -> None:
    """The tests of markov's methods and the like are named by their folder."""
    assert (ROOT / path).exists()


@for_each(FOLDERS)
def test_a_subpackage_is_in_the_table_and_in_the_picture(folder: Path) -> None:
    table = PAGE.partition("| package |")[2].partition("\n## ")[0]
    assert f"`{folder.as_posix()}/`" in table
    assert ".".join(folder.parts) in PICTURE


def test_registries_on_the_page_are_where_it_says() -> None:
    named = re.findall(r"`([A-Z]+)` in `([\w/]+\.py)`", PAGE)
    assert len(named) >= 4
    for name, path in named:
        assert re.search(rf"^{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_tables_of_the_documentation_are_those_of_the_registries() -> None:
    """``python docs/generated.py`` writes them."""
    generated = runpy.run_path(str(DOCS / "generated.py"))
    for page in generated["PAGES"]:
        text = (DOCS / page).read_text(encoding="utf-8")
        assert generated["BLOCK"].search(text)
        assert generated["filled"](text) == text, page


@pytest.mark.slow  # measures three claims
def test_errors_of_the_models_are_those_of_the_outcomes() -> None:
    """The README and the known limits say how far the models are off, as S06, S07 and S08 measure it."""
    generated = runpy.run_path(str(DOCS / "generated.py"))
    made = generated["model_errors"]()
    for page in generated["JUDGED"]:
        text = (DOCS / page).read_text(encoding="utf-8")
        (block,) = (block for block in generated["BLOCK"].finditer(text) if block[0].startswith("<!-- model_errors:"))
        assert made in block[0], page


ONLY_MEASURED = {"0.14", "0.11", "0.16", "28", "4.3"}
"""Errors of the models that no summary of a claim has: the test above measures them."""


def test_errors_of_the_models_are_those_recorded_of_the_claims() -> None:
    """An edited number on a page is not among those that the summary of its claim prints (``numbers.csv``)."""
    recorded = {row["id"]: row["numbers"].split() for row in rows("numbers.csv") if row["place"] == "summary"}
    packets = measured_accuracies()["packet level"]
    shares = {f"{packets.mean_error:.3f}", f"{packets.chance:.3f}"}
    for page in (ROOT / "README.md", DOCS / "known-limits.md"):
        block = page.read_text(encoding="utf-8").partition("<!-- model_errors:")[2].partition("<!-- end -->")[0]
        errors = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("| ")][2:]
        assert len(errors) == 12
        for what, other, error in errors:
            claim = "S06" if what.startswith("window model") else "S07" if "switch" in other else "S08"
            assert set(re.findall(r"\d[\d.]*", error)) <= {*recorded[claim], *shares, *ONLY_MEASURED}, (page.name, what)


def test_typed_numbers_say_what_made_them() -> None:
    """``python docs/typed_numbers.py`` traces forty of them."""
    pages = runpy.run_path(str(DOCS / "typed_numbers.py"))
    numbers = pages["all_numbers"]()
    assert len(numbers) > 200
    without = [number for number in numbers if pages["trace"](number).startswith("NO")]
    assert without == []


@pytest.mark.parametrize("page", ["README.md", "docs/known-limits.md"])
def test_the_numbers_of_the_first_pages_are_in_a_record(page: str) -> None:
    """A command that could be run is not enough."""
    pages = runpy.run_path(str(DOCS / "typed_numbers.py"))
    traces = {number: pages["trace"](number) for number in pages["all_numbers"]() if number.page == page}
    assert len(traces) > 15
    assert [
        number for number, told in traces.items() if pages["kind_of"](told) not in {"set", "in a record or a test"}
    ] == []


def test_measured_numbers_are_those_of_the_record() -> None:
    """``benchmarks/results/text_numbers.md``, which a slow test below measures again."""
    pages = runpy.run_path(str(DOCS / "typed_numbers.py"))
    measured = [number for number in pages["all_numbers"]() if "text_numbers" in number.origin]
    assert len(measured) > 50
    assert [number for number in measured if pages["trace"](number).startswith("NO")] == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It has 1,730 packets/s.", {"1,730": "NO origin"}),
        ("It has 1,730 packets/s. <!-- numbers: set -->", {"1,730": "set"}),
        ("<!-- numbers: python -m benchmarks.scale -->\n\n| 12 | 0.5 |\n\nThen 7.", {"12": "python", "0.5": "python", "7": "NO origin"}),
        ("- 5 % less (`test_no_such_name_at_all`).", {"5": "NO test"}),
        ("- 5 % less <!-- numbers: python -m benchmarks.none_such -->\n- none", {"5": "NO benchmarks"}),
        ("- 5 % less <!-- numbers: hopflow validate --claim S99 -->", {"5": "NO claim"}),
        ("- 5 % less <!-- numbers: python -m benchmarks.text_numbers none -->", {"5": "NO measurement"}),
        ("RFC 8985, 6.3, `x = 3`, S08, ns-2, $n^2$ and\n```\n12\n```\n", {}),
        ("<!-- x: made by docs/generated.py -->\n| 3 |\n<!-- end -->\n\nand 4", {"4": "NO origin"}),
    ],
)  # fmt: skip
def test_a_number_without_an_origin_is_found(text: str, numbers: dict[str, str]) -> None:
    pages = runpy.run_path(str(DOCS / "typed_numbers.py"))
    traced = {typed.text: pages["trace"](typed) for typed in pages["typed_numbers"]("page", text)}
    assert traced.keys() == numbers.keys()
    for number, beginning in numbers.items():
        assert traced[number].startswith(beginning)


@pytest.mark.slow  # makes some ten measurements again
@pytest.mark.parametrize(("by_ns2", "at_least"), [(False, 50), pytest.param(True, 3, marks=pytest.mark.simulators)])
def test_measured_numbers_are_given_again(by_ns2: bool, at_least: int) -> None:
    pages = runpy.run_path(str(DOCS / "typed_numbers.py"))
    measured = [
        number
        for number in pages["all_numbers"]()
        if "text_numbers" in number.origin and number.origin.endswith("-in-ns2") == by_ns2
    ]
    assert len(measured) >= at_least
    if by_ns2 and shutil.which("ns") is None:
        pytest.skip("ns-2 is not installed: apt-get install ns2")
    wrong = [(n, told) for n in measured if (told := pages["trace"](n, run=True)).startswith("NO")]
    assert wrong == []


def test_the_index_has_every_module_with_what_it_is() -> None:
    modules = runpy.run_path(str(DOCS / "generated.py"))["modules"]()
    rows = re.findall(r"^\| `(\w+\.py)` \| (.+) \|$", modules, re.MULTILINE)
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    assert len(rows) == len([path for path in files if (path.parent / "__init__.py").exists()])


def test_the_glossary_and_the_page_are_in_the_documentation() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "\narchitecture\n" in index
    assert "\nglossary\n" in index


def test_claims_use_the_rules_and_settings_that_users_get() -> None:
    """Six rules of claims' own are experiments beside what is judged: HPCC that reacts to each ACK (H02) or once a round trip,
    Reno with two packets at least (malhotra2005), the agent of ns-2 in the place of AIMD (S08), and TIMELY whose flows begin
    at a part of the line's rate (E05). What is derived from a rule that users get is a rule of one's own, too."""
    rules = {
        name
        for package in (dfcmodel, responsefn, linux)
        for name in package.__all__
        if isinstance(kind := getattr(package, name), type)
        and issubclass(kind, (WindowRule, RateRule, dfcmodel.FIFO.__base__))
    } | {"Discipline"}
    own, private = [], []
    for path in sorted((ROOT / "validation" / "claims").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                own += [node.name] if bases & rules else []
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
                private += [each.name for each in node.names if each.name.startswith("_")]
    of_fabrics = ["PerAck", "PerRoundTrip"]
    assert sorted(own) == sorted(["TwoPackets", "HalvingAIMD", *of_fabrics])
    assert private == []


ASKS_FOR_A_TYPE = {
    "dfcmodel/levels/packet_sizes.py": "has a rule for the parameters of each discipline that it scales",
    "dfcmodel/network/queueing/disciplines.py": "`dfc_of` gives DFC with its parameters",
}
"""Modules that ask for the class of a discipline, and why; all others ask what it needs."""


def test_disciplines_are_asked_what_they_need_instead_of_what_they_are() -> None:
    kinds = "FIFO|DFC|Pause|PFC|Fair|Priority|ByClass|BFC"
    asked = re.compile(rf"isinstance\([^)]*\b(?:{kinds})\b")
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "dfcmodel").rglob("*.py")
        if asked.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(ASKS_FOR_A_TYPE)
