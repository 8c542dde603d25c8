"""``python docs/calculator_page.py FOLDER``: write the page of calculators, which runs hopflow in the browser.

`make docs` writes it to ``calculators/`` of the built documentation. The page has the packages' own Python in an archive;
Python, NumPy and SciPy are Pyodide's. It takes them from `PYODIDE`, or from the address or path in the environment variable
``HOPFLOW_PYODIDE``, such as a folder beside the page where a copy of a Pyodide release lies.
"""

from __future__ import annotations

import json
import os
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import jinja2

from validation.explore.calculators import CALCULATORS, calculator

SOURCES = Path(__file__).with_name("calculators")
ROOT = Path(__file__).resolve().parents[1]
PYODIDE = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/"
"""The release that the page was tested with: Python 3.12, NumPy 2.0, SciPy 1.14."""
PACKAGES = ("hopflow", "dfcmodel", "markov", "responsefn", "validation/explore")
SINGLE_FILES = ("validation/__init__.py", "validation/__init__.pyi")
SUFFIXES = (".py", ".pyi", ".toml", ".csv")
STAMP = (1980, 1, 1, 0, 0, 0)
"""Of all files in the archive: the same sources give the same bytes."""


def archived(root: Path = ROOT) -> dict[str, bytes]:
    """Return the files of the archive: the packages' modules, and the licence."""
    files = [root / name for name in SINGLE_FILES]
    for package in PACKAGES:
        files += (path for path in (root / package).rglob("*") if path.suffix in SUFFIXES)
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(files)}
    found["LICENSE"] = (root / "LICENSE").read_bytes()
    return found


def write_archive(path: Path) -> None:
    """Write the archive that the page's Python imports from."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in archived().items():
            archive.writestr(zipfile.ZipInfo(name, STAMP), content, zipfile.ZIP_DEFLATED, 9)


def write_page(folder: Path, pyodide: str | None = None) -> None:
    """Write the page, its scripts and the archive into a folder.

    Parameters
    ----------
    folder
        Is created.
    pyodide
        Address of the folder with a Pyodide release, absolute or relative to the page; None: the environment
        variable ``HOPFLOW_PYODIDE``, or `PYODIDE`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pyodide = (pyodide or os.environ.get("HOPFLOW_PYODIDE") or PYODIDE).rstrip("/") + "/"
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        (SOURCES / "page.html").read_text(encoding="utf-8")
    )
    packages = json.dumps({name: needs for name, (_, needs) in CALCULATORS.items()})
    views = [calculator(name) for name in CALCULATORS]
    text = page.render(views=views, packages=packages, pyodide=pyodide, release=version("hopflow"))
    (folder / "index.html").write_text(text, encoding="utf-8")
    for name in ("page.css", "page.js", "worker.js"):
        (folder / name).write_bytes((SOURCES / name).read_bytes())
    write_archive(folder / "hopflow.zip")


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))
