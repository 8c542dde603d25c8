"""The bundled outputs of packet simulators: listing, loading and checking them.

Every case is a folder ``data/<paper>/<case>`` with CSV tables (``.xz`` where large) and a
``provenance.json`` that names the simulator, its version, the program that it ran, the commands,
parameters and seeds, and for each file its SHA-256, its columns with units and meaning, and which
of them identify a row.

``data/manifest.txt`` lists the SHA-256 of all of these files, and `MANIFEST_SHA256` is its own: what
is not in it, or differs from it, is refused.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopflow.checks import choice

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = [
    "DATA",
    "MANIFEST_SHA256",
    "DamagedDataError",
    "cases",
    "listing",
    "load",
    "overview",
    "provenance",
    "table",
    "verify",
]

DATA = Path(__file__).parent / "data"
MANIFEST = "manifest.txt"
MANIFEST_SHA256 = "0014ce912e527f01ffcb89c4234aca60cfb070abf58b7b76fc7ab956de1600dd"
"""The SHA-256 of the manifest; `validation.generate` prints it when a case was made anew."""


class DamagedDataError(ValueError):
    """A bundled file is missing, changed or not in the manifest; the message names it.

    Examples
    --------
    >>> issubclass(DamagedDataError, ValueError)
    True
    """


def listing() -> str:
    """Return the manifest of the files as they are: a line for each, sorted by path."""
    files = sorted(
        path.relative_to(DATA).as_posix()
        for path in DATA.rglob("*")
        if path.is_file() and path != DATA / MANIFEST
    )
    return "".join(f"{_sha256((DATA / file).read_bytes())}  {file}\n" for file in files)


@functools.cache
def _manifest() -> dict[str, str]:
    """Return the SHA-256 of every file by its path, from the manifest."""
    try:
        content = (DATA / MANIFEST).read_bytes()
    except OSError as error:
        raise DamagedDataError(f"{DATA / MANIFEST}: cannot be read ({error})") from None
    if _sha256(content) != MANIFEST_SHA256:
        raise DamagedDataError(f"{DATA / MANIFEST}: damaged, its SHA-256 is not the package's")
    pairs = (line.split("  ", 1) for line in content.decode().splitlines())
    return {path: sha256 for sha256, path in pairs}


@functools.cache
def cases() -> tuple[str, ...]:
    """Return the names of all cases, ``paper/case``.

    Examples
    --------
    >>> from validation import cases
    >>> cases()[:2]
    ('kaneko2007/added-delay-ns2', 'kaneko2007/added-delay-ns3')
    """
    return tuple(sorted({path.rpartition("/")[0] for path in _manifest()}))


def provenance(case: str) -> dict[str, Any]:
    """Return the provenance record of a case: how its data were made.

    Raises
    ------
    ValueError
        For an unknown case.
    DamagedDataError
        When the record is not the one of the manifest.

    Examples
    --------
    >>> from validation import provenance
    >>> record = provenance("zheng2002/periodic-loss")
    >>> record["tool"], record["seeds"]
    ('ns-2', [1, 2, 3, 4, 5])
    """
    choice("case", case, cases())
    record: dict[str, Any] = json.loads(_verified(f"{case}/provenance.json"))
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
    ['ns-2', 'ns-3']
    """
    import pandas as pd

    rows = []
    for case in cases():
        record = provenance(case)
        size = sum((DATA / case / file).stat().st_size for file in record["files"])
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

    Parameters
    ----------
    case
        ``paper/case``, see `cases`.
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
    >>> table("zheng2002/window-sweep", "link").columns[:3].tolist()
    ['window', 'background', 'seed']
    """
    import pandas as pd

    files = provenance(case)["files"]
    stems = {file.split(".")[0]: file for file in files}
    file = stems[choice("table", next(iter(stems)) if name is None else name, stems)]
    content = _verified(f"{case}/{file}")
    if file.endswith(".xz"):
        content = lzma.decompress(content)
    return pd.read_csv(io.BytesIO(content))


def load(case: str, name: str | None = None) -> xr.Dataset:
    """Return one table of a case as a Dataset over the columns that identify its rows.

    Parameters and errors as for `table`. Variables carry ``units`` and ``long_name``; a combination
    of coordinates that was not simulated is NaN.

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
    data = frame.set_index(files[file]["index"]).to_xarray()
    for column, about in files[file]["columns"].items():
        data[column].attrs = {"units": about["unit"], "long_name": about["meaning"]}
    data.attrs = {key: record[key] for key in ("title", "tool", "version", "command")}
    return data


def verify() -> list[str]:
    """Recompute every checksum; return the files that were checked.

    Raises
    ------
    DamagedDataError
        Naming the first file that is missing, changed, not in the manifest, or in the manifest
        and no record.

    Examples
    --------
    >>> from validation import verify
    >>> len(verify()) > 400
    True
    """
    files = _manifest()
    folders = {folder.as_posix() for name in files for folder in Path(name).parents}
    for path in DATA.rglob("*"):
        known = folders if path.is_dir() else {*files, MANIFEST}
        if path.relative_to(DATA).as_posix() not in known:
            raise DamagedDataError(f"{path}: not in {MANIFEST}")
    for name in files:
        _verified(name)
    for case in cases():
        recorded = {file: about["sha256"] for file, about in provenance(case)["files"].items()}
        listed = {n.rpartition("/")[2]: sha for n, sha in files.items() if n.startswith(f"{case}/")}
        del listed["provenance.json"]
        if recorded != listed:
            raise DamagedDataError(f"{DATA / case}: its provenance.json names other files")
    return list(files)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _verified(name: str) -> bytes:
    """Return a file of the manifest when it is as listed there."""
    path, files = DATA / name, _manifest()
    if name not in files:
        raise DamagedDataError(f"{path}: not in {MANIFEST}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedDataError(f"{path}: cannot be read ({error})") from None
    if _sha256(content) != files[name]:
        raise DamagedDataError(f"{path}: damaged, its SHA-256 is not that of {MANIFEST}")
    return content
