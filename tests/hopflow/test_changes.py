"""Increments of a rule's state: they are those of the rule, without cancellation."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import NamedTuple

import pytest

from hopflow.changes import NoSumError, increments_of
from hopflow.functions import where

FIELDS = ("w", "t")


class State(NamedTuple):
    w: object
    t: object


def rule(body):
    (tree,) = ast.parse(f"def rule(s, q):\n {body}").body
    return tree


def no_helper(name):
    raise NoSumError


def increments(body):
    """Return the increments as a Python function; a difference has factors -1.0, exact on dyadics."""
    changed = increments_of(rule(body), FIELDS, {"where": where}.get, no_helper)
    changed.name = "change"
    scope = {"where": where, "State": State}
    exec(compile(ast.unparse(ast.fix_missing_locations(changed)), "change", "exec"), scope)  # noqa: S102
    return scope["change"]


BODIES = [
    "return s._replace(w=s.w + 1 / s.w)",
    "return s._replace(w=s.w - q * s.w, t=s.t + 1)",
    "x = 1 / s.w; return s._replace(w=s.w + x * q)",
    "return s._replace(w=where(s.w < 5, s.w + 1, s.w + 1 / s.w))",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("w", [Fraction(3), Fraction(23, 2)])
def test_increments_are_differences_of_the_states_in_exact_arithmetic(body, w):
    scope = {"where": where}
    exec(f"def rule(s, q):\n {body}", scope)  # noqa: S102
    old, q = State(w, Fraction(2)), Fraction(1, 8)
    new = scope["rule"](old, q)
    assert tuple(increments(body)(old, q)) == (new.w - old.w, new.t - old.t)


def test_no_digit_of_a_small_increment_is_lost():
    change = increments("return s._replace(w=s.w + 1e-17)")
    assert change(State(1.0, 0.0), 0.0)[0] == 1e-17
    assert 1.0 + 1e-17 - 1.0 == 0.0


def test_fields_that_are_not_needed_have_no_increment_and_need_be_no_sum():
    body = "return s._replace(w=s.w + 1.0, t=s.w * s.t)"
    with pytest.raises(NoSumError):
        increments_of(rule(body), FIELDS, {}.get, no_helper)
    changed = increments_of(rule(body), FIELDS, {}.get, no_helper, omitted=("t",))
    assert ast.unparse(changed.body[-1]) == "return s._replace(w=1.0, t=0.0)"
