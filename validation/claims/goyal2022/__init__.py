"""Backpressure flow control, per flow and hop: claims of goyal2022 (see ``published/fabric_claims.csv``).

hopflow has no queues per flow that stop single flows one hop upstream. What the paper says of BFC itself is undecidable here; what it says of flows at a
switch is judged.
"""
