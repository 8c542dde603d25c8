"""Units of object code of the engines: packages of plain functions that are compiled as a whole.

They are compiled when hopflow is built, by a specific version of Numba in a separate process (`hopflow.kernels.build`).
Later they are compiled only if object code is missing: in a checkout with an edited engine, or on a machine without
object code in the wheel.
"""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hopflow.kernels import native
from hopflow.kernels.arguments import describe

__all__ = ["compile_engine", "source_digest", "unit_name", "unit_of"]

_START = time.time()
"""Time of import of this module, before any engine is imported."""
SHARED = re.compile(r"^from (\w+\.[\w.]+) import", re.MULTILINE)


def unit_of(package: str, module: str, kinds: tuple[Any, ...]) -> tuple[str, Callable[[], native.Unit]]:
    """Return the name of an engine's unit for kinds of arguments, and the function that compiles it."""
    name = unit_name(package, module, kinds)
    return name, lambda: compile_engine(name, package, module, kinds)


def unit_name(package: str, module: str, kinds: tuple[Any, ...]) -> str:
    """Return the name of an engine's unit for kinds of arguments."""
    return native.digest(package, module, source_digest(package), describe(kinds))


@functools.cache
def source_digest(package: str) -> str:
    """Return a digest of the source of an engine, of the modules that it imports, and of its compiler.

    Raises
    ------
    ImportError
        If a file was edited after this process may have imported it: the machine code would differ from the functions
        and dtypes in memory.
    """
    files = {Path(__file__).with_name("build.py"), Path(__file__).with_name("marks.py")}
    folder = Path(next(iter(importlib.import_module(package).__path__)))
    remaining = sorted(folder.rglob("*.py"))
    texts = []
    while remaining:
        file = remaining.pop(0)
        if file in files:
            continue
        files.add(file)
        for shared in SHARED.findall(file.read_text(encoding="utf-8")):
            if shared.partition(".")[0] not in sys.stdlib_module_names | {"hopflow", "numpy"}:
                remaining.append(Path(str(importlib.import_module(shared).__file__)))
    for file in sorted(files):
        if file.stat().st_mtime > _START:
            raise ImportError(f"{file} was edited after this process started: start Python again")
        texts.append(file.read_text(encoding="utf-8"))
    return native.digest(*texts)


def compile_engine(name: str, package: str, module: str, kinds: tuple[Any, ...]) -> native.Unit:
    """Compile an engine in a separate process; `hopflow.kernels.build` has its own way."""
    print(f"compiling {package}, once ...", file=sys.stderr, flush=True)  # noqa: T201
    command = [sys.executable, "-m", "hopflow.kernels.build", "engine", package, module]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run(
        command,
        input=pickle.dumps((name, kinds)),
        capture_output=True,
        check=False,
        env=environment,
    )
    if process.returncode != 0:
        raise ImportError(process.stderr.decode(errors="replace").strip().rpartition("\n")[2] or f"{command} failed")
    return native.decode_unit(process.stdout)
