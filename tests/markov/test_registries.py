"""Commands find chains and methods by their names; test_every_method.py has what is registered."""

from __future__ import annotations

import re

import pytest

from tests.surface import invoke


def solved(*arguments):
    return invoke(["solve", *arguments], catch_exceptions=False).output


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
