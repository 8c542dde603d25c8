/* NewReno as `responsefn.NewReno` computes it, operation by operation.
 *
 * NEWRENO_BYTES     count bytes in place of packets
 * NEWRENO_NO_FLAG   without saying so in the table
 */
#include <math.h>
#include <stdlib.h>

#include "hopflow_cc.h"

#ifdef NEWRENO_BYTES
#define NEWRENO_FLAGS HOPFLOW_CC_BYTES
#else
#define NEWRENO_FLAGS 0
#endif

typedef struct newreno {
  double packet; /* amount of a packet */
} newreno;

static double maximum(double x, double y) { return x > y ? x : y; }

static void *init(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control) {
  newreno *s = malloc(sizeof *s);
  if (!s) return 0;
  (void)seed;
  s->packet = NEWRENO_FLAGS ? (double)config->packet_bytes : 1.0;
  control->window = (config->initial_window > 0.0 ? config->initial_window : 1.0) * s->packet;
  control->ssthresh = config->initial_ssthresh > 0.0 ? config->initial_ssthresh * s->packet : INFINITY;
  return s;
}

static void on_ack(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  const newreno *s = state;
  if (event->flags & (HOPFLOW_CC_STARTS_RECOVERY | HOPFLOW_CC_MARK_EVENT)) {
    double half = 0.5 * control->window;
    control->window = maximum(half, s->packet);
    control->ssthresh = maximum(half, 2.0 * s->packet);
  }
  for (uint64_t n = 0; n < event->growth; n++)
    control->window += control->window < control->ssthresh ? s->packet : s->packet * s->packet / control->window;
}

static void on_timeout(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  const newreno *s = state;
  (void)event;
  control->ssthresh = maximum(0.5 * control->window, 2.0 * s->packet);
  control->window = s->packet;
}

static const hopflow_cc_rule rule = {
    .abi = HOPFLOW_CC_ABI,
    .size = sizeof(hopflow_cc_rule),
    .name = "NewReno in C",
    .claims = "newreno",
    .recovery = "sack",
#ifndef NEWRENO_NO_FLAG
    .flags = NEWRENO_FLAGS,
#endif
    .ecn = HOPFLOW_CC_ECT0,
    .init = init,
    .on_ack = on_ack,
    .on_timeout = on_timeout,
    .destroy = free,
};

const hopflow_cc_rule *hopflow_cc(uint64_t abi) { return abi == HOPFLOW_CC_ABI ? &rule : 0; }
