"""The experiments of zheng2002, Sect. 3, as cases of ns-2's dumbbell: those of ``dumbbell.toml``."""

from __future__ import annotations

from validation.generate.case_tables import About, Driver, columns, crossed
from validation.generate.cases import Case, Run
from validation.generate.zheng2002 import dumbbell
from validation.generate.zheng2002.dumbbell import COLUMNS, TABLES, make, tables

EACH = 8
"""Flows of each kind, unless a case, a factor or a setting says otherwise."""
DRIVER = Driver(*("zheng2002", dumbbell.PROGRAM, dumbbell.calls, dumbbell.read, dumbbell.simulated), TABLES)


def a_run(about: About, factors: About, seed: int) -> Run:
    """Return a run of a case: its options, those that are factors, and those of a setting that has a name."""
    setting = dict(TABLES["settings"].get(factors.get("setting"), {}))
    number = factors.get("number", setting.pop("number", about.get("number", EACH)))
    chosen = {name: level for name, level in factors.items() if name in dumbbell.DEFAULTS}
    kinds = factors["pair"].split(" with ") if "pair" in factors else [factors.get("rule", "TCP(1,1/2)")]
    return make(
        factors,
        [(kind, number) for kind in kinds],
        seed,
        reading=factors.get("reading", "1-b"),
        series="series" in about and seed in about.get("series_seeds", [seed]),
        bins=about.get("bins", ()),
        options={**about.get("options", {}), **chosen, **setting},
    )  # fmt: skip


def a_case(about: About) -> Case:
    """Return a case of ``dumbbell.toml``."""
    runs = []
    for factors in crossed(about["runs"], about.get("seeds", ())):
        seed = factors.pop("seed")
        runs.append(a_run(about, factors, seed))
    factors = {name: COLUMNS[name] for name in about["factors"]}
    factors |= columns(about.get("columns", {}))
    return DRIVER.case(about, runs, tables(factors, series=about.get("series", ""), bins="bins" in about))


CASES = [a_case(about) for about in TABLES["cases"]]
