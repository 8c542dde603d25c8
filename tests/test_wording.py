"""The words of the field: names and phrases that are not written, and those to write instead."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.source_facts import facts, given_names
from tests.surface import PACKAGES, ROOT

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
    r"had in hand": "was assigned",
    r"what means anything": "only ... is meaningful",
    r"is one's own": "you set it yourself",
    r"gives? away": "cost",
    r"why both": "why the two",
    r"(?:wants?|tells|hears|listens|notes) (?:of|to) (?:a|the) (?:port|queue|packet|link)s?": "a verb for machines",
}
"""Phrases in docstrings, comments, messages and pages, with the word to write."""
ANY_PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b")


def texts(part: str) -> list[Path]:
    """Return the files of a package, or the pages of the documentation."""
    if part == "docs":
        return sorted((ROOT / "docs").glob("*.md"))
    return [path for path in sorted((ROOT / part).rglob("*.py")) if "data" not in path.parts]


def written(text: str) -> Counter[str]:
    """Return how often each phrase is in a text; a line break is a space.

    >>> written("It begins\n    anew, or else not at all.")
    Counter({'anew': 1, 'or else': 1})
    """
    plain = re.sub(r"\s*\n\s*(?:#\s*)?", " ", text).lower()
    if not ANY_PHRASE.search(plain):
        return Counter()
    counts = {phrase: len(re.findall(rf"\b{phrase}\b", plain)) for phrase in PHRASES}
    return Counter({phrase: n for phrase, n in counts.items() if n})


def found(part: str) -> dict[str, str]:
    """Return the names and phrases of a package, or of the pages, by place, with what to write instead."""
    places: dict[str, str] = {}
    for path in texts(part):
        text = path.read_text(encoding="utf-8")
        wrong = list(written(text))
        if path.suffix == ".py":
            wrong += [name for name in facts(path).names if name in IDENTIFIERS]
        for each in wrong:
            places[f"{path.relative_to(ROOT)}: {each!r}"] = (IDENTIFIERS | PHRASES)[each]
    return places


@pytest.mark.parametrize("part", [*PACKAGES, "docs"])
def test_the_words_of_the_field_are_written(part):
    assert found(part) == {}, "write the words on the right instead"


def test_a_new_word_of_the_idiom_is_found():
    assert given_names(ast.walk(ast.parse("def turn_of(x):\n    LEAST = x"))) == [
        "turn_of",
        "x",
        "LEAST",
    ]
    assert written("whether the links\n    are mended but for one") == {
        r"mend(?:s|ed|ing)?": 1,
        "but for": 1,
    }
    assert not written("amended; recommend; renewed")
