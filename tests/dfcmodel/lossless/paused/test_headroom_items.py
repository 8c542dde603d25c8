"""Items of the headroom and their tables."""

from __future__ import annotations

import pytest

from dfcmodel import headroom, headroom_table

# Components of a headroom, and its sensitivities.


def test_items_add_up_and_ranges_become_pairs() -> None:
    found = headroom(
        "400Gbps", ("100m", "300m"), 9216, 4096, 144, interface=("100ns", "300ns"),
        pipeline=200e-9, gearbox="50 ns", classes=2, small_packets=(0.0, 0.5),
    )  # fmt: skip
    low, high = found.bytes
    assert [sum(item.bytes[n] for item in found.items) for n in (0, 1)] == [low, high]
    assert found.cells == (low // 144, high // 144)
    assert found.port_bytes == (2 * low, 2 * high)
    assert sum(item.share for item in found.items) == pytest.approx(1.0, rel=1e-12)
    ends = [headroom("400Gbps", c, 9216, 4096, 144, interface=i, pipeline=200e-9, gearbox="50 ns",
                     classes=2, small_packets=s).bytes
            for c, i, s in (("100m", "100ns", 0.0), ("300m", "300ns", 0.5))]  # fmt: skip
    assert ends == [low, high]
    cable = next(each for each in found.sensitivities if each.name == "cable")
    more = headroom("400Gbps", "1300m", 9216, 4096, 144, interface="300ns", pipeline=200e-9,
                    gearbox="50 ns", classes=2, small_packets=0.5)  # fmt: skip
    # 1 km more, to a frame of 4096 B and its cells in 500 kB
    assert (more.bytes - high) / 1000 == pytest.approx(cable.per_unit, rel=0.01)


def test_a_swing_is_what_the_low_end_of_an_input_saves() -> None:
    """Computed anew with that input alone at its low end."""
    given = {"response": ("400ns", "905quanta"), "pipeline": ("100ns", "500ns")}
    measured = {"response_measured": True}
    found = headroom("400Gbps", ("250m", "300m"), 9216, 4096, 192, **given, **measured)
    most = {name: high for name, (_, high) in given.items()} | measured
    for name, less in (
        ("cable", headroom("400Gbps", "250m", 9216, 4096, 192, **most)),
        ("response", headroom("400Gbps", "300m", 9216, 4096, 192, **most | {"response": "400ns"})),
        ("pipeline", headroom("400Gbps", "300m", 9216, 4096, 192, **most | {"pipeline": "100ns"})),
    ):
        (each,) = (each for each in found.sensitivities if each.name == name)
        assert each.swing == found.bytes[1] - less.bytes > 0
    assert not next(each for each in found.sensitivities if each.name == "mtu").swing


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_items_of_the_least_xon_add_up(share: float) -> None:
    """To `xon_bytes` and `xon_cells`; the cable alone fills what travels in it, both ways."""
    keywords = {"classes": 2, "pipeline": "200ns", "small_packets": share}
    for cell in (None, 192):
        found = headroom("400Gbps", ("100m", "300m"), 9216, 4096, cell, **keywords)
        parts = {item.name: item for item in found.xon_items}
        sums = [sum(item.bytes[n] for item in found.xon_items) for n in (0, 1)]
        assert sums == list(found.xon_bytes)
        assert parts["cable"].bytes == (2 * 100 * 400 / 8 * 5, 2 * 300 * 400 / 8 * 5)
        assert parts["resume frame"].bytes[1] == 72.0
        assert parts["first frame of the sender"].bytes[1] == 4096 + 8
        assert parts["pipeline"].bytes[1] == 200 * 400 / 8
        assert sum(item.share for item in found.xon_items) == pytest.approx(1.0, rel=1e-12)
        if cell is None:
            assert parts["rounding to cells"].bytes == (0.0, 0.0)
            assert parts["cable"].cells is None
        else:
            cells = [sum(item.cells[n] for item in found.xon_items) for n in (0, 1)]
            assert cells == pytest.approx(found.xon_cells, rel=1e-12)
        assert "xon: cable" in repr(found)


def test_the_phase_of_the_least_xon_is_less_than_a_frame() -> None:
    """Frames and their overhead fill the loop to less than a frame: an independent check of its length."""
    for cable in ("5m", "300m", "10km"):
        found = headroom("100Gbps", cable, 9216, 4096)
        (frames,) = (count for _, count in found.drains[1].runs)
        parts = {item.name: item.bytes[1] for item in found.xon_items}
        loop = sum(parts.values()) - parts["preambles, gaps and phase"]
        assert 0 <= frames * (4096 + 20) - loop < 4096 + 20 + 1


# Headrooms of all ports and cables as a table.


def test_table_has_a_row_per_rate_and_a_column_per_cable() -> None:
    cables = ["5m", ("100m", "300m")]
    table = headroom_table((each for each in ["100Gbps", "400Gbps"]), cables, cell=192)
    assert list(table.index) == ["100Gbps", "400Gbps"]
    assert table.loc["400Gbps", "5m"] == headroom("400Gbps", "5m", cell=192).bytes
    pair = headroom("400Gbps", ("100m", "300m"), cell=192).bytes
    assert table.loc["400Gbps", "100m..300m"] == pair


@pytest.mark.parametrize(
    ("rates", "cables", "kind", "message"),
    [
        ([], ["5m"], ValueError, "rates = .*at least one"),
        (["100Gbps"], iter([]), ValueError, "cables = .*at least one"),
        ("100Gbps", ["5m"], TypeError, "rates = '100Gbps': must be a list"),
        (["100Gbps"], ["5"], ValueError, "cable = '5'.*a unit of m, km or ft"),
    ],
)
def test_a_wrong_table_is_refused(rates, cables, kind, message) -> None:
    with pytest.raises(kind, match=message):
        headroom_table(rates, cables)
