"""Files in the unified Markov binary format: what is read, and what is refused with its reason."""

from __future__ import annotations

import io
import json
import lzma
import struct
import tarfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import read_explicit, stationary
from markov.files import FileError

DOUBLE = {"type": "double", "size": 64}
VARIABLES = [
    {"name": "n", "type": {"type": "uint", "size": 3}, "offset": -2},
    {"padding": 2},
    {"name": "on", "type": {"type": "bool", "size": 1}},
    {"name": "k", "type": {"type": "int", "size": 10}},
]


def index(**changes: Any) -> dict[str, Any]:
    """Return the index of three states in a cycle, with four branches."""
    system = {
        "time": "stochastic", "#players": 0, "#states": 3, "#initial-states": 1, "#choices": 3,
        "#choice-actions": 0, "#branches": 4, "#branch-actions": 0, "#observations": 0,
        "branch-probability-type": DOUBLE, "exit-rate-type": DOUBLE,
    }  # fmt: skip
    found = {"format-version": 1, "format-revision": 0, "transition-system": system}
    for key, value in changes.items():
        (system if key in system or key.startswith("#") else found)[key.replace("_", "-")] = value
    return found


def doubles(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def words(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


FILES = {
    "state-is-initial.bin": words(0b010),
    "state-to-exit-rate.bin": doubles(2.0, 4.0, 0.5),
    "choice-to-branches.bin": words(0, 2, 3, 4),
    "branch-to-target.bin": words(1, 0, 2, 0),
    "branch-to-probability.bin": doubles(0.75, 0.25, 1.0, 1.0),
}
RATES = [[-1.5, 1.5, 0.0], [0.0, -4.0, 4.0], [0.5, 0.0, -0.5]]


def archive(path: Path, about: Any, files: dict[str, bytes], mode: Any = "w:gz") -> Path:
    """Write an archive as other tools do, with folders."""
    with tarfile.open(path, mode) as tar:
        for name, data in {"index.json": json.dumps(about).encode(), **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        folder = tarfile.TarInfo("annotations")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_rates_are_exit_rates_times_probabilities(tmp_path: Path, mode: str) -> None:
    found = read_explicit(archive(tmp_path / "m.umb", index(), FILES, mode))
    assert found.chain.Q.toarray().tolist() == RATES  # the branch from 0 to 0 changes nothing
    assert found.labels["init"].tolist() == [False, True, False]
    assert found.chain.states.tolist() == [0, 1, 2]
    assert found.chain.model is not None
    assert found.chain.model.start() == 1


def test_files_that_are_left_out_have_their_defaults(tmp_path: Path) -> None:
    files = {k: v for k, v in FILES.items() if "exit-rate" in k or "probability" in k}
    files["branch-to-probability.bin"] = doubles(1.0, 1.0, 1.0)
    found = read_explicit(archive(tmp_path / "m.umb", index(**{"#branches": 3}), files))
    assert found.chain.Q.nnz == 0  # every branch leads to the state of its own number
    assert not found.labels["init"].any()


def test_rationals_are_multiplied_before_they_are_rounded(tmp_path: Path) -> None:
    def rationals(half: int, *values: Fraction) -> bytes:
        return b"".join(
            v.numerator.to_bytes(half, "little", signed=True)
            + v.denominator.to_bytes(half, "little")
            for v in values
        )

    third = Fraction(1, 3)
    files = FILES | {
        "state-to-exit-rate.bin": rationals(16, Fraction(3, 10), Fraction(10**25), Fraction(1, 7)),
        "branch-to-probability.bin": rationals(8, third, 1 - third, Fraction(1), Fraction(1)),
    }
    about = index(**{
        "exit-rate-type": {"type": "rational", "size": 256},
        "branch-probability-type": {"type": "rational"},
    })  # fmt: skip
    Q = read_explicit(archive(tmp_path / "m.umb", about, files)).chain.Q.toarray()
    assert [Q[0, 1], Q[1, 2], Q[2, 0]] == [0.1, 1e25, 1 / 7]
    assert 0.3 * (1 / 3) != 0.1


def test_variables_labels_and_rewards(tmp_path: Path) -> None:
    packed = [
        3 | 1 << 5 | (-300 & 1023) << 6,
        0,
        3 | 7 << 6,
    ]  # (1, True, -300), (-2, ...), (1, ...)
    files = FILES | {
        "valuations/states/valuations.bin": b"".join(v.to_bytes(2, "little") for v in packed),
        "annotations/aps/up/states/values.bin": words(0b101),
        "annotations/rewards/cost/states/values.bin": doubles(1.0, 2.0, 3.0),
        "annotations/rewards/cost/choices/values.bin": doubles(10.0, 0.0, 0.0),
        "annotations/rewards/cost/branches/values.bin": doubles(0.0, 0.0, 100.0, 0.0),
    }
    about = index(
        annotations={
            "aps": {"up": {"alias": "Up!", "applies-to": ["states"], "type": {"type": "bool"}}},
            "rewards": {"cost": {"applies-to": ["states", "choices", "branches"], "type": DOUBLE}},
        },
        valuations={"states": {"unique": True, "classes": [{"variables": VARIABLES}]}},
    )
    found = read_explicit(archive(tmp_path / "m.umb", about, files))
    states = found.chain.states
    assert (states.n.tolist(), states.on.tolist()) == ([-2, 1, 1], [False, False, True])
    assert states.k.tolist() == [0, 7, -300]  # the file's states 1, 2 and 0
    assert found.labels["Up!"].tolist() == [False, True, True]
    assert found.rewards.tolist() == [2.0 + 4.0 * 100.0, 3.0, 1.0 + 2.0 * 10.0]
    assert found.chain.Q.toarray()[0].tolist() == [-4.0, 4.0, 0.0]
    answer = stationary(found)
    pi = dict(zip(zip(*(v.tolist() for v in states), strict=True), answer.pi, strict=True))
    assert pi[1, True, -300] == pytest.approx(2 / 3 / (2 / 3 + 1 / 4 + 2), rel=1e-14)
    assert answer.measures["Up!"] == pytest.approx(answer.pi[1:].sum(), rel=1e-14)
    assert answer.measures["cost"] == pytest.approx(answer.pi @ found.rewards, rel=1e-14)


@pytest.mark.parametrize(
    "variables",
    [
        [{"name": "x", "type": {"type": "double"}}],
        [{"name": "x", "type": {"type": "string"}}],
        [{"name": "x", "type": {"type": "uint", "size": 7}, "is-optional": True}],
        [{"name": "x", "type": {"type": "uint", "size": 4}}, {"padding": 4}],
        [{"name": "x", "type": {"type": "uint", "size": 4}}] * 2,
    ],
)
def test_states_are_numbers_where_variables_do_not_tell_them_apart(tmp_path, variables) -> None:
    about = index(valuations={"states": {"classes": [{"variables": variables}]}})
    width = 8 if len(variables) == 1 and variables[0]["type"]["type"] != "uint" else 1
    files = FILES | {"valuations/states/valuations.bin": bytes(3 * width)}
    found = read_explicit(archive(tmp_path / "m.umb", about, files))
    assert found.chain.states.tolist() == [0, 1, 2]


INTERVAL = {"type": "double-interval", "size": 128}


@pytest.mark.parametrize(
    ("about", "files", "message"),
    [
        (index(**{"#players": 1}), {}, "a model with 1 players"),
        (index(**{"#players": 2}), {}, "a model with 2 players"),
        (index(time="discrete"), {}, "a model in discrete time"),
        (index(time="urgent-stochastic"), {}, "in urgent-stochastic time"),
        (index(**{"#observations": 2}), {}, "2 observations"),
        (index(**{"branch-probability-type": INTERVAL}), {}, "has type 'double-interval': must be"),
        (index(format_version=2), {}, "format-version 0 or 1"),
        ([], {}, "must be an object"),
        (index(**{"#states": -1}), {}, "#states = -1: must be a whole number"),
        (index(**{"#states": True}), {}, "#states = True: must be a whole number"),
        (index(**{"#choices": 4}), {}, "4 choices in 3 states"),
        (index(**{"#branches": 5}), {}, "choice-to-branches.bin: must ascend from 0 to 5"),
        (index(), {"branch-to-target.bin": words(1, 0, 3, 0)}, "branch-to-target.bin: 3"),
        (index(), {"branch-to-target.bin": words(1, 0)}, "has 16 bytes: must have 32"),
        (index(), {"branch-to-target.bin": words(2**63, 0, 0, 0)}, "is out of range"),
        (index(), {"choice-to-branches.bin": words(0, 3, 2, 4)}, "must ascend"),
        (index(), {"state-to-choices.bin": words(0, 2, 2, 3)}, "states with several choices"),
        (index(), {"state-to-exit-rate.bin": doubles(-1.0, 1.0, 1.0)}, "a negative probability"),
        (index(), {"state-to-exit-rate.bin": doubles(np.nan, 1.0, 1.0)}, "finite numbers"),
        (index(), {"branch-to-probability.bin": doubles(0.7, 0.2, 1, 1)}, "state 0 sum to 0.8"),
        (index(annotations=[]), {}, "annotations.* must be an object"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, about: Any, files: dict[str, bytes], message: str) -> None:
    path = archive(tmp_path / "m.umb", about, FILES | files)
    with pytest.raises(FileError, match=f"m.umb: .*{message}"):
        read_explicit(path)


def test_missing_rates_and_zero_denominators_are_refused(tmp_path: Path) -> None:
    files = {k: v for k, v in FILES.items() if k != "state-to-exit-rate.bin"}
    with pytest.raises(FileError, match=r"exit-rate\.bin is missing"):
        read_explicit(archive(tmp_path / "m.umb", index(), files))
    about = index(**{"exit-rate-type": {"type": "rational", "size": 128}})
    files["state-to-exit-rate.bin"] = words(1, 1, 1, 0, 1, 1)
    with pytest.raises(FileError, match="a denominator is zero"):
        read_explicit(archive(tmp_path / "m.umb", about, files))
    about = index(**{"exit-rate-type": {"type": "rational", "size": 100}})
    with pytest.raises(FileError, match="rationals of 100 bits"):
        read_explicit(archive(tmp_path / "m.umb", about, files))


@pytest.mark.parametrize("data", [b"", b"nothing", b"\x1f\x8b\x08", lzma.compress(b"x" * 2000)])
def test_files_that_are_no_archives_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.umb").write_bytes(data)
    with pytest.raises(FileError, match=r"m\.umb: (no archive of UMB|index\.json)"):
        read_explicit(tmp_path / "m.umb")


def test_a_cut_archive_and_an_index_that_is_no_json_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "m.umb", index(), FILES)
    for length in range(20, path.stat().st_size, 40):
        (tmp_path / "cut.umb").write_bytes(path.read_bytes()[:length])
        with pytest.raises(FileError, match=r"cut\.umb: "):
            read_explicit(tmp_path / "cut.umb")


def test_more_states_than_memory_are_refused(tmp_path: Path) -> None:
    about = index(**{"#states": 10**13, "#choices": 10**13})
    with pytest.raises(MemoryError):
        read_explicit(archive(tmp_path / "m.umb", about, FILES))
