"""IEEE 802.3x pause below aggregate TCP: claims of malhotra2005 (see ``published/claims.csv``).

Thresholds and round-trip times of the paper's figures are not stated. Headline verdicts are those
of the defaults of `PauseTandem` (T1 = 15, RTT 1 s) and of the settings of the bundled runs; maps
show how far they hold.
"""
