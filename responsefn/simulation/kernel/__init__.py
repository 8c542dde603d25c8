"""What is compiled of flows that share a bottleneck: functions of one idea each over records with names.

Start with `loop.run`. Modules import nothing but each other: the whole package is copied and compiled
(`jit`). All functions are inlined into the loop, as a call of each would take as long as what it does.
"""
