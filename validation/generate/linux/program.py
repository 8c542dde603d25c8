"""Linux as a program: User-Mode Linux, booted for one run of the link emulator in virtual time."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.generate.programs import HERE, call

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
QDISC = Path("/proc/sys/net/core/default_qdisc")
REAL_TIME = (
    *("unshare", "--fork", "--pid", "--mount", "--kill-child"),
    *("chrt", "--fifo", "50", "chroot"),
)
"""On the host: the emulator is the first process of its namespace, above all others that are no real-time processes."""
MAX_LATENESS = 20e-3
"""s by which a packet of a run in real time may be late: half a round trip."""


def kernel_folder() -> Path:
    """Return the folder of `build.sh`, with the kernel ``linux``, its ``config`` and ``linkemu``.

    Raises
    ------
    FileNotFoundError
        If the environment variable ``HOPFLOW_LINUX`` does not name it.
    """
    folder = Path(os.environ.get(VARIABLE, ""))
    if os.environ.get(VARIABLE) and all((folder / file).is_file() for file in ("linux", "config", "linkemu")):
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
    when the case is made again. ``queues``: whether the runs use the queues of the kernel.
    """

    tool: str = "Linux"
    earlier: tuple[tuple[str, str], ...] = ()
    queues: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The emulator, the kernel's options, and the commands that build both."""
        queues = ("queues.c", "queues.h") if self.queues else ()
        return tuple(f"{HERE}/linux/{file}" for file in ("linkemu.c", *queues, "kernel.config", "build.sh"))

    def version(self) -> str:
        """Return the version of the source package, the compiler and the SHA-256 of the kernel and its options."""
        folder = kernel_folder()
        config = (folder / "config").read_bytes()
        compiler = next(
            line.split('"')[1] for line in config.decode().splitlines() if line.startswith("CONFIG_CC_VERSION_TEXT=")
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


@dataclass(frozen=True)
class HostKernel:
    """The link emulator on the host's own kernel, in real time: it takes root and a TUN device.

    Computing takes time here, and other processes too, so that runs are no more than alike. It is a check of `LinuxKernel` by another
    clock and another kernel. ``earlier`` as there.
    """

    tool: str = "Linux"
    sources: tuple[str, ...] = (f"{HERE}/linux/linkemu.c",)
    earlier: tuple[tuple[str, str], ...] = ()

    def version(self) -> str:
        """Return the release of the kernel that runs."""
        return f"the host's kernel {platform.release()}, in real time"

    def command(self, words: Sequence[str]) -> str:
        """Return the command line."""
        return shlex.join([*REAL_TIME, "root", "/linkemu", *words])

    def run(self, words: Sequence[str], folder: Path) -> str:
        """Run the emulator in a folder; return its output.

        Raises
        ------
        RuntimeError
            If the emulator failed or wrote no output; if a packet was late by more than `MAX_LATENESS`; and if new devices do
            not have ``pfifo_fast``, since the emulator sets it for the whole host.
        """
        if (qdisc := QDISC.read_text(encoding="ascii").strip()) != "pfifo_fast":
            raise RuntimeError(f"{QDISC} is {qdisc}: must be pfifo_fast")
        root = folder / "root"
        for directory in ("dev", "proc"):
            (root / directory).mkdir(parents=True, exist_ok=True)
        shutil.copy2(kernel_folder() / "linkemu", root / "linkemu")
        ended = subprocess.run([*REAL_TIME, str(root), "/linkemu", *words], cwd=folder, check=False, capture_output=True, text=True)  # fmt: skip
        output = root / "output"
        text = output.read_text(encoding="ascii") if output.exists() else ""
        shutil.rmtree(root)
        if not text:
            raise RuntimeError(f"{self.command(words)}\nwrote no output\n{ended.stderr[-2000:]}")
        late = re.search(r"worst_lateness=(\d+)", text)
        if late and int(late[1]) > 1e9 * MAX_LATENESS:
            raise RuntimeError(
                f"a packet was {int(late[1]) / 1e6:.1f} ms late: must be at most {1e3 * MAX_LATENESS:g} ms"
            )
        return text
