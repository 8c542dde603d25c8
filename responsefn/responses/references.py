"""Where the rules and laws come from: what `cite()` prints, and whether we read it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Reference"]


class Reference(NamedTuple):
    """A source of a rule or law.

    Attributes
    ----------
    text
        Author, title, place, year.
    source
        ``"primary"`` where the definition was read in the source itself (or in the copy of its
        tables that is bundled), ``"secondary"`` where it is taken from what others write about it,
        ``"own"`` where it is derived in hopflow.
    """

    text: str
    source: str = "secondary"
    doi: str = ""

    def __str__(self) -> str:
        link = f", doi:{self.doi}" if self.doi else ""
        return f"{self.text}{link} (source: {self.source})"


RFC5681 = Reference("M. Allman, V. Paxson, E. Blanton, TCP congestion control, RFC 5681, 2009")
RFC6582 = Reference(
    "T. Henderson et al., The NewReno modification to TCP's fast recovery, RFC 6582, 2012"
)
JACOBSON = Reference("V. Jacobson, Congestion avoidance and control, SIGCOMM 1988")
ZHENG = Reference("Y. Zheng, J. Wen, Performance comparison of TFRC and TCP, 2002", "primary")
RFC5348 = Reference(
    "S. Floyd et al., TCP friendly rate control (TFRC), RFC 5348, 2008 (table of its equation read)"
)
PADHYE = Reference("J. Padhye et al., Modeling TCP throughput, SIGCOMM 1998")
MATHIS = Reference(
    "M. Mathis et al., The macroscopic behavior of the TCP congestion avoidance algorithm, "
    "CCR 27(3), 1997"
)
RFC3649 = Reference(
    "S. Floyd, HighSpeed TCP for large congestion windows, RFC 3649, 2003 (table of its Appendix B "
    "read in a copy)"
)
KELLY = Reference("T. Kelly, Scalable TCP, CCR 33(2), 2003")
BIC = Reference("L. Xu, K. Harfoush, I. Rhee, Binary increase congestion control, INFOCOM 2004")
RFC9438 = Reference(
    "L. Xu et al., CUBIC for fast and long-distance networks, RFC 9438, 2023 (tables and mean "
    "window read in its late draft)",
    "primary",
)
LEITH = Reference(
    "D. Leith, R. Shorten, H-TCP: TCP for high-speed and long-distance networks, 2004"
)
BRAKMO = Reference("L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995")
WESTWOOD = Reference(
    "C. Casetti et al., TCP Westwood, MobiCom 2001; rate estimation: TCPW-RE, 2002"
)
ILLINOIS = Reference("S. Liu, T. Basar, R. Srikant, TCP-Illinois, Performance Evaluation 65, 2008")
CTCP = Reference("K. Tan et al., A compound TCP approach, INFOCOM 2006")
FAST = Reference("D. Wei et al., FAST TCP, IEEE/ACM ToN 14(6), 2006")
ARENO = Reference("H. Shimonishi, T. Murase, TCP-Adaptive Reno, 2005 and PFLDnet 2006")
FUSION = Reference("K. Kaneko et al., TCP-Fusion, PFLDnet 2007 (slides)", "primary")
RELENTLESS = Reference("M. Mathis, Relentless congestion control, PFLDnet 2009")
RFC8257 = Reference("S. Bensley et al., Data center TCP (DCTCP), RFC 8257, 2017")
