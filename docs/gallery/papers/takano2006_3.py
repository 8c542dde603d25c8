"""takano2006, Fig. 3: the packets of one loaded node spread over its neighbours by the DFC law (D03)."""

import numpy as np

from dfcmodel.theory import bare_law
from hopflow.results import figure

NODES, D, RATE = 101, 0.1, 50.0

drawn, ax = figure()
nodes = np.arange(NODES) - NODES // 2
loaded = np.where(nodes == 0, 1500.0, 0.0)
rate = np.full(NODES, RATE)  # prescribed, eq. (7): what is sent moves to the next node every period
history = bare_law(loaded, D, 1000, rate=rate, base_rate=RATE, before=0.0)
for period in (30, 100, 300, 1000):
    ax.plot(nodes, history[period], label=f"{period} periods")
ax.set(xlabel="nodes from the loaded one", ylabel="packets")
ax.legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("takano2006_3.png")
