"""What is compiled of one flow under loss: the loops around the steps of a rule, once for all rules.

Start with `cycles.run` and `runs.run`. The steps themselves are compiled per rule and called by address
(`rule_compilation`). Modules import nothing but each other: the whole package is copied and compiled
(`jit`).
"""
