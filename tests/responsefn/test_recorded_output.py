"""What `hopflow response` prints, and what results of `responsefn` show and draw, as recorded.

``python -m tests.responsefn.test_recorded_output``, part of ``make generated``, writes the record after a change on purpose.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import hopflow
import responsefn
from responsefn import (
    AIMD,
    BBR,
    BIC,
    CUBIC,
    DCQCN,
    HPCC,
    HSTCP,
    PFTK,
    TFRC,
    TIMELY,
    Copa,
    Gilbert,
    Illinois,
    Independent,
    NewReno,
    Reno,
    Scalable,
    Tahoe,
    Vegas,
    aggressiveness,
    catalogue,
    convergence_time,
    curve,
    fit,
    friendliness,
    invert,
    jain_index,
    linux,
    loss_events,
    match,
    responsiveness,
    rtt_unfairness,
    simulate_curve,
    simulate_rule,
    smoothness,
)  # fmt: skip
from responsefn.simulation import ratio_checks
from tests.hopflow.test_recorded_answers import outcome
from tests.records import read_record, write_record
from tests.surface import invoke

COMMANDS = (
    "", "--json", "reno", "reno --json", "reno --p 1e-3", "reno cubic --p 1e-3 --p 1% --rtt 40ms", "reno cubic tfrc hstcp bic scalable --p 1e-3",
    "reno cubic --p 0.9 --json", "vegas --p 1e-3", "vegas --p 1e-3 --bandwidth 12Mbps", "hpcc --p 1e-3", "bbr --p 1e-3", "reno --p 2",
    "reno --p x", "reno --p -1", "nothing --p 1e-3", "reno --rtt 6", "reno --rtt 6 --no-unit-check --p 1e-3", "reno --rtt 0", "reno --packet-size 9kB --p 1e-3",
    "reno --packet-size 0 --p 1e-3", "--invert reno --rate 1000", "--invert reno --rate 1Mbps --rtt 40ms --json", "--invert reno", "--rate 10", "reno --invert reno --rate 10",
    "--invert cubic --rate 500 --json", "--invert reno --rate 0.001", "--invert vegas --rate 10", "--invert bbr --rate 10", "--invert reno --rate 1000 --p 1e-3",
    "--invert tfrc --rate 100 --packet-size 500", "linuxcubic --p 1e-3", "renno --p 1e-3", "areno --p 1e-2", "dctcp illinois --p 1e-2 --json",
)  # fmt: skip
"""Arguments of ``hopflow response``."""
P = np.array([1e-4, 1e-3, 1e-2, 0.1])


def drawn(result: Any, **options: Any) -> Any:
    """Return labels, limits and numbers of what a result draws."""
    import matplotlib.pyplot as plt

    axes = result.plot(**options)
    several = [axes] if hasattr(axes, "lines") else list(np.ravel(axes))
    found = [
        (
            *(one.get_title(), one.get_xlabel(), one.get_ylabel(), one.get_xscale(), one.get_yscale()),
            *((line.get_label(), np.asarray(line.get_xydata()).ravel()[:40]) for line in one.lines),
            *(text.get_text() for text in one.texts),
        )
        for one in several
    ]
    plt.close("all")
    return found


def parameters(function: Any) -> list[tuple[str, str, str]]:
    """Return name, kind and default of each parameter."""
    return [(each.name, each.kind.name, repr(each.default)) for each in inspect.signature(function).parameters.values()]


@cache
def questions() -> Mapping[str, Callable[[], Any]]:
    """Return functions without arguments, by what they show."""
    rng = np.random.default_rng(3)
    p = np.geomspace(1e-4, 0.02, 12)
    measured = AIMD(1.2, 0.4).rate(p, 0.05) * (1.0 + 0.02 * rng.standard_normal(12))

    def fitted() -> Any:
        return fit(AIMD(), p, 0.05, measured)

    def table() -> Any:
        return curve([Reno(), CUBIC(), HSTCP(), PFTK()], P, 0.1)

    def one() -> Any:
        return simulate_rule(Reno(), 1e-2, 0.1, Independent(), events=300)

    def swept() -> Any:
        return simulate_curve(Reno(), [1e-2, 0.05], 0.1, events=200)

    shows = {
        "fit": fitted,
        "curve": table,
        "run": one,
    }
    rules = (
        Reno(), CUBIC(), AIMD(2.0, 0.3), HSTCP(), Scalable(), BIC(), Tahoe(), NewReno(), TFRC(), PFTK(), Vegas(), Illinois(), DCQCN(), TIMELY(),
        HPCC(), BBR(), Copa(), linux.LinuxCUBIC(),
    )  # fmt: skip
    found: dict[str, Callable[[], Any]] = {"simulated curve": lambda: repr(swept())}
    for name, make in shows.items():
        for what in ("__repr__", "__str__", "_repr_html_", "to_pandas"):
            found[f"{what} of {name}"] = lambda make=make, what=what: str(getattr(make(), what)())
        found[f"plot of {name}"] = lambda make=make: drawn(make())
    for rule in rules:
        for what in ("__repr__", "_repr_html_"):
            found[f"{what} of {rule!r}"] = lambda rule=rule, what=what: getattr(rule, what)()
        for what, f in {
            "rate": lambda rule: rule.rate(P, 0.1), "rate, capacity": lambda rule: rule.rate(P, 0.05, 3000.0), "no p": lambda rule: rule.rate(0.0, 0.1),
            "p > 1": lambda rule: rule.rate([0.5, 1.5], 0.1), "text": lambda rule: rule.rate("1%", "40ms", "12 Mb/s"), "no rtt": lambda rule: rule.rate(P, -1.0),
            "inverse": lambda rule: invert(rule, [30.0, 300.0], 0.1), "inverse, capacity": lambda rule: invert(rule, 30.0, 0.1, 5000.0),
            "no inverse": lambda rule: invert(rule, [1e-9, 10.0], 0.1), "inverse, far": lambda rule: invert(rule, 1e12, 0.1),
            "domain": lambda rule: rule.in_domain(P), "other": lambda rule: rule.replace(nothing=1),
            "elasticity": lambda rule: rule.elasticity(P, 0.1), "fairness": lambda rule: rtt_unfairness(rule, 0.01, 0.1),
            "responsiveness": lambda rule: responsiveness(rule, 0.1), "aggressiveness": lambda rule: aggressiveness(rule, 0.1),
            "convergence": lambda rule: convergence_time(rule, 0.1, 300.0, rounds=2000),
            "friendliness": lambda rule: friendliness(rule, P, 0.1), "matched": lambda rule: match(AIMD(), rule, at=1e-2, by="a"),
            "run": lambda rule: simulate_rule(rule, 2e-2, 0.1, events=60).rate,
            "bursts": lambda rule: simulate_rule(rule, 2e-2, 0.1, Gilbert(), events=60).rate,
        }.items():  # fmt: skip
            found[f"{what} of {rule!r}"] = lambda f=f, rule=rule: f(rule)
    shares = ([1.0, 1.0], [1.0, 0.0], [3.0, 1.0, 2.0], [], [-1.0, 2.0], [[1.0, 2.0], [2.0, 2.0]], [0.0, 0.0], ["x"])
    found |= {f"Jain's index of {share}": lambda share=share: jain_index(share) for share in shares}
    found |= {
        f"loss events of {times} within {rtt}": lambda times=times, rtt=rtt: loss_events([n % 2 for n in range(len(times))], times, rtt)
        for times in ([], [0.0], [0.0, 0.02, 0.1, 0.15, 0.3, 0.32], [0.3, 0.1], [0.0, np.nan]) for rtt in (0.1, 0.0, "50ms")
    }  # fmt: skip
    found |= {
        f"smoothness of {amounts} in {bins} at {scale}": lambda a=amounts, b=bins, c=scale: smoothness(a, b, c)
        for amounts in ([1.0, 2.0, 4.0, 3.0, 1.0, 6.0], [1.0], [], [1.0, -1.0]) for bins, scale in ((0.1, 0.1), ("100ms", 0.2), (0.1, 0.05), (0.0, 1.0), (0.1, 5.0))
    }  # fmt: skip
    found |= {
        f"signature of {module.__name__}.{name}": partial(parameters, getattr(module, name))
        for module in (hopflow, responsefn, responsefn.linux, ratio_checks)
        for name in sorted(module.__all__)
        if inspect.isfunction(getattr(module, name)) or inspect.isclass(getattr(module, name))
    }
    found["catalogue"] = lambda: "\n".join(map(str, catalogue().rows()))
    found["losses"] = lambda: [repr(Gilbert()), repr(Independent())]
    found |= {f"hopflow response {line}": lambda line=line: printed(line) for line in COMMANDS}
    return found


def printed(line: str) -> str:
    """Return the exit status and the output of a command."""
    result = invoke(["response", *line.split()])
    return f"{result.exit_code} {result.output}"


NUMBER = re.compile(r"(10\.\d{4,}/)|\d+\.\d+(?:e[+-]\d+)?|\d+e[+-]\d+")
"""A DOI, which stays as it is, or a number with a point or an exponent."""


def answer(question: Callable[[], Any]) -> str | list[str]:
    """Return an outcome with six digits of each number, without addresses, pictures and times; several lines as a list."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = outcome(question)
    text = re.sub(r"data:image/\S+?['\"]|0x[0-9a-f]{6,}", "", text).replace("</tr><tr>", "</tr>\n<tr>")
    text = NUMBER.sub(lambda number: number[0] if number[1] else f"{float(number[0]):.6g}", text)
    lines = text.replace("\\n", "\n").split("\n")
    return lines if len(lines) > 1 else text


@pytest.mark.parametrize("name", questions())
def test_output_is_as_recorded(name: str) -> None:
    assert answer(questions()[name]) == read_record(__file__)[name]


if __name__ == "__main__":
    record = {name: answer(question) for name, question in questions().items()}
    write_record(__file__, record)
