"""Build hook: compile hopflow's own functions into the archives that a wheel or a checkout has."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = {
    "x86-64": "manylinux_2_17_x86_64",
    "aarch64": "manylinux_2_17_aarch64",
}
"""Platform of the wheels for the levels that ``HOPFLOW_LEVELS`` names: the code needs nothing but the C library."""


class KernelHook(BuildHookInterface[Any]):
    """Runs ``python -m hopflow.kernels.build`` for the levels of ``HOPFLOW_LEVELS``, or for this machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile what the archives lack, and name the platform of the wheel."""
        if self.target_name != "wheel":
            return
        levels = os.environ.get("HOPFLOW_LEVELS", "").split()
        path = os.pathsep.join(filter(None, [self.root, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "hopflow.kernels.build", *levels]
        subprocess.run(command, cwd=self.root, env={**os.environ, "PYTHONPATH": path}, check=True)
        names = levels or [archive.stem for archive in Path(self.root, "hopflow/kernels/objects").glob("*.zip")]
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if levels:
            platform = PLATFORMS["aarch64" if levels == ["aarch64"] else "x86-64"]
        build_data["artifacts"] += [f"/hopflow/kernels/objects/{name}.zip" for name in names]
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{platform}"
