"""The flexible manufacturing system of Ciardo and Trivedi, a chain without order and with much fill-in.

G. Ciardo, K. S. Trivedi, A decomposition approach for stochastic reward net models, Performance
Evaluation 18(1), 1993; sizes and rates as in the PRISM benchmark suite, where it is called fms.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

MACHINES = {1: 3, 2: 1, 12: 2}


class Parts(NamedTuple):
    """Parts of three kinds and of the first two joined (12), by where they are.

    ``raw`` are on their way to a machine, ``wait`` wait for it, ``work`` are on it, ``done`` are ready to
    be shipped, ``join`` wait for a part of the other kind.
    """

    raw1: int
    wait1: int
    work1: int
    done1: int
    join1: int
    raw2: int
    wait2: int
    work2: int
    done2: int
    join2: int
    raw3: int
    work3: int
    done3: int
    raw12: int
    wait12: int
    work12: int
    done12: int

    @classmethod
    def start(cls, n: int) -> Parts:
        """Return the state with n raw parts of each kind."""
        return cls(n, 0, 0, 0, 0, n, 0, 0, 0, 0, n, 0, 0, 0, 0, 0, 0)


def manufacturing(s: Any, q: Any) -> Iterator[tuple[Any, float]]:
    """Yield the transitions, rates per minute; ``q.n`` parts of each kind circulate."""
    carried = s.raw1 + s.raw2 + s.raw3 + s.raw12
    speed = min(1.0, (3 * q.n // 2) / carried) if carried else 0.0
    for kind, machines in MACHINES.items():
        raw, wait, work = (f"{place}{kind}" for place in ("raw", "wait", "work"))
        if getattr(s, raw) > 0:
            to = work if getattr(s, work) < machines else wait
            yield _moved(s, {raw: -1, to: 1}), speed * getattr(s, raw)
    if s.raw3 > 0:
        yield s._replace(raw3=s.raw3 - 1, work3=s.work3 + 1), speed * s.raw3
    if s.work3 > 0 and s.work2 < MACHINES[2]:
        yield s._replace(work3=s.work3 - 1, done3=s.done3 + 1), 0.5
    for kind, done, rate in ((1, 1, 0.2 * s.work1), (2, 2, 0.1), (12, 12, float(s.work12))):
        if getattr(s, f"work{kind}") > 0:
            yield _moved(s, {**_left(s, kind), f"done{done}": 1}), rate
    if s.work1 > 0 and s.join2 == 0:
        yield _moved(s, {**_left(s, 1), "join1": 1}), 0.05 * s.work1
    if s.work2 > 0 and s.join1 == 0:
        yield _moved(s, {**_left(s, 2), "join2": 1}), 1.0 / 15.0
    for one, two in product(_joining(s, 1, 2, 0.05 * s.work1), _joining(s, 2, 1, 1.0 / 15.0)):
        yield _moved(s, {**one[0], **two[0], "raw12": 1}), one[1] * two[1]
    for kind in (1, 2, 3):
        raw, done = f"raw{kind}", f"done{kind}"
        if getattr(s, done) > 0:
            yield _moved(s, {raw: getattr(s, done), done: -getattr(s, done)}), 1.0 / 60.0
    if s.done12 > 0:
        parts = s.done12
        yield _moved(s, {"raw1": parts, "raw2": parts, "done12": -parts}), 1.0 / 60.0


def _left(s: Any, kind: int) -> dict[str, int]:
    """Return the changes when a part leaves a machine: a waiting part takes its place."""
    return {f"wait{kind}" if getattr(s, f"wait{kind}") > 0 else f"work{kind}": -1}


def _joining(s: Any, kind: int, other: int, rate: float) -> Iterator[tuple[dict[str, int], float]]:
    """Yield how a part of a kind may be joined: from its machine, when another waits, or waiting."""
    if getattr(s, f"work{kind}") > 0 and getattr(s, f"join{other}") > 0:
        yield _left(s, kind), rate
    if getattr(s, f"join{kind}") > 0:
        yield {f"join{kind}": -1}, 1.0


def _moved(s: Any, changes: dict[str, int]) -> Any:
    return s._replace(**{place: getattr(s, place) + change for place, change in changes.items()})
