"""Build hook: compile hopflow's own functions into the archives that a wheel or a checkout has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = {
    "x86-64": "manylinux_2_17_x86_64",
    "aarch64": "manylinux_2_17_aarch64",
}
"""Platform of the wheels for the levels that ``HOPFLOW_LEVELS`` names: the code needs nothing but the C library."""


SOURCES = ("hopflow", "responsefn", "markov", "dfcmodel")
"""Packages that the compilation imports, `hopflow.kernels.build.USERS` and their base."""
ARCHIVES = Path("hopflow", "kernels", "objects")
COMMAND = [sys.executable, "-m", "hopflow.kernels.build"]
"""The compilation for this machine; levels may follow."""


def compile_archives(root: Path, command: list[str]) -> None:
    """Run the compilation on a copy of the packages, and move its archives to where they belong.

    A checkout may be edited during the minutes that it takes: processes that import it at different times would
    compile functions that do not fit together, or fail.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in SOURCES:
            shutil.copytree(root / name, Path(folder, name), ignore=shutil.ignore_patterns("__pycache__"))
        path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=True)
        (root / ARCHIVES).mkdir(exist_ok=True)
        for archive in Path(folder, ARCHIVES).glob("*.zip"):
            scratch = root / ARCHIVES / f".{os.getpid()}.{archive.name}"
            shutil.copyfile(archive, scratch)
            scratch.replace(root / ARCHIVES / archive.name)  # running programs keep the old archive


class KernelHook(BuildHookInterface[Any]):
    """Runs ``python -m hopflow.kernels.build`` for the levels of ``HOPFLOW_LEVELS``, or for this machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile what the archives lack, and name the platform of the wheel."""
        if self.target_name != "wheel":
            return
        levels = os.environ.get("HOPFLOW_LEVELS", "").split()
        compile_archives(Path(self.root), [*COMMAND, *levels])
        names = levels or [archive.stem for archive in Path(self.root, "hopflow/kernels/objects").glob("*.zip")]
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if levels:
            platform = PLATFORMS["aarch64" if levels == ["aarch64"] else "x86-64"]
        build_data["artifacts"] += [f"/hopflow/kernels/objects/{name}.zip" for name in names]
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform}"


if __name__ == "__main__":
    compile_archives(Path(__file__).parent, COMMAND)
