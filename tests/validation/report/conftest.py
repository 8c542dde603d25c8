"""Toy claims for pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import pytest

from validation import Claim, Finding, Verdict
from validation.display.finding_rows import Number, Picture
from validation.judgements.verdicts import Part, Threshold

R, C, A = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="460.8pt" height="259.2pt"></svg>'


def _draw() -> NoReturn:
    raise AssertionError("is drawn already")


@pytest.fixture
def toy() -> Callable[..., tuple[Claim, Finding]]:
    """Return a claim and its finding, of zheng2002 by default."""

    def make(id: str = "Z01", paper: str = "zheng2002", parts=((R, C),)) -> tuple[Claim, Finding]:
        finding = Finding(
            parts=tuple(Part("<one> & two", *sides) for sides in parts),
            summary="Found `a < b`. More.",
            explanation="because\n\nof <this>",
            numbers=(Number("x", "1", "2", "3", "none"), Number("y; flows: 1, 2, 4", "9, 5, <3")),
            pictures=(Picture(_draw, "caption", 'alt "text"', SVG),) * 2,
            cases=("zheng2002/periodic-loss",),
            thresholds=(
                Threshold(
                    "near",
                    "how near",
                    0.01,
                    {"model": R, "simulation": A},
                    {"model": C, "simulation": A},
                    place="Sect. 0",
                ),
            ),
        )
        return Claim(id, paper, "Fig. 0", "set", "says", lambda: finding), finding

    return make
