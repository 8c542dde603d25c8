"""What tables and watermarks identify, against tables made with known delays and sizes."""

from __future__ import annotations

import dataclasses

import pytest

from dfcmodel import headroom
from dfcmodel.lossless import BufferRow, Watermark, identify
from dfcmodel.lossless.audits.rate_lines import density, line_of


def made(cell: int, smallest: int, pipeline: float, lossless: int = 4096) -> list[BufferRow]:
    """Return rows of 100 and 400 Gb/s at five cables, by the proved headroom."""
    return [
        BufferRow(rate * 1e9, cable, headroom(
            f"{rate}Gbps", f"{cable}m", 9216, lossless, cell, pipeline=pipeline, small_packets=1, smallest=smallest,
        ).bytes)
        for rate in (100, 400) for cable in (5, 40, 100, 300, 2000)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "smallest", "pipeline"),
    [(254, 64, 0.5e-6), (192, 300, 0.2e-6), (208, 1000, 1e-6), (318, 100, 0.0), (144, 193, 0.3e-6)],
)
def test_delay_and_smallest_frame_are_in_the_intervals(
    cell: int, smallest: int, pipeline: float
) -> None:
    found = identify(made(cell, smallest, pipeline), cell=cell, lossless_mtu=4096)
    low, high = found.smallest
    assert low <= smallest <= high or density_equal(low, smallest, cell)
    for ends in found.pipelines.values():
        assert ends[0] <= pipeline <= ends[1]
        assert ends[1] - ends[0] < 0.5e-6
    assert found.coverage[0] == found.coverage[1] == 10


def density_equal(a: float, b: float, cell: int) -> bool:
    """Return whether frames of two sizes need the same cells per byte of wire at most."""
    import numpy as np

    one, two = density(np.array([int(a), int(b)]), cell)
    return abs(one - two) < 2e-3


def test_predictions_hold_for_rates_and_cables_that_are_not_in_the_table() -> None:
    rows = made(254, 64, 0.5e-6, lossless=9216)
    found = identify(rows)
    assert found.cell == 254
    for rate, cable, inside in (
        ("400Gbps", "1km", True),
        ("100Gbps", "70m", True),
        ("200Gbps", "300m", False),
    ):
        low, high = found.predict(rate, cable)
        need = headroom(rate, cable, 9216, 9216, 254, pipeline=0.5e-6, small_packets=1).bytes
        assert low <= need <= high
        assert not inside or high - low <= 4 * 254
    assert found.cell_for_any_sizes[0] <= 254 <= found.cell_for_any_sizes[1]


def test_rows_off_the_line_are_left_out_and_named() -> None:
    rows = made(254, 64, 0.0)
    wrong = [dataclasses.replace(row, xoff=row.xoff + 40_000) if row.rate == 4e11 and row.cable == 100 else row for row in rows]  # fmt: skip
    found = identify(wrong, cell=254)
    assert [line.off for line in found.lines] == [(), (100.0,)] or not found.bent
    bent = [BufferRow(1e11, c, x) for c, x in ((5.0, 10_240), (40.0, 90_112), (300.0, 91_136))]
    assert identify(bent).bent == (1e11,)
    with pytest.raises(ValueError, match="no line to predict from"):
        identify(bent).predict("100Gbps", "5m")


def test_watermarks_need_what_was_missed() -> None:
    rows = made(254, 64, 0.5e-6)
    seen = [Watermark(row.rate, row.cable, row.xoff - 3 * 254) for row in rows]
    with pytest.raises(ValueError, match="missed = None: must be given"):
        identify(seen)
    found = identify(seen, cell=254, missed=4 * 254, lossless_mtu=4096)
    for ends in found.pipelines.values():
        assert ends[0] <= 0.5e-6 <= ends[1]


def test_one_cable_gives_no_line_and_a_table_of_nothing_is_refused() -> None:
    assert line_of(1e11, [(5.0, 1000.0)], (1.0, 1.0)) is None
    assert identify([BufferRow(1e11, 5.0, 1000)]).lines == ()
    with pytest.raises(TypeError, match="given = 5"):
        identify(5)
    text = repr(identify(made(254, 64, 0.0)))
    assert "rows predicted by the others" in text
