"""Errors in rules: the place in the source, the remedy, and the class of what Python raised."""

from __future__ import annotations

import importlib
import inspect
import pickle

import pytest

from hopflow.errors import failed_rule, place_of, shown_place
from hopflow.public_modules import PUBLIC
from responsefn.errors import RuleError


def divides(n):
    return 1 / n  # here


def looks_up(n):
    return {}[n]  # here


def calls(n):
    return divides(n)


def caught(rule):
    with pytest.raises((ZeroDivisionError, KeyError)) as met:
        rule(0)
    return failed_rule(met.value, rule, "rule, state n = 0")


@pytest.mark.parametrize("rule", [divides, looks_up])
def test_an_error_names_file_line_and_remedy_and_keeps_its_class(rule):
    error = caught(rule)
    assert isinstance(error, type(error.__cause__))
    assert isinstance(error, RuleError)
    assert (error.file, error.line) == (__file__, inspect.getsourcelines(rule)[1] + 1)
    assert str(error).startswith(f"rule, state n = 0: {type(error.__cause__).__name__}: ")
    assert "# here); guard the " in str(error)


def test_the_innermost_line_of_the_users_file_is_named():
    assert caught(calls).line == inspect.getsourcelines(divides)[1] + 1


def test_an_error_that_is_one_of_ours_stays_as_it_is():
    error = RuleError.at(None, "said", "do this")
    assert str(error) == "said; do this"
    assert failed_rule(error, divides, "again") is error
    assert str(pickle.loads(pickle.dumps(error))) == "said; do this"


def test_places():
    @pytest.mark.parametrize("unused", [1])
    def decorated():
        pass

    first = inspect.getsourcelines(decorated)[1]
    assert place_of(decorated) == (__file__, first + 1)
    assert place_of(len) is None
    assert shown_place(None) == ""
    assert shown_place((__file__, first + 1)) == (
        f" (test_errors.py, line {first + 1}: def decorated():)"
    )


def test_errors_come_back_from_other_processes() -> None:
    """Those that are also of the class that Python raised, too."""

    with pytest.raises(ZeroDivisionError) as raised:
        divides(0)
    found = failed_rule(raised.value, divides, "divides(0)")
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, RuleError)
    assert isinstance(again, ZeroDivisionError)
    assert (str(again), again.line, type(again)) == (str(found), found.line, type(found))
    plain = pickle.loads(pickle.dumps(RuleError.at(("file.py", 3), "no")))
    assert (type(plain), plain.line) == (RuleError, 3)


def test_errors_with_one_name_are_one_class() -> None:
    """So that ``except markov.errors.RuleError`` catches an error in a rule of any package."""
    kinds: dict[str, set[type]] = {}
    for name in PUBLIC:
        package = importlib.import_module(name)
        for each in package.__all__:
            found = getattr(package, each)
            if isinstance(found, type) and issubclass(found, (Exception, Warning)):
                kinds.setdefault(each, set()).add(found)
    assert {"RuleError", "UnreachableRateError"} <= set(kinds)
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}
