"""The registries have every method and chain that markov exports, and the commands find them."""

from __future__ import annotations

import re

import pytest

import markov
from markov.registries import CHAINS, METHODS, chain_named, method_named
from tests.surface import invoke

NOT_BY_NAME = {
    "ChainModel": "the base",
    "PhaseQueue": "made of objects, which a command cannot give",
    "SemiMarkov": "made of objects, which a command cannot give",
}
"""Exported subclasses of `ChainModel` that are not in the registry, and why."""


def solved(*arguments):
    return invoke(["solve", *arguments], catch_exceptions=False).output


def test_every_exported_chain_is_registered():
    exported = {
        name
        for name in markov.__all__
        if isinstance(kind := getattr(markov, name), type) and issubclass(kind, markov.ChainModel)
    }
    assert {entry.kind.__name__ for entry in CHAINS} == exported - set(NOT_BY_NAME)
    for entry in CHAINS:
        assert chain_named("chain", entry.kind.__name__) is entry.kind
        assert all(type(model) is entry.kind for model in entry.small)


def test_every_exported_method_is_registered():
    exported = {
        name
        for name in markov.__all__
        if callable(getattr(kind := getattr(markov, name), "solve", None))
        and isinstance(kind, type)
    }
    assert {type(entry.method).__name__ for entry in METHODS} == exported - {"Method"}
    for entry in METHODS:
        assert method_named("method", type(entry.method).__name__) == entry.method
        assert all(type(each) is type(entry.method) for each in entry.variants)


def test_a_chain_is_solved_by_its_name():
    assert "GTH" in solved("mm1k", "--method", "gth", "--verbose")
    assert solved("Kanban", "--json").startswith("{")
    found = solved("chain", "birthdeath", "--set", "births=(3,2,1)")
    assert re.search(r"^ *states +4,", found, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chain", "kanbn"], r"chain = 'kanbn': .* did you mean 'kanban'\?"),
        (["kanban", "--set", "ticket=2"], r"set = 'ticket': must be one of 'tickets'"),
        (["kanban", "--set", "tickets"], r"set = 'tickets': must be NAME=VALUE"),
        (["kanban", "--set", "tickets=few"], "tickets = 'few': must be a whole number"),
        (["mm1k", "--method", "gt"], r"method = 'gt': must be one of .* did you mean 'gth'\?"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        solved(*arguments)
