"""The bundled outputs of packet simulators: which there are, and loading them.

Every case is a folder ``data/<paper>/<case>`` with CSV tables (``.xz`` where large) and a
``provenance.json`` that names the simulator, its version, the program that it ran, the commands,
parameters and seeds, and for each file its SHA-256, its columns with units and meaning, and which
of them identify a row. Every file is compared with `validation.manifest` before it is parsed.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import io
import json
import lzma
import sys
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

from hopflow.checks import choice
from validation import manifest

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import xarray as xr


@functools.cache
def cases() -> tuple[str, ...]:
    """Return the names of all cases, ``paper/case``.

    Examples
    --------
    >>> from validation import cases
    >>> cases()[:2]
    ('htsim/roce', 'htsim/uec')
    """
    return tuple(sorted({path.rpartition("/")[0] for path in manifest.listed()}))


def full_name(case: str, among: Collection[str] | None = None) -> str:
    """Return the name ``paper/case`` of a case that may be named without its paper, where that is unique.

    Parameters
    ----------
    case
        ``paper/case``, or ``case`` alone.
    among
        The full names; None: `cases`.

    Raises
    ------
    ValueError
        For an unknown case, and for one of several papers: with their names.

    Examples
    --------
    >>> from validation.evidence import full_name
    >>> full_name("cubic-and-reno")
    'linux/cubic-and-reno'
    """
    known = cases() if among is None else among
    given: Any = case
    if isinstance(given, str) and "/" in given and given in known:
        return given
    same = [each for each in known if isinstance(given, str) and each.partition("/")[2] == given]
    return same[0] if len(same) == 1 else choice("case", case, same or known)


def provenance(case: str) -> dict[str, Any]:
    """Return the provenance record of a case: how its data were made.

    Parameters
    ----------
    case
        ``paper/case``, see `cases`, or ``case`` alone where only one paper has it.

    Raises
    ------
    ValueError
        For an unknown case, or one of several papers.
    DamagedDataError
        When the record is not the one of the manifest.

    Examples
    --------
    >>> from validation import provenance
    >>> record = provenance("zheng2002/periodic-loss")
    >>> record["tool"], record["seeds"]
    ('ns-2', [1, 2, 3, 4, 5])
    """
    record: dict[str, Any] = json.loads(_content(f"{full_name(case)}/provenance.json"))
    return record


def overview() -> pd.DataFrame:
    """Return one row per case: its title and claims, and the cost of its runs.

    Columns: paper, case, title, claims (ids, separated by spaces), tool, runs, seeds (how many),
    simulated_seconds, cpu_seconds, kilobytes (of its tables), date.

    Examples
    --------
    >>> from validation import overview
    >>> library = overview()
    >>> sorted(library["tool"].unique())
    ['Linux', 'hopflow', 'htsim', 'ns-2', 'ns-3', 'ns-3 RDMA', 'uet-htsim']
    """
    import pandas as pd

    rows = []
    for case in cases():
        record = provenance(case)
        size = sum((manifest.DATA / case / file).stat().st_size for file in record["files"])
        rows.append(
            {
                "paper": case.partition("/")[0],
                "case": case,
                "title": record["title"],
                "claims": " ".join(record["claims"]),
                "tool": record["tool"],
                "runs": record["runs"],
                "seeds": len(record["seeds"]),
                "simulated_seconds": record["simulated_seconds"],
                "cpu_seconds": record["cpu_seconds"],
                "kilobytes": size / 1000,
                "date": record["date"],
            }
        )
    return pd.DataFrame(rows)


def table(case: str, name: str | None = None) -> pd.DataFrame:
    """Return one table of a case, its checksum verified.

    Its ``attrs`` have meaning and unit of each column.

    Parameters
    ----------
    case
        ``paper/case``, see `cases`, or ``case`` alone where only one paper has it.
    name
        Which of its tables; None is the first, its headline.

    Raises
    ------
    ValueError
        For an unknown case or table.
    DamagedDataError
        When the file is not the one of the manifest.

    Examples
    --------
    >>> from validation import table
    >>> links = table("zheng2002/window-sweep", "link")
    >>> links.columns[:3].tolist(), links.attrs["departures"]
    (['window', 'background', 'seed'], 'packets that the link began to send (packets)')
    """
    case, file = _table_file(case, name)
    described = _copy(_changed(case, file))
    columns = _files(case)[file]["columns"].items()
    described.attrs = {name: f"{about['meaning']} ({about['unit']})" for name, about in columns}
    return described


def frame(case: str, name: str | None = None) -> pd.DataFrame:
    """Return the same table as `table` without ``attrs``, which pandas copies with every operation.

    Examples
    --------
    >>> from validation.evidence import frame
    >>> frame("zheng2002/window-sweep", "link").attrs
    {}
    """
    return _copy(_changed(*_table_file(case, name)))


def levels(case: str, name: str, column: str) -> tuple[Any, ...]:
    """Return the different values of a column of a bundled table, in the order of their first rows, without missing ones.

    They are those of the file: `changed` has no effect on them.

    Examples
    --------
    >>> from validation.evidence import levels
    >>> levels("zheng2002/red-droptail-bins", "bins", "bin")
    (0.5, 2.5, 10.0)
    """
    case, file = _table_file(case, name)
    return _levels(_content(f"{case}/{file}"), file.endswith(".xz"), column)


def _table_file(case: str, name: str | None) -> tuple[str, str]:
    """Return the full name of a case and the file of one of its tables."""
    case = full_name(case)
    stems = {file.split(".")[0]: file for file in _files(case)}
    return case, stems[choice("table", next(iter(stems)) if name is None else name, stems)]


def _copy(whole: pd.DataFrame) -> pd.DataFrame:
    """Return a table that can be changed without changing the cached one."""
    import pandas as pd

    # Since pandas 3, values are copied on their first change.
    return whole.copy(deep=int(pd.__version__.partition(".")[0]) < 3)


Change = Callable[[str, str, "pd.DataFrame"], "pd.DataFrame"]
"""A function of case, name of the file and table that returns another table."""


def current_change() -> Change | None:
    """Return what changes tables in this context (`changed`), or None."""
    return _change.get()


@contextlib.contextmanager
def changed(change: Change) -> Iterator[None]:
    """Let tables be what a function makes of them, in this context.

    What claims have computed from other tables is forgotten, before and after.

    Examples
    --------
    >>> from validation.evidence import changed, table
    >>> with changed(lambda case, file, whole: whole.head(2)):
    ...     len(table("zheng2002/periodic-loss"))
    2
    """
    token = _change.set(change)
    _forget()
    try:
        yield
    finally:
        _change.reset(token)
        _forget()


def _forget() -> None:
    """Clear the caches of the functions of claims, which may hold what they have read from tables."""
    for name, module in list(sys.modules.items()):
        if name.startswith("validation.claims."):
            for function in list(vars(module).values()):
                if hasattr(function, "cache_clear"):
                    function.cache_clear()


def leaving_out(seed: int) -> contextlib.AbstractContextManager[None]:
    """Let tables lack the runs of a seed, in this context; those of fewer than three seeds are whole.

    Examples
    --------
    >>> from validation.evidence import leaving_out, table
    >>> with leaving_out(2):
    ...     table("zheng2002/periodic-loss")["seed"].unique().tolist()
    [1, 3, 4, 5]
    """

    def without(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:  # noqa: ARG001
        if "seed" in whole and whole["seed"].nunique() >= FEWEST_SEEDS:
            return whole[whole["seed"] != seed]
        return whole

    return changed(without)


FEWEST_SEEDS = 3
_change: contextvars.ContextVar[Change | None] = contextvars.ContextVar("change", default=None)


def _changed(case: str, file: str) -> pd.DataFrame:
    """Return the table that a file holds, as it is changed in this context."""
    whole, change = _parsed(_content(f"{case}/{file}"), file.endswith(".xz")), _change.get()
    return whole if change is None else change(case, file, whole)


MAX_TABLES = 256
"""Parsed tables that a process keeps; all claims use fewer."""


@functools.lru_cache(maxsize=MAX_TABLES)
def _parsed(content: bytes, packed: bool) -> pd.DataFrame:
    """Return the table that a file holds; a claim reads the same one many times."""
    import pandas as pd

    file = io.BytesIO(lzma.decompress(content) if packed else content)
    whole = pd.read_csv(file, low_memory=False)  # in parts, a column may have numbers in some
    return whole.copy()  # with columns of one type side by side in memory


@functools.lru_cache(maxsize=16 * MAX_TABLES)
def _levels(content: bytes, packed: bool, column: str) -> tuple[Any, ...]:
    """Return the different values of a column of the table that a file holds; pages of many claims list the same ones."""
    return tuple(_parsed(content, packed)[column].drop_duplicates().dropna().tolist())


def _files(case: str) -> dict[str, Any]:
    """Return the tables of a case by file, from its provenance record; not to be changed."""
    return _record(_content(f"{full_name(case)}/provenance.json"))["files"]  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=MAX_TABLES)
def _record(content: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(content)
    return record


def _content(name: str) -> bytes:
    """Return a file of the manifest, compared with it when it is read first and whenever the file changes."""
    path = manifest.DATA / name
    try:
        status = path.stat()
    except OSError:
        return manifest.read(name)  # which reports the missing file
    return _verified(name, path, status.st_mtime_ns, status.st_size, manifest.listed().get(name))


@functools.lru_cache(maxsize=4 * MAX_TABLES)
def _verified(name: str, path: Path, changed: int, size: int, sha256: str | None) -> bytes:  # noqa: ARG001 - the key
    return manifest.read(name)


def load(case: str, name: str | None = None) -> xr.Dataset:
    """Return one table of a case as a Dataset over the columns that identify its rows.

    Parameters and errors as for `table`, and ValueError for a table with several rows of the same keys, such as
    packets that were dropped. Variables carry ``units`` and ``long_name``; a combination of coordinates that was not simulated is NaN.

    Examples
    --------
    >>> from validation import load
    >>> load("zheng2002/periodic-loss")["rate"].attrs["units"]
    'packets/s'
    """
    frame = table(case, name)
    record = provenance(case)
    files = record["files"]
    file = next(iter(files)) if name is None else next(f for f in files if f.split(".")[0] == name)
    index = files[file]["index"]
    if frame.duplicated(index).any():
        columns, whole = ", ".join(index), f"table({case!r}, {file.split('.')[0]!r})"
        raise ValueError(f"name = {name!r}: several rows have the same {columns}; use {whole}")
    data = frame.set_index(index).to_xarray()
    for column, about in files[file]["columns"].items():
        data[column].attrs = {"units": about["unit"], "long_name": about["meaning"]}
    data.attrs = {key: record[key] for key in ("title", "tool", "version", "command")}
    return data
