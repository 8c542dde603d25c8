"""A package of plain Python functions compiled as a whole, once per machine.

Its files are copied into the cache folder under the hash of all of them, with `hopflow.kernels.jit` instead of the package's own `jit`, and imported from there when it has to be compiled, with the machine
code beside them (`hopflow.kernels.entries`). What is in such a folder never changes: an edited file, a constant or a helper
in another one included, gives another folder, so that no process meets stale machine code.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.util
import re
import shutil
import sys
import tempfile
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hopflow.execution.progress import alone, progress_bar, shown
from hopflow.kernels.entries import SUFFIX, Entry
from hopflow.kernels.loading import compiler_texts, compiler_versions, folder
from hopflow.kernels.numba_start import start_numba
from hopflow.kernels.source import syntax_tree

__all__ = ["compiled_package", "is_compiled_package", "loop_of"]

JIT = "jit.py"
PLAIN_JIT = "hopflow.kernels.plain_jit"
DOTTED = re.compile(r"\bfrom\s+\w+\.")
"""Found in each module that imports from a module of another package."""
_entries: dict[tuple[Path, str], Entry] = {}
_lock = threading.Lock()


def compiled_package(name: str) -> types.ModuleType:
    """Return the compiled copy of a package; its submodules are imported when they are asked for.

    Parameters
    ----------
    name
        Of a package whose modules import each other relatively, and of what they run at import
        nothing beyond the standard library and NumPy. Its module `jit` names the decorators. A module
        that only imports names from another package is compiled with the text of that module.

    Raises
    ------
    ImportError
        When there is no such package.
    """
    place = _written(name)
    alias = f"hopflow_{place.name}"
    if alias not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            alias, place / "__init__.py", submodule_search_locations=[str(place)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"cannot import the kernel package {place}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[alias] = module
        spec.loader.exec_module(module)
    return sys.modules[alias]


def loop_of(name: str, module: str = "loop", *, compiled: bool = True) -> Callable[..., Any]:
    """Return function ``run`` of a module of a package: compiled, or as plain Python.

    What is compiled for the first time on a machine says so on the standard error stream.
    """
    if not compiled:
        plain: Callable[..., Any] = importlib.import_module(f"{name}.{module}").run
        return plain
    place = _written(name)
    with _lock:
        known = place, module
        if known not in _entries:
            stem = place / f"{module}.run"
            compile_ = functools.partial(_dispatcher, name, module)
            _entries[known] = Entry(f"{name}.{module}.run", stem, compile_)
        return _entries[known]


def _dispatcher(name: str, module: str) -> Any:
    """Return function ``run`` of the compiled copy of a package, which is about to be compiled; say so."""
    start_numba()
    package = compiled_package(name)
    loop: Any = importlib.import_module(f"{package.__name__}.{module}").run
    if not is_compiled_package(name, f"{module}.run"):
        print(f"compiling {name}, once on this machine ...", file=sys.stderr)  # noqa: T201
        if shown() and alone():
            show_progress(name, loop)
    return loop


def show_progress(name: str, loop: Callable[..., Any]) -> None:
    """Show a bar over the functions of a package until ``loop``, which calls all of them, is compiled."""
    from numba.core import event

    texts = (path.read_text(encoding="utf-8") for path in _written(name).rglob("*.py"))
    functions = sum(
        len(re.findall(r"^@(?:compiled|inlined)$", text, re.MULTILINE)) for text in texts
    )
    bar = progress_bar(total=functions, desc=f"compiling {name}", unit="function")

    class Compiled(event.Listener):
        def on_start(self, event: Any) -> None:
            """Nothing is done yet."""

        def on_end(self, event: Any) -> None:
            bar.update(bar.n < functions)
            if event.data["dispatcher"] is loop:
                bar.close()
                stop(listener)

    def stop(listener: Any) -> None:
        event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]

    listener = Compiled()
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]


def is_compiled_package(name: str, entry: str) -> bool:
    """Return whether the machine code of a package's ``entry``, ``module.function``, is in the cache folder."""
    return any(_written(name).glob(f"{entry}-*{SUFFIX}"))


def _text(path: Path, depth: int) -> str:
    """Return the text of a module of a package in the compiled copy, ``depth`` folders below the package.

    A module that only imports from another package is replaced by the text of the module that it imports from, so that
    kernels share constants and functions. Imports from `plain_jit` become imports from the package's `jit`.

    Raises
    ------
    ImportError
        When a module with such an import has anything else.
    """
    text = path.read_text(encoding="utf-8")
    if not DOTTED.search(text):  # parsing all modules at each start took longer than all else here
        return text
    body = syntax_tree(text).body
    outside = [
        node.module
        for node in body
        if isinstance(node, ast.ImportFrom) and node.level == 0 and "." in (node.module or "")
        if (node.module or "").partition(".")[0] not in sys.stdlib_module_names
    ]
    if not outside:
        return text
    known = (ast.Expr, ast.ImportFrom, ast.Assign)
    if len(outside) > 1 or not all(isinstance(node, known) for node in body):
        msg = f"imports {', '.join(map(str, outside))}: a module of a kernel with such an import must have nothing else"
        raise ImportError(f"{path}: {msg}")
    spec = importlib.util.find_spec(str(outside[0]))
    if spec is None or spec.origin is None:
        raise ImportError(f"{path}: there is no module {outside[0]!r}")
    shared = Path(spec.origin).read_text(encoding="utf-8")
    return shared.replace(f"from {PLAIN_JIT} import", f"from .{'.' * depth}jit import")


@functools.cache
def _written(name: str) -> Path:
    """Return the folder of a package's copy, written unless it is there."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"there is no package {name!r}")
    source = Path(next(iter(spec.submodule_search_locations)))
    files = {path.relative_to(source): path for path in source.rglob("*.py")}
    texts = {
        file.as_posix(): _text(path, len(file.parts) - 1)
        for file, path in files.items()
        if file != Path(JIT)
    }
    texts[JIT] = Path(__file__).with_name(JIT).read_text(encoding="utf-8")
    parts = [
        name,
        compiler_versions(),
        np.__version__,
        compiler_texts(),
        *(f"{file}\0{texts[file]}" for file in sorted(texts)),
    ]
    key = "\0".join(parts)
    place = folder() / f"kernel_{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    if not place.is_dir():
        scratch = Path(tempfile.mkdtemp(dir=place.parent, prefix="scratch_"))
        for file, text in texts.items():
            (scratch / file).parent.mkdir(exist_ok=True)
            (scratch / file).write_text(text, encoding="utf-8")
        try:
            scratch.rename(place)  # atomic; another process may have been first
        except OSError:
            shutil.rmtree(scratch)
            if not place.is_dir():
                raise
    return place
