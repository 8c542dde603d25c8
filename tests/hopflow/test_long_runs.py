"""Parts of a run: they end where it ends, begin with the least, and grow while they are quick."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from hopflow.long_runs import LONGER, parts


@pytest.mark.parametrize("most", [None, 3])
def test_quick_parts_grow_up_to_a_limit_and_end_at_the_end(most) -> None:
    run, ends = SimpleNamespace(done=0, bar=None), [0]
    for last in parts(run, 1000, 2, most):
        run.done = last
        ends.append(last)
    sizes = [b - a for a, b in itertools.pairwise(ends)]
    assert sizes[0] == 2
    assert ends[-1] == 1000
    allowed = [LONGER * size if most is None else most for size in sizes]
    assert all(size <= limit for size, limit in zip(sizes[1:], allowed, strict=False))


def test_a_run_that_stops_in_a_part_goes_on_from_there() -> None:
    run, seen = SimpleNamespace(done=0, bar=None), []
    for last in parts(run, 6, 4, 4):
        seen.append((run.done, last))
        run.done = min(run.done + 1, last)
    assert seen == [(n, min(n + 4, 6)) for n in range(6)]


def test_nothing_is_run_twice() -> None:
    assert list(parts(SimpleNamespace(done=5, bar=None), 5, 1)) == []
