"""The settings that were run are those of the bundled cases."""

from __future__ import annotations

import pytest

from validation import table
from validation.inference.designs import DESIGNS, PARAMETERS, settings
from validation.inference.recording import PAPERS


@pytest.mark.parametrize("paper", [paper for paper in PAPERS if paper in DESIGNS])
def test_bundled_settings_are_those_of_the_design(paper: str) -> None:
    bundled = table(f"{paper}/unstated-parameters", "settings")
    names = [each.name for each in PARAMETERS[paper]]
    assert bundled[names].to_dict("records") == settings(paper)


def test_the_full_product_has_every_combination_once() -> None:
    every = settings("zheng2002")
    assert len({tuple(each.values()) for each in every}) == len(every) == 3 * 3 * 3 * 2 * 3
