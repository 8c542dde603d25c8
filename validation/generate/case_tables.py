"""Cases as tables: a TOML file beside the module that runs a program says what is run, and what its outputs mean.

Columns and parameters are pairs: ``[unit, meaning]`` and ``[value, unit]``. A case has a name, a title, claims, notes (in
words, or names of texts that several cases have), and ``runs``: blocks of factors, each with one level or a list of levels.
All levels of a block are combined, the last factor varying fastest, and each combination is run with the seeds from the
first to the last of ``seeds``. A level of ``"a, b"`` is a pair: a level of factor a and one of factor b. Options of a run are
in the order of the block, the seed where ``seeds`` stands, or last.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table, cross
from validation.generate.programs import Program

About = Mapping[str, Any]
"""A table of TOML."""


def load(module: str) -> dict[str, Any]:
    """Return the tables beside a module, by its ``__file__``."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


def columns(about: About, **words: object) -> dict[str, Column]:
    """Return columns; ``{name}`` in a meaning is one of the words."""
    return {
        name: Column(unit, meaning.format(**words) if words else meaning) for name, (unit, meaning) in about.items()
    }


def tables_of(about: About, index: Mapping[str, Column], **words: object) -> dict[str, Table]:
    """Return tables whose columns of ``index`` and ``values`` follow those that identify a run."""
    return {
        name: Table(
            {**index, **columns(table.get("index", {}), **words)},
            columns(table["values"], **words),
        )
        for name, table in about.items()
    }


def crossed(blocks: Sequence[About], seeds: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return the runs of blocks of factors, with the seeds of each block or those given.

    Examples
    --------
    >>> crossed([{"rule": ["bic", "cubic"], "a, b": [[1, 2]]}], seeds=[3, 4])[1:3]
    [{'rule': 'bic', 'a': 1, 'b': 2, 'seed': 4}, {'rule': 'cubic', 'a': 1, 'b': 2, 'seed': 3}]
    """
    runs: list[dict[str, Any]] = []
    for block in blocks:
        given = block.get("seeds", seeds)
        numbers = {"seed": list(range(given[0], given[-1] + 1))} if given else {}
        named = {name: each for name, each in block.items() if name != "seeds"}
        levels = {name: each if isinstance(each, list) else [each] for name, each in named.items()}
        order = dict.fromkeys("seed" if name == "seeds" else name for name in (*block, *numbers))
        for chosen in cross(**levels, **numbers):
            run: dict[str, Any] = {}
            for name in order:
                names = name.split(", ")
                run |= zip(names, chosen[name], strict=True) if names[1:] else {name: chosen[name]}
            runs.append(run)
    return runs


@dataclass(frozen=True)
class Driver:
    """What runs a program for the cases of a file; the first fields are as in `Case`.

    Attributes
    ----------
    paper
        The folder of its cases.
    common
        Parameters and notes of all its cases.
    texts
        Notes that several cases have, by name.
    own_notes_first
        Whether the notes of a case come before those of all.
    """

    paper: str
    program: Program
    calls: Callable[[Run], Calls]
    read: Callable[[Run, Path, Sequence[str]], dict[str, Rows]]
    simulated_seconds: Callable[[Run], float]
    common: About
    texts: Mapping[str, str] = field(default_factory=dict)
    own_notes_first: bool = False

    def case(self, about: About, runs: Sequence[Run], tables: Mapping[str, Table]) -> Case:
        """Return a case; its parameters are put in place of those of all cases, or added."""
        parameters = {**self.common.get("parameters", {}), **about.get("parameters", {})}
        common = tuple(self.common.get("notes", ()))
        own = tuple(self.texts.get(note, note) for note in about.get("notes", ()))
        return Case(
            name=f"{self.paper}/{about['name']}",
            title=about["title"],
            claims=tuple(about.get("claims", ())),
            program=self.program,
            parameters={name: (value, unit) for name, (value, unit) in parameters.items()},
            tables=tables,
            runs=runs,
            calls=self.calls,
            read=self.read,
            simulated_seconds=self.simulated_seconds,
            notes=own + common if self.own_notes_first else common + own,
        )
