"""Exact transitions between numbered states in lists, with the standard library alone.

`ExplicitRows` reads ``.tra`` files of PRISM or Storm, as exact decimals, and `UmbRows` UMB files, as exact products of
rates and probabilities. A UMB file is a tar archive of ``index.json`` and binary files
(https://github.com/pmc-tools/umb, format version 1); a Markov chain has one choice in each state. The readers share no
code with `markov.files`.
"""

from __future__ import annotations

import json
import lzma
import re
import struct
import tarfile
import zlib
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.checker import CertificateError, compare_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markov.proofs.checker import Contents

__all__ = ["ExplicitRows", "UmbRows"]

STATE, VALUE = re.compile("[0-9]{1,18}"), re.compile("-?[0-9]{1,18}")
RATE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3}|/[0-9]+)?")
MAX_RATE_LENGTH = 4000  # characters of a rate

UNREADABLE = (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError)
MALFORMED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError, struct.error,
)  # fmt: skip
"""Errors of an index with other types, or of malformed numbers."""
MAX_INDEX_BYTES, MAX_BYTES_BEFORE_INDEX = 1 << 26, 1 << 30  # of index.json and of skipped members; in front of it
MAX_VALUE_BYTES = 1 << 10  # bytes of one value of a state
NEEDED_MEMBERS = (
    "state-to-choices.bin", "choice-to-branches.bin", "branch-to-target.bin", "state-to-exit-rate.bin",
    "branch-to-probability.bin", "valuations/states/valuations.bin",
)  # fmt: skip


class NumberedRows:
    """Exact rates between numbered states, a `Source` of rows; readers of lists of transitions derive from it.

    Parameters
    ----------
    name
        Of the file.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.rates: dict[int, dict[int, Fraction]] = {}

    def error(self, reason: str) -> CertificateError:
        """Return the CertificateError of a reason, with the name of the file."""
        return CertificateError(f"{self.name}: {reason}")

    def add(self, source: int, target: int, rate: Fraction, where: str) -> None:
        """Add a transition with an exact rate; rates between the same states are summed, loops are dropped."""
        if rate < 0 or min(source, target) < 0:
            raise CertificateError(f"{self.name}, {where}: must not be negative")
        row = self.rates.setdefault(source, {})
        if rate and source != target:
            row[target] = row.get(target, Fraction(0)) + rate

    def states_by_values(self, columns: tuple[str, ...]) -> dict[tuple[int, ...], int]:
        """Return the number of each state by its values of the variables ``columns``."""
        raise NotImplementedError

    def compare(self, certificate: Contents) -> str:
        """Return a remark if the rates of all listed states equal a certificate's; CertificateError otherwise."""
        if certificate.columns == ("state",):
            numbers = [values[0] for values in certificate.values]
        else:
            numbers_by_state = self.states_by_values(certificate.columns)
            missing = [values for values in certificate.values if values not in numbers_by_state]
            if missing:
                raise self.error(f"the state {missing[0]} is not in the file of states")
            numbers = [numbers_by_state[values] for values in certificate.values]
        positions = {number: position for position, number in enumerate(numbers)}
        if len(positions) != len(numbers):
            raise CertificateError("a state stands there twice")
        return compare_rows(self.name, certificate, (self._row(n, positions) for n in numbers))

    def _row(self, number: int, positions: dict[int, int]) -> dict[int, Fraction]:
        """Return the exact rates out of state ``number`` by ``positions[target]``; CertificateError if it lacks one."""
        rates = {}
        for target, rate in self.rates.get(number, {}).items():
            if target not in positions:
                raise self.error(f"{number} leads to {target}, which is not listed")
            rates[positions[target]] = rate
        return rates


# Files .tra


def _exact_rate(word: str) -> Fraction:
    """Return a decimal number, or a quotient of whole numbers, as a fraction; ValueError for other text."""
    if len(word) > MAX_RATE_LENGTH or not RATE.fullmatch(word):
        raise ValueError(word)
    return Fraction(word)


class ExplicitRows(NumberedRows):
    """Exact rates in a ``.tra`` file of PRISM or Storm, a `Source` that a certificate's rows are compared with.

    Parameters
    ----------
    path
        Lines ``source target rate``, after a first line with the counts or with ``ctmc``. States are named by their
        number in the certificate (a column ``state``), or by their variables: then a file of the same name
        that ends in ``.sta`` has lines ``number:(values)``.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(Path(path).name)
        self.path = Path(path)
        for number, words in self._lines(self.path):
            try:
                if not (STATE.fullmatch(words[0]) and STATE.fullmatch(words[1])):
                    raise ValueError(words)
                source, target, rate = int(words[0]), int(words[1]), _exact_rate(words[2])
            except (ValueError, IndexError, ZeroDivisionError):
                if number == 1:
                    continue
                expected = "must be source, target and rate"
                raise CertificateError(f"{self.name}, line {number}: {expected}") from None
            self.add(source, target, rate, f"line {number}")

    def states_by_values(self, columns: tuple[str, ...]) -> dict[tuple[int, ...], int]:
        """Return the number of each state by its values of the variables ``columns``, from the ``.sta`` file."""
        path = self.path.with_suffix(".sta")
        lines = self._lines(path)
        _, header = next(lines, (0, [""]))
        names = "".join(header).strip("()").split(",")
        if set(names) != set(columns):
            raise CertificateError(f"{path.name}: the variables are {', '.join(names)}")
        numbers = {}
        for number, words in lines:
            state, _, values = "".join(words).partition(":")
            truth_values = {"true": "1", "false": "0"}
            words_of_state = [truth_values.get(word, word) for word in values.strip("()").split(",")]
            if not all(map(VALUE.fullmatch, words_of_state)) or not STATE.fullmatch(state):
                raise CertificateError(f"{path.name}, line {number}: must be STATE:(VALUES)")
            if len(words_of_state) != len(names):
                raise CertificateError(f"{path.name}, line {number}: must have {len(names)} values")
            numbers[tuple(int(words_of_state[names.index(name)]) for name in columns)] = int(state)
        return numbers

    @staticmethod
    def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the words of each line of a file, without empty lines and comments."""
        try:
            text = path.read_text(encoding="ascii")
        except (OSError, UnicodeError) as error:
            raise CertificateError(f"{path.name}: {error}") from None
        for number, line in enumerate(text.splitlines(), 1):
            if line.split() and not line.lstrip().startswith(("#", "//")):
                yield number, line.split()


# Files .umb


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
