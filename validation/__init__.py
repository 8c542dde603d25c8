"""Cross-checks of hopflow's models against packet simulators and the papers' claims.

>>> from validation import cases, load
>>> load("zheng2002/periodic-loss")  # doctest: +SKIP
"""

from __future__ import annotations

from validation.evidence import DamagedDataError, cases, load, overview, provenance, table, verify
from validation.verdicts import Claim, Finding, Verdict, ledger

__all__ = [
    "Claim",
    "DamagedDataError",
    "Finding",
    "Verdict",
    "cases",
    "ledger",
    "load",
    "overview",
    "provenance",
    "table",
    "verify",
]
