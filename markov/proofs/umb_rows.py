"""The transitions of a UMB file, as exact products of rates and probabilities, with the standard library alone.

A UMB file is a tar archive of ``index.json`` and binary files (https://github.com/pmc-tools/umb, format version 1); a
Markov chain has one choice in each state. It shares no code with `markov.files`.
"""

from __future__ import annotations

import json
import lzma
import struct
import tarfile
import zlib
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.checker import CertificateError
from markov.proofs.numbered_rows import NumberedRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["UmbRows"]

UNREADABLE = (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError)
MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError, struct.error,
)  # fmt: skip
"""Errors of an index with other types, or of malformed numbers."""
MAX_INDEX_BYTES, MAX_BYTES_BEFORE_INDEX = (
    1 << 26,
    1 << 30,
)  # of index.json and of skipped members; in front of it
MAX_VALUE_BYTES = 1 << 10  # bytes of one value of a state
NEEDED_MEMBERS = (
    "state-to-choices.bin", "choice-to-branches.bin", "branch-to-target.bin", "state-to-exit-rate.bin",
    "branch-to-probability.bin", "valuations/states/valuations.bin",
)  # fmt: skip


class UmbRows(NumberedRows):
    """The exact transitions of a UMB file: a `Source` of rows.

    Parameters
    ----------
    path
        The file. States are named by their number in the certificate (a column ``state``), or by their variables,
        which must be whole numbers or truth values then.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(Path(path).name)
        try:
            self._files: dict[str, bytes] = {}
            self._read_members(path)
            self._read_transitions()
        except (*UNREADABLE, *MALFORMED) as error:
            if isinstance(error, CertificateError):
                raise
            raise CertificateError(f"{self.name}: is no Markov chain in UMB: {error!r}") from None

    def _read_members(self, path: str | Path) -> None:
        """Read the index and the needed members of the archive; refuse members longer than the index allows."""
        total = 0
        with tarfile.open(path, "r:*") as tar:
            for member in tar:
                total += member.size
                if total > MAX_BYTES_BEFORE_INDEX:
                    raise self.error("too much in front of index.json")
                if member.name.removeprefix("./") == "index.json":
                    if member.size > MAX_INDEX_BYTES:
                        raise self.error("index.json is too large")
                    self._index = json.loads(_content(tar, member))
                    break
        self._system = self._index["transition-system"]
        counts = [self._system[f"#{name}"] for name in ("states", "choices", "branches")]
        if any(type(count) is not int or count < 0 for count in counts):
            raise self.error(f"has {counts} states, choices and branches")
        kinds = [self._system["exit-rate-type"], self._system["branch-probability-type"]]
        width = max([MAX_VALUE_BYTES, *(min(int(kind.get("size") or 0), 1 << 20) // 8 for kind in kinds)])
        names: set[str] = set()
        with tarfile.open(path, "r:*") as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if member.isdir():
                    continue
                parts = name.split("/")
                if not member.isreg() or any(part in ("", ".", "..") for part in parts):
                    raise self.error(f"{member.name[:80]!r}: is no plain member")
                if name in names:
                    raise self.error(f"{name!r}: two members have this name")
                names.add(name)
                is_needed = name in NEEDED_MEMBERS
                if member.size > (width * (sum(counts) + 2) if is_needed else MAX_INDEX_BYTES):
                    raise self.error(f"{name!r}: has {member.size} bytes, more than the index allows")
                if is_needed:
                    self._files[name] = _content(tar, member)

    def _read_transitions(self) -> None:
        """Read the transitions from the members of the archive, and add their exact rates."""
        system = self._system
        kinds = system["time"], system["#players"], system.get("#observations", 0)
        if kinds != ("stochastic", 0, 0):
            raise self.error("must be a Markov chain in continuous time")
        n, choices, branches = (system[f"#{name}"] for name in ("states", "choices", "branches"))
        first = self._integers("state-to-choices.bin", n + 1)
        of_choices = self._integers("choice-to-branches.bin", choices + 1)
        targets = self._integers("branch-to-target.bin", branches)
        exits = self._numbers("state-to-exit-rate.bin", system["exit-rate-type"], n)
        shares = self._numbers("branch-to-probability.bin", system["branch-probability-type"], branches)
        for source in range(n):
            begin, end = first[source], first[source + 1]
            if not 0 <= begin <= end <= min(begin + 1, choices):
                raise self.error(f"state {source} has several choices")
            for k in range(of_choices[begin], of_choices[end]):
                self.add(source, targets[k], exits[source] * shares[k], f"state {source}")

    def _integers(self, name: str, count: int) -> Sequence[int]:
        """Return the ``count`` whole numbers of a member; 0 .. count - 1 if the archive lacks it."""
        if name not in self._files:
            return range(count)
        return list(struct.unpack(f"<{count}Q", self._files[name]))

    def _numbers(self, name: str, kind: Any, count: int) -> list[Fraction]:
        """Return the ``count`` rates or probabilities of a member as fractions."""
        data = self._files[name]
        if kind["type"] == "double":
            return [Fraction(value) for value in struct.unpack(f"<{count}d", data)]
        if kind["type"] != "rational":
            raise self.error(f"{name}: must have doubles or rationals")
        size = kind.get("size", 128) // 8
        if len(data) != size * count:
            raise self.error(f"{name}: has {len(data)} bytes: must have {size * count}")
        parts = [data[k : k + size] for k in range(0, len(data), size)]
        return [
            Fraction(
                int.from_bytes(p[: size // 2], "little", signed=True),
                int.from_bytes(p[size // 2 :], "little"),
            )
            for p in parts
        ]

    def states_by_values(self, columns: tuple[str, ...]) -> dict[tuple[int, ...], int]:
        """Return the number of each state by its values of the variables ``columns``."""
        try:
            (only,) = self._index["valuations"]["states"]["classes"]
            values, n = dict(_layout(only["variables"])), self._system["#states"]
            data = self._files["valuations/states/valuations.bin"]
            if type(n) is not int or n < 1:
                raise ValueError(f"{n!r} states")
        except MALFORMED as error:
            if isinstance(error, CertificateError):
                raise
            raise self.error(f"has no whole numbers or truth values of states: {error}") from None
        if set(values) != set(columns) or len(data) % n:
            raise self.error(f"the variables are {', '.join(values)}")
        width = len(data) // n
        rows = [int.from_bytes(data[k : k + width], "little") for k in range(0, len(data), width)]
        return {tuple(_value(row, *values[c]) for c in columns): k for k, row in enumerate(rows)}


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return the bytes of a member of an archive."""
    opened = tar.extractfile(member)
    return b"" if opened is None else opened.read()


def _layout(variables: Any) -> Iterator[tuple[str, tuple[int, int, bool, int]]]:
    """Yield the name of each variable with its first bit, number of bits, whether it is signed, and its offset."""
    offset = 0
    for variable in variables:
        if "padding" in variable:
            offset += variable["padding"]
            continue
        kind = variable["type"]
        if kind["type"] not in ("bool", "int", "uint") or variable.get("is-optional"):
            raise CertificateError(f"the variable {variable['name']}: must be a whole number or a truth value")
        size = kind.get("size", 1 if kind["type"] == "bool" else 64)
        yield variable["name"], (offset, size, kind["type"] == "int", variable.get("offset", 0))
        offset += size


def _value(row: int, first_bit: int, size: int, signed: bool, offset: int) -> int:
    """Return the value of a variable from the bits of a state's row."""
    bits = (row >> first_bit) & ((1 << size) - 1)
    return bits - (signed and bits >> (size - 1) and 1 << size) + offset
