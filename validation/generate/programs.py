"""The programs that simulators run: our Tcl scripts in ns-2, our C++ programs with ns-3.

A program and the words that follow it decide the output, bit for bit: both simulators repeat with
the same seed. Nothing else of this package does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from hopflow.whole_files import replacing
from validation.manifest import changed_programs, sha256_of

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "data"
HERE = "validation/generate"
NS3_TCP = (
    *("core", "network", "internet", "point-to-point", "applications"),
    *("bridge", "traffic-control", "stats"),
)
"""Modules of ns-3 that programs with TCP and queue disciplines link."""
FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra")


class Program(Protocol):
    """A program that a case runs."""

    @property
    def tool(self) -> str:
        """The simulator's name."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that are the program, relative to the repository root."""

    def version(self) -> str:
        """Return the version of the simulator that is installed."""

    def command(self, words: Sequence[str]) -> str:
        """Return the command line, relative to the repository root."""

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the program in a folder; return its standard output."""


def hashes(program: Program) -> dict[str, str]:
    """Return the SHA-256 of each source of a program, of the version that a case was made with."""
    earlier: Mapping[str, str] = dict(getattr(program, "earlier", ()))
    formatted = {row["now"]: row["recorded"] for row in changed_programs() if row["change"] == "format"}
    digests = {source: sha256_of((ROOT / source).read_bytes()) for source in program.sources}
    return {source: earlier.get(source) or formatted.get(digest, digest) for source, digest in digests.items()}


def pairs(options: Mapping[str, float | str]) -> list[str]:
    """Return options as the words ``key value`` that our Tcl scripts take."""
    return [word for pair in options.items() for word in map(str, pair)]


def flags(options: Mapping[str, object]) -> list[str]:
    """Return options as the words ``--key=value`` that our C++ programs take."""
    return [f"--{name}={value}" for name, value in options.items()]


def call(command: Sequence[str], folder: Path) -> str:
    """Run a command in a folder; return its standard output. A failure carries the output."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        printed = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise RuntimeError(f"{shlex.join(command)}\nexit status {done.returncode}\n{printed}")
    return done.stdout


def compiler_version() -> str:
    """Return the first line of what the C++ compiler says of itself."""
    said = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def compiled(sources: Sequence[Path], options: Sequence[str]) -> Path:
    """Compile the first of some C++ files, which includes the others, unless done before; return the executable.

    Its name carries a hash of the files and the options.

    Raises
    ------
    FileNotFoundError
        If there is no compiler.
    """
    content = b"".join(source.read_bytes() for source in sources)
    key = hashlib.sha256(content + repr((FLAGS, tuple(options))).encode()).hexdigest()
    name = sources[0].stem
    target = BUILD / "bin" / f"{name}-{key[:12]}"
    if target.exists():
        return target
    if shutil.which("g++") is None:
        raise FileNotFoundError(f"g++ not found: {name}.cc needs a C++20 compiler")
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as scratch:
        call(["g++", *FLAGS, str(sources[0]), "-o", str(scratch), *options], ROOT)
    return target


@dataclass(frozen=True)
class Ns2:
    """A Tcl script of ``generate/ns2``, run by ns-2's interpreter ``ns``.

    Attributes
    ----------
    script
        Its file.
    tool
        The simulator.
    sourced
        Files of the other scripts that it sources.
    """

    script: str
    tool: str = "ns-2"
    sourced: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The script, then those that it sources."""
        return tuple(f"{HERE}/ns2/{file}" for file in (self.script, *self.sourced))

    def version(self) -> str:
        """Return the version of ns-2 and that of its Debian package, if any."""
        return _ns2_version()

    def command(self, words: Sequence[str]) -> str:
        """Return the command line, relative to the repository root."""
        return shlex.join(["ns", self.sources[0], *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the script in a folder; return its standard output."""
        return call(["ns", str(ROOT / self.sources[0]), *words], folder)


@dataclass(frozen=True)
class Ns2Export:
    """Tcl programs written by `dfcmodel.to_ns2`, one for each run, run by ns-2's interpreter ``ns``.

    The text of the program is the only word of a call. The command line names the program by the SHA-256 of that text.

    Attributes
    ----------
    sources
        The modules that define the scenarios.
    """

    sources: tuple[str, ...]
    tool: str = "ns-2"

    def version(self) -> str:
        """Return the version of ns-2 and that of its Debian package, if any."""
        return _ns2_version()

    def command(self, words: Sequence[str]) -> str:
        """Return the command line."""
        (text,) = words
        return f"ns {hashlib.sha256(text.encode()).hexdigest()}.tcl"

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the program in a folder; return its standard output."""
        (text,) = words
        (folder / "program.tcl").write_text(text, encoding="utf-8")
        return call(["ns", "program.tcl"], folder)


def _ns2_version() -> str:
    done = subprocess.run(["ns"], input="puts [ns-version]; exit 0\n", capture_output=True, text=True, check=True)
    release = done.stdout.strip()
    query = ["dpkg-query", "-W", "-f", "${Version}", "ns2"]
    if shutil.which(query[0]):
        package = subprocess.run(query, check=False, capture_output=True, text=True)
        if package.returncode == 0:
            return f"{release} (Debian ns2 {package.stdout.strip()})"
    return release


@dataclass(frozen=True)
class Ns3:
    """A C++ program of ``generate/ns3``, built against ns-3's headers and libraries.

    Attributes
    ----------
    name
        Of the program, ``ns3/<name>.cc``.
    modules
        The modules of ns-3 that it links.
    headers
        Our own headers that it includes.
    """

    name: str
    modules: tuple[str, ...]
    headers: tuple[str, ...] = ()
    tool: str = "ns-3"

    @property
    def sources(self) -> tuple[str, ...]:
        """The program and its headers."""
        return tuple(f"{HERE}/ns3/{file}" for file in (f"{self.name}.cc", *self.headers))

    def version(self) -> str:
        """Return the version of the wheel, and of the compiler that builds the programs."""
        known = [info.name.split("-")[1] for info in ns3_folder().parent.glob("ns3-*.dist-info")]
        first = compiler_version()
        return f"{known[0].removesuffix('.dist') if known else 'unknown'} (wheel ns3), {first}"

    def command(self, words: Sequence[str]) -> str:
        """Return the command line; the executable's real name carries the hash of its sources."""
        return shlex.join([f"build/data/bin/{self.name}", *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the program in a folder, compiled first where necessary; return its standard output."""
        return call([str(self.compiled()), *words], folder)

    def compiled(self) -> Path:
        """Build the program unless done before; return the executable."""
        folder = ns3_folder()
        libraries = folder / "lib64"
        prefix = next(libraries.glob("libns3*-core.so")).name.removeprefix("lib").split("-")[0]
        options = [
            *("-isystem", str(folder / "include"), f"-L{libraries}", f"-Wl,-rpath,{libraries}"),
            *(f"-l{prefix}-{module}" for module in self.modules),
        ]
        return compiled([ROOT / source for source in self.sources], options)


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
    """Return the folder with ns-3's ``include`` and ``lib64``.

    The wheel ``ns3`` carries them; it need not be importable. It is looked for in the environment
    variable ``HOPFLOW_NS3`` (that folder, or a virtual environment that the wheel is installed in),
    beside the running Python, and in ``.venv-data``.
    """
    for folder in _candidates():
        if (folder / "include/ns3/core-module.h").exists():
            return folder.resolve()
    raise FileNotFoundError(
        "ns-3 not found: install the wheel ns3==3.44.post0 (python -m venv .venv-data; "
        ".venv-data/bin/pip install --no-deps ns3==3.44.post0), or set HOPFLOW_NS3 to the folder "
        "that has its include/ and lib64/"
    )


class OfHopflow:
    """A program that is hopflow itself."""

    tool = "hopflow"

    def version(self) -> str:
        """Return the version of the package."""
        import hopflow

        return hopflow.__version__


@dataclass(frozen=True)
class Hopflow(OfHopflow):
    """A command of hopflow itself, which decides the output with the module of the scenarios.

    Attributes
    ----------
    sources
        The modules that define what is run.
    """

    sources: tuple[str, ...]

    def command(self, words: Sequence[str]) -> str:
        """Return the command line."""
        return shlex.join(["hopflow", *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the command in a folder; return its standard output."""
        return call([sys.executable, "-m", "validation", *words], folder)


@dataclass(frozen=True)
class Module(OfHopflow):
    """A module of ours that is run by ``python -m`` and decides the output with the packages that it uses.

    Attributes
    ----------
    name
        Of the module, with dots.
    """

    name: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The module's file."""
        return (f"{self.name.replace('.', '/')}.py",)

    def command(self, words: Sequence[str]) -> str:
        """Return the command line, relative to the repository root."""
        return shlex.join(["python", "-m", self.name, *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the module in a folder; return its standard output."""
        return call([sys.executable, "-m", self.name, *words], folder)
