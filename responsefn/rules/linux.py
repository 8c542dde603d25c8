"""Linux's congestion control modules, by the versions of the kernel that they stand in.

They have the names of published rules, but their constants, integer arithmetic and filters give other windows. The
sources are the files ``net/ipv4/tcp_*.c`` of Linux 6.12. ``kernel="2.6.22"`` selects the files of ns-2's TCP/Linux
agent. The recovery is SACK, which Linux enables by default (``tcp_sack``, ip-sysctl). None has a closed form: their
responses are numerical cycles.
"""

from __future__ import annotations

from typing import Any, ClassVar

from hopflow.checks import choice
from hopflow.parameters import param
from responsefn.response import Reference
from responsefn.rules.base import WindowRule, after

__all__ = ["CURRENT", "KERNEL", "OLD", "LinuxRule", "linux_file", "of_kernel", "timeout_after"]

CURRENT, OLD = "6.12", "2.6.22"
"""The default kernel, and the kernel of ns-2.35's modules."""
KERNEL = param(CURRENT, source="own choice: the kernel of today, Debian's 6.12.117")
"""Parameter that selects the version of a rule."""


def linux_file(name: str, version: str = CURRENT) -> Reference:
    """Return a reference to a file of Linux, with the copy that was read."""
    if version == OLD:
        return Reference(f"Linux 2.6.22, net/ipv4/{name}, as in ns-2.35", "primary")  # its tcp/linux/src
    return Reference(f"Linux 6.12.117, net/ipv4/{name}, as in Debian's linux-source-6.12", "primary")


class LinuxRule(WindowRule):
    """Base of rules that are modules of Linux: ``kernel`` selects the version of the file.

    A class is the module of `CURRENT`. The class of an earlier version derives from it, with the decorator `of_kernel`.
    The constructor returns an object of that class for its ``kernel``. ``older`` holds these classes by version.
    """

    package: ClassVar[str] = "responsefn.linux"
    older: ClassVar[dict[str, type[Any]]] = {}
    version: ClassVar[str] = CURRENT
    recovery: ClassVar[str] = "sack"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an object of the class of the version."""
        older = cls.__dict__.get("older")
        if older is None:
            return super().__new__(cls)
        kernel = choice("kernel", kwargs.get("kernel", CURRENT), (CURRENT, *older))
        if kernel == CURRENT:
            return super().__new__(cls)
        return super().__new__(older[kernel])

    def check(self) -> None:
        """Check that the version matches the class."""
        if self.params.kernel != self.version:
            name = type(self).__name__
            msg = f"must be {self.version!r} of this object; write {name}(kernel={self.params.kernel!r})"
            raise ValueError(f"kernel = {self.params.kernel!r}: {msg}")


def enter_loss(s: Any, q: Any, e: Any) -> Any:
    """Slow start from one packet; the threshold is the window after a loss (``tcp_enter_loss``)."""
    return s._replace(cwnd=1.0)


def timeout_after(on_loss: Any) -> Any:
    """Return the `on_timeout` of a module whose state a timeout changes as a loss does, apart from the window.

    Modules that reset further fields apply `after` to a function of their own.
    """
    return staticmethod(after(on_loss)(enter_loss))


def of_kernel(version: str) -> Any:
    """Return a decorator for the class of an earlier version, which takes the name of its base class."""

    def register(kind: type[LinuxRule]) -> type[LinuxRule]:
        current: Any = kind.__bases__[0]
        current.older = {**vars(current).get("older", {}), version: kind}
        kind.version = version
        kind.__name__ = current.__name__
        return kind

    return register
