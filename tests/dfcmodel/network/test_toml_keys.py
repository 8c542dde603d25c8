"""What scenario files may contain, against the classes that are made of it."""

from __future__ import annotations

import dataclasses

from dfcmodel import Flow, Link, Scenario
from dfcmodel.network.toml_keys import DIMENSIONS, DISCIPLINES, OWN_KEYS, required, sources_of
from responsefn import AIMD, Reno


def test_every_field_with_a_unit_is_a_field() -> None:
    kinds = (Scenario, Link, Flow, *DISCIPLINES.values(), *sources_of(()).values())
    fields = {
        field.name
        for kind in kinds
        if dataclasses.is_dataclass(kind)
        for field in dataclasses.fields(kind)
    }
    assert set(DIMENSIONS) - fields == set()


def test_what_each_says_itself_has_no_default() -> None:
    assert set(OWN_KEYS["link"]) < set(required(Link))
    assert set(OWN_KEYS["flow"]) < set(required(Flow))
    assert required(AIMD) == []


def test_a_rule_of_the_caller_takes_the_place_of_one_of_that_name() -> None:
    mine = type("Reno", (Reno,), {})
    assert sources_of([mine])["Reno"] is mine
    assert sources_of(())["Reno"] is Reno
