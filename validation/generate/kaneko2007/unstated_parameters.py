"""kaneko2007's pairs of flows at settings of a Sobol sequence over what the slides leave open, by hopflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Module, pairs
from validation.generate.settings import SETTING, setting_columns, setting_parameters
from validation.inference.designs import DESIGNS, KANEKO2007, SEEDS, settings
from validation.inference.rule_pairs import experiments


def calls(run: Run) -> Calls:
    """Return the words of the module."""
    return [pairs({"seed": run["seed"], **run["chosen"]})]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the goodput of both flows of each pair, and the setting."""
    key = {"setting": run["setting"]}
    rows: Rows = []
    for line in printed[0].splitlines():
        experiment, first, second, one, other = line.split(",")
        both = {"goodput_first": float(one), "goodput_second": float(other)}
        rows.append(key | {"experiment": experiment, "first": first, "second": second} | both)
    return {"pairs": rows, "settings": [key | run["chosen"]]}


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of all experiments of a setting, s."""
    chosen = run["chosen"]
    each = 0.1 + sum(float(chosen[name]) for name in ("later", "warm", "measured"))
    return each * len(list(experiments(chosen)))


CASES = (
    Case(
        name="kaneko2007/unstated-parameters",
        title=f"pairs of flows of three slides at {DESIGNS['kaneko2007']} settings of what the slides leave open",
        claims=("K03", "K05", "K06"),
        program=Module("validation.inference.rule_pairs"),
        parameters=setting_parameters(KANEKO2007)
        | {"seed of the Sobol sequence": (SEEDS["kaneko2007"], "")},
        tables={
            "pairs": Table(
                {
                    **SETTING,
                    "experiment": Column(
                        "", "slide: pairs, small (BDP), or the longer round-trip time"
                    ),
                    "first": Column("", "rule of the flow that starts first"),
                    "second": Column("", "rule of the other flow"),
                },
                {
                    "goodput_first": Column("Mbit/s", "of the first flow, in bits on the link"),
                    "goodput_second": Column("Mbit/s", "of the other flow, in bits on the link"),
                },
            ),
            "settings": Table(SETTING, setting_columns(KANEKO2007)),
        },
        runs=[
            {"setting": n, "seed": n, "chosen": dict(setting)}
            for n, setting in enumerate(settings("kaneko2007"), 1)
        ],
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            (
                "Runs of hopflow's packet level: the packets of one seed differ from those of ns-2 "
                "and ns-3, whose TCP of these rules is not the same."
            ),
            "The slide states 100 Mb/s (on another slide), 80 ms, a buffer of half the BDP and a random loss of 1e-6.",
        ),
    ),
)
