"""TCP(a, b) and TFRC: claims of zheng2002 (see ``published/claims.csv``).

Two of hopflow's own comparisons, S01 and S02, use the same loss sweeps.
"""
