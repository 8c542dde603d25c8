# The public names of the package by the modules that define them: read on first use, and by type checkers.
from .claims import ledger
from .evidence import cases, load, overview, provenance, table
from .judgements.judging import rejudge
from .judgements.verdicts import Claim, Finding, Verdict
from .manifest import DamagedDataError, verify

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
    "rejudge",
    "table",
    "verify",
]
