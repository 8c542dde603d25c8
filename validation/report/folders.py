"""The report's folder: pages that are complete at any moment, written claim by claim."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hopflow.whole_files import replacing
from validation.display.svg import drawn, standalone
from validation.judgements.recording import recorded
from validation.judgements.running import key_of
from validation.judgements.verdicts import Claim, Finding
from validation.records import entries
from validation.report.families import Family, family_of, page_of
from validation.report.pages import (
    ASSETS,
    Progress,
    asset,
    claim_page,
    data_page,
    family_page,
    member_section,
    paper_page,
    start_page,
    unchecked_page,
)
from validation.report.papers import PAPERS
from validation.report.rows import Row, as_csv, as_json, load, row_of

RECOMPUTED = "recomputed.json"
BEGIN, END = "<!-- {id} -->\n", "<!-- end -->\n"
"""Around the section of a claim on the page of its family, which is read again."""
SECTION = re.compile(re.escape(BEGIN).replace(re.escape("{id}"), r"(?P<id>\w+)") + ".*?" + re.escape(END), re.DOTALL)
PAUSE = 10.0
"""Shortest time in s between two versions of the start page while claims are being checked."""


class Report:
    """A report that grows claim by claim; its folder can be read at any moment.

    Claims of earlier calls stay until they are checked again, and count as outdated where the sources
    of hopflow or the data have changed since. Every file is replaced in one step.

    Parameters
    ----------
    folder
        Where the pages go; made where it is missing.
    claims
        The ids of those that this call checks.

    Raises
    ------
    ValueError
        When no file can be written to ``folder``.
    """

    def __init__(self, folder: Path, claims: Iterable[str]) -> None:
        self.folder, self.claims = folder, tuple(claims)
        try:
            for name in ("", "claims", "papers", "figures"):
                (folder / name).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ValueError(f"report = {str(folder)!r}: {error.strerror}") from None
        self.recorded = recorded()
        self.done: set[str] = set()
        self._changed: set[str] = set()
        known = load(folder / "claims.json")
        self.rows: dict[str, Row] = {id: row for id, row in known.items() if id in entries() and self._has(id)}
        self.ids = [id for id in entries() if id in self.rows or id in self.claims]
        self._start = self._written = time.monotonic()
        self._seconds: float | None = None

    def _page(self, id: str) -> Path:
        return self.folder / page_of(id).partition("#")[0]

    def _has(self, id: str) -> bool:
        """Return whether the page of a claim is there, and has its section if it is that of a family."""
        family = family_of(id)
        return id in self._sections(family) if family else self._page(id).is_file()

    def _sections(self, family: Family) -> dict[str, str]:
        """Return the sections of the members that the page of a family has, by id."""
        page = self._page(family.ids[0])
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        return {found["id"]: found[0] for found in SECTION.finditer(text)}

    def _write_family(self, family: Family, **changed: str) -> None:
        """Write the page of a family, with the sections that it has and those that are new."""
        sections = self._sections(family) | changed
        rows = [self.rows[id] for id in family.ids if id in self.rows]
        page = family_page(family, rows, sections, self.ids)
        _replace(self._page(family.ids[0]), page)

    def add(self, claim: Claim, finding: Finding) -> Row:
        """Write the page and the figures of a claim, at times those of its paper and the start page.

        Everything is made before the first file is touched.
        """
        row = row_of(claim, finding, self.recorded)
        family = family_of(claim.id)
        if family is None:
            page = claim_page(claim, finding, row, self.ids)
        else:
            page = BEGIN.format(id=claim.id) + member_section(claim, finding, row) + END
        for about, picture in zip(row["pictures"], finding.pictures, strict=True):
            _replace(self.folder / about["file"], standalone(drawn(picture).svg))
        self.rows[claim.id] = row
        if family is None:
            _replace(self._page(claim.id), page)
        else:
            self._write_family(family, **{claim.id: page})
            (self.folder / "claims" / f"{claim.id}.html").unlink(missing_ok=True)
        self.done.add(claim.id)
        self._changed.add(claim.paper)
        if time.monotonic() > self._written + PAUSE:
            self._write_lists(self._changed)
        return row

    def recomputed(self, about: Mapping[str, Any]) -> None:
        """Write what was computed again of the bundled runs of ns-2, as JSON and on the start page, where it is new."""
        if loaded(self.folder / RECOMPUTED) == about:
            return
        _replace(self.folder / RECOMPUTED, json.dumps(about, indent=1) + "\n")
        self._write_lists((), self._seconds)

    def write(self, seconds: float | None = None) -> Path:
        """Write everything but the pages of claims; return the start page.

        Parameters
        ----------
        seconds
            How long the claims took; None: since this object was made.
        """
        self._seconds = seconds
        rows = self.in_order()
        cases = sorted({case for row in rows for case in row["cases"]})
        _replace(self.folder / "data.html", data_page(cases))
        _replace(self.folder / "claims.json", as_json(rows))
        _replace(self.folder / "claims.csv", as_csv(rows))
        return self._write_lists(PAPERS, seconds)

    def _write_lists(self, papers: Iterable[str], seconds: float | None = None) -> Path:
        """Write the pages of some papers, and the start page, which it returns."""
        spent = time.monotonic() - self._start if seconds is None else seconds
        rows = self.in_order()
        for name in ASSETS:
            _replace(self.folder / name, asset(name))
        for paper in papers:
            own = [row for row in rows if row["paper"] == paper]
            _replace(self.folder / "papers" / f"{paper}.html", paper_page(paper, own))
        for id in self.ids:
            family = family_of(id)
            if not self._page(id).is_file() and family:
                self._write_family(family)
            elif not self._page(id).is_file():
                _replace(self._page(id), unchecked_page(entries()[id]))
        progress = Progress(len(self.done), len(self.claims), spent)
        target = self.folder / "index.html"
        again = loaded(self.folder / RECOMPUTED)
        _replace(target, start_page(rows, self._outdated(rows), progress, again))
        self._written = time.monotonic()
        self._changed.clear()
        return target

    def in_order(self) -> list[Row]:
        """Return the rows of all claims that are known, in the order of the tables."""
        return [self.rows[id] for id in self.ids if id in self.rows]

    def _outdated(self, rows: list[Row]) -> list[str]:
        from validation.claims import ledger

        rest = [row for row in rows if row["id"] not in self.done]
        known = ledger()
        return [
            row["id"] for row in rest if row["id"] not in known or key_of(known[row["id"]])[:16] != row["made_from"]
        ]


def loaded(place: Path) -> dict[str, Any]:
    """Return what an earlier call computed again of the bundled runs; nothing if there is none."""
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and "runs" in found else {}


def write(findings: Mapping[Claim, Finding], folder: Path, seconds: float) -> Path:
    """Write a report on some claims to ``folder``; return its start page."""
    report = Report(folder, (claim.id for claim in findings))
    for claim, finding in findings.items():
        report.add(claim, finding)
    return report.write(seconds)


def _replace(target: Path, text: str) -> None:
    """Write a file in one step, unless it has this text."""
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return
    with replacing(target) as scratch:
        scratch.write_text(text, encoding="utf-8")
