"""Transitions between numbered states, as exact fractions, with the standard library alone."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from markov.proofs.checker import CertificateError, compare_rows

if TYPE_CHECKING:
    from markov.proofs.checker import Contents

__all__ = ["NumberedRows"]


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
