"""Our program for the RDMA model of ns-3, compiled against a build of that model."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.generate.programs import HERE, ROOT, call, compiled, compiler_version

VARIABLE = "HOPFLOW_NS3_RDMA"
COMMIT = "8fd360471385ec2ab6dceeaffacaee1f58756a88"
"""Of astra-sim/astra-network-ns3."""
NAME = "rdma-fabric"
MODULES = ("point-to-point", "internet", "bridge", "traffic-control", "network", "stats", "core")


NUMBERS = "src/applications/model/seq-ts-header.cc"
"""The header with numbers of packets, in a module of which the model needs nothing else."""


def rdma_folder() -> Path:
    """Return the checkout in which ns-3 with the RDMA model was built.

    Raises
    ------
    FileNotFoundError
        If the environment variable ``HOPFLOW_NS3_RDMA`` does not name it.
    """
    folder = Path(os.environ.get(VARIABLE, ""))
    if VARIABLE in os.environ and (folder / "build" / "include" / "ns3" / "rdma-hw.h").is_file():
        return folder.resolve()
    raise FileNotFoundError(
        f"ns-3's RDMA model not found: {VARIABLE} must name the checkout in which it was built; "
        "validation/generate/ns3_rdma/README.md says how it is built"
    )


@dataclass(frozen=True)
class Ns3Rdma:
    """``rdma-fabric.cc``, with the options of one run."""

    tool: str = "ns-3 RDMA"

    @property
    def sources(self) -> tuple[str, ...]:
        """The program."""
        return (f"{HERE}/ns3_rdma/{NAME}.cc",)

    def version(self) -> str:
        """Return the commit of the model, and the compiler."""
        return f"astra-network-ns3 {COMMIT}, {compiler_version()}"

    def command(self, words: Sequence[str]) -> str:
        """Return the command line; the executable's real name carries the hash of its source."""
        return shlex.join([f"build/data/bin/{NAME}", *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the program in a folder, compiled first where necessary; return its standard output."""
        checkout = rdma_folder()
        libraries = checkout / "build" / "lib"
        (first,) = libraries.glob("libns3*-core*.so")
        start, _, end = first.stem.removeprefix("lib").partition("-core")
        options = [
            *(str(checkout / NUMBERS), "-isystem", str(checkout / "build" / "include")),
            *(f"-L{libraries}", f"-Wl,-rpath,{libraries}"),
            *(f"-l{start}-{module}{end}" for module in MODULES),
        ]
        return call([str(compiled([ROOT / self.sources[0]], options)), *words], folder)
