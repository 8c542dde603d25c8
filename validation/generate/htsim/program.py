"""htsim's program for RoCE, with the topology and the connection matrix of one run."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.generate.programs import HERE, call, compiler_version

__all__ = ["Htsim", "htsim_program"]

VARIABLE, NAME = "HTSIM_ROCE", "htsim_roce"
COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"
"""Of Broadcom/csg-htsim."""
FILES = ("topology", "connections")
"""What the first two words of a call are the texts of."""


def htsim_program() -> Path:
    """Return the path of htsim's program for RoCE.

    Raises
    ------
    FileNotFoundError
        If the environment variable ``HTSIM_ROCE`` does not name it, and it is not in the ``PATH``.
    """
    if found := shutil.which(os.environ.get(VARIABLE, NAME)):
        return Path(found).resolve()
    raise FileNotFoundError(
        f"htsim not found: {VARIABLE} must name the program {NAME}, or it must be in the PATH; "
        "validation/generate/htsim/README.md says how it is built"
    )


@dataclass(frozen=True)
class Htsim:
    """``htsim_roce``. The first two words of a call are the texts of its input files, the others are its options.

    The command line names these files by the SHA-256 of their texts.
    """

    tool: str = "htsim"

    @property
    def sources(self) -> tuple[str, ...]:
        """The modules that write the input files."""
        return (f"{HERE}/htsim/cases.py", f"{HERE}/htsim/inputs.py")

    def version(self) -> str:
        """Return the commit, the compiler and the SHA-256 of the program."""
        program = hashlib.sha256(htsim_program().read_bytes()).hexdigest()
        return f"csg-htsim {COMMIT}, {compiler_version()}; SHA-256 of {NAME} {program}"

    def command(self, words: Sequence[str]) -> str:
        """Return the command line."""
        sums = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in words[:2]]
        topology, connections = (f"{name}-{sum}" for name, sum in zip(FILES, sums, strict=True))
        return shlex.join([NAME, "-topo", topology, "-tm", connections, *words[2:]])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the program on the two texts, written to a folder; return its standard output."""
        for name, text in zip(FILES, words[:2], strict=True):
            (folder / name).write_text(text, encoding="ascii")
        options = ["-topo", FILES[0], "-tm", FILES[1], *words[2:]]
        return call([str(htsim_program()), *options], folder)
