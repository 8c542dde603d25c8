"""What a cross-check concludes: verdicts, the findings of a claim, and the ledger of claims."""

from __future__ import annotations

import csv
import enum
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hopflow.checks import choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Claim",
    "Finding",
    "Number",
    "Part",
    "Picture",
    "Verdict",
    "claim",
    "expected",
    "find",
    "ledger",
]

PUBLISHED = Path(__file__).parent / "published"


class Verdict(enum.StrEnum):
    """Whether a claim holds, in a model or in a packet simulation."""

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    NOT_REPRODUCED = "not reproduced"
    NOT_APPLICABLE = "not applicable"
    UNDECIDABLE = "undecidable"

    @classmethod
    def of(cls, holds: bool, opposite: bool | None = None) -> Verdict:
        """Return REPRODUCED if it ``holds``, CONTRADICTED if its ``opposite`` does, else neither.

        Without ``opposite`` the statement and its negation are exhaustive.
        """
        if holds:
            return cls.REPRODUCED
        return cls.CONTRADICTED if opposite is None or opposite else cls.NOT_REPRODUCED

    @classmethod
    def all_of(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the verdict on a conjunction: one contradicted part contradicts the whole."""
        seen = [verdict for verdict in verdicts if verdict is not cls.NOT_APPLICABLE]
        for worst in (cls.CONTRADICTED, cls.NOT_REPRODUCED, cls.UNDECIDABLE, cls.REPRODUCED):
            if worst in seen:
                return worst
        return cls.NOT_APPLICABLE


@dataclass(frozen=True)
class Part:
    """One statement of a claim, with its verdict in the model and in the packet simulation."""

    statement: str
    model: Verdict
    simulation: Verdict


@dataclass(frozen=True)
class Number:
    """One row of evidence. ``tolerance`` states its reason; values are formatted text."""

    quantity: str
    model: str = ""
    simulation: str = ""
    paper: str = ""
    tolerance: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure of the report, drawn on demand; ``alt`` says what it shows to who cannot see it."""

    draw: Callable[[], Figure]
    caption: str
    alt: str


@dataclass(frozen=True)
class Finding:
    """What the cross-check of one claim found.

    Attributes
    ----------
    parts
        The statements that the claim consists of; its verdicts are their conjunction.
    summary
        What was found, in one or two sentences.
    explanation
        Why model, packet simulation and paper differ, where they do.
    cases
        The bundled data that were used.
    """

    parts: tuple[Part, ...]
    summary: str
    explanation: str = ""
    numbers: tuple[Number, ...] = ()
    pictures: tuple[Picture, ...] = ()
    cases: tuple[str, ...] = field(default=())

    @property
    def model(self) -> Verdict:
        """Verdict of the model."""
        return Verdict.all_of(part.model for part in self.parts)

    @property
    def simulation(self) -> Verdict:
        """Verdict of the packet simulation."""
        return Verdict.all_of(part.simulation for part in self.parts)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words, and the function that checks it."""

    id: str
    paper: str
    where: str
    setting: str
    text: str
    check: Callable[[], Finding]


_CHECKS: dict[str, Callable[[], Finding]] = {}


def claim(id: str) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """Register the function below as the check of the claim with this id."""

    def register(check: Callable[[], Finding]) -> Callable[[], Finding]:
        if id in _CHECKS:
            raise ValueError(f"claim {id} has two checks")
        _CHECKS[id] = check
        return check

    return register


def _rows(name: str) -> list[dict[str, str]]:
    with (PUBLISHED / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@functools.cache
def ledger() -> dict[str, Claim]:
    """Return every claim that has a check, by id, paper by paper in the order of the ledger."""
    from validation import claims as package

    package.load_all()
    rows = {row["id"]: row for row in [*_rows("claims.csv"), *_rows("own_claims.csv")]}
    letters = list(dict.fromkeys(id[0] for id in rows))  # one per paper
    return {
        id: Claim(id, row["paper"], row["where"], row["setting"], _text(row, rows), _CHECKS[id])
        for id, row in sorted(rows.items(), key=lambda item: (letters.index(item[0][0]), item[0]))
        if id in _CHECKS
    }


def _text(row: dict[str, str], rows: dict[str, dict[str, str]]) -> str:
    """Return what a claim says; where the ledger refers to another claim, what that one says too."""
    reference = re.match(r"same as ([A-Z]\d+)", row["claim"])
    return f"{row['claim']} ({rows[reference[1]]['claim']})" if reference else row["claim"]


def expected() -> dict[str, tuple[Verdict, Verdict]]:
    """Return the recorded verdicts, model and simulation, by id."""
    return {
        row["id"]: (Verdict(row["model"]), Verdict(row["simulation"]))
        for row in _rows("verdicts.csv")
    }


def find(id: str) -> Claim:
    """Return the claim with this id; ValueError lists those known."""
    return ledger()[choice("claim", id, ledger())]
