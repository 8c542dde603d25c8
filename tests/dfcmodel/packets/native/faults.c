/* A rule with a fixed window that writes to address 0 with packets of 9000 bytes, and loops for ever with packets of
 * 65,535 bytes. */
#include <math.h>
#include <stdlib.h>

#include "hopflow_cc.h"

static volatile int *nowhere;
static volatile uint64_t turns;

static void *init(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control) {
  (void)seed;
  if (config->packet_bytes == 9000) *nowhere = 1;
  while (config->packet_bytes == 65535) turns++;
  control->window = 10.0;
  control->ssthresh = INFINITY;
  return malloc(1);
}

static void on_ack(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  (void)state;
  (void)event;
  (void)control;
}

static const hopflow_cc_rule rule = {
    .abi = HOPFLOW_CC_ABI,
    .size = sizeof(hopflow_cc_rule),
    .name = "faults",
    .claims = "other",
    .recovery = "sack",
    .init = init,
    .on_ack = on_ack,
    .on_timeout = on_ack,
    .destroy = free,
};

const hopflow_cc_rule *hopflow_cc(uint64_t abi) { return abi == HOPFLOW_CC_ABI ? &rule : 0; }
