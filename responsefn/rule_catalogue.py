"""Table of all rules and laws with equation, source and domain; modules of rules are imported on demand."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopflow.checks import choice
from hopflow.registry import Registry, object_of_call, object_of_file
from hopflow.results import Result
from responsefn.response import Response, domain_of, equation_of, table_of
from responsefn.rules.index import RULES

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

__all__ = ["GROUP", "Catalogue", "catalogue", "names", "rule_named"]

GROUP = "hopflow.rules"
"""Entry points by which other distributions offer rules to the commands: ``[project.entry-points."hopflow.rules"]``."""

KINDS = ("rule", "rate rule", "delivery rule", "law")
"""Kinds of responses in the order of the table: rules of windows, rates and deliveries, and laws."""


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
        return [
            {
                "name": repr(entry),
                "kind": entry.catalogue_kind,
                "equation": equation_of(entry),
                "capacity": entry.capacity,
                "domain": domain_of(entry),
                "source": entry.cite(),
            }
            for entry in self.entries
        ]

    def summary(self) -> dict[str, object]:
        """Return equation, domain and source by name."""
        return {row["name"]: f"{row['domain']}; {row['source']}; T = {row['equation']}" for row in self.rows()}

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
    kinds = KINDS if choice("kind", kind, ("all", *KINDS)) == "all" else (kind,)
    entries: list[Response] = []
    for name, (module, kind_of_class) in RULES.items():
        if kind_of_class in kinds:
            entries += rows_of(getattr(importlib.import_module(module), name))
    return Catalogue(tuple(entries))


def rows_of(response: type[Response]) -> list[Response]:
    """Return an object for each row of a class in the catalogue, by its own `Response.catalogue_rows`."""
    return [response(**params) for params in vars(response).get("catalogue_rows", ({},))]


REGISTRY = Registry(
    {name: module for name, (module, _) in RULES.items()},
    GROUP,
    Response,
    "a rule or a law, a class such as Reno",
)
"""All rules and laws, other distributions included."""


def names() -> list[str]:
    """Return the names of all rules and laws on the command line, in lower case."""
    return REGISTRY.names()


def rule_named(parameter: str, name: str) -> Response:
    """Return the rule or law with this name, or the rule of a Python file; case is ignored.

    A name has parameters in brackets, as the catalogue prints them, or is at its defaults. A file ``my_rule.py`` has a
    variable ``rule``, or defines a single rule.

    >>> rule_named("rule", "CUBIC"), rule_named("rule", "aimd(0.5, form='precise')")
    (CUBIC(), AIMD(a=0.5, form='precise'))
    """
    if name.endswith(".py"):
        rule: Response = object_of_file(Path(name), "rule", Response)
        return rule
    return object_of_call(parameter, name, REGISTRY.named, "aimd(a=0.5, form='precise')")
