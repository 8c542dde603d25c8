"""Public names: how many there are, where they are, and that old places still have them for one release."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import hopflow
from benchmarks.public_names import KINDS, LIMIT, ROOT, later_names, names_of, public_names
from hopflow.public_modules import PACKAGES, PUBLIC
from hopflow.public_names import has_moved, moved, moved_names

OLD = [
    pytest.param(package, module, name, id=f"{package}.{name}")
    for package in PACKAGES
    for name, (module, write) in moved_names(package).items()
    if write.startswith("from ")
]


def test_the_packages_have_at_most_the_agreed_number_of_names() -> None:
    """A new name goes into `benchmarks/public_names.toml` under its subject, or into a module of results or of a subject."""
    later = set().union(*later_names().values())
    assert len(public_names(ROOT, "packages") - later) <= LIMIT


def test_names_of_later_work_are_public_and_listed_once() -> None:
    listed = [name for names in later_names().values() for name in sorted(names)]
    assert len(listed) == len(set(listed))
    assert set(listed) <= set().union(*(public_names(ROOT, kind) for kind in KINDS))


@pytest.mark.parametrize("module", PUBLIC)
def test_names_are_those_of_the_stub_and_can_be_loaded(module: str) -> None:
    loaded = importlib.import_module(module)
    assert set(loaded.__all__) == names_of(ROOT, module)
    assert set(loaded.__all__) <= set(dir(loaded))
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def test_the_page_on_stability_names_all_public_modules() -> None:
    page = (Path(ROOT) / "docs" / "stability.md").read_text(encoding="utf-8")
    assert [module for module in PUBLIC if f"`{module}`" not in page] == []


def test_a_public_class_has_one_public_module() -> None:
    """Names that `dfcmodel` has from `dfcmodel.lossless`, and errors that two packages share, are exceptions."""
    homes: dict[str, set[str]] = {}
    for module in PUBLIC:
        for name in names_of(ROOT, module):
            homes.setdefault(name, set()).add(module)
    shared = {"dfcmodel", "dfcmodel.lossless"}, {"markov.errors", "responsefn.errors"}
    twice = {name: where for name, where in homes.items() if len(where) > 1 and where not in shared}
    assert twice.keys() == {"sweep", "from_networkx"}


@pytest.mark.parametrize(("package", "module", "name"), OLD)
def test_an_old_place_gives_the_object_and_the_new_import(package, module, name) -> None:
    with pytest.warns(DeprecationWarning, match=f"write from {module} import {name}$") as said:
        found = getattr(importlib.import_module(package), name)
    assert said[0].filename == __file__
    assert found is getattr(importlib.import_module(module), name)
    assert name not in importlib.import_module(package).__all__


def test_an_old_import_warns_where_it_stands() -> None:
    with pytest.warns(DeprecationWarning, match=r"^markov\.Stationary is deprecated") as said:
        from markov import Stationary
    assert {each.filename for each in said} == {__file__}
    assert Stationary is type(hopflow.stationary(hopflow.MM1K()))


def test_hopflow_has_the_old_names_too() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"^hopflow\.Trajectory .* dfcmodel\.results"
    ) as said:
        found = hopflow.Trajectory
    assert said[0].filename == __file__
    assert found.__module__ == "dfcmodel.results.trajectories"


def test_names_that_became_private_say_what_to_write() -> None:
    import responsefn

    with pytest.warns(DeprecationWarning, match=r"write responsefn\.LossHistory\(n=n\)\.weights$"):
        old = responsefn.interval_weights
    assert old(4).tolist() == responsefn.LossHistory(n=4).weights.tolist()
    with pytest.warns(DeprecationWarning, match=r"write 1 / responsefn\.invert\(.*\)$"):
        first = responsefn.first_interval
    rate, rtt = 1000.0, 0.1
    assert first(rate, rtt) == 1 / responsefn.invert(responsefn.TFRC(), rate, rtt)
    assert has_moved("responsefn", "first_interval")


def test_unknown_names_are_refused() -> None:
    for module in (*PUBLIC, "hopflow"):
        with pytest.raises(AttributeError, match=f"{module.rpartition('.')[2]}.*nothing_at_all"):
            importlib.import_module(module).nothing_at_all  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'markov' has no attribute 'simulte'"):
        moved("markov", "simulte")
