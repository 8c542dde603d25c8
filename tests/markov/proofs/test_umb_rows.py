"""Rows of UMB files, read a second time, are compared with those of a certificate."""

from __future__ import annotations

import json
import re
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from markov import JacksonTandem, PauseTandem, read_explicit, stationary, write_explicit
from tests.markov.proofs.certificates import checked, refusal


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "model", [JacksonTandem(capacity=3), PauseTandem(buffers=(3, 4), high_threshold=3)], ids=repr
)
def test_rows_of_written_files_are_those_of_the_chain(
    tmp_path: Path, model: Any, exact: bool
) -> None:
    write_explicit(model, tmp_path / "m.umb", exact=exact)
    stationary(read_explicit(tmp_path / "m.umb").chain).certificate(tmp_path / "m.cert")
    found = checked(tmp_path / "m.cert", tmp_path / "m.umb")
    assert found["rows"].startswith("re-derived from m.umb, ")
    assert found["rows"].endswith("exactly") or not exact
    assert found["transitions"] > 10


def changed(path: Path, name: str, change: Any) -> Path:
    """Write the archive with another content of one file."""
    other = path.with_name("other.umb")
    with tarfile.open(path) as old, tarfile.open(other, "w") as new:
        for member in old.getmembers():
            opened = old.extractfile(member)
            data = b"" if opened is None else opened.read()
            if member.name.removeprefix("./") == name:
                data = change(data)
            if data is not None:
                member.size = len(data)
                new.addfile(member, BytesIO(data))
    return other


def index_with(section: str, **changes: Any) -> Any:
    def change(data: bytes) -> bytes:
        index = json.loads(data)
        index[section] |= changes
        return json.dumps(index).encode()

    return change


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1, *data[1:]])


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("index.json", index_with("transition-system", time="discrete"), "continuous time"),
        ("index.json", index_with("valuations", states={}), "has no whole numbers"),
        ("index.json", lambda _: b"{", "is no Markov chain in UMB"),
        ("branch-to-probability.bin", flipped, "has other rates"),
        ("state-to-exit-rate.bin", lambda data: data[:-1], "is no Markov chain in UMB|bytes"),
        ("state-to-exit-rate.bin", lambda _: None, "is no Markov chain in UMB"),
        (
            "valuations/states/valuations.bin",
            flipped,
            "is not in the file of states|other rates|not listed",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, change: Any, said: str) -> None:
    path = tmp_path / "m.umb"
    write_explicit(PauseTandem(buffers=(3, 4), high_threshold=3), path)
    stationary(read_explicit(path).chain).certificate(tmp_path / "m.cert")
    checked(tmp_path / "m.cert", path)
    assert re.search(said, refusal(tmp_path / "m.cert", changed(path, name, change)))


def test_a_file_that_is_none(tmp_path: Path) -> None:
    assert "none.umb: is no Markov chain in UMB" in refusal(tmp_path, tmp_path / "none.umb")
