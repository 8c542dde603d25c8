"""Cross-checks of hopflow's models against packet simulators and the papers' claims.

>>> from validation import cases, load
>>> len(cases()) > 100
True
>>> sorted(load("zheng2002/periodic-loss").dims)
['packets_per_loss', 'rule', 'seed']
"""

from __future__ import annotations

from hopflow.packages import check_packages

check_packages("dfcmodel", "markov", "responsefn")  # before the imports that would say less

from validation.claims import ledger
from validation.evidence import cases, load, overview, provenance, table
from validation.judging import rejudge
from validation.manifest import DamagedDataError, verify
from validation.verdicts import Claim, Finding, Verdict

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
