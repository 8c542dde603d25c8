"""The transitions of a ``.tra`` file of PRISM or Storm, as exact decimals, with the standard library alone."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from markov.proofs.checker import CertificateError
from markov.proofs.numbered_rows import NumberedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ExplicitRows"]

STATE, VALUE = re.compile("[0-9]{1,18}"), re.compile("-?[0-9]{1,18}")
RATE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3}|/[0-9]+)?")
MAX_RATE_LENGTH = 4000  # characters of a rate


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
