"""Compiled loops over the losses of one flow, the same machine code for all rules.

The steps of a rule are compiled per rule and called by address (`responsefn.steps`). Each other module than `flow` has
one entry, ``run``. The package is compiled as a whole, so its modules import only each other and the marks.
"""
