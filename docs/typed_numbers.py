"""``python docs/typed_numbers.py [--seed SEED] [--run]``: draw forty numbers of pages and trace each of them.

A number that was measured stands in a generated part (``docs/generated.py``), or its paragraph, item or table names its origin:

- a test, ``test_NAME`` or a file of tests, in the text of the changelog,
- a command, in a comment within the paragraph or alone before it: ``<!-- numbers: COMMAND -->``,
- nothing measured, ``<!-- numbers: set -->``: settings of an example, definitions, limits, counts of what there is, values of a standard.

The trace says whether what is named exists and, for tests and tables of results, whether the number is in them. What ``benchmarks.text_numbers`` measured
must be in its record, ``benchmarks/results/text_numbers.md``. With ``--run`` the drawn measurements are made again and their output must have the number.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CHANGELOG.md", "docs/known-limits.md", "docs/levels.md", "docs/models.md")
DRAWN = 40

GENERATED = re.compile(r"<!-- (\w+): made by docs/generated\.py -->\n.*?<!-- end -->", re.DOTALL)
FENCES = re.compile(r"^( *)```.*?^\1```|\$\$.*?\$\$", re.DOTALL | re.MULTILINE)
NOT_MEASURED = re.compile(
    r"<!--.*?-->|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<[^>]*>"  # comments, code, formulas, addresses, tags
    r"|\b[A-Z]+\d+(?: to [A-Z]+\d+)?\b|\b[A-Za-z_]\w*[-.]?\d[\w.']*"  # claims, names
    r"|\bRFCs? [\d, and]+|\bIEEE [\d.x]+|\b802[\d.\w]+"  # standards
    r"|\b(?:Sect|Sects|Figs?|Table|eqs?|Appendix|scenarios?|claims?|versions?|Python|Linux|NumPy|JAX|commit)\.? \(?\d[\d.,\w]*(?:(?:,| and| to| or) \d[\d.]*)*\)?(?=[^\d%]|$)"
    r"|\b(?:19|20)\d\d(?:-\d\d-\d\d)?\b|\b\d+ (?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{4})?",
    re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])")
ORIGIN = re.compile(r"<!-- numbers: (.*?) -->", re.DOTALL)
TEST = re.compile(r"\btest_\w+|tests/[\w/]+\.py")


@dataclass(frozen=True)
class Typed:
    """A number of a page: its line, its text, and what made it ("" where nothing is named)."""

    page: str
    line: int
    text: str
    origin: str


def blank(match: re.Match[str]) -> str:
    """Return as many lines without text, so that lines keep their numbers."""
    return "\n" * match[0].count("\n")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, items of lists and rows of tables with the line on which each begins."""
    lines: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if lines and (not line.strip() or re.match(r" *(?:[-*] |#|<!-- numbers)", line)):
            yield number - len(lines), "\n".join(lines)
            lines = []
        if line.strip():
            lines.append(line)


def typed_numbers(page: str, text: str) -> Iterator[Typed]:
    """Yield the numbers of a page that are neither generated nor part of a name."""
    text = re.sub(r"\A---\n.*?\n---\n", blank, text, flags=re.DOTALL)
    text = FENCES.sub(blank, GENERATED.sub(blank, text))
    before = ""
    for line, paragraph in paragraphs(text):
        named = ORIGIN.findall(paragraph)
        alone = not ORIGIN.sub("", paragraph).strip()
        origin = ", ".join(named) or before or ", ".join(TEST.findall(paragraph))
        before = origin if alone else ""
        words = NOT_MEASURED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), paragraph)
        for match in NUMBER.finditer("" if paragraph.startswith("#") else words):
            at = line + words[: match.start()].count("\n")
            yield Typed(page, at, match[0].rstrip(","), origin)


def all_numbers() -> list[Typed]:
    """Return the typed numbers of all pages."""
    return [number for page in PAGES for number in typed_numbers(page, (ROOT / page).read_text(encoding="utf-8"))]


@cache
def sources(folder: str, pattern: str) -> dict[str, str]:
    """Return the texts of files below a folder by path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / folder).rglob(pattern))
    }


def written_in(number: str, text: str, *, rounded: bool = False) -> bool:
    """Return whether a text has a number, with or without separators of thousands; ``rounded``: or one that rounds to it.

    >>> written_in("1,730", "1730.4"), written_in("1,730", "1730.4", rounded=True), written_in("98.7", "5 and 98.7 %")
    (False, True, True)
    """
    plain = number.replace(",", "")
    decimals = len(plain.partition(".")[2].partition("e")[0])
    allowed = 0.5000001 * 10.0**-decimals if rounded else 0.0
    found = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])", text.replace("_", ""))
    return any(abs(float(each.replace(",", "")) - float(plain)) <= allowed for each in found)


def trace(typed: Typed, *, run: bool = False) -> str:
    """Return what is known of a number; it begins with "NO" where its origin is missing or does not have it."""
    if typed.origin == "set":
        return "set, not measured"
    if not typed.origin:
        return "NO origin is named"
    found = [_trace_one(typed.text, part.strip(), run) for part in re.split(r"[;,] ", typed.origin)]
    wrong = [each for each in found if each.startswith("NO")]
    return wrong[0] if wrong else "; ".join(found)


def _trace_one(number: str, origin: str, run: bool) -> str:
    """Return what is known of one origin of a number."""
    if match := re.match(r"python -m benchmarks\.text_numbers (\S+)$", origin):
        return _measured(number, match[1], run)
    if match := re.match(r"python -m benchmarks(?:\.(\w+)| ([\w ]+))", origin):
        names = [match[1]] if match[1] else match[2].split()
        if missing := [name for name in names if not (ROOT / "benchmarks" / f"{name}.py").exists()]:
            return f"NO benchmarks/{missing[0]}.py"
        tables = sources("benchmarks/results", "*.md")
        words = origin.replace(".", " ").split()
        own = {path: text for path, text in tables.items() if Path(path).stem.startswith(tuple(words))}
        having = [path for path, text in own.items() if written_in(number, text)]
        return f"{origin}; in {having[0]}" if having else f"{origin} exists"
    if match := re.match(r"python (docs/\S+\.py)$", origin):
        return f"{origin} exists" if (ROOT / match[1]).exists() else f"NO {match[1]}"
    if match := re.match(r"hopflow validate(?: --claim (\w+))?$", origin):
        (text,) = sources("validation/published", "numbers.csv").values()
        rows = [line for line in text.splitlines() if match[1] is None or line.startswith(f"{match[1]},")]
        if not rows:
            return f"NO claim {match[1]}"
        printed = any(written_in(number, row.partition(",")[2].partition(",")[2], rounded=True) for row in rows)
        return f"{origin}; in validation/published/numbers.csv" if printed else f"{origin} exists"
    tests = sources("tests", "test_*.py")
    for name in re.findall(r"tests/[\w/]+\.py|test_\w+", origin):
        texts = [tests[name]] if name in tests else [t for t in tests.values() if f"def {name}(" in t]
        if not texts:
            return f"NO test {name}"
        if any(written_in(number, text) for text in texts):
            return f"{name} has it"
    return f"{origin} exists" if "test" in origin else f"NO such command: {origin}"


@cache
def _output(name: str) -> str:
    """Return what a measurement prints."""
    from benchmarks.text_numbers import MEASUREMENTS

    return " ".join((MEASUREMENTS[name].__doc__ or "", *MEASUREMENTS[name]()))


def _measured(number: str, name: str, run: bool) -> str:
    """Return whether the record of a measurement has a number, or whether the measurement gives it again."""
    listed = sources("benchmarks", "text_numbers.py")["benchmarks/text_numbers.py"]
    if f"def {name.replace('-', '_')}(" not in listed:
        return f"NO measurement {name}"
    if run:
        return f"{name} gives it" if written_in(number, _output(name), rounded=True) else f"NO: {name} does not give it"
    record = sources("benchmarks/results", "text_numbers.md").get("benchmarks/results/text_numbers.md", "")
    section = record.partition(f"## {name}\n")[2].partition("\n## ")[0]
    has = written_in(number, section, rounded=True)
    return f"{name}; in benchmarks/results/text_numbers.md" if has else f"NO: the record of {name} does not have it"


def kind_of(told: str) -> str:
    """Return the kind of a trace in a few words."""
    if told.startswith("NO"):
        return "not traced"
    if told.startswith("set"):
        return "set"
    has = re.search(r"; in \S+|has it|gives it", told)
    return "in a record or a test" if has else "by a command that exists"


def main(words: list[str]) -> int:
    """Print the trace of the numbers drawn; return how many have none."""
    seed = int(words[words.index("--seed") + 1]) if "--seed" in words else 0
    numbers = all_numbers()
    kinds = dict.fromkeys(("not traced", "set", "in a record or a test", "by a command that exists"), 0)
    for typed in random.Random(seed).sample(numbers, DRAWN):
        told = trace(typed, run="--run" in words)
        kinds[kind_of(told)] += 1
        sys.stdout.write(f"{typed.page}:{typed.line}: {typed.text}: {told}\n")
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    sys.stdout.write(f"{DRAWN} of {len(numbers)} numbers: {counts}\n")
    return kinds["not traced"]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main(sys.argv[1:]))
