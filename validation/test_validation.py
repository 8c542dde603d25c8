"""``pytest --pyargs validation``: the numerical validation of an installed hopflow."""

from __future__ import annotations

import pytest

from validation import evidence, verdicts


@pytest.mark.parametrize("id", verdicts.ledger())
def test_verdict_is_as_recorded(id: str) -> None:
    """Model and packet simulation say of each claim what ``published/verdicts.csv`` records."""
    finding = verdicts.find(id).check()
    assert (finding.model, finding.simulation) == verdicts.expected()[id], finding.summary


def test_bundled_data_are_intact() -> None:
    """Every bundled file has its recorded SHA-256."""
    assert evidence.verify()
