"""All suites by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dfcmodel.sharing.suites.bbr_draft import BBR_DRAFT
from dfcmodel.sharing.suites.incidents import INCIDENTS
from dfcmodel.sharing.suites.rfc5681 import RFC5681
from dfcmodel.sharing.suites.rfc9438 import RFC9438
from dfcmodel.sharing.suites.rfc9743 import suite_beside
from dfcmodel.sharing.suites.robustness import ROBUSTNESS

if TYPE_CHECKING:
    from dfcmodel.sharing.suites.cases import Suite
    from responsefn import WindowRule

__all__ = ["ALL", "OTHER_NAMES", "SUITES"]

ALL = "all"
"""Name of all suites together."""
_OF_NEWRENO, _OF_CUBIC = "NewReno of TCP and QUIC is in 'rfc5681'", "CUBIC is in 'rfc9438'"
OTHER_NAMES = {
    **dict.fromkeys(("rfc9002", "rfc6582", "newreno", "reno"), _OF_NEWRENO),
    **dict.fromkeys(("rfc8312", "cubic"), _OF_CUBIC),
    "bbr": "BBR is in 'bbr-draft'",
}
"""Names that users give for suites, with the suites of their subjects."""
SUITES: dict[str, Callable[[WindowRule], Suite]] = {
    "rfc5681": lambda _: RFC5681,
    "rfc9438": lambda _: RFC9438,
    "bbr-draft": lambda _: BBR_DRAFT,
    "rfc9743": suite_beside,
    "robustness": lambda _: ROBUSTNESS,
    "incidents": lambda _: INCIDENTS,
}
"""Suites by name, as functions of the rule beside which RFC 9743's sections are judged."""
