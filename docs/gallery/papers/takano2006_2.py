"""takano2006, Fig. 2: packets sent until control by end hosts, or by neighbours, takes effect (D01)."""

import numpy as np

from hopflow.results import figure
from hopflow.units import PACKET_SIZE

RTT, UTILISATION = 0.1, 0.5
HOP = 10e3 / 2e8  # s: 10 km at the speed of light in fibre

drawn, ax = figure()
speeds = np.geomspace(1e7, 1e11, 50)  # bit/s
for delay, label in ((RTT, "end hosts, RTT 100 ms"), (HOP, "neighbours, 10 km")):
    ax.loglog(speeds, speeds * delay * UTILISATION / (8.0 * PACKET_SIZE), label=label)
ax.set(xlabel="link speed (bit/s)", ylabel="packets")
ax.legend(frameon=False)

if __name__ == "__main__":
    drawn.savefig("takano2006_2.png")
