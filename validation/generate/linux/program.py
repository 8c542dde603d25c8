"""Linux as a program: User-Mode Linux, booted for one run of the link emulator in virtual time."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.generate.programs import HERE, call

__all__ = ["LinuxKernel", "kernel_folder"]

VARIABLE = "HOPFLOW_LINUX"
PACKAGE = "linux-source-6.12 6.12.117-1~deb12u1"
BOOT = (
    *(
        "mem=1024M",
        "time-travel=inf-cpu",
        "time-travel-start=0",
        "root=/dev/root",
        "rootfstype=hostfs",
    ),
    *("rootflags=/proc/self/cwd/root", "rw", "init=/linkemu", "console=tty0", "quiet"),
    *("uml_dir=root/uml/", "con=null", "ssl=null", "con0=null,fd:1"),
)
"""The kernel's command line: computing takes no time, and the clock starts at 0.

The kernel mixes these words into its entropy, so they name no folder; without random addresses (``setarch``) its memory
is the same in each boot. Runs are then equal byte for byte.
"""
WITHOUT_RANDOM_ADDRESSES = ("setarch", "-R")


def kernel_folder() -> Path:
    """Return the folder of `build.sh`, with the kernel ``linux``, its ``config`` and ``linkemu``.

    Raises
    ------
    FileNotFoundError
        If the environment variable ``HOPFLOW_LINUX`` does not name it.
    """
    folder = Path(os.environ.get(VARIABLE, ""))
    if os.environ.get(VARIABLE) and all(
        (folder / file).is_file() for file in ("linux", "config", "linkemu")
    ):
        return folder.resolve()
    raise FileNotFoundError(
        f"Linux not found: {VARIABLE} must name the folder in which validation/generate/linux/build.sh built "
        "linux, config and linkemu"
    )


@dataclass(frozen=True)
class LinuxKernel:
    """The link emulator as the only process of a User-Mode Linux.

    The words of a call are the emulator's ``key=value``. It returns the text of the emulator's output. ``earlier`` are
    sources with the SHA-256 of the versions that the bundled runs of a case were made with, where that is not the present one; leave them out
    when the case is made again.
    """

    tool: str = "Linux"
    earlier: tuple[tuple[str, str], ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The emulator, the kernel's options, and the commands that build both."""
        return tuple(f"{HERE}/linux/{file}" for file in ("linkemu.c", "kernel.config", "build.sh"))

    def version(self) -> str:
        """Return the version of the source package, the compiler and the SHA-256 of the kernel and its options."""
        folder = kernel_folder()
        config = (folder / "config").read_bytes()
        compiler = next(
            line.split('"')[1]
            for line in config.decode().splitlines()
            if line.startswith("CONFIG_CC_VERSION_TEXT=")
        )
        kernel = hashlib.sha256((folder / "linux").read_bytes()).hexdigest()
        options = hashlib.sha256(config).hexdigest()
        return f"{PACKAGE} (Debian), {compiler}; SHA-256 of linux {kernel}, of config {options}"

    def command(self, words: Sequence[str]) -> str:
        """Return the command line."""
        return shlex.join([*WITHOUT_RANDOM_ADDRESSES, "linux", *BOOT, "--", *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Boot the kernel with a folder as its file system; return the emulator's output.

        Raises
        ------
        RuntimeError
            If the emulator failed or wrote no output.
        """
        built = kernel_folder()
        root = folder / "root"
        for directory in ("dev", "proc", "uml"):
            (root / directory).mkdir(parents=True, exist_ok=True)
        shutil.copy2(built / "linkemu", root / "linkemu")
        kernel = (*WITHOUT_RANDOM_ADDRESSES, str(built / "linux"))
        printed = call([*kernel, *BOOT, "--", *words], folder)
        output = root / "output"
        text = output.read_text(encoding="ascii") if output.exists() else ""
        shutil.rmtree(root)
        if not text:
            raise RuntimeError(f"{self.command(words)}\nwrote no output\n{printed[-2000:]}")
        return text
