"""Programs of htsim, with the topology and the connection matrix of one run."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.generate.programs import HERE, call, compiler_version

FILES = ("topology", "connections")
"""What the first two words of a call are the texts of."""


def htsim_program(name: str = "htsim_roce") -> Path:
    """Return the path of a program of htsim.

    Raises
    ------
    FileNotFoundError
        If the environment variable of the program's name in capitals does not name it, and it is not in the ``PATH``.
    """
    variable = name.upper()
    if found := shutil.which(os.environ.get(variable, name)):
        return Path(found).resolve()
    raise FileNotFoundError(
        f"htsim not found: {variable} must name the program {name}, or it must be in the PATH; "
        "validation/generate/htsim/README.md says how it is built"
    )


@dataclass(frozen=True)
class Htsim:
    """A program of htsim. The first two words of a call are the texts of its input files, the others are its options.

    The command line names these files by the SHA-256 of their texts.

    Parameters
    ----------
    name
        Of the program.
    release
        The repository and the commit.
    modules
        Those of this folder that write the input files.
    """

    tool: str = "htsim"
    name: str = "htsim_roce"
    release: str = "csg-htsim 841d9e7be46bb968eece766aa4b6c044c7799f67"
    modules: tuple[str, ...] = ("cases", "inputs")

    @property
    def sources(self) -> tuple[str, ...]:
        """The modules that write the input files."""
        return tuple(f"{HERE}/htsim/{each}.py" for each in self.modules)

    def version(self) -> str:
        """Return the commit, the compiler and the SHA-256 of the program."""
        program = hashlib.sha256(htsim_program(self.name).read_bytes()).hexdigest()
        return f"{self.release}, {compiler_version()}; SHA-256 of {self.name} {program}"

    def command(self, words: Sequence[str]) -> str:
        """Return the command line."""
        sums = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in words[:2]]
        topology, connections = (f"{name}-{sum}" for name, sum in zip(FILES, sums, strict=True))
        return shlex.join([self.name, "-topo", topology, "-tm", connections, *words[2:]])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the program on the two texts, written to a folder; return its standard output."""
        for name, text in zip(FILES, words[:2], strict=True):
            (folder / name).write_text(text, encoding="ascii")
        options = ["-topo", FILES[0], "-tm", FILES[1], *words[2:]]
        return call([str(htsim_program(self.name)), *options], folder)
