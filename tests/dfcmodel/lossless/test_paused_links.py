"""Links in bits and bit times."""

from __future__ import annotations

import pytest

from dfcmodel import PausedLink


def test_cells_are_those_that_a_frame_touches():
    link = PausedLink(10**10, 9216, 1500, cell=192)
    assert [link.cells_of(size) for size in (64, 192, 193, 1500)] == [1, 1, 2, 8]


def test_the_window_has_two_cables_and_the_response():
    """A pause crosses the cable, and what was sent before it was obeyed crosses it back."""
    near = PausedLink(10**10, 9216, 1500, cable=0, response=0)
    far = PausedLink(10**10, 9216, 1500, cable=1000, response=512)
    assert far.window - near.window == 2 * 1000 + 512


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"small_packets": 1.5}, "small_packets = 1.5"), ({"rate": 0}, "rate = 0")],
)
def test_bad_parameters_are_named(changes, said):
    arguments = {"rate": 10**10, "mtu": 9216, "lossless_mtu": 1500} | changes
    with pytest.raises(ValueError, match=said):
        PausedLink(**arguments)
