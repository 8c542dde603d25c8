"""Exact stationary distributions, and a PRISM model that has one of everything the checker reads."""

from __future__ import annotations

from fractions import Fraction

import pytest

LINE = """ctmc
const int t;
const double slow = 1/10; // a comment
formula free = w < t;
module first
  w : [0..t] init 0; x : [0..t]; b : bool init false;
  [in] free -> 0.36 : (w' = w + 1);
  [go] w > 0 & x < t -> 0.7*w : (w' = w - 1) & (x' = min(t, x + 1));
  [] x > 0 & !b -> 0.3 : (x' = x - 1) + slow : (b' = true);
  [] b -> 1e-3 + 2.5 : (b' = false);
endmodule
module second
  y : [0..2] init 0;
  [go] y < 2 -> (y' = y + 1);
  [] y > 0 -> (y = 1 ? 1/3 : 2/3) : (y' = y - 1);
endmodule
label "full" = w = t;
rewards "out"
  x > 0 : 0.3;
endrewards
"""


@pytest.fixture
def line(tmp_path):
    """The file, to be read with t = 1 or 2."""
    path = tmp_path / "line.sm"
    path.write_text(LINE)
    return path


def _rates(rows):
    n = len(rows)
    a = [[Fraction(0)] * n for _ in range(n)]
    for s, row in enumerate(rows):
        for t, rate in row:
            if t != s:
                a[s][t] += rate
    return a


def exact_solution(rows):
    """Return the stationary distribution of integer rows, by elimination without subtraction.

    None where it is not unique.
    """
    a = _rates(rows)
    closed = _closed_classes(a)
    return _stationary(a, closed[0]) if len(closed) == 1 else None


def exact_long_run(rows, start, f):
    """Return the long-run mean of a function of the state from a state, for integer rows."""
    a = _rates(rows)
    u, closed = {}, _closed_classes(a)
    for states in closed:
        mean = sum(p * value for p, value in zip(_stationary(a, states), f, strict=True))
        u |= dict.fromkeys(states, mean)
    if start in u:
        return u[start]
    left = set(range(len(rows))) - set(u) - {start}
    while left:  # transient states, one after the other
        k = left.pop()
        out = sum(a[k]) - a[k][k]
        for row in (a[i] for i in (start, *left) if a[i][k]):
            through, row[k] = row[k] / out, Fraction(0)
            for j, rate in enumerate(a[k]):
                if rate and j != k:
                    row[j] += through * rate
    weights = {j: a[start][j] for j in u}
    return sum(w * u[j] for j, w in weights.items()) / sum(weights.values())


def _stationary(a, order):
    """Return the stationary distribution of a closed class, zero in all other states."""
    b = [[a[i][j] for j in order] for i in order]
    for k in range(len(order) - 1, 0, -1):
        out = sum(b[k][:k])
        for i in range(k):
            b[i][k] /= out
            for j in range(k):
                b[i][j] += b[i][k] * b[k][j]
    x = [Fraction(1)]
    for k in range(1, len(order)):
        x.append(sum(x[i] * b[i][k] for i in range(k)))
    pi, total = [Fraction(0)] * len(a), sum(x)
    for i, value in zip(order, x, strict=True):
        pi[i] = value / total
    return pi


def _closed_classes(a):
    """Return the states of each closed class, ascending."""
    n = len(a)
    reached = []
    for s in range(n):
        seen, left = {s}, [s]
        while left:
            i = left.pop()
            for j in range(n):
                if a[i][j] and j not in seen:
                    seen.add(j)
                    left.append(j)
        reached.append(seen)
    closed = {frozenset(seen) for s, seen in enumerate(reached) if all(s in reached[t] for t in seen)}
    return sorted(map(sorted, closed))
