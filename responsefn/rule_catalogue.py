"""All rules and laws with equation, source and domain, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopflow.checks import choice
from hopflow.display.results import Result
from hopflow.naming.registry import Registry, object_of_file
from responsefn.equations import domain_of, equation_of, table_of
from responsefn.laws import PFTK, TFRC, Mathis
from responsefn.response import Response
from responsefn.rules.abe import ABE
from responsefn.rules.adaptive_reno import ARENO
from responsefn.rules.base import WindowRule
from responsefn.rules.bic import BIC
from responsefn.rules.classic import AIMD, NewReno, Reno, Tahoe
from responsefn.rules.compound import CTCP
from responsefn.rules.cubic import CUBIC
from responsefn.rules.dctcp import DCTCP
from responsefn.rules.deliveries.allegro import Allegro
from responsefn.rules.deliveries.bbr import BBR
from responsefn.rules.deliveries.bbr_v1 import BBRv1
from responsefn.rules.deliveries.copa import Copa
from responsefn.rules.deliveries.delivery_rule import DeliveryRule
from responsefn.rules.deliveries.ledbat import LEDBAT
from responsefn.rules.deliveries.ledbat_plus_plus import LEDBATpp
from responsefn.rules.deliveries.nscc import NSCC
from responsefn.rules.deliveries.prague import Prague
from responsefn.rules.deliveries.search import SEARCH
from responsefn.rules.deliveries.swift import Swift
from responsefn.rules.deliveries.vivace import Vivace
from responsefn.rules.fast import FAST
from responsefn.rules.fusion import Fusion
from responsefn.rules.highspeed_tcp import HSTCP
from responsefn.rules.htcp import HTCP
from responsefn.rules.illinois import Illinois
from responsefn.rules.linux.bic import LinuxBIC
from responsefn.rules.linux.cdg import LinuxCDG
from responsefn.rules.linux.cubic import LinuxCUBIC
from responsefn.rules.linux.highspeed_tcp import LinuxHSTCP
from responsefn.rules.linux.htcp import LinuxHTCP
from responsefn.rules.linux.hybla import LinuxHybla
from responsefn.rules.linux.illinois import LinuxIllinois
from responsefn.rules.linux.lp import LinuxLP
from responsefn.rules.linux.nv import LinuxNV
from responsefn.rules.linux.scalable import LinuxScalable
from responsefn.rules.linux.vegas import LinuxVegas
from responsefn.rules.linux.veno import LinuxVeno
from responsefn.rules.linux.westwood import WestwoodPlus
from responsefn.rules.linux.yeah import LinuxYeAH
from responsefn.rules.quic import ChromiumCUBIC, QUICNewReno
from responsefn.rules.rates.dcqcn import DCQCN
from responsefn.rules.rates.fixed_rate import FixedRate
from responsefn.rules.rates.hpcc import HPCC
from responsefn.rules.rates.rate_rule import RateRule
from responsefn.rules.rates.timely import TIMELY, PatchedTIMELY
from responsefn.rules.relentless import Relentless
from responsefn.rules.scalable import Scalable
from responsefn.rules.vegas import NS2Vegas, Vegas
from responsefn.rules.westwood import Westwood

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["GROUP", "Catalogue", "catalogue", "names", "rule_named"]

GROUP = "hopflow.rules"
"""Entry points by which other distributions offer rules to the commands: ``[project.entry-points."hopflow.rules"]``."""

ENTRIES: tuple[Response, ...] = (
    Tahoe(),
    Reno(),
    NewReno(),
    QUICNewReno(),
    ABE(),
    AIMD(),
    AIMD(form="precise"),
    AIMD(form="recovery"),
    HSTCP(),
    HSTCP(form="cycle"),
    HSTCP(table=1),
    Scalable(),
    Scalable(form="published"),
    BIC(),
    CUBIC(),
    CUBIC(fast_convergence=1),
    ChromiumCUBIC(),
    HTCP(),
    Relentless(),
    DCTCP(),
    Illinois(),
    CTCP(),
    Vegas(),
    Westwood(),
    FAST(),
    ARENO(),
    Fusion(),
    LinuxBIC(),
    LinuxCUBIC(),
    LinuxScalable(),
    LinuxHSTCP(),
    LinuxHTCP(),
    LinuxIllinois(),
    LinuxVegas(),
    LinuxHybla(),
    LinuxVeno(),
    LinuxYeAH(),
    LinuxNV(),
    LinuxLP(),
    WestwoodPlus(),
    DCQCN(),
    TIMELY(),
    PatchedTIMELY(),
    HPCC(),
    FixedRate(),
    BBR(),
    BBRv1(),
    Prague(),
    LEDBAT(),
    LEDBATpp(),
    LinuxCDG(),
    SEARCH(),
    Copa(),
    Swift(),
    Vivace(),
    Allegro(),
    NSCC(),
    TFRC(),
    TFRC(form="zheng2002"),
    PFTK(),
    PFTK(form="approximate"),
    Mathis(),
)
"""In the order of the table: loss-based rules, rules that see the queue, rate rules, delivery rules, laws."""


@dataclass(frozen=True, repr=False, eq=False)
class Catalogue(Result):
    """The rules and laws of responsefn.

    Attributes
    ----------
    entries
        Each rule and law, and its variants.

    Examples
    --------
    >>> from responsefn import Mathis
    >>> from responsefn.results import Catalogue
    >>> print(Catalogue((Mathis(),)).rows()[0]["equation"])
    sqrt(6)/(2*R*sqrt(b)*sqrt(p))
    """

    entries: tuple[Response, ...]

    def to_xarray(self) -> xr.Dataset:
        """Return the columns of `rows`, strings over ``rule``."""
        import xarray as xr

        rows = self.rows()
        columns = {name: ("rule", [row[name] for row in rows]) for name in rows[0]}
        return xr.Dataset(columns)

    def rows(self) -> list[dict[str, str]]:
        """Return name, kind, equation, capacity, domain and source of each entry."""
        found = []
        for entry in self.entries:
            found.append(
                {
                    "name": repr(entry),
                    "kind": kind_of_entry(entry),
                    "equation": equation_of(entry),
                    "capacity": entry.capacity,
                    "domain": domain_of(entry),
                    "source": entry.cite(),
                }
            )
        return found

    def summary(self) -> dict[str, object]:
        """Return equation, domain and source by name."""
        return {
            row["name"]: f"{row['domain']}; {row['source']}; T = {row['equation']}"
            for row in self.rows()
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the responses that need no capacity at an RTT of 0.1 s; return the Axes."""
        import numpy as np

        from responsefn.curves import curve

        drawn = [entry for entry in self.entries if entry.capacity != "needed"]
        axes = curve(drawn, np.geomspace(1e-7, 0.1, 61), 0.1).plot(ax)
        axes.legend(fontsize=6)
        return axes

    def _repr_html_(self) -> str:
        return table_of(self.entries, "Catalogue")


def catalogue(kind: str = "all") -> Catalogue:
    """Return the table of rules and laws.

    Delivery rules, such as BBR, have no response to a loss rate: simulate them (`dfcmodel.compare`).

    Parameters
    ----------
    kind
        ``"all"``, ``"rule"`` (for windows), ``"rate rule"``, ``"delivery rule"`` or ``"law"``.

    Examples
    --------
    >>> from responsefn import catalogue
    >>> [repr(law) for law in catalogue("law").entries][:2]
    ['TFRC()', "TFRC(form='zheng2002')"]
    """
    choice("kind", kind, ("all", "rule", "rate rule", "delivery rule", "law"))
    return Catalogue(tuple(entry for entry in ENTRIES if kind in ("all", kind_of_entry(entry))))


def kind_of_entry(entry: Response) -> str:
    """Return ``"rule"``, ``"rate rule"``, ``"delivery rule"`` or ``"law"``."""
    if isinstance(entry, DeliveryRule):
        return "delivery rule"
    if isinstance(entry, RateRule):
        return "rate rule"
    return "rule" if isinstance(entry, WindowRule) else "law"


REGISTRY = Registry(
    (*(type(entry) for entry in ENTRIES), NS2Vegas),
    GROUP,
    Response,
    "a rule or a law, a class such as Reno",
)
"""All rules and laws, those of other distributions included. `NS2Vegas` has the response of a `Vegas`, so it is no row of the table."""


def names() -> list[str]:
    """Return the names of all rules and laws on the command line, in lower case."""
    return REGISTRY.names()


def rule_named(parameter: str, name: str) -> Response:
    """Return the rule or law with this name, in upper or lower case, at its defaults, or that of a Python file.

    A file ``my_rule.py`` has a variable ``rule``, or the one rule that it defines.

    >>> rule_named("rule", "CUBIC")
    CUBIC()
    """
    if name.endswith(".py"):
        rule: Response = object_of_file(Path(name), "rule", Response)
        return rule
    return REGISTRY.named(parameter, name)()
