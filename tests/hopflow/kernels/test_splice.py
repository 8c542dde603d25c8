"""Rules put into loops of a template, and fields into local variables: the same numbers."""

from __future__ import annotations

import ast
from typing import NamedTuple

import pytest

from hopflow.kernels import KernelError, build
from hopflow.kernels.splice import Fields


class Symbols(NamedTuple):
    n: int
    rate: float


def total(s, q):
    """Template: the sum of rate times target over the yielded pairs."""
    found = 0.0
    for target, rate in rules(s, q):  # noqa: F821
        found += rate * target
        done()  # noqa: F821
    return found


def queue(s, q):
    if s < q.n:
        yield s + 1, q.rate
    if s == 0:
        return
    yield s - 1, 1.0


@pytest.mark.parametrize("s", [0, 2, 5])
def test_a_rule_in_a_template_yields_what_it_yields_in_python(s):
    kernel = build(
        total, rules={"rules": queue}, snippets={"done": "found += 10.0"}, compiled=False
    )
    q = Symbols(5, 0.5)
    assert kernel(s, q) == sum(rate * target + 10.0 for target, rate in queue(s, q))


def test_a_rule_that_yields_no_pair_is_refused():
    def rules(s, q):
        yield s

    with pytest.raises(KernelError, match="yield target, rate is expected"):
        build(total, rules={"rules": rules}, snippets={"done": "pass"}, compiled=False)


def test_only_fields_of_parameters_that_stay_are_taken_out():
    (tree,) = ast.parse("def f(q, s):\n s = s.next\n return q.rate + s.rate + q.shape[0]").body
    assert ast.unparse(Fields.first(tree)).splitlines() == [
        "def f(q, s):",
        "    q__rate = q.rate",
        "    s = s.next",
        "    return q__rate + s.rate + q.shape[0]",
    ]
