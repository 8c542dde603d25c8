"""Source-based control of priorities: claims of yang2001 (see ``published/claims.csv``).

Transfers of 200 flows from two sources over one slow link; cc holds flows back on a congestion
signal, ts gives them time slots, be is best effort. Transfer times are in s.
"""
