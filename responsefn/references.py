"""Sources of rules and laws as printed by `cite()`, and whether the primary text was read."""

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
        ``"primary"`` where the definition was read in the source itself, in its authors' own code, in a later text
        of its authors, which is named then, or in the copy of its tables that is bundled, ``"secondary"`` where it
        is taken from what others write about it, ``"own"`` where it is derived in hopflow.
    """

    text: str
    source: str = "secondary"
    doi: str = ""

    def __str__(self) -> str:
        link = f", doi:{self.doi}" if self.doi else ""
        return f"{self.text}{link} (source: {self.source})"


def _rfc(number: int, text: str, where: str, source: str = "primary") -> Reference:
    full = f"{text}, RFC {number}, {where}"
    return Reference(full, source, f"10.17487/RFC{number}")


RFC5681 = _rfc(
    5681, "M. Allman, V. Paxson, E. Blanton, TCP congestion control, 2009", "Sect. 3.1, eq. 4"
)
RFC6582 = _rfc(6582, "T. Henderson et al., The NewReno modification, 2012", "Sect. 3.2")
JACOBSON = Reference(
    "V. Jacobson, Congestion avoidance and control, SIGCOMM 1988", doi="10.1145/52324.52356"
)
ZHENG = Reference(
    "Y. Zheng, J. Wen, Performance comparison of TFRC and TCP, 2002, Sect. 2.1", "primary"
)
RFC5348 = _rfc(5348, "S. Floyd et al., TCP friendly rate control (TFRC), 2008", "Sect. 3.1 and 5.4")
PADHYE = Reference(
    "J. Padhye et al., Modeling TCP throughput, SIGCOMM 1998", doi="10.1145/285237.285291"
)
MATHIS = Reference(
    "M. Mathis et al., The macroscopic behavior of the TCP congestion avoidance algorithm, "
    "CCR 27(3), 1997; its area below the sawtooth in M. Mathis, A. Morton, RFC 8337, Sect. 5.2",
    "primary",
    "10.1145/263932.264023",
)
RFC3649 = _rfc(
    3649,
    "S. Floyd, HighSpeed TCP for large congestion windows, 2003",
    "Sect. 5, table of Appendix B",
)
KELLY = Reference("T. Kelly, Scalable TCP, CCR 33(2), 2003", doi="10.1145/956981.956989")
BIC = Reference(
    "L. Xu, K. Harfoush, I. Rhee, Binary increase congestion control, INFOCOM 2004",
    doi="10.1109/INFCOM.2004.1354672",
)
RFC9438 = _rfc(
    9438, "L. Xu et al., CUBIC for fast and long-distance networks, 2023", "Sect. 4.2 to 4.7, 5.2"
)
RFC3742 = _rfc(
    3742, "S. Floyd, Limited slow-start for TCP with large congestion windows, 2004", "Sect. 2"
)
RFC8511 = _rfc(8511, "N. Khademi et al., TCP alternative backoff with ECN (ABE), 2018", "Sect. 3.1")
RFC9002 = _rfc(
    9002,
    "J. Iyengar, I. Swett, QUIC loss detection and congestion control, 2021",
    "Sect. 7 and Appendix B",
)
RFC6817 = _rfc(
    6817,
    "S. Shalunov et al., Low extra delay background transport (LEDBAT), 2012",
    "Sect. 2.4.2 and 2.5",
)
RFC9406 = _rfc(9406, "P. Balasubramanian, Y. Huang, M. Olson, HyStart++, 2023", "Sect. 4.2 and 4.3")
LEITH = Reference(
    "D. Leith, R. Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004"
)
BRAKMO = Reference(
    "L. Brakmo, L. Peterson, TCP Vegas, IEEE JSAC 13(8), 1995", doi="10.1109/49.464716"
)
VEGAS_BOOK = Reference(
    f"{BRAKMO.text}; read in L. Peterson, L. Brakmo, B. Davie, TCP congestion control: a systems approach, "
    "2022, Sect. 5.1",
    "primary",
    BRAKMO.doi,
)
WESTWOOD = Reference(
    "C. Casetti et al., TCP Westwood, MobiCom 2001; rate estimation: TCPW-RE, 2002",
    doi="10.1145/381677.381704",
)
ILLINOIS = Reference(
    "S. Liu, T. Basar, R. Srikant, TCP-Illinois, Performance Evaluation 65, 2008; curves and constants as in Linux's "
    "tcp_illinois.c, whose authors are S. Hemminger and S. Liu",
    "primary",
    "10.1016/j.peva.2007.12.007",
)
CTCP = Reference(
    "K. Tan et al., A compound TCP approach, INFOCOM 2006", doi="10.1109/INFOCOM.2006.188"
)
FAST = Reference(
    "D. Wei et al., FAST TCP, IEEE/ACM ToN 14(6), 2006", doi="10.1109/TNET.2006.886335"
)
ARENO = Reference("H. Shimonishi, T. Murase, TCP-Adaptive Reno, 2005 and PFLDnet 2006")
FUSION = Reference("K. Kaneko et al., TCP-Fusion, PFLDnet 2007 (slides)", "primary")
RELENTLESS = Reference("M. Mathis, Relentless congestion control, PFLDnet 2009")
DCTCP = Reference(
    "S. Bensley et al., Data center TCP (DCTCP), RFC 8257, 2017, Sect. 3.3 to 3.5 (rule); K. De Schepper et al., "
    "PI2, CoNEXT 2016, as in De Schepper, Briscoe and White, RFC 9332, 2023, Appendix C, eq. 6 (response)",
    "primary",
    "10.17487/RFC9332",
)


def _linux(name: str) -> Reference:
    """Return a file of Linux, read in the copy that ns-2.35 runs (tcp/linux/src)."""
    return Reference(f"Linux 2.6.22, net/ipv4/{name}, as in ns-2.35", "primary")


TCP_BIC_C, TCP_CUBIC_C, TCP_HTCP_C = (_linux(f"tcp_{name}.c") for name in ("bic", "cubic", "htcp"))
TCP_ILLINOIS_C, TCP_SCALABLE_C = _linux("tcp_illinois.c"), _linux("tcp_scalable.c")
TCP_VEGAS_C, TCP_WESTWOOD_C = _linux("tcp_vegas.c"), _linux("tcp_westwood.c")


def _linux_6_12(name: str) -> Reference:
    """Return a file of Linux 6.12, read in Debian's source package."""
    return Reference(
        f"Linux 6.12.117, net/ipv4/{name}, as in Debian's linux-source-6.12", "primary"
    )


TCP_BIC_6_12, TCP_CUBIC_6_12 = _linux_6_12("tcp_bic.c"), _linux_6_12("tcp_cubic.c")
TCP_HTCP_6_12, TCP_ILLINOIS_6_12 = _linux_6_12("tcp_htcp.c"), _linux_6_12("tcp_illinois.c")
TCP_SCALABLE_6_12, TCP_VEGAS_6_12 = _linux_6_12("tcp_scalable.c"), _linux_6_12("tcp_vegas.c")
TCP_HIGHSPEED_6_12 = _linux_6_12("tcp_highspeed.c")
TCP_CDG_6_12, TCP_HYBLA_6_12 = _linux_6_12("tcp_cdg.c"), _linux_6_12("tcp_hybla.c")
TCP_LP_6_12, TCP_NV_6_12 = _linux_6_12("tcp_lp.c"), _linux_6_12("tcp_nv.c")
TCP_VENO_6_12, TCP_YEAH_6_12 = _linux_6_12("tcp_veno.c"), _linux_6_12("tcp_yeah.c")
CHROMIUM_CUBIC = Reference(
    "quiche, quic/core/congestion_control/cubic_bytes.cc, tcp_cubic_sender_bytes.cc and hybrid_slow_start.cc, "
    "github.com/google/quiche, commit bac04054",
    "primary",
)
LEDBAT_PLUS_PLUS = Reference(
    "P. Balasubramanian, O. Ertugay, D. Havey, LEDBAT++, draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.1 to 4.5",
    "primary",
)
SEARCH_DRAFT = Reference(
    "J. Chung et al., SEARCH, draft-chung-ccwg-search-09, as in neqo-transport/src/cc/search.rs, github.com/mozilla/neqo",
    "primary",
)
