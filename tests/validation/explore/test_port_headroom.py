"""The view of a port's headroom against its code."""

from __future__ import annotations

import pytest

from tests.validation.explore.test_views import drawn
from validation.explore.port_headroom import VIEW

CHOICES = [
    {},
    {"rate": "100Gbps", "cable": "40km", "small": "half of the frames"},
    {"cell": "bytes, no cells", "response": "400ns, measured", "small": "any sizes"},
    {"mtu": "4200 B", "lossless": "512 B", "cell": "288 B", "pipeline": "1us"},
]


@pytest.mark.parametrize("choices", CHOICES, ids=repr)
def test_the_code_gives_the_number_the_items_and_the_curve(choices: dict[str, str]) -> None:
    found, names = drawn(VIEW, **choices)
    port = names["port"]
    (curves,), bars = found.charts, found.bars
    assert found.finding.startswith(f"{port.bytes:,} bytes")
    assert f"{port.xon_bytes:,} bytes" in found.finding
    assert bars is not None
    assert bars.names == tuple(item.name for item in port.items)
    assert bars.lengths.sum() == pytest.approx(port.bytes / 1e3)
    small = list(VIEW.knobs[2].options.values()).index(VIEW.values(**choices)["small"])
    here = curves.lines[small].x == port.metres[1]
    assert curves.lines[small].y[here].tolist() == [port.bytes / 1e3]


def test_any_two_frame_sizes_can_be_chosen() -> None:
    largest, lossless = (knob.options.values() for knob in VIEW.knobs[3:5])
    assert min(largest) >= max(lossless)
