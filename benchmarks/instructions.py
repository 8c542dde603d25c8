"""Instructions and cache misses of the packet loop per packet-hop, counted by Valgrind: the same at any load.

The kernels are compiled for x86-64-v3 whatever the machine is, and Callgrind models caches of fixed sizes, so that two
machines count alike. Only the compiled loop and the call to it are counted: instrumentation starts and stops by client
requests, which do nothing outside of Valgrind.

``python -m benchmarks.instructions [CASE ...] [--save]`` prints a line per case; ``--save`` writes
``results/instructions.md``. The first call compiles the kernels for that processor. Valgrind must be installed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from benchmarks import fabrics, packets
from dfcmodel import Packets, Scenario
from dfcmodel.packets.simulation import begin_plan, plan_scenario

TABLE = Path(__file__).parent / "results" / "instructions.md"
FABRICS = tuple(f"{traffic}, {name}" for traffic in ("incast", "permutation") for name in fabrics.SENDERS)
CASES = (*(f"dumbbell {flows}" for flows in packets.PER_PACKET), *FABRICS)
"""The long dumbbells of `benchmarks.packets` in ns-2's convention; fabrics of 128 hosts under PFC."""
COMPILED_FOR = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0"}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
"""Bytes, ways and bytes of a line of the modelled caches."""
START, STOP = 0x43540004, 0x43540005
"""Client requests of callgrind.h: start and stop of the instrumentation."""
REQUEST = bytes.fromhex(
    "4889f8"  # mov rax, rdi: the address of the request and its arguments
    "31d2"  # xor edx, edx: what it returns outside of Valgrind
    "48c1c70348c1c70d48c1c73d48c1c733"  # rol rdi by 3, 13, 61, 51: the mark of a request
    "4887db"  # xchg rbx, rbx: the request
    "4889d0c3"  # mov rax, rdx; ret
)  # fmt: skip
"""Machine code of a client request, x86-64 (valgrind.h)."""


@dataclass(frozen=True)
class Counts:
    """What Callgrind counted in one run of the packet loop.

    Attributes
    ----------
    hops
        Packets and ACKs carried, each counted at every link.
    instructions, references, first_misses, last_misses
        Instructions, data references, and those of them that miss the modelled first and last level of cache.
    """

    hops: int
    instructions: int
    references: int
    first_misses: int
    last_misses: int

    def line(self, case: str) -> str:
        """Return the row of the table of results."""
        each = [
            self.instructions / self.hops, self.references / self.hops, self.first_misses / self.hops,
            self.last_misses / self.hops,
        ]  # fmt: skip
        return f"| {case} | {self.hops} | " + " | ".join(f"{one:.4g}" for one in each) + " |"


@cache
def _request() -> ctypes._CFuncPtr:
    """Return the machine code of a client request as a function; ValueError on other processors."""
    machine = platform.machine()
    if machine.lower() not in ("x86_64", "amd64"):
        raise ValueError(f"processor = {machine}: instructions can be counted on x86-64 only")
    page = mmap.mmap(-1, len(REQUEST), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(REQUEST)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64 * 6))(address)
    function.page = page  # type: ignore[attr-defined]  # it lives as long as the function
    return function


def ask(request: int) -> int:
    """Make a client request without arguments; outside of Valgrind it does nothing and returns 0."""
    return int(_request()(ctypes.byref((ctypes.c_uint64 * 6)(request))))


def scenario_of(case: str) -> tuple[Scenario, Packets]:
    """Return the scenario of a case and its method."""
    if case not in CASES:
        raise ValueError(f"case = {case!r}: must be one of {', '.join(CASES)}")
    dumbbells = {scenario.name: scenario for scenario in packets.long_dumbbells()}
    if case in dumbbells:
        return dumbbells[case], Packets(convention="ns2", seed=1)
    traffic, _, name = case.partition(", ")
    sender = fabrics.SENDERS[name]
    return fabrics.fabric(traffic, sender), sender.method


def run_counted(case: str) -> int:
    """Run a case, with the instrumentation of Callgrind on during its loop; return the packet-hops."""
    scenario, method = scenario_of(case)
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=scenario.duration / 8)
    begin_plan(plan).advance(1)  # what is compiled or loaded at a first call is not counted
    run = begin_plan(plan)
    ask(START)
    run.advance(plan.samples)
    ask(STOP)
    return int(run.finish().carried.sum())


def read_totals(text: str) -> dict[str, int]:
    """Return the totals of a file of Callgrind by the names of its events.

    >>> read_totals("events: Ir Dr\\nfn=(1) f\\n1 2 3\\ntotals: 2 3\\n")
    {'Ir': 2, 'Dr': 3}
    """
    found = {key: re.search(rf"^{key}:\s*(.+)$", text, re.MULTILINE) for key in ("events", "totals")}
    events, totals = found["events"], found["totals"]
    if events is None or totals is None:
        raise ValueError("a file of Callgrind: it has no line of events, or of totals")
    return dict(zip(events[1].split(), map(int, totals[1].split()), strict=True))


def callgrind(
    module: str, arguments: Sequence[str], *, dumps: int = 0, caches: bool = True
) -> tuple[list[str], list[dict[str, int]]]:
    """Run ``python -m module arguments`` under Valgrind, after a run without it, which compiles the kernels.

    Parameters
    ----------
    module, arguments
        What is run, in processes of its own. It starts and stops the instrumentation by `ask`.
    dumps
        How often it asks for a dump of what was counted; 0: what it has counted at its end.
    caches
        Whether caches are modelled as well.

    Returns
    -------
    words, totals
        What it printed, and the totals of each dump, or of the whole run.

    Raises
    ------
    FileNotFoundError
        Where Valgrind is missing.
    """
    if shutil.which("valgrind") is None:
        raise FileNotFoundError("valgrind: is not installed (Debian: apt install valgrind)")
    given = os.environ | COMPILED_FOR | ONE_THREAD
    own = [sys.executable, "-m", module, *arguments]
    subprocess.run(own, env=given, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"]
        tool += ["--cache-sim=yes", *CACHES] if caches else []
        tool.append(f"--callgrind-out-file={out}")
        done = subprocess.run([*tool, *own], env=given, check=True, capture_output=True, text=True)
        files = [Path(f"{out}.{n}") for n in range(1, dumps + 1)] or [out]
        return done.stdout.split(), [read_totals(file.read_text()) for file in files]


def count(case: str) -> Counts:
    """Count a case under Valgrind, in a process of its own; FileNotFoundError where Valgrind is missing."""
    words, (totals,) = callgrind("benchmarks.instructions", ["--one", case])
    return Counts(
        int(words[-1]), totals["Ir"], totals["Dr"] + totals["Dw"],
        totals["D1mr"] + totals["D1mw"], totals["DLmr"] + totals["DLmw"],
    )  # fmt: skip


def main(
    cases: Annotated[list[str] | None, typer.Argument(help=" or ".join(CASES))] = None,
    one: Annotated[str, typer.Option(help="Run this case in this process, uncounted.")] = "",
    keep: Annotated[bool, typer.Option("--save", help="Write results/instructions.md.")] = False,
) -> None:
    """Count the instructions and cache misses of the packet loop per packet-hop."""
    if one:
        print(run_counted(one))
        return
    lines = [
        "| case | packet-hops | instructions | data references | misses of 32 KiB | misses of 8 MiB |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for case in tqdm(cases or CASES, desc="instructions", leave=False):
        lines.append(count(case).line(case))
    lines += ["", "Per packet-hop; packets and ACKs count. Code for x86-64-v3 under Callgrind."]
    print("\n".join(lines))
    if keep:
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
