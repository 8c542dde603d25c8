"""The words of the field: names and phrases that are not written, and those to write instead.

What packages still have is in ``wording_leftovers.csv``: its numbers can only become smaller.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFTOVERS = Path(__file__).with_name("wording_leftovers.csv")
PACKAGES = ("hopflow", "dfcmodel", "markov", "responsefn", "validation")
QUANTITY = "the quantity and its role, such as MIN_STATES or MAX_STAGNANT_CYCLES"
IDENTIFIERS = {
    **dict.fromkeys(("SMALL", "MANY", "LONG", "MOST", "LEAST", "KEPT", "ALIKE", "FEW"), QUANTITY),
    **dict.fromkeys(("PATIENCE", "EIGHT", "STRONG", "ENOUGH"), QUANTITY),
    "tally": "counters",
    "noted": "sacked",
    "turn_of": "process_port_window",
    "act": "process_endpoint_event",
    "wake": "on_timer",
    "want": "unconstrained_rate",
    "tell": "send_feedback",
    "listen": "receive_feedback",
    "settle": "update_credit",
    "hears": "ecn_capable",
    "listens": "receives_feedback",
    "lose": "on_loss",
    "anew": "again",
}
"""Names of functions, classes, parameters and variables, with the word to write."""
PHRASES = {
    r"what (?:is|was) left of the equations?": "the residual",
    r"what came": "arrivals",
    r"so many of the": "at least this fraction of the",
    r"the quickest": "the fastest",
    r"anew": "again",
    r"but for": "without, except for",
    r"or else": "otherwise",
    r"without end": "infinite, without bound",
    r"was not found out": "we do not know why",
    r"beyond what there is room for": "does not fit",
    r"mend(?:s|ed|ing)?": "fix, correct",
    r"none twice": "distinct",
    r"in the place of": "instead of",
    r"by the clock": "wall time",
    r"with nothing to do": "idle",
    r"said naively": "reference implementation, written for clarity",
    r"takes? it apart": "parse",
    r"(?:wants?|tells|hears|listens|notes) (?:of|to) (?:a|the) (?:port|queue|packet|link)s?": "a verb for machines",
}
"""Phrases in docstrings, comments, messages and pages, with the word to write."""


def texts(part: str) -> list[Path]:
    """Return the files of a package, or the pages of the documentation."""
    if part == "docs":
        return sorted((ROOT / "docs").glob("*.md"))
    return [path for path in sorted((ROOT / part).rglob("*.py")) if "data" not in path.parts]


def names(tree: ast.AST) -> list[str]:
    """Return the names that a module gives to something."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.arg):
            found.append(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
    return found


def written(text: str) -> Counter[str]:
    """Return how often each phrase is in a text; a line break is a space.

    >>> written("It begins\\n    anew, or else not at all.")
    Counter({'anew': 1, 'or else': 1})
    """
    plain = re.sub(r"\s*\n\s*(?:#\s*)?", " ", text)
    counts = {p: len(re.findall(rf"\b{p}\b", plain, re.IGNORECASE)) for p in PHRASES}
    return Counter({phrase: n for phrase, n in counts.items() if n})


@cache
def found(part: str) -> Counter[str]:
    """Return how often a package, or the pages, have each name and each phrase."""
    counts: Counter[str] = Counter()
    for path in texts(part):
        text = path.read_text(encoding="utf-8")
        counts += written(text)
        if path.suffix == ".py":
            counts += Counter(name for name in names(ast.parse(text)) if name in IDENTIFIERS)
    return counts


def allowed() -> dict[tuple[str, str], int]:
    """Return what is left, by package and by name or phrase."""
    with LEFTOVERS.open(encoding="utf-8", newline="") as file:
        return {(row["part"], row["wording"]): int(row["count"]) for row in csv.DictReader(file)}


@pytest.mark.parametrize("part", [*PACKAGES, "docs"])
def test_the_words_of_the_field_are_written(part):
    known = allowed()
    more = {
        wording: (IDENTIFIERS | PHRASES)[wording]
        for wording, count in found(part).items()
        if count > known.get((part, wording), 0)
    }
    assert not more, "write instead: " + "; ".join(f"{a!r}: {b}" for a, b in more.items())


@pytest.mark.parametrize("part", [*PACKAGES, "docs"])
def test_the_table_of_leftovers_only_shrinks(part):
    """Whoever removes a leftover lowers its number, so that it does not come back."""
    fewer = {
        wording: found(part)[wording]
        for (where, wording), count in allowed().items()
        if where == part and found(part)[wording] < count
    }
    assert not fewer, f"lower these numbers in {LEFTOVERS.name} for {part}: {fewer}"


def test_a_new_word_of_the_idiom_is_found():
    assert names(ast.parse("def turn_of(x):\n    LEAST = x")) == ["turn_of", "x", "LEAST"]
    assert written("whether the links\n    are mended but for one") == {
        r"mend(?:s|ed|ing)?": 1,
        "but for": 1,
    }
    assert not written("amended; recommend; renewed")
