"""Branches that leave are the last statement of their block."""

from __future__ import annotations

import ast

import pytest

from markov.generators.array_rules.blocks import assigned_in, leaves, rearranged


def rearrange(text, tail):
    body = rearranged(ast.parse(text).body, tail)
    return ast.unparse(ast.Module(body, []))


@pytest.mark.parametrize(
    ("text", "tail", "expected"),
    [
        ("if a:\n  b\n  return\nc", ast.Return, "if a:\n    b\nelse:\n    c"),
        ("if a:\n  b\nelse:\n  return\nc", ast.Return, "if a:\n    b\n    c"),
        ("if a:\n  if b:\n    return\n  c\nd", ast.Return, "if a:\n    if b:\n        return\n    else:\n        c\nd"),
        ("if a:\n  continue\nb", ast.Continue, "if a:\nelse:\n    b"),
        ("if a:\n  return 1\nreturn 2", ast.Return, "if a:\n    return 1\nelse:\n    return 2"),
        ("a\nreturn\nb", ast.Return, "a"),
        ("a\nraise b\nc", ast.Return, "a\nraise b"),
    ],
)  # fmt: skip
def test_what_follows_is_part_of_the_other_branch(text, tail, expected):
    assert rearrange(text, tail).split() == expected.split()


def test_what_leaves():
    assert leaves(ast.parse("a\nif b:\n  raise c\nelse:\n  raise d").body)
    assert not leaves(ast.parse("if b:\n  raise c").body)
    assert not leaves([])


def test_what_is_assigned():
    assert assigned_in(ast.parse("a = b\nfor c in d:\n  e += 1").body) == ("a", "c", "e")
