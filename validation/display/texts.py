"""The texts of claims: Markdown with placeholders, filled in from the measured values.

A text lies beside the module that measures and judges, under the same name. Its sections:

- ``Statements``: a list; each item begins with its key as code, and `judge` returns a verdict for
  each key;
- ``Summary`` and, where there is one, ``Why``: paragraphs;
- ``Thresholds``: a list like the statements, an item for each threshold of `judge`;
- ``Numbers``: a list of quantities, each with a list of ``model:``, ``packets:``, ``packet level:``,
  ``paper:`` and ``tolerance:``, all optional;
- ``Experiments``: a list of causes, each with ``with:``, ``without:`` and, optionally, ``effect:``;
- ``Pictures``: under the name of each drawing function its caption and, quoted, its alternative
  text.

Placeholders are Jinja's. They name the fields and properties of the measurement and the constants
of the module; a name that is neither is an error. Numbers come from placeholders only, so that no
text can state a number that was not measured: `typed_digits` finds those typed into a text.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from validation.display.finding_rows import Experiment, Number
from validation.judgements.verdicts import Verdict
from validation.statistics import CONFIDENCE, LEVEL, Estimate, interval, weakest

if TYPE_CHECKING:
    import jinja2
    from markdown_it.tree import SyntaxTreeNode

FIELDS = {
    "model": "model", "packets": "simulation", "packet level": "level", "paper": "paper",
    "tolerance": "tolerance",
}  # fmt: skip
"""The lists below a quantity, and the fields of `Number` that they become."""
SHARED = Path(__file__).parents[1] / "claims"
"""Where the macros lie that the texts of all papers may import."""
EXPERIMENT = {"with": "kept", "without": "removed", "effect": "effect"}
"""The lists below a cause, and the fields of `Experiment` that they become."""

NAMES = (
    r"ns-[23]",
    r"(?:IEEE )?802\.3x",
    r"RFC \d+",
    r"(?:[Ee]qs?|Figs?|Sects?|Tables?)\.? ?\(?[\d.]+\)?(?:(?: to |-)\(?[\d.]+\)?)?",
    r"[Ss]cenarios? \d[A-Z]?'?",
    r"\b[DMKZYS]\d\d\b",  # claims
    r"\b(?:TCP|UDP)[1-4]\b",  # classes of flows in yang2001
    r"\b(?i:rules?|queue|node|link|bridge|flow|seed)\s\d+(?:(?:,| and| to) \d+)*\b",
    r"\b(?:T|B|mu|lambda|lambda_effec,|[a-zA-Z]_)[0-9]\b",
    r"\bN [=>] \d(?:(?:,| and| to) \d)*\b",
    r"\b(?:\w+20\d\d)\b",  # papers, such as takano2006
    r"\b(?:Brakmo|Peterson|and| )+ 19\d\d\b",
    r"\bSack1\b|TCP\(1,1/2\)",
    r"\bp -> 0\b",
    r"\bchi2\b",
)
"""Words that may carry a digit without being evidence: names of simulators, standards, equations, figures,
scenarios, claims, numbered parts, symbols of the papers, the numbers N of TCP rates that name the
variants of malhotra2005, papers, agents and statistics."""


@dataclass(frozen=True)
class Text:
    """The text of a claim, filled in: its sections, as Markdown.

    Attributes
    ----------
    statements, thresholds
        By key.
    pictures
        Caption and alternative text by the name of the drawing function.
    """

    statements: dict[str, str]
    summary: str
    explanation: str
    thresholds: dict[str, str]
    numbers: tuple[Number, ...]
    experiments: tuple[Experiment, ...]
    pictures: dict[str, tuple[str, str]]


def render(path: Path, values: Mapping[str, object]) -> Text:
    """Fill in the text at ``path`` and parse it.

    Raises
    ------
    jinja2.UndefinedError
        For a placeholder that ``values`` does not have.
    ValueError
        When the text has not the sections described above.
    """
    return _parsed(_environment(path.parent).get_template(path.name).render(values), path.name)


def placeholders(path: Path) -> set[str]:
    """Return the names that a text needs."""
    from jinja2 import meta

    environment = _environment(path.parent)
    tree = environment.parse(path.read_text(encoding="utf-8"))
    return meta.find_undeclared_variables(tree) - set(environment.globals)


def plain(markdown: str) -> str:
    """Return Markdown without its marks, for a terminal or a table.

    Examples
    --------
    >>> plain("the limit is `D h c`, *not* zero")
    'the limit is D h c, not zero'
    """
    return re.sub(r"(?<!\w)\*(\S[^*]*)\*(?!\w)|`([^`]+)`", lambda m: m[1] or m[2], markdown)


def typed_digits(source: str) -> list[str]:
    """Return the words of a text that carry a digit outside of placeholders.

    Not counted are names with digits (`NAMES`), formulas (set as code, with a letter), and the
    lines of ``paper:``, which quote what the paper prints.

    Examples
    --------
    >>> typed_digits("ns-3 has {{ mean | num('.2f') }}, `1/p`, 0.25 in scenario 4R")
    ['0.25']
    """
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", " v ", source, flags=re.DOTALL)
    text = re.sub(r"^ *- paper:.*(?:\n +(?!- ).*)*", " ", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*[A-Za-z][^`]*`", " ", text)
    text = re.sub("|".join(NAMES), " ", text)
    return [word.strip(".,;:()") for word in text.split() if re.search(r"\d", word)]


@functools.cache
def _environment(folder: Path) -> jinja2.Environment:
    """Return the environment of the texts in a folder, which may import each other's macros."""
    import jinja2

    new = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, SHARED]), undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, autoescape=False,
    )  # fmt: skip
    new.filters |= {
        "num": written,
        "each": lambda values, spec="": [written(value, spec) for value in values],
        "span": _span,
        "interval": _interval,
        "percent": lambda value, spec=".1f": written(100.0 * np.asarray(value), spec),
        "mean": lambda values: float(np.mean(values)),
        "median": lambda values: float(np.median(values)),
        "p": p_text,
        "weakest": weakest,
        "inverse": lambda value: f"1/{value}",
        "yes": lambda holds: "yes" if holds else "no",
    }
    new.tests |= {"holding": lambda verdict: verdict is Verdict.HOLDS}
    new.globals |= {"CONFIDENCE": f"{CONFIDENCE:.0%}".replace("%", " %"), "LEVEL": LEVEL}
    new.globals |= {"CERTAINTY": f"{1 - LEVEL:.0%}".replace("%", " %")}
    return new


def written(value: Any, spec: str = "") -> str:
    """Return a number in a format, several of them separated by commas; estimates with their ±.

    Examples
    --------
    >>> written([0.5, 1.25], ".1f"), written(Estimate(13.11449, 0.0144, 39)), written(1e-8)
    ('0.5, 1.2', '13.114 ± 0.029', '1e-8')
    """
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, Iterable) and not isinstance(value, str | Estimate):
        return ", ".join(written(each, spec) for each in value)
    if isinstance(value, str | Estimate):
        return str(value)
    if spec:
        return format(value, spec)
    return re.sub(r"e([-+])0?", lambda m: "e" + m[1].strip("+"), f"{value:g}")


def _span(values: Iterable[float], spec: str = "g", between: str = " to ") -> str:
    """Return the smallest and the largest of some numbers, once where they read the same."""
    seen = [float(value) for value in values]
    return between.join(dict.fromkeys(format(end, spec) for end in (min(seen), max(seen))))


def _interval(values: Sequence[float]) -> str:
    """Return the mean of independent runs and its 95 % interval."""
    low, high = interval(np.asarray(values))
    return f"{np.mean(values):.3f} [{low:.3f}, {high:.3f}]"


def p_text(p: float) -> str:
    """Return a p-value as text.

    Examples
    --------
    >>> p_text(0.0123), p_text(3e-7)
    ('p = 0.012', 'p = 3e-07')
    """
    return f"p = {p:.3f}" if p >= 0.001 or math.isnan(p) else f"p = {p:.0e}"


def _parsed(markdown: str, name: str) -> Text:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    tree = SyntaxTreeNode(MarkdownIt("commonmark").parse(markdown))
    sections: dict[str, list[SyntaxTreeNode]] = {}
    for node in tree.children:
        if node.type == "heading" and node.tag == "h2":
            sections[_inline(node)] = here = []
        elif sections:
            here.append(node)
    known = {"Statements", "Summary", "Why", "Thresholds", "Experiments", "Numbers", "Pictures"}
    if not {"Statements", "Summary"} <= set(sections) <= known:
        raise ValueError(f"{name}: sections are {', '.join(sections)}; must be of {known}")
    return Text(
        statements=_keyed(sections["Statements"], name),
        summary=_paragraphs(sections["Summary"]),
        explanation=_paragraphs(sections.get("Why", [])),
        thresholds=_keyed(sections.get("Thresholds", []), name),
        numbers=tuple(Number(title, **fields) for title, fields in _fielded(sections.get("Numbers", []), FIELDS, name)),
        experiments=tuple(
            Experiment(title, **fields) for title, fields in _fielded(sections.get("Experiments", []), EXPERIMENT, name)
        ),
        pictures=_pictures(sections.get("Pictures", [])),
    )


def _inline(node: SyntaxTreeNode) -> str:
    """Return the Markdown of a heading or paragraph, in one line."""
    return " ".join(node.children[0].content.split())


def _paragraphs(nodes: Iterable[SyntaxTreeNode]) -> str:
    return "\n\n".join(_inline(node) for node in nodes)


def _items(nodes: Iterable[SyntaxTreeNode]) -> list[SyntaxTreeNode]:
    return [item for node in nodes if node.type == "bullet_list" for item in node.children]


def _keyed(nodes: Iterable[SyntaxTreeNode], name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in _items(nodes):
        match = re.fullmatch(r"`([^`]+)` (.+)", _inline(item.children[0]))
        if match is None or match[1] in found:
            raise ValueError(f"{name}: {_inline(item.children[0])!r} has no key of its own")
        found[match[1]] = match[2]
    return found


def _fielded(
    nodes: Iterable[SyntaxTreeNode], known: Mapping[str, str], name: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """Take a list apart whose items have lists of fields below them."""
    for item in _items(nodes):
        fields = {}
        for each in _items(item.children[1:]):
            field, _, text = _inline(each.children[0]).partition(":")
            if field not in known:
                raise ValueError(f"{name}: {field!r} is none of {', '.join(known)}")
            fields[known[field]] = text.strip()
        yield _inline(item.children[0]), fields


def _pictures(nodes: Iterable[SyntaxTreeNode]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for node in nodes:
        if node.type == "heading":
            title = _inline(node)
            found[title] = "", ""
        elif node.type == "blockquote":
            found[title] = found[title][0], _paragraphs(node.children)
        else:
            found[title] = _inline(node), found[title][1]
    return found
