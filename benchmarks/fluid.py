"""The fluid chain beside ns-2 on the same scenarios (ns-2 where it is installed)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.timing import Row, compare
from dfcmodel import simulate, takano2006

SCRIPT = Path(__file__).parents[1] / "validation/generate/ns2/chain.tcl"


def rows() -> list[Row]:
    """Compare 3 s of scenarios 1 and 4 without DFC, NewReno."""
    found = []
    for name, bandwidth, window in (("1", 370e6, 5000), ("4", 12.3e9, 10000)):
        scenario = takano2006(name, dfc=False, tcp="newreno")
        alternatives = {
            "hopflow fluid": lambda scenario=scenario: simulate(scenario),
            "hopflow fluid, NumPy twin, per 3 s": lambda scenario=scenario: simulate(
                scenario, duration=0.03, backend="numpy"
            ),
        }
        if shutil.which("ns"):

            def ns2(bandwidth=bandwidth, window=window):
                arguments = f"agent Agent/TCP/Newreno bandwidth {bandwidth} window {window}"
                with tempfile.TemporaryDirectory() as folder:
                    subprocess.run(
                        ["ns", str(SCRIPT), *arguments.split(), "duration", "3.0"],
                        cwd=folder, check=True, capture_output=True,
                    )  # fmt: skip

            alternatives["ns-2"] = ns2
        timed = compare(f"scenario {name}, FIFO, 3 s", alternatives, rounds=1 if name == "4" else 3)
        found += [
            Row(r.task, r.name, 100 * r.seconds, 100 * r.fastest, 100 * r.slowest, 100 * r.ratio)
            if "twin" in r.name
            else r
            for r in timed
        ]
    dfc = takano2006("1", tcp="newreno")
    found += compare("scenario 1, DFC, 3 s", {"hopflow fluid": lambda: simulate(dfc)})
    return found
