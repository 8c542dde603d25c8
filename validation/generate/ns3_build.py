"""Compile the programs of ``validation/generate/ns3`` against the headers and libraries of ns-3.

The wheel ``ns3`` from the Python package index carries them; it need not be importable. It is
looked for in the environment variable ``HOPFLOW_NS3`` (the folder with ``include`` and ``lib64``,
or a virtual environment that the wheel is installed in), beside the running Python, and in
``.venv-data``. A program is compiled once per content, into ``build/data/bin``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from validation.generate.cases import BUILD, ROOT

SOURCES = ROOT / "validation" / "generate" / "ns3"
FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra")


def _candidates() -> Iterator[Path]:
    if told := os.environ.get("HOPFLOW_NS3"):
        yield from (Path(told), *Path(told).glob("lib/python3*/site-packages/ns3"))
        return
    spec = importlib.util.find_spec("ns3")
    if spec is not None:
        yield from map(Path, spec.submodule_search_locations or ())
    yield from (ROOT / ".venv-data").glob("lib/python3*/site-packages/ns3")


@cache
def ns3_folder() -> Path:
    """Find the folder with ns-3's ``include`` and ``lib64``."""
    for folder in _candidates():
        if (folder / "include/ns3/core-module.h").exists():
            return folder.resolve()
    msg = (
        "ns-3 not found: install the wheel ns3==3.44.post0 (python -m venv .venv-data; "
        ".venv-data/bin/pip install --no-deps ns3==3.44.post0), or set HOPFLOW_NS3 to the folder "
        "that has its include/ and lib64/"
    )
    raise FileNotFoundError(msg)


def ns3_version() -> str:
    """Tell the version of the wheel, and of the compiler that the programs were built with."""
    known = [info.name.split("-")[1] for info in ns3_folder().parent.glob("ns3-*.dist-info")]
    compiler = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True)
    first = compiler.stdout.splitlines()[0]
    return f"{known[0].removesuffix('.dist') if known else 'unknown'} (wheel ns3), {first}"


def compiled(program: str, *modules: str) -> Path:
    """Build ``ns3/<program>.cc`` with these ns-3 modules unless done before; the executable."""
    folder = ns3_folder()
    source = SOURCES / f"{program}.cc"
    content = source.read_bytes()
    for header in sorted(SOURCES.glob("*.h")):
        content += header.read_bytes() if header.name.encode() in source.read_bytes() else b""
    key = hashlib.sha256(content + repr((folder, FLAGS, modules)).encode()).hexdigest()[:12]
    target = BUILD / "bin" / f"{program}-{key}"
    if target.exists():
        return target
    if shutil.which("g++") is None:
        msg = f"g++ not found: {source.name} needs a C++20 compiler"
        raise FileNotFoundError(msg)
    target.parent.mkdir(parents=True, exist_ok=True)
    libraries = folder / "lib64"
    prefix = next(libraries.glob("libns3*-core.so")).name.removeprefix("lib").split("-")[0]
    scratch = target.with_suffix(f".{os.getpid()}")
    command = [
        *("g++", *FLAGS, "-isystem", str(folder / "include"), str(source), "-o", str(scratch)),
        *(f"-L{libraries}", f"-Wl,-rpath,{libraries}"),
        *(f"-l{prefix}-{module}" for module in modules),
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        msg = f"{source.name} does not compile:\n{done.stderr[-4000:]}"
        raise RuntimeError(msg)
    scratch.rename(target)
    return target
