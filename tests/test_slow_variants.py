"""The table of slow variants names functions that are there, and variants."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.conftest import SLOW_VARIANTS

ROOT = Path(__file__).parents[1]


@cache
def functions(path: str) -> set[str]:
    """Return the test functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_entry_is_a_variant_of_a_test():
    entries = SLOW_VARIANTS.read_text(encoding="utf-8").splitlines()
    assert entries == sorted(set(entries)), "each once, sorted"
    for entry in entries:
        path, _, test = entry.partition("::")
        name, bracket, _ = test.partition("[")
        assert bracket, f"{entry}: must be a variant of a test, not the whole test"
        assert name in functions(path), f"{entry}: {path} has no such test"
