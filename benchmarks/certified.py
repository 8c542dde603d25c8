"""``python -m benchmarks.certified``: certificates of the stationary values of the outside suites, written and checked.

For each steady-state reference value of the quantitative verification benchmark set and of PRISM's regression suite
(`benchmarks.outside`): the chain is solved, its certificate is written, and `markov.proofs.checker` checks it, with the
rows derived from the model's file. Where a chain has several recurrent classes, the certificate is of the long-run mean
from the initial state. With ``--certcheck`` the program of `proofs/coq` checks it as well, and with ``--large`` models of
up to millions of states are done, too: the two of these suites take 10 minutes of CPU and 5.5 GB.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Annotated, Any

import typer
from tqdm import tqdm

from benchmarks.outside import prism, qcomp
from benchmarks.outside.rows import Question, shown, suites
from hopflow.text_files import write_rows
from markov import stationary
from markov.files import FileError, FileModel, read_prism
from markov.files.queries import Operator, parse_properties, parse_property
from markov.proofs.certificate_files import write_long_run
from markov.proofs.checker import CertificateError, check, format_rounded_up
from markov.proofs.sources import source_of

RESULTS = Path(__file__).resolve().parent / "results" / "certified.csv"
DIGITS = 20
LARGE = 200_000
"""States of a model that is done with ``--large`` alone."""


@dataclass(frozen=True)
class Row:
    """A reference value and what was proved about it."""

    suite: str
    model: str
    constants: str
    property: str
    theirs: str
    states: int
    transitions: int
    value: str
    half_width: str
    distance: str
    rows: str
    status: str
    certificate: str = ""
    bytes: int = 0
    making: str = ""
    seconds: str = ""
    certcheck: str = ""


def steady(root: Path) -> Iterator[tuple[Question, Path, dict[str, Any], Path]]:
    """Yield the questions about the long run, with the model, its constants and the file of properties."""
    for question in qcomp.questions(root):
        folder = root / "qcomp" / "benchmarks" / "ctmc"
        path = next(iter(folder.rglob(question.model)), None)
        if path is None or path.suffix != ".prism":
            continue
        properties = next(path.parent.glob(f"{path.name.split('.')[0]}*.props"))
        yield question, path, _constants(question.parameters), properties
    folder = root / "prism" / "prism-tests"
    for question in prism.questions(root):
        path = folder / question.model
        yield question, path, _constants(question.parameters), path


def _constants(text: str) -> dict[str, str]:
    parts = (part.partition("=") for part in text.split(", ") if part)
    return {name: value for name, _, value in parts}


def is_steady(question: Question, properties: Path) -> bool:
    """Whether a question is the long-run mean of a function of the state."""
    query: Any = None
    if properties.suffix == ".props":
        query = parse_properties(properties).properties.get(question.query)
    if query is None:
        try:
            query = parse_property(question.query)
        except FileError:
            return False
    if not isinstance(query, Operator) or query.sign is not None:
        return False
    return query.kind == "S" or (query.kind == "R" and query.of.kind == "S")


def certified(
    question: Question,
    path: Path,
    constants: dict[str, str],
    properties: Path,
    where: tuple[Path, int],
) -> Row:
    """Return what a certificate proves about a value.

    Parameters
    ----------
    question, path, constants, properties
        As `steady` yields them.
    where
        The folder of the certificates, and whether large models are done.
    """
    folder, large = where
    line = question.set, question.model, question.parameters, question.query
    theirs = shown(question.low, question.high)
    if question.states is not None and question.states > LARGE and not large:
        return Row(*line, theirs, question.states, 0, "", "", "", "", "too large")
    target = folder / f"{question.set}-{len(list(folder.iterdir()))}.cert.gz"
    begin = time.process_time()
    mine = _write(target, question, path, constants, properties)
    making = time.process_time() - begin
    begin = time.process_time()
    statement = check(target, source_of(path, mine))
    seconds = time.process_time() - begin
    ((low, high),) = statement.means.values()
    distance = "" if statement.bound is None else format_rounded_up(statement.bound)
    return Row(
        *line, theirs, statement.states, statement.transitions, _decimal((low + high) / 2),
        format_rounded_up((high - low) / 2), distance, statement.rows.partition(",")[0],
        _compared(question, low, high), target.name, target.stat().st_size,
        f"{making:.3f}", f"{seconds:.3f}",
    )  # fmt: skip


def _write(target: Path, question: Question, path: Path, constants: dict[str, str], properties: Path) -> dict[str, str]:
    """Write a certificate; return the constants of the model."""
    model = _model(path, constants)
    if properties.suffix == ".props":
        model = model.with_properties(properties)
    functions = model.long_run_functions([question.query])
    chain = model.chain
    mine = {name: constants[name] for name in model.program.constants if name in constants}
    listed: dict[str, Any] = {"measures": functions, "model": path, "constants": mine}
    if len(chain.recurrent_classes) > 1:
        (start,) = model.state_space.initial.tolist()
        write_long_run(target, chain, start, **listed)
    else:
        stationary(model).certificate(target, **listed)
    return mine


def _accepted(certcheck: Path, certificate: Path) -> str:
    """Return whether the extracted checker accepts a certificate."""
    with TemporaryFile() as file:
        with gzip.open(certificate) as packed:
            shutil.copyfileobj(packed, file)
        file.seek(0)
        found = subprocess.run([certcheck], stdin=file, capture_output=True, check=False)
    return "rejects" if found.returncode else "accepts"


def _compared(question: Question, low: Fraction, high: Fraction) -> str:
    """Return how the value of the suite lies to the proved interval."""
    if low <= question.high and question.low <= high:
        return "contains theirs"
    if float(low) <= float(question.high) and float(question.low) <= float(high):
        return "theirs is rounded"
    off = max(low - question.high, question.low - high)
    middle = (question.low + question.high) / 2
    if question.low < question.high and _printed(low) == _printed(middle) == _printed(high):
        return f"rounds to theirs, outside of their interval by {float(off):.1e}"
    near = off <= question.tolerance * abs(question.low)
    return f"theirs is an iterate, off by {float(off):.1e}" if near else "differs"


def _printed(value: Fraction) -> str:
    """Return a number as Storm prints it: the middle of an interval of the first suite has ten digits."""
    return f"{float(value):.10g}"


def _model(path: Path, constants: dict[str, str]) -> FileModel:
    from markov._cli import constant_values

    given = constant_values([f"{name}={value}" for name, value in constants.items()])
    return read_prism(path, constants=given)


def _decimal(value: Fraction) -> str:
    """Return a number rounded to 20 significant digits."""
    if not value:
        return "0"
    shift = 0
    while abs(value) * Fraction(10) ** shift < 10 ** (DIGITS - 1):
        shift += 1
    digits = str(abs(round(value * 10**shift))).rjust(shift + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-shift]}.{digits[-shift:]}" if shift else sign + digits


def main(
    large: Annotated[bool, typer.Option("--large", help=f"Models of more than {LARGE} states, too.")] = False,
    folder: Annotated[Path | None, typer.Option(help="Keep the certificates here.")] = None,
    certcheck: Annotated[Path | None, typer.Option(help="The program of proofs/coq, to check them as well.")] = None,
    only: Annotated[str, typer.Option(help="Models whose name matches this.")] = "",
) -> None:
    """Write and check certificates of the stationary values of suites in $HOPFLOW_SUITES."""
    root = suites()
    if root is None:
        raise typer.BadParameter("HOPFLOW_SUITES is not set: the folder of the suites")
    found = []
    with TemporaryDirectory() as temporary:
        place = Path(temporary) if folder is None else folder
        place.mkdir(parents=True, exist_ok=True)
        for question, path, constants, properties in tqdm(list(steady(root)), disable=None):
            if only and not re.search(only, question.model):
                continue
            if not is_steady(question, properties):
                continue
            try:
                row = certified(question, path, constants, properties, (place, large))
            except (FileError, CertificateError) as error:
                print(f"{question.model}, {question.query}: {error}")
                continue
            if certcheck is not None and row.certificate:
                row = replace(row, certcheck=_accepted(certcheck, place / row.certificate))
            found.append(row)
    if not only:
        write_rows(RESULTS, [f.name for f in fields(Row)], map(astuple, found))


if __name__ == "__main__":
    typer.run(main)
