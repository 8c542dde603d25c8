"""Code is hashed with what it uses, and with nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from validation import code_hashes
from validation.code_hashes import hash_of_code, modules_used

CACHED = ("_file", "modules_used", "_source", "_imports", "_defined_in", "_own_hash", "_known")
FILES = {
    "hopflow/__init__.py": "from hopflow.sums import total\nfrom hopflow.means import mean\n",
    "hopflow/sums.py": 'def total(x):\n    """Add."""\n    return sum(x)\n',
    "hopflow/means.py": "from hopflow.sums import total\n\ndef mean(x): return total(x) / len(x)\n",
    "hopflow/loops/__init__.py": "",
    "hopflow/loops/run.py": "from .steps import step\n",
    "hopflow/loops/inner/__init__.py": "",
    "hopflow/loops/inner/again.py": "from ..steps import step\nfrom ...means import mean\n",
    "hopflow/loops/steps.py": "STEP = 1\ndef step(): return STEP\n",
    "markov/__init__.py": "if TYPE_CHECKING:\n    from markov.paths import walk\n",
    "markov/paths.py": "def walk(): pass\n",
    "markov/table.csv": "a,b\n",
    "validation/__init__.py": "",
    "validation/code_hashes.py": "",
    "validation/one.py": "from hopflow import total\n",
    "validation/two.py": "from hopflow import (\n    mean,  # of numbers\n)\n",
    "validation/three.py": "from markov import walk\n",
    "validation/four.py": 'LOOP = "hopflow.means"\n',
    "validation/five.py": "from hopflow import unknown\n",
    "validation/six.py": "from hopflow.loops.inner import again\n",
    "validation/seven.py": "def f():\n    import hopflow.sums; from markov import paths\n",
    "validation/eight.py": 'def f():\n    """>>> from hopflow import mean"""\n    return "one.py"\n',
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(code_hashes, "ROOT", tmp_path)
    monkeypatch.setattr(code_hashes, "cache_folder", lambda: tmp_path / "cache")
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for name in CACHED:
        getattr(code_hashes, name).cache_clear()


@pytest.mark.parametrize(
    ("module", "used"),
    [
        ("validation.one", {"hopflow.sums"}),
        ("validation.two", {"hopflow.sums", "hopflow.means"}),
        ("validation.three", {"markov.paths"}),
        ("validation.four", {"hopflow.means", "hopflow.sums"}),
        (
            "validation.six",
            {"hopflow.loops", "hopflow.loops.inner", "hopflow.loops.inner.again"}
            | {"hopflow.loops.steps", "hopflow.means", "hopflow.sums"},
        ),
        ("validation.seven", {"hopflow.sums", "markov.paths"}),
        ("validation.eight", {"validation.one", "hopflow.sums"}),
    ],
)
def test_a_name_stands_for_the_module_that_defines_it(
    tree: Path, module: str, used: set[str]
) -> None:
    packages = {name.partition(".")[0] for name in (*used, module)}
    assert modules_used(module) == used | packages | {module}


def test_a_name_that_is_nowhere_to_be_found_stands_for_all(tree: Path) -> None:
    assert {"markov.paths", "hopflow.means"} <= modules_used("validation.five")


def test_other_modules_are_refused(tree: Path) -> None:
    with pytest.raises(ValueError, match="module = 'numpy': must be one of hopflow, dfcmodel"):
        modules_used("numpy")


@pytest.mark.parametrize(
    ("file", "text", "same"),
    [
        ("hopflow/sums.py", '# New\n\ndef total(x):\n    """Sum up."""\n    return sum(x)\n', True),
        ("hopflow/means.py", "changed = True\n", True),
        ("hopflow/sums.py", "def total(x):\n    return sum(x) + 1\n", False),
        ("hopflow/sums.py", "def total(x, y=0):\n    return sum(x)\n", False),
    ],
)
def test_only_used_code_counts(tree: Path, file: str, text: str, same: bool) -> None:
    before = hash_of_code(["validation.one"])
    (tree / file).write_text(text)
    forget()
    assert (hash_of_code(["validation.one"]) == before) is same


def test_tables_beside_a_module_count(tree: Path) -> None:
    before = hash_of_code(["validation.three"])
    (tree / "markov/table.csv").write_text("a,c\n")
    forget()
    assert hash_of_code(["validation.three"]) != before


def test_hashes_are_kept_by_the_text_of_a_module(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hash_of_code(["validation.two"])
    forget()
    monkeypatch.setattr(code_hashes, "_bare", None)  # nothing is compiled again
    assert hash_of_code(["validation.two"]) == before


def test_another_way_of_hashing_does_not_use_the_hashes_of_the_old_one(tree: Path) -> None:
    before = code_hashes._place()
    (tree / "validation/code_hashes.py").write_text("CHANGED = 1\n")
    forget()
    assert code_hashes._place() != before


def test_sets_hash_alike_in_all_processes() -> None:
    assert code_hashes._bare((frozenset({"b", "a"}),)) == (["'a'", "'b'"],)
