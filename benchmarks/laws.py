"""Every closed form against the same expression in plain NumPy; inverses; the first answer of a new rule.

The plain expression is what SymPy's `lambdify` writes for NumPy and SciPy, with the parameters and
the round-trip time as arguments: no check of the input, and no branch left out. Both compute the
lowest range of p in which the closed form holds. Rates and inverses are in seconds of CPU time.

Laws of one or two operations take about as long as the plain expression: they check p, its smallest and its largest entry, in pieces that
stay in the processor's cache, where the plain expression does one operation more. The third row is that after the same check.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from tqdm import tqdm

from benchmarks import first_answers
from benchmarks.timing import Row, compare
from responsefn import catalogue, invert
from responsefn.closed_forms.functions import solve_plateau
from responsefn.closed_forms.printed import formula_of
from responsefn.inputs import loss_rate
from responsefn.response import Response

RTT = 0.1
MANY = 1_000_000
INVERTED = 100_000
TASK = "first answer with a new rule, fresh process"
RULE = """
from typing import NamedTuple
from hopflow import maximum
from responsefn import WindowRule

class Gentle(WindowRule):
    class Params(NamedTuple):
        a: float = 0.25
        kept: float = 0.9

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, q.kept * s.cwnd))

    @staticmethod
    def on_timeout(s, q, e):
        return s._replace(cwnd=1.0)

"""
ASKED = {
    "one rate": "print(Gentle().rate(1e-3, 0.1))",
    "a curve of 41 rates": """
import numpy as np
print(Gentle().rate(np.geomspace(1e-5, 1e-1, 41), 0.1))""",
    "against Reno": """
from dfcmodel import PathOptions, coexist
from responsefn import Reno
print(coexist([Gentle(), Reno()], rtt=0.04, bandwidth=2000.0, buffer=80, runs=1, options=PathOptions(duration=60.0)).share)""",
}


def rows() -> list[Row]:
    """Return the times of all closed forms, of their inverses, and of the first answers."""
    closed = [entry for entry in catalogue().entries if formula_of(entry) is not None and entry.uses_closed_form()]
    found = [row for entry in closed for row in _rates(entry)]
    return found + [_inverse(entry) for entry in closed if entry.monotone] + _first()


def losses(entry: Response, count: int) -> Any:
    """Return loss event rates in the lowest range in which the closed form holds."""
    p = np.geomspace(1e-8, 0.3, 2001)
    holds = entry.closed_form_holds(p, RTT)
    first = int(np.argmax(holds))
    after = np.flatnonzero(~holds[first:])
    last = first + int(after[0]) - 1 if after.size else p.size - 1
    return np.geomspace(p[first], p[last], count)


def plain(entry: Response) -> Callable[[Any, float], Any]:
    """Return the rate as a function of p and RTT in plain NumPy."""
    symbols = sorted(entry.expression.free_symbols, key=str)
    modules = [{"PlateauRatio": solve_plateau}, "scipy", "numpy"]
    function = sp.lambdify(symbols, entry.expression, modules=modules)

    def rate(p: Any, rtt: float) -> Any:
        values = entry.bindings(rtt) | {"p": p, "R": rtt}
        with np.errstate(all="ignore"):
            return np.real(function(*(values[str(symbol)] for symbol in symbols)))

    return rate


def _rates(entry: Response) -> list[Row]:
    p, naive = losses(entry, MANY), plain(entry)
    wrong = float(np.max(np.abs(naive(p, RTT) / entry.rate(p, RTT) - 1.0)))
    rows = compare(
        f"{MANY:.0e} rates of {entry!r}",
        {
            "Response.rate": lambda: entry.rate(p, RTT),
            "plain NumPy": lambda: naive(p, RTT),
            "plain NumPy after the check of p": lambda: (loss_rate(p), naive(p, RTT)),
        },
        clock=time.process_time,
        note=lambda name, _: f"differs by {wrong:.0e}" if name == "plain NumPy" else "",
    )
    ours, theirs, checked = rows
    share = ours.fastest / theirs.fastest
    note = f"{1e9 * ours.fastest / MANY:.1f} ns each; {share:.2f} of plain"
    return [Row(*_without_note(ours), note), theirs, checked]


def _inverse(entry: Response) -> Row:
    p = losses(entry, INVERTED)
    rates = np.asarray(entry.rate(p, RTT))
    (row,) = compare(
        f"inverses of {entry!r}",
        {"invert": lambda: invert(entry, rates, RTT, unit_check=False)},
        clock=time.process_time,
    )
    return Row(*_without_note(row), f"{INVERTED / row.fastest:.2e} per second at best")


def _first() -> list[Row]:
    """Time a script with a rule of its own: nothing compiled yet, only another rule, and again."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        script, other = Path(folder) / "rule.py", Path(folder) / "other.py"
        for name, asked in tqdm(ASKED.items(), desc=TASK, leave=False):
            script.write_text(RULE + asked, encoding="utf-8")
            other.write_text(RULE.replace("q.a /", "0.5 * q.a /") + asked, encoding="utf-8")
            used = f"{folder}/{name}"
            Path(used).mkdir()
            first_answers.run(other, used, package="responsefn")
            runs: dict[str, list[dict[str, Any]]] = {}
            for state in ("nothing compiled", "another rule compiled", "compiled before"):
                for n in range(3):
                    cache = f"{folder}/{name} {state} {n}" if state != "compiled before" else used
                    if state == "another rule compiled":
                        shutil.copytree(used, cache)
                    runs.setdefault(state, []).append(first_answers.run(script, cache, package="responsefn"))
            for state, own in runs.items():
                wall = [each["seconds"] for each in own]
                cpu = statistics.median(each["cpu"] for each in own)
                middle = statistics.median(wall)
                found.append(
                    Row(
                        f"{TASK}: {name}", state, middle, min(wall), max(wall),
                        middle / found[0].seconds if found else 1.0,
                        f"CPU {cpu:.2f} s",
                    )
                )  # fmt: skip
    return found


def _without_note(row: Row) -> tuple[str, str, float, float, float, float]:
    return row.task, row.name, row.seconds, row.fastest, row.slowest, row.ratio
