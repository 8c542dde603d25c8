"""Cases of Linux 6.12's own TCP in virtual time: a kernel that runs as a program, and a link between its sockets.

`program` boots the kernel, `output` reads what the link emulator wrote, `cases` has the runs. README.md says how the
kernel is built.
"""

from __future__ import annotations
