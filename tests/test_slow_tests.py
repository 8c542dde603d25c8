"""The table of slow tests names tests that exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.conftest import SLOW_TESTS

ROOT = Path(__file__).parents[1]


@cache
def names(path: str) -> set[str]:
    """Return the test functions of a file, or the titles of a table of refused input."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".txt"):
        return {line[2:].strip().rstrip(".") for line in text.splitlines() if line.startswith("# ")}
    return set(re.findall(r"^ *def (test_\w+)", text, re.MULTILINE))


def test_each_entry_is_a_test():
    entries = SLOW_TESTS.read_text(encoding="utf-8").splitlines()
    assert entries == sorted(set(entries)), "each once, sorted"
    for entry in entries:
        path, _, test = entry.partition("::")
        name = test if path.endswith(".txt") else test.partition("[")[0].rpartition("::")[2]
        assert name in names(path), f"{entry}: {path} has no such test"
