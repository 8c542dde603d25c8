"""A sender of constant rate, as a rate rule."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import is_endless, one_number
from hopflow.parameters import is_overridden, param
from responsefn.response import Reference
from responsefn.rules.rates.rate_rule import NoLossRate

__all__ = ["FixedRate"]


class FixedRate(NoLossRate):
    """A constant rate without congestion control: a RoCE sender at line rate, unless told otherwise.

    Other than `dfcmodel.CBR`, whose application creates packets independently of the network, this sender is
    back-pressured where its host has a network interface (``host="nic"`` of a flow): at packet level it creates a
    packet when the interface has sent the previous packet. With other hosts nothing stops it at its own link. As
    for all rate rules, ACKs acknowledge its packets, and lost packets are sent again (``dfcmodel.Packets``,
    ``recovery``). With ``recovery="none"`` there are no ACKs, since nothing would use them.

    Parameters
    ----------
    sending_rate
        Rate in packets/s, > 0; inf: the rate of the first link of the path, which limits it in any case.

    Examples
    --------
    >>> from responsefn import FixedRate
    >>> FixedRate().start(line_rate=1e6).rate, FixedRate(sending_rate=1e5).start(line_rate=1e6).rate
    (1000000.0, 100000.0)
    """

    class Params(NamedTuple):
        """Rate in packets/s."""

        sending_rate: float = param(
            math.inf,
            "rate",
            source="own choice: the rate of the first link, as a RoCE sender without congestion control has it",
        )

    reference = Reference(
        "InfiniBand Trade Association, InfiniBand Architecture Specification, annex A17 (RoCEv2): senders without "
        "congestion control",
        "secondary",
    )
    follows = "nothing"
    is_constant: ClassVar[bool] = True
    dynamics: ClassVar[str] = r"R \text{ constant}"

    def check(self) -> None:
        """Check the range of the rate."""
        rate: Any = self.params.sending_rate
        if not is_endless(rate):
            one_number("sending_rate", rate, above=0.0, hint="in packets/s, or inf")

    def path_mismatch(self, line_rate: float, rtt: float) -> str:  # noqa: ARG002
        """Name a rate above that of the link, which limits it."""
        rate = float(self.params.sending_rate)
        if is_endless(rate) or rate <= line_rate * (1.0 + 1e-9):
            return ""
        return (
            f"sending_rate = {rate:.4g} packets/s is above the rate of the link, {line_rate:.4g} packets/s, which is "
            "taken instead: a number is in packets/s, bits are a string such as '50Gbps'"
        )

    def start(self, line_rate: float) -> Any:
        """Return the state of a new sender with its rate, at most ``line_rate``, in packets/s."""
        return self.State(min(self.params.sending_rate, line_rate))

    def expected(self) -> FixedRate | None:
        """Return this rule, which does not respond to marks; None for a class with other functions."""
        return None if is_overridden(type(self), "expected", self.stated_functions) else self

    @staticmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Return the state unchanged."""
        return s
