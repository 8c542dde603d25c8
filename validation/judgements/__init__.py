"""From measurements to verdicts: judges, labels, runs of many claims, what is kept and recorded."""
