/* CUBIC as `responsefn.CUBIC` computes it, operation by operation. */
#include <math.h>
#include <stdlib.h>

#include "hopflow_cc.h"

#define C 0.4
#define BETA 0.7

typedef struct cubic {
  double peak, plateau, since, reno;
  double counted, limited; /* time of the last ACK, and how long the application limited the window, s */
  int idle;
} cubic;

static double maximum(double x, double y) { return x > y ? x : y; }
static double minimum(double x, double y) { return x < y ? x : y; }

static void *init(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control) {
  (void)seed;
  cubic *s = calloc(1, sizeof *s);
  if (!s) return 0;
  s->reno = 1.0;
  control->window = config->initial_window > 0.0 ? config->initial_window : 1.0;
  control->ssthresh = config->initial_ssthresh > 0.0 ? config->initial_ssthresh : INFINITY;
  return s;
}

static void reduce(cubic *s, double now, double lowest, hopflow_cc_control *control) {
  double cwnd = control->window, window = maximum(lowest, BETA * cwnd);
  s->peak = cwnd;
  s->plateau = pow(maximum(0.0, s->peak - window) / C, 1.0 / 3.0);
  s->since = now;
  s->reno = window;
  control->window = window;
  control->ssthresh = maximum(2.0, window);
}

static void grow(cubic *s, double now, double rtt, hopflow_cc_control *control) {
  double cwnd = control->window, ssthresh = control->ssthresh;
  int slow = cwnd < ssthresh;
  double since = slow ? now : s->since;
  double ahead = now - since + rtt - s->plateau;
  double curve = C * ahead * ahead * ahead + s->peak;
  double target = minimum(1.5 * cwnd, maximum(cwnd, curve));
  double gain = s->reno < ssthresh / BETA ? 3.0 * (1.0 - BETA) / (1.0 + BETA) : 1.0;
  double reno = slow ? cwnd + 1.0 : s->reno + gain / cwnd;
  double next = cwnd + (slow ? 1.0 : (target - cwnd) / cwnd);
  if (slow) {
    s->peak = cwnd;
    s->plateau = 0.0;
  }
  s->since = since;
  s->reno = reno;
  control->window = maximum(next, reno);
}

/* RFC 9438, 4.2: the time of a stage has none in which the application limits the window. */
static double count(cubic *s, double now, int limited) {
  if (limited) s->limited += now - s->counted;
  s->counted = now;
  return now - s->limited;
}

static void on_sent(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  cubic *s = state;
  (void)control;
  if (event->in_flight_before == 0 && s->idle) count(s, event->now, 1);
  s->idle = (event->flags & HOPFLOW_CC_APP_LIMITED) != 0;
}

static void on_ack(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  double now = count(state, event->now, (event->flags & HOPFLOW_CC_APP_LIMITED) != 0);
  if (event->flags & HOPFLOW_CC_STARTS_RECOVERY)
    reduce(state, now, 2.0, control); /* RFC 9438, Figure 5: at least two packets after a loss, */
  else if (event->flags & HOPFLOW_CC_MARK_EVENT)
    reduce(state, now, 1.0, control); /* one after a mark */
  for (uint64_t n = 0; n < event->growth; n++) grow(state, now, event->latest_rtt, control);
}

static void on_timeout(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  cubic *s = state;
  (void)event;
  control->ssthresh = maximum(2.0, BETA * control->window);
  control->window = s->reno = 1.0;
}

static const hopflow_cc_rule rule = {
    .abi = HOPFLOW_CC_ABI,
    .size = sizeof(hopflow_cc_rule),
    .name = "CUBIC in C",
    .claims = "cubic-rfc9438",
    .recovery = "sack",
    .ecn = HOPFLOW_CC_ECT0,
    .init = init,
    .on_sent = on_sent,
    .on_ack = on_ack,
    .on_timeout = on_timeout,
    .destroy = free,
};

const hopflow_cc_rule *hopflow_cc(uint64_t abi) { return abi == HOPFLOW_CC_ABI ? &rule : 0; }
