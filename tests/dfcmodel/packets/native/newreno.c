/* NewReno as `responsefn.NewReno` computes it, operation by operation. */
#include <math.h>
#include <stdlib.h>

#include "hopflow_cc.h"

static void *init(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control) {
  (void)seed;
  control->window = config->initial_window > 0.0 ? config->initial_window : 1.0;
  control->ssthresh = config->initial_ssthresh > 0.0 ? config->initial_ssthresh : INFINITY;
  return malloc(1); /* the window is all its state */
}

static void cut(hopflow_cc_control *control, double window) {
  control->window = window > 1.0 ? window : 1.0;
  control->ssthresh = window > 2.0 ? window : 2.0;
}

static void on_ack(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  (void)state;
  if (event->flags & (HOPFLOW_CC_STARTS_RECOVERY | HOPFLOW_CC_MARK_EVENT)) cut(control, 0.5 * control->window);
  for (uint64_t n = 0; n < event->growth; n++)
    control->window += control->window < control->ssthresh ? 1.0 : 1.0 / control->window;
}

static void on_timeout(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  (void)state;
  (void)event;
  double half = 0.5 * control->window;
  control->ssthresh = half > 2.0 ? half : 2.0;
  control->window = 1.0;
}

static const hopflow_cc_rule rule = {
    .abi = HOPFLOW_CC_ABI,
    .size = sizeof(hopflow_cc_rule),
    .name = "NewReno in C",
    .claims = "newreno",
    .recovery = "sack",
    .ecn = HOPFLOW_CC_ECT0,
    .init = init,
    .on_ack = on_ack,
    .on_timeout = on_timeout,
    .destroy = free,
};

const hopflow_cc_rule *hopflow_cc(uint64_t abi) { return abi == HOPFLOW_CC_ABI ? &rule : 0; }
