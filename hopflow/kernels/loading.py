"""Loading of kernels from the cache folder, with compile errors located in the rules' source."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.util
import linecache
import os
import re
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hopflow.kernels.entries import Entry
from hopflow.kernels.machine_code import load_file, processor, write_file
from hopflow.kernels.module import KERNEL, PLAIN_KERNEL, TEMPLATE, Module
from hopflow.kernels.numba_start import start_numba
from hopflow.kernels.source import KernelError, syntax_tree
from hopflow.kernels.stopwatch import loading

__all__ = [
    "compiler_texts",
    "compiler_versions",
    "folder",
    "import_text",
    "interpret",
    "is_compiled",
    "load",
    "load_entry",
]

COMPILERS = ("compilers.py", "entries.py", "object_arguments.py", "object_layouts.py", "jit.py")
"""Of this folder, what determines the machine code of entries, and how it is called."""
DECORATORS = (
    (f"@{PLAIN_KERNEL}", "@entry"),
    (f"@{KERNEL}", "@entry"),
    (f"@{TEMPLATE}", "@inlined"),
    ("from numba import cfunc, njit", "from hopflow.kernels.jit import entry, inlined"),
)
"""Of a module of templates, and those by which it compiles as a kernel package does."""


@loading()
def load(module: Module, name: str, salt: str) -> Callable[..., Any]:
    """Write the module's file unless it exists, import it, and return its kernel."""
    text = module.text()
    stem = _stem(text, salt)
    loaded = sys.modules.get(f"hopflow_{stem}") or _import(stem, text)
    return _Located(getattr(loaded, name), module, text, stem)


def load_entry(module: Module, name: str) -> Entry:
    """Return a kernel that allocates nothing, whose machine code is loaded from a file, without Numba, where there is one."""
    text = module.text()
    for plain, of_packages in DECORATORS:
        text = text.replace(plain, of_packages)
    stem = _stem(text, compiler_texts())
    return Entry(name, folder() / stem, lambda: getattr(_loaded(stem, text), name))


def is_compiled(module: Module, name: str, salt: str, signature: str = "") -> bool:
    """Return whether a module's kernel is loaded or its machine code is in the cache folder.

    That of a C callback, which has a signature, is where `import_text` finds it.
    """
    text = module.text()
    if signature and _callbacks_of(text).is_file():
        return True
    stem = _stem(text, salt)
    if f"hopflow_{stem}" in sys.modules:
        return True
    return any((folder() / "__pycache__").glob(f"{stem}.{name}-*.nbi"))


def _stem(text: str, salt: str) -> str:
    """Return the file name of a module: a hash of everything that determines its machine code."""
    key = f"{text}\n{salt}\n{compiler_versions()}"
    return f"kernel_{hashlib.sha256(key.encode()).hexdigest()[:24]}"


@functools.cache
def compiler_texts() -> str:
    """Return the text of `COMPILERS`."""
    return "\0".join(
        Path(__file__).with_name(each).read_text(encoding="utf-8") for each in COMPILERS
    )


@functools.cache
def compiler_versions() -> str:
    """Return a text with the versions of Numba and of llvmlite: neither is imported, nor is `importlib.metadata`.

    Raises
    ------
    ModuleNotFoundError
        Where one of them is not installed.
    """
    texts = []
    for name in ("numba", "llvmlite"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no module named {name!r}", name=name)
        texts.append(Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8"))
    return "\n".join(texts)


def interpret(module: Module, name: str) -> Callable[..., Any]:
    """Return the kernel as plain Python."""
    kernel: Callable[..., Any] = getattr(_interpreted(module), name)
    return kernel


def _interpreted(module: Module) -> types.SimpleNamespace:
    """Return what the module's text defines, as plain Python."""
    plain = "cfunc = njit = lambda *_, **__: lambda f: f"
    text = module.text().replace("from numba import cfunc, njit", plain)
    scope: dict[str, Any] = {}
    exec(compile(text, "<rules>", "exec"), scope)  # noqa: S102
    return types.SimpleNamespace(**scope)


@loading()
def import_text(module: Module, *, compiled: bool = True) -> Any:
    """Return a module whose functions compile when it is imported, or run as plain Python.

    Compiled, its C callbacks are loaded from a file of their machine code where there is one: objects with ``address``.
    """
    if not compiled:
        return _interpreted(module)
    text = module.text()
    path = _callbacks_of(text)
    if found := load_file(path):
        return types.SimpleNamespace(**found)
    from numba.core.errors import NumbaError

    start_numba()
    with contextlib.suppress(Exception):  # what the fewer passes cannot do, all of Numba's may
        loaded = _loaded(_stem(text, _passes()), _with_fewer_passes(text))
        _keep_callbacks(path, loaded)
        return loaded
    stem = _stem(text, "")
    try:
        return _loaded(stem, text)
    except NumbaError as error:
        raise KernelError(_located(str(error), module, text, stem)) from None


def _callbacks_of(text: str) -> Path:
    """Return the file of the machine code of the C callbacks of a module's text."""
    return folder() / f"{_stem(text, _passes())}-{processor()}.code"


def _keep_callbacks(path: Path, loaded: types.ModuleType) -> None:
    """Write the machine code of a module's C callbacks to a file."""
    from numba.core.ccallback import CFunc

    callbacks: dict[str, Any]
    callbacks = {name: it for name, it in vars(loaded).items() if isinstance(it, CFunc)}
    objects = [it._library.data for it in callbacks.values()]
    write_file(path, objects, {name: (it.native_name, "") for name, it in callbacks.items()})


def _loaded(stem: str, text: str) -> Any:
    return sys.modules.get(f"hopflow_{stem}") or _readable(stem, lambda: _import(stem, text))


def _with_fewer_passes(text: str) -> str:
    """Return a module whose functions compile as those of kernel packages do, in four fifths of the time."""
    for plain, quick in (
        ("from numba import", "from hopflow.kernels.compilers import CallbackCompiler, PartCompiler\nfrom numba import"),
        ("no_cfunc_wrapper=True)", "no_cfunc_wrapper=True, pipeline_class=PartCompiler)"),
        ("cache=True, error_model='numpy')", "error_model='numpy', pipeline_class=CallbackCompiler)"),
    ):  # fmt: skip
        text = text.replace(plain, quick)
    return text


@functools.cache
def _passes() -> str:
    """Return the text by which functions compile, on which their machine code depends."""
    return Path(__file__).with_name("compilers.py").read_text(encoding="utf-8")


def _readable(stem: str, ask: Callable[[], Any]) -> Any:
    """Return what is asked; if Numba cannot read its cached index, delete it and ask again."""
    try:
        return ask()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        if not any(Path(frame.filename).name == "caching.py" for frame in frames):
            raise
        for kept in (folder() / "__pycache__").glob(f"{stem}.*"):
            kept.unlink(missing_ok=True)
        return ask()


def _import(stem: str, text: str) -> types.ModuleType:
    start_numba()
    path = folder() / f"{stem}.py"
    if not path.exists():
        handle, scratch = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            try:
                os.link(scratch, path)  # atomic, and never overwrites a file
            except FileExistsError:
                pass
            except OSError:  # a file system without hard links
                Path(scratch).replace(path)
        finally:
            Path(scratch).unlink(missing_ok=True)
    spec = importlib.util.spec_from_file_location(f"hopflow_{stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import the kernel {path}")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return loaded


@functools.cache
def folder() -> Path:
    """Return the first writable folder of the list."""
    for folder in _candidates():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        if folder.parent == Path(tempfile.gettempdir()) and folder.stat().st_uid != _user():
            continue  # in a world-writable place import only the user's own files
        return folder
    raise OSError("no folder for compiled kernels: set HOPFLOW_CACHE_DIR to one that is writable")


def _candidates() -> Iterator[Path]:
    for variable, below in (
        ("HOPFLOW_CACHE_DIR", "."),
        ("NUMBA_CACHE_DIR", "hopflow"),
        ("XDG_CACHE_HOME", "hopflow"),
        ("HOME", ".cache/hopflow"),
    ):
        if value := os.environ.get(variable):
            yield Path(value) / below
    yield Path(tempfile.gettempdir()) / f"hopflow-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


class _Located:
    """A kernel whose compile errors name the file and line of the rule that caused them."""

    def __init__(self, kernel: Any, module: Module, text: str, stem: str) -> None:
        self.kernel, self.module, self.text, self.stem = kernel, module, text, stem
        self.compiled = False

    def __call__(self, *args: Any) -> Any:
        if self.compiled:
            return self.kernel(*args)
        from numba.core.errors import NumbaError

        try:
            result = _readable(self.stem, lambda: self.kernel(*args))
        except NumbaError as error:
            raise KernelError(_located(str(error), self.module, self.text, self.stem)) from None
        self.compiled = True
        return result


def _located(message: str, module: Module, text: str, stem: str) -> str:
    """Return an error message of Numba with the file and line of the rule that caused it."""
    written = [n for t in module.trees for n in ast.walk(t) if isinstance(n, ast.stmt)]
    parsed = [n for t in syntax_tree(text).body for n in ast.walk(t)]
    read = [n for n in parsed if isinstance(n, ast.stmt)][-len(written) :]
    lines = [int(line) for line in re.findall(rf"{stem}\.py[\"(, a-z]*(\d+)", message)]
    places = {r.lineno: w for w, r in zip(written, read, strict=True) if hasattr(w, "file")}
    for line in lines:
        if node := places.get(line):
            code = linecache.getline(node.file, node.lineno).strip()
            return f"{node.file}:{node.lineno}: {code}: {_reason(message)}"
    return _without_value(module) or message


def _without_value(module: Module) -> str:
    """Return the message for the first function that returns nothing; empty where each returns something."""
    for tree in module.trees:
        returned = [n for n in ast.walk(tree) if isinstance(n, ast.Return)]
        told = [n for n in returned if n.value is not None and ast.unparse(n.value) != "None"]
        first: Any = next((n for n in ast.walk(tree) if hasattr(n, "file")), None)
        if first is not None and not told:
            code = linecache.getline(first.file, first.lineno).strip()
            return f"{first.file}:{first.lineno}: {code.rstrip(':')}: the function returns None; return the state, s._replace(...)"
    return ""


def _reason(message: str) -> str:
    """Return the informative part of an error message of Numba."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Failed in")] or lines
    operands = next((line for line in said if line.startswith(">>>")), "")
    return f"{said[0]} {operands}".strip()
