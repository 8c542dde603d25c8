"""Names of the formats of other programs, for the errors of readers that expect another one."""

from __future__ import annotations

import re

__all__ = ["CONNECTIONS", "TOML", "WORKLOAD", "foreign_format"]

CONNECTIONS, WORKLOAD = "connection matrix of htsim", "workload of SimAI or ASTRA-sim"
TOML = "scenario or topology in TOML"
MAX_LINES = 40
MAX_LENGTH = 200
"""Lines of a text, and characters of a line, that decide its format."""
NUMBER = r"[0-9.]+(?:[eE][-+]?[0-9]+)?"
FORMATS = (
    (r"num_ranks[ \t]+[0-9]+", "schedule of messages (GOAL) of LogGOPSim or ATLAHS", ""),
    (r"Nodes[ \t]+[0-9]+\n(?s:.*)Tiers[ \t]+[0-9]+", "topology of htsim", "graph"),
    (r"Nodes[ \t]+[0-9]+\nConnections", CONNECTIONS, "load_connection_matrix"),
    (r"(?:HYBRID_|MICRO\b|DATA\b|MODEL\b)", WORKLOAD, "load_workload"),
    (
        r"(?s:.*)^topology[ \t]*:[ \t]*$(?s:.*)^(?:nodes|links|kinds|defaults)[ \t]*:",
        "topology of containerlab",
        "graph",
    ),
    (r"(?s:.*)^(?:topology|npus_count)[ \t]*:", "network of ASTRA-sim", "graph"),
    (r"\{(?s:.*)\"(?:dimensions-count|topologies-per-dim|units-count)\"", "network of ASTRA-sim", "graph"),
    (
        rf"(?:[0-9]+[ \t]+){{2,5}}\w+\n(?s:.*)^[0-9]+[ \t]+[0-9]+[ \t]+{NUMBER}(?:[kMGT]?bps)?[ \t]+{NUMBER}[mun]?s\b",
        "list of links of programs for ns-3, such as HPCC's and SimAI's",
        "graph",
    ),
    (
        rf"[0-9]+\n[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+[ \t]+(?:[0-9]+[ \t]+)?{NUMBER}$",
        "list of flows of programs for ns-3, such as HPCC's",
        "flows_from",
    ),
    (r"<[?!a-zA-Z]", "file in XML", "xml"),
    (r"graph[ \t]*\[", "graph in GML", "gml"),
    (r"(?:strict[ \t]+)?(?:di)?graph(?:[ \t]+[\w\"]+)?[ \t]*\{", "graph in DOT", "dot"),
    (r"\{(?=(?s:.*)\"nodes\")(?s:.*)\"(?:links|edges)\"", "graph in JSON", "node_link"),
    (r"(?s:.*)^(?:Switch|Ca|Rt)[ \t]+[0-9]+[ \t]+\"[SHR]-", "list of links of ibnetdiscover", "graph"),
    (
        r"\"?(?:source|src|from|node1)\"?[,;\t]\"?(?:target|dst|destination|to|node2)\"?(?:[,;\t]|$)",
        "table of links",
        "graph",
    ),
    (r"(?s:.*)^(?:\[?\[(?:link|flow)s?\]|(?:links|flows|cables)[ \t]*=)", TOML, "toml"),
    (r"\{\s*\"|\[\s*(?:[{\"]|\[\s*[\"\[{0-9])", "file in JSON", "json"),
)
"""Pattern of the first lines of a format, without comments and empty lines, its name, and what takes it."""
ADVICE = {
    "": "no reader takes it; give its messages to flows_from, with after= for those that a message waits for",
    "graph": "no reader takes it; give its links to from_networkx, as edges with rate, delay and buffer",
    "flows_from": "no reader takes it; give its columns to flows_from",
    "json": "of Chakra's traces only the binary ones (.et) are read",
    "xml": "networkx reads GraphML, and from_networkx takes its graphs",
    "dot": "networkx reads it (nx_pydot.read_dot), and from_networkx takes its graphs",
    "node_link": "networkx reads it (node_link_graph), and from_networkx takes its graphs",
    "gml": "networkx reads it, and from_networkx takes its graphs",
    "toml": "load_scenario and 'hopflow deadlock' read it",
}
"""Advice by what takes a format; otherwise the name of a reader."""


def foreign_format(text: str, own: str = "") -> str:
    r"""Return the end of a message that a text is of another format; empty: of none that is known, or of ``own``.

    >>> foreign_format("num_ranks 2\n\nrank 0 {\nl1: send 8b to 1 tag 0\n}")[:59]
    'is a schedule of messages (GOAL) of LogGOPSim or ATLAHS: no'
    >>> foreign_format("Nodes 2\nConnections 1\n0->1 start 0 size 9\n", CONNECTIONS)
    ''
    """
    lines = (line.strip() for line in text.lstrip("\ufeff").splitlines())
    shown = [line[:MAX_LENGTH] for line in lines if line and not line.startswith(("#", "//"))][:MAX_LINES]
    beginning = "\n".join(shown)
    for pattern, name, reader in FORMATS:
        if re.match(pattern, beginning, re.MULTILINE):
            return "" if name == own else f"is a {name}: {ADVICE.get(reader, f'{reader} reads it')}"
    return ""
