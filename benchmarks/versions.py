"""Other commits of the repository, beside which benchmarks measure this one."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def unpack_commit(commit: str, folder: Path, *names: str) -> Path:
    """Unpack files and folders of a commit, all of them by default, into a folder, and return it.

    Raises
    ------
    subprocess.CalledProcessError
        If git has no such commit.
    """
    command = ["git", "archive", commit, *names]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder
