// SPDX-License-Identifier: BSD-3-Clause
//
// A shaper with one queue discipline of the kernel, at a device of the present network namespace.

#ifndef QUEUES_H
#define QUEUES_H

#include <stdint.h>

// What the kernel reports about the queue discipline below the shaper.
struct queue_state {
    uint32_t packets, bytes; // in the queue now
    uint32_t drops, marks;   // since the beginning
    double control;          // PIE: probability; CoDel: count of its law; others: 0
};

// Install `tbf` with a rate in bit/s and, below it, the discipline `text` describes:
// a name and its options, "codel" or "pie:target=15000,limit=1000". On failure errno is set and the
// word that was refused is returned; otherwise NULL.
const char *install_queue(const char *device, double rate, uint32_t burst, char *text);

// Read the state of the discipline; -1 and errno on failure.
int read_queue(struct queue_state *state);

// Report the options of the discipline as the kernel has them; -1 and errno on failure.
int report_options(void (*report)(const char *name, long long value));

#endif
