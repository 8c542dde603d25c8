"""Files of results are read whole or not at all."""

from __future__ import annotations

from pathlib import Path

from validation import pickles


def test_what_was_written_is_read(tmp_path: Path) -> None:
    place = tmp_path / "new" / "one.pickle"
    pickles.write(place, {"a": 1})
    assert pickles.read(place) == {"a": 1}
    assert list(place.parent.iterdir()) == [place]


def test_what_is_missing_or_incomplete_is_none(tmp_path: Path) -> None:
    place = tmp_path / "one.pickle"
    assert pickles.read(place) is None
    pickles.write(place, list(range(1000)))
    place.write_bytes(place.read_bytes()[:100])
    assert pickles.read(place) is None
