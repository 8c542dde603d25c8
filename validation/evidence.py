"""The bundled outputs of packet simulators: listing, loading and checking them.

Every case is a folder ``data/<paper>/<case>`` with CSV tables (``.xz`` where large) and a
``provenance.json`` that names the simulator, its version, command, parameters, seeds, and for each
file its SHA-256, its columns with units and meaning, and which of them identify a row.
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

__all__ = ["DATA", "DamagedDataError", "cases", "load", "overview", "provenance", "table", "verify"]

DATA = Path(__file__).parent / "data"


class DamagedDataError(ValueError):
    """A bundled file is missing, or is not what its provenance says; the message names it."""


@functools.cache
def cases() -> tuple[str, ...]:
    """Return the names of all cases, ``paper/case``."""
    return tuple(
        sorted(str(file.parent.relative_to(DATA)) for file in DATA.glob("*/*/provenance.json"))
    )


def provenance(case: str) -> dict[str, Any]:
    """Return where a case came from, as written beside its data.

    Raises
    ------
    ValueError
        For an unknown case.
    DamagedDataError
        When the record cannot be read.
    """
    choice("case", case, cases())
    path = DATA / case / "provenance.json"
    try:
        record: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise DamagedDataError(f"{path}: not a readable provenance record ({error})") from None
    return record


def overview() -> pd.DataFrame:
    """Return one row per case: what it is, and what it cost.

    Columns: paper, case, title, claims (ids, separated by spaces), tool, runs, seeds (how many),
    simulated_seconds, cpu_seconds, kilobytes (of its tables), date.
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
        When the file is not the one that the simulator wrote.
    """
    import pandas as pd

    files = provenance(case)["files"]
    stems = {file.split(".")[0]: file for file in files}
    file = stems[choice("table", next(iter(stems)) if name is None else name, stems)]
    content = _verified(DATA / case / file, files[file]["sha256"])
    if file.endswith(".xz"):
        content = lzma.decompress(content)
    return pd.read_csv(io.BytesIO(content))


def load(case: str, name: str | None = None) -> xr.Dataset:
    """Return one table of a case as a Dataset over the columns that identify its rows.

    Parameters and errors as for `table`. Variables carry ``units`` and ``long_name``; a combination
    of coordinates that was not simulated is NaN.
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
        Naming the first file that is missing, changed, or not in any record.
    """
    checked = []
    for case in cases():
        folder = DATA / case
        files = provenance(case)["files"]
        for file, about in files.items():
            _verified(folder / file, about["sha256"])
            checked.append(f"{case}/{file}")
        for path in folder.iterdir():
            if path.name not in files and path.name != "provenance.json":
                raise DamagedDataError(f"{path}: not named in {case}/provenance.json")
    return checked


def _verified(path: Path, sha256: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedDataError(f"{path}: cannot be read ({error})") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DamagedDataError(f"{path}: damaged, its SHA-256 is not the recorded one")
    return content
