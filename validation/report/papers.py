"""The papers whose claims are judged, as the report shows them."""

from __future__ import annotations

from typing import NamedTuple

from validation.records import OWN


class Paper(NamedTuple):
    """The title of a paper's page, and its citation."""

    title: str
    citation: str


PAPERS = {
    "takano2006": Paper(
        "Takano et al. 2006: diffusion-type flow control and TCP",
        "C. Takano, K. Muranaka, K. Sugiyama, M. Aida, Mutual complementarity between diffusion-type flow "
        "control and TCP, IEICE Trans. Commun. E89-B(10), 2006.",
    ),
    "malhotra2005": Paper(
        "Malhotra et al. 2005: IEEE 802.3x pause and TCP",
        "R. Malhotra, R. van Haalen, M. Mandjes, R. Nunez-Queija, Modeling the interaction of IEEE 802.3x "
        "hop-by-hop flow control and TCP end-to-end flow control, CWI report PNA-E0518, 2005.",
    ),
    "zheng2002": Paper(
        "Zheng and Wen 2002: TFRC and TCP(a, b)",
        "Y. Zheng, J. Wen, Performance comparison of TFRC and TCP, 2002.",
    ),
    "yang2001": Paper(
        "Yang and Fu 2001: source-based control",
        "C. Yang, C.-H. Fu, Research into two source-based control algorithms for Internet traffic flows, "
        "Computer Communications, 2001.",
    ),
    "kaneko2007": Paper(
        "Kaneko et al. 2007: TCP-Fusion",
        "K. Kaneko, T. Fujikawa, Z. Su, J. Katto, TCP-Fusion: a hybrid congestion control algorithm for "
        "high-speed networks, PFLDnet 2007.",
    ),
    OWN: Paper(
        "hopflow's own comparisons",
        "Comparisons of hopflow's models with simulators, standards and measurements of others.",
    ),
    "zhu2015": Paper(
        "Zhu et al. 2015: DCQCN",
        "Y. Zhu et al., Congestion control for large-scale RDMA deployments, SIGCOMM 2015.",
    ),
    "zhu2016": Paper(
        "Zhu et al. 2016: ECN or delay",
        "Y. Zhu, M. Ghobadi, V. Misra, J. Padhye, ECN or delay: lessons learnt from analysis of DCQCN and "
        "TIMELY, CoNEXT 2016.",
    ),
    "li2019": Paper(
        "Li et al. 2019: HPCC",
        "Y. Li et al., HPCC: high precision congestion control, SIGCOMM 2019.",
    ),
    "mittal2018": Paper(
        "Mittal et al. 2018: IRN",
        "R. Mittal et al., Revisiting network support for RDMA, SIGCOMM 2018.",
    ),
    "hu2016": Paper(
        "Hu et al. 2016: deadlocks in data center networks",
        "S. Hu et al., Deadlocks in datacenter networks: why do they form, and how to avoid them, HotNets 2016.",
    ),
    "guo2016": Paper(
        "Guo et al. 2016: RDMA over commodity Ethernet",
        "C. Guo et al., RDMA over commodity Ethernet at scale, SIGCOMM 2016.",
    ),
    "goyal2022": Paper(
        "Goyal et al. 2022: backpressure flow control",
        "P. Goyal et al., Backpressure flow control, NSDI 2022.",
    ),
}
