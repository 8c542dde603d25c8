"""A headroom pool: its shapes, its units and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import headroom
from dfcmodel.lossless import headroom_pool

GIVEN = {"size": "4 MiB", "shared": "20 MB", "alpha": 0.25, "rate": "100Gbps"}


def test_a_port_gives_its_rate_classes_and_headroom() -> None:
    port = headroom("400Gbps", ("100m", "300m"), cell=192, classes=3)
    pool = headroom_pool(port, 5, size=1e6, shared=1e7, xoff="20 kB")
    assert pool.headroom.shape == (5, 3)
    assert (pool.headroom == port.bytes[1]).all()
    assert (pool.rates == 400e9).all()
    assert pool.demand == 5 * port.port_bytes[1]


def test_thresholds_spread_over_ports_and_classes() -> None:
    pool = headroom_pool([[10e3, 20e3]], 3, 2, **GIVEN)
    assert pool.size == 4 * 1024**2
    assert pool.headroom.tolist() == [[10e3, 20e3]] * 3
    assert pool.alpha.shape == (3, 2)
    with pytest.raises(ValueError, match="read-only"):
        pool.headroom[0, 0] = 1.0


def test_the_table_has_ranges_not_arrays() -> None:
    mixed = headroom_pool(
        [[10e3], [30e3]], 2, 1, size=20e3, shared=1e6, xoff=5e3, rate=["25Gbps", "100Gbps"]
    )
    for part in ("2 x 1", "25 to 100 Gb/s", "10,000 to 30,000 B", "2.00 times the pool", "5,000 B"):
        assert part in repr(mixed)
        assert part in mixed._repr_html_()
    assert "alpha 0.25" in repr(headroom_pool(10e3, 2, 1, **GIVEN))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"size": 0}, "size = 0"),
        ({"size": "4 quarts"}, "size = '4 quarts'"),
        ({"alpha": None}, "xoff, alpha: exactly one"),
        ({"xoff": 1e3}, "xoff, alpha: exactly one"),
        ({"alpha": 0.0}, "alpha = 0"),
        ({"alpha": [1.0, 2.0, 3.0]}, "alpha has shape"),
        ({"rate": None}, "rate = None"),
        ({"rate": 100.0}, "rate = 1"),
        ({"rate": ["100Gbps"]}, "rate has 1 entries"),
        ({"classes": 9}, "classes = 9"),
        ({"ports": 0}, "ports = 0"),
        ({"headroom": -1.0}, "headroom = -1"),
    ],
)
def test_bad_input_is_named(changed, message) -> None:
    given = {"headroom": 50e3, "ports": 4, "classes": 2, **GIVEN, **changed}
    with pytest.raises(ValueError, match=message):
        headroom_pool(**given)


def test_infinite_headroom_is_refused() -> None:
    with pytest.raises(ValueError, match="headroom = inf"):
        headroom_pool(np.inf, 4, 2, **GIVEN)
