"""Traffic demands: arrival processes, random traffic, collectives, traces of training, and files of flows."""
