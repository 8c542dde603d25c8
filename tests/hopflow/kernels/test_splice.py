"""Rules put into loops of a template, and fields into local variables: the same numbers."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import numpy as np
import pytest

from hopflow.kernels import KernelError, build
from hopflow.kernels.records import layout_of, plain
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


ONE = np.uint64(1)


def places(span, table):
    """Traversal: places of a span whose number is not 7, which statements pass."""
    row = 0.0  # another row than the template's
    for n in range(span[0], span[1]):
        row += 1.0
        if table.numbers[n] == 7:
            passed()  # type: ignore[name-defined]  # noqa: F821
            continue
        yield n, n + ONE


def gather(span, table):
    """Template: numbers of places, times those behind them, and what was passed."""
    row = 0.0
    sevens = 0
    for n, behind in places(span, table):
        if table.numbers[n] > 0:
            row += table.numbers[n] * table.numbers[behind]
    return row, sevens


def stopped(span, table):
    """Template: a body that goes on by itself."""
    for n, _ in places(span, table):
        if n > ONE:
            continue
    return 0.0


class Table(NamedTuple):
    numbers: Any


@pytest.mark.parametrize("compiled", [False, True])
def test_a_traversal_becomes_part_of_the_loops_of_a_template(compiled):
    table, span = Table(np.array([3.0, 7.0, -2.0, 5.0, 2.0])), (np.uint64(0), np.uint64(4))
    given = {"snippets": {"passed": "sevens += 1\nrow += 0.0"}, "records": (None, layout_of(table))}
    kernel = build(gather, compiled=compiled, salt=f"{compiled}", **given)
    assert kernel(span, plain(table)) == (3.0 * 7.0 + 5.0 * 2.0, 1)


def test_the_body_of_a_traversal_may_not_go_on_by_itself():
    """In Python it would go on behind the yield."""
    with pytest.raises(KernelError, match="may not end it, or go on"):
        build(stopped, snippets={"passed": "pass"}, compiled=False)
