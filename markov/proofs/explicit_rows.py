"""The transitions of a ``.tra`` file of PRISM or Storm, as exact decimals, with the standard library alone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from markov.proofs.checker import CertificateError, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markov.proofs.checker import Contents

__all__ = ["ExplicitRows"]


class ExplicitRows:
    """The transitions of a ``.tra`` file: a `Source` of rows.

    Parameters
    ----------
    path
        Lines ``source target rate``, after a first line with the counts or with ``ctmc``. States are named by their
        number in the certificate (a column ``state``), or by their variables: then a file of the same name
        that ends in ``.sta`` has lines ``number:(values)``.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.name = Path(path), Path(path).name
        self.rates: dict[int, dict[int, Fraction]] = {}
        for number, words in self._lines(self.path):
            try:
                source, target, rate = int(words[0]), int(words[1]), Fraction(words[2])
            except (ValueError, IndexError, ZeroDivisionError):
                if number == 1:
                    continue
                said = "must be source, target and rate"
                raise CertificateError(f"{self.name}, line {number}: {said}") from None
            if rate < 0 or min(source, target) < 0:
                raise CertificateError(f"{self.name}, line {number}: must not be negative")
            row = self.rates.setdefault(source, {})
            if rate and source != target:
                row[target] = row.get(target, Fraction(0)) + rate

    def compare(self, certificate: Contents) -> str:
        """Compare the rows of all listed states; CertificateError where one of them differs."""
        if certificate.columns == ("state",):
            numbers = [values[0] for values in certificate.values]
        else:
            known = self._states(certificate.columns)
            missing = [values for values in certificate.values if values not in known]
            if missing:
                raise CertificateError(
                    f"{self.name}: the state {missing[0]} is not in the file of states"
                )
            numbers = [known[values] for values in certificate.values]
        places = {number: place for place, number in enumerate(numbers)}
        if len(places) != len(numbers):
            raise CertificateError("a state stands there twice")
        return compared(self.name, certificate, (self._placed(n, places) for n in numbers))

    def _placed(self, number: int, places: dict[int, int]) -> dict[int, Fraction]:
        """Return the rates out of a state by the place of the target in the certificate."""
        found = {}
        for target, rate in self.rates.get(number, {}).items():
            if target not in places:
                raise CertificateError(
                    f"{self.name}: {number} leads to {target}, which is not listed"
                )
            found[places[target]] = rate
        return found

    def _states(self, columns: tuple[str, ...]) -> dict[tuple[int, ...], int]:
        """Return the numbers of states by the values of the certificate's columns."""
        path = self.path.with_suffix(".sta")
        lines = self._lines(path)
        _, header = next(lines, (0, [""]))
        names = "".join(header).strip("()").split(",")
        if set(names) != set(columns):
            raise CertificateError(f"{path.name}: the variables are {', '.join(names)}")
        found = {}
        for number, words in lines:
            state, _, values = "".join(words).partition(":")
            whole = {"true": "1", "false": "0"}
            given = [int(whole.get(each, each)) for each in values.strip("()").split(",")]
            if len(given) != len(names):
                raise CertificateError(f"{path.name}, line {number}: must have {len(names)} values")
            found[tuple(given[names.index(name)] for name in columns)] = int(state)
        return found

    @staticmethod
    def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the words of each line that has some."""
        try:
            text = path.read_text(encoding="ascii")
        except (OSError, UnicodeError) as error:
            raise CertificateError(f"{path.name}: {error}") from None
        for number, line in enumerate(text.splitlines(), 1):
            if line.split() and not line.lstrip().startswith(("#", "//")):
                yield number, line.split()
