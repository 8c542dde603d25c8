"""``python -m benchmarks.model_worlds [CLAIM ...]``: what models say of statements where no cause acts, and where causes act in reverse.

A model has no noise, so that no draws show what its verdict is worth. Its answers are changed instead, before a claim computes anything from them:

cause off
    Each number is the mean of the numbers of its kind: no setting, rule or discipline has an effect.
labels reversed
    Each number is reflected at the middle of the numbers of its kind: what was largest is smallest.
settings reversed
    The answers are given in reverse order of the settings.

Numbers of one kind are those of one field of all answers that the functions of a module give while a claim is measured. A statement that compares
settings is reversed by the last world, one that compares the parts of an answer by the one before: it should not hold in the first world, nor in both
others. It is asked of the statements, but those of equality, whose packet runs are shuffled in `benchmarks.null_worlds`: a limit has an edge, which a model is never on.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from hopflow.progress import progress_bar
from hopflow.results import same
from hopflow.text_files import write_rows
from validation import evidence, ledger, records
from validation.checks import Subject, subjects
from validation.claims import find
from validation.judgements.verdicts import Verdict

RESULTS = records.PUBLISHED / "model_worlds.csv"
OFF, *REVERSED = WORLDS = ("cause off", "labels reversed", "settings reversed")
MODELS = {
    "takano2006.studies": ("fluid_with_dfc", "fluid_without_dfc"),
    "takano2006.udp": ("fluid",),
    "takano2006.queues": ("_fluid",),
    "takano2006.vegas_runs": ("fluid",),
    "takano2006.unequal_delays": ("unequal",),
    "malhotra2005.chain": ("solve",),
    "malhotra2005.signalling": ("pauses",),
    "malhotra2005.delayed": ("throughput",),
    "kaneko2007.runs": ("two_in_model", "alone"),
    "kaneko2007.decreases": ("share_difference",),
    "kaneko2007.random_loss": ("flow_share", "model_share"),
    "kaneko2007.several_hops": ("runs",),
    "yang2001.sharing": ("transfer_times", "turns"),
    "zheng2002.red": ("fixed_point", "variation"),
    "zheng2002.responses_to_change": ("responsiveness", "aggressiveness"),
}
"""Functions of claims that return a model's answer in one setting."""
RESULTS_OF = ("validation.", "dfcmodel.results")

Answers = dict[str, dict[str, Any]]
"""By module, then by function and arguments."""


def verdicts(subject: Subject[Any]) -> dict[str, dict[str, Verdict]]:
    """Return the verdicts of a claim's model by world and statement; no world if no module of `MODELS` gives it two different numbers.

    A world whose answers the claim refuses has no verdicts.
    """
    answers: Answers = defaultdict(dict)

    def remember(module: str, call: str, compute: Callable[[], Any]) -> Any:
        if call not in answers[module]:
            answers[module][call] = compute()
        return answers[module][call]

    with _instead(remember):
        _of_model(subject)
    by_world = {}
    for world in WORLDS:
        changed = {module: _changed(world, by_call) for module, by_call in answers.items()}
        if world == OFF and same(changed, dict(answers)):
            return {}
        try:
            with _instead(functools.partial(_given, changed)):
                by_world[world] = _of_model(subject)
        except (ValueError, KeyError, ArithmeticError, IndexError, TypeError):
            by_world[world] = {}
    return by_world


def _given(answers: Answers, module: str, call: str, compute: Callable[[], Any]) -> Any:
    return answers[module][call] if call in answers.get(module, ()) else compute()


def _of_model(subject: Subject[Any]) -> dict[str, Verdict]:
    finding = subject.in_all_readings(subject.check.measure(*subject.arguments), {})
    return {part.statement: part.model for part in finding.parts}


@contextlib.contextmanager
def _instead(answer: Callable[[str, str, Callable[[], Any]], Any]) -> Iterator[None]:
    """Let the functions of `MODELS` return ``answer(function, arguments, compute)``, wherever claims use them."""
    functions: dict[int, tuple[str, str, Any]] = {}
    for module, names in MODELS.items():
        for name in names:
            function = getattr(importlib.import_module(f"validation.claims.{module}"), name)
            functions[id(function)] = module, name, function
    replaced = []
    for name, user in list(sys.modules.items()):
        if name.startswith("validation.claims."):
            replaced += [(user, attribute, value) for attribute, value in vars(user).items() if id(value) in functions]

    def instead(module: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return answer(module, f"{name} {args} {sorted(kwargs.items())}", lambda: function(*args, **kwargs))

        return call

    with evidence.changed(lambda _case, _file, whole: whole):  # what claims have computed is forgotten
        try:
            for user, attribute, value in replaced:
                setattr(user, attribute, instead(*functions[id(value)]))
            yield
        finally:
            for user, attribute, value in replaced:
                setattr(user, attribute, value)


def _changed(world: str, answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of a function as they are in a world, by arguments."""
    if world == "settings reversed":
        return dict(zip(answers, list(answers.values())[::-1], strict=True))
    numbers: dict[str, list[float]] = defaultdict(list)

    def collect(kind: str, value: Any) -> Any:
        numbers[kind] += np.ravel(value).tolist()
        return value

    def altered(kind: str, value: Any) -> Any:
        if world == OFF:
            return np.full_like(value, np.mean(numbers[kind]))[()]
        return max(numbers[kind]) + min(numbers[kind]) - value

    for answer in answers.values():
        _numbers_of(answer, collect, "")
    return {key: _numbers_of(answer, altered, "") for key, answer in answers.items()}


def _numbers_of(answer: Any, function: Callable[[str, Any], Any], field: str) -> Any:
    """Return an answer with ``function(kind, number)`` of each of its finite numbers, but times of samples and what an estimate has beside its value."""
    if isinstance(answer, (bool, str)) or answer is None or field.endswith(("time", "dof", "within")):
        return answer
    if isinstance(answer, (int, float, np.number)):
        return function(field, float(answer)) if math.isfinite(answer) else answer
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "fiu":
        return function(field, answer.astype(np.float64)) if np.isfinite(answer).all() else answer
    if isinstance(answer, pd.DataFrame):
        results = [name for name in answer if answer[name].dtype == np.float64]
        return answer.assign(**{str(name): [function(f"{field}.{name}", x) for x in answer[name]] for name in results})
    if isinstance(answer, Mapping):
        return {key: _numbers_of(value, function, field) for key, value in answer.items()}
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        names = answer._fields
        return type(answer)(*(_numbers_of(v, function, f"{field}.{k}") for k, v in zip(names, answer, strict=True)))
    if isinstance(answer, (list, tuple)):
        return type(answer)(_numbers_of(value, function, field) for value in answer)
    if not is_dataclass(answer) or isinstance(answer, type) or not type(answer).__module__.startswith(RESULTS_OF):
        return answer  # settings
    values = {f.name: getattr(answer, f.name) for f in fields(answer) if f.init}
    return replace(answer, **{name: _numbers_of(v, function, f"{field}.{name}") for name, v in values.items()})


def too_often(row: Mapping[str, str]) -> bool:
    """Return whether a statement holds where no cause acts, or in both reversed worlds."""
    return row[OFF] == "holds" or all(row[world] == "holds" for world in REVERSED)


def rows_of(claim: str) -> list[dict[str, str]]:
    """Return the rows of a claim."""
    find(claim)
    subject = subjects()[claim]
    compared = {
        row["statement"]
        for row in records.rows("allowed_sets.csv")
        if row["claim"] == claim and row["null_world"] == "shuffled" and row["kind"] != "equality"
    }
    by_world = verdicts(subject)
    return [
        {"claim": claim, "statement": part.statement, "verdict": str(part.model)}
        | {world: str(by_world[world].get(part.statement, "refused")) for world in WORLDS}
        for part in subject.in_all_readings(subject.measured(), {}).parts
        if by_world and part.statement in compared and part.model is not Verdict.NOT_APPLICABLE
    ]


def main(
    claims: Annotated[list[str] | None, typer.Argument(help="Ids; none: all, written to the table.")] = None,
) -> None:
    """Change the answers of models, write ``validation/published/model_worlds.csv`` and print what holds nevertheless."""
    papers = {module.partition(".")[0] for module in MODELS}
    chosen = claims or [claim.id for claim in ledger().values() if claim.paper in papers]
    rows = [row for claim in progress_bar(chosen, desc="models", unit="claim") for row in rows_of(claim)]
    if not claims:
        write_rows(RESULTS, list(rows[0]), [tuple(row.values()) for row in rows])
    for row in rows if claims else filter(too_often, rows):
        typer.echo(" ".join(row.values()))


if __name__ == "__main__":
    typer.run(main)
