# The public names of the package by the modules that define them: read on first use, and by type checkers.
from .claims import ledger
from .evidence import cases, load, overview, provenance, table
from .judging import rejudge
from .manifest import DamagedDataError, verify
from .verdicts import Claim, Finding, Verdict

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
