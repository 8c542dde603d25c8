"""The view of a link's credits against its code."""

from __future__ import annotations

import pytest

from tests.validation.explore.test_views import drawn
from validation.explore.link_credits import VIEW

CHOICES = [
    {},
    {"rate": "100Gbps", "cable": "40km", "small": "half of the frames"},
    {"credit": "bytes, no cells", "message": "8 B", "small": "any sizes"},
    {"mtu": "4200 B", "lossless": "512 B", "credit": "64 B", "update": "1us"},
]


@pytest.mark.parametrize("choices", CHOICES, ids=repr)
def test_the_code_gives_the_number_the_items_and_the_curves(choices: dict[str, str]) -> None:
    found, names = drawn(VIEW, **choices)
    link, pause = names["found"], names["pause"]
    (curves,), bars = found.charts, found.bars
    count = f"{link.credits:,} credits, " if link.credit_given else ""
    assert found.finding.startswith(f"{count}{link.bytes:,} bytes: ")
    assert bars is not None
    assert bars.lengths.sum() == pytest.approx(link.bytes / 1e3)
    cable = list(VIEW.knobs[1].options).index(choices.get("cable", "300m"))
    credit, paused = curves.lines
    assert credit.y[cable] == link.bytes / 1e3
    assert paused.y[cable] == (pause.bytes + pause.xon_bytes) / 1e3
