"""Published headrooms, reproduced or explained."""

from __future__ import annotations

import math

import pytest

from dfcmodel import headroom
from dfcmodel.lossless import published


def kib(parts) -> int:
    """Return a headroom rounded up to KiB, as SONiC does."""
    return math.ceil(sum(parts.values()) / 1024) * 1024


@pytest.mark.parametrize("pair", published.SONIC_PAIRS)
def test_published_pairs_come_out_to_the_byte_with_1000_and_not_with_1024(pair) -> None:
    for cell in (144.0, 192.0):  # 2.25 and 3 times 64 B: rounded up, both are 3
        found = published.sonic_xoff(pair.rate, pair.cable, tile=pair.tile, cell=cell)
        assert kib(found) == pair.xoff
    plain = published.sonic_xoff(
        pair.rate,
        pair.cable,
        tile=pair.tile,
        cell=144.0,
        formula=published.SonicFormula(whole_factor=False),
    )
    assert kib(plain) < pair.xoff
    exact = sum(published.sonic_xoff(pair.rate, pair.cable, tile=pair.tile).values())
    # the tool prints hundredths of a KiB; it has 143 B more than the formula, the same in all pairs
    assert pair.tool * 1024 - exact == pytest.approx(143, abs=5.2)
    if pair.cable > 100:
        old = published.sonic_xoff(
            pair.rate, pair.cable, tile=pair.tile, formula=published.SonicFormula(1024)
        )
        assert kib(old) < pair.xoff


@pytest.mark.parametrize(
    ("table", "tile", "cell", "lossless", "left_out"),
    [
        (published.SN4280, False, 144.0, 9216.0, [(400e9, 1500.0), (400e9, 2000.0)]),
        (published.SN5610N, True, 192.0, 4096.0, [key for key in published.SN5610N if key[1] == 1000.0]),
    ],
)  # fmt: skip
def test_published_tables_are_two_constants(table, tile, cell, lossless, left_out) -> None:
    # A constant, and the factor of cells that packets of the size named have with half of them small.
    factor = 1 + 64 / ((64 + lossless) / 2) * (cell / 64 - 1)
    delayed = {}
    for rate, cable in table:
        parts = published.sonic_xoff(rate, cable, mtu=0.0, tile=tile)
        delayed[rate, cable] = parts["cable"] + parts["response"] + parts["interface"]
    low = max(
        xoff - 1024 - factor * delayed[key] for key, xoff in table.items() if key not in left_out
    )
    high = min(xoff - factor * delayed[key] for key, xoff in table.items() if key not in left_out)
    assert low < high  # one constant explains all rows to the KiB they are rounded to
    for key in left_out:
        assert not low < table[key] - factor * delayed[key] <= low + 2048


def test_white_paper_numbers() -> None:
    parts = published.white_paper_xoff(10e9, 100.0, 9216.0, 2240.0)
    assert round(parts["cable"] / 2) == 641  # "641 bytes for every 100 meters"
    ours = headroom("10Gbps", "100m", 9216, 2240, response="60 quanta", response_measured=True,
                    velocity=1e3 / 5.13e-6)  # fmt: skip
    items = {item.name: item.bytes[1] for item in ours.items}
    differences = {name: items[name] - value for name, value in parts.items()}
    assert differences == pytest.approx(
        {
            "frame leaving the receiver": 20,
            "cable": 0,
            "response": 0,
            "frame leaving the sender": 0,
        },
        abs=0.5,
    )
    rest = sum(items.values()) - sum(parts.values()) - sum(differences.values())
    assert rest == pytest.approx(items["pause frame"] + items["preambles, gaps and phase"], abs=0.5)
