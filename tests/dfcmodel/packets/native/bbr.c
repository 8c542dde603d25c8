/* BBR as `responsefn.BBR` computes it, operation by operation, with the delivery rates of `responsefn.Delivery`.
 *
 * Random numbers are those of the rule in Python: `seed` is the start of the flow's generator, from which the rule draws
 * one per ACK. With a random delay of packets the sender draws from it, too, which no port can follow.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hopflow_cc.h"

#define INITIAL_WINDOW 10.0
#define MIN_CWND 4.0
#define LOSS_THRESHOLD 0.02
#define BETA 0.7
#define HEADROOM 0.15
#define STARTUP_GAIN 2.77
#define DRAIN_GAIN 0.5
#define DOWN_GAIN 0.9
#define UP_GAIN 1.25
#define CWND_GAIN 2.0
#define MARGIN 0.01
#define MIN_RTT_WINDOW 10.0
#define PROBE_RTT_INTERVAL 5.0
#define PROBE_RTT_DURATION 0.2
#define EXTRA_ACKED_ROUNDS 10.0

enum { STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT };
enum { NO_PROBE, REFILLING, STARTING, FEEDBACK, STOPPING };
static const char *const modes[] = {"Startup",          "Drain",      "ProbeBW_DOWN", "ProbeBW_CRUISE",
                                    "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT"};

/* What `slot` has: counts and times when the packet was sent. */
typedef struct record {
  double first_sent, delivered_at, delivered, lost, in_flight, limited;
} record;

/* A sample of the delivery rate, as the rule in Python receives it. */
typedef struct sample {
  double time, rtt, acked, lost, delivered, prior_delivered, interval, in_flight, sent_in_flight, lost_since;
  double lost_in_flight, lost_with, recovering, random, limited, restarted, lost_limited;
} sample;

typedef struct bbr {
  uint64_t random;
  double delivered, lost_total, delivered_at, first_sent, lost_in_flight, lost_with, app_limited; /* of the connection */
  int mode, ack_phase;
  double cwnd, pacing_rate, min_rtt, min_rtt_stamp, probe_rtt_done_stamp, probe_rtt_round_done, prior_cwnd;
  double next_round_delivered, round_count, round_start, full_bw, full_bw_count, cycle_stamp, limited_until, recovering;
  double extra_acked_start, extra_acked_delivered, extra_acked_now, extra_acked_before, bw_now, bw_before, bw_shortterm;
  double inflight_shortterm, inflight_longterm, probe_rtt_min_delay, probe_rtt_min_stamp, full_bw_now, full_bw_reached;
  double drain_start_round, bw_probe_wait, rounds_since_probe_up, bw_probe_up_rounds, bw_probe_up_acked;
  double probe_up_acked_per_inc, is_bw_probe_sample, prev_probe_too_high, prev_probe_precautionary;
  double loss_round_delivered, loss_round_start, is_loss_in_round, bw_latest, inflight_latest, round_lost;
  double round_delivered, recovery_round, extra_acked_round;
} bbr;

static double maximum(double x, double y) { return y > x ? y : x; }
static double minimum(double x, double y) { return y < x ? y : x; }

static double draw(bbr *s) { /* G. Marsaglia, Xorshift RNGs, 2003 */
  s->random ^= s->random << 13;
  s->random ^= s->random >> 7;
  s->random ^= s->random << 17;
  return (double)(s->random >> 11) * 0x1p-53;
}

static double bandwidth(const bbr *s) { return minimum(maximum(s->bw_now, s->bw_before), s->bw_shortterm); }

static double multiple(const bbr *s, double gain) {
  return s->min_rtt < INFINITY ? gain * bandwidth(s) * s->min_rtt : INITIAL_WINDOW;
}

static double quantization_budget(const bbr *s, double pacing_rate, double product) {
  double quantum = maximum(2.0, minimum(pacing_rate * 1e-3, 43.0));
  return maximum(product, maximum(quantum, MIN_CWND)) + (s->mode == UP ? 2.0 : 0.0);
}

static double inflight(const bbr *s, double gain) { return quantization_budget(s, s->pacing_rate, multiple(s, gain)); }

static int is_limited(const bbr *s, const sample *e) {
  return e->limited > 0.0 || e->prior_delivered <= s->limited_until;
}

static double with_headroom(const bbr *s) {
  if (s->inflight_longterm == INFINITY) return INFINITY;
  return maximum(s->inflight_longterm - maximum(1.0, HEADROOM * s->inflight_longterm), MIN_CWND);
}

static void start_down(bbr *s, const sample *e) {
  s->mode = DOWN;
  s->is_loss_in_round = 0.0;
  s->bw_latest = 0.0;
  s->inflight_latest = 0.0;
  s->probe_up_acked_per_inc = INFINITY;
  s->rounds_since_probe_up = e->random < 0.5 ? 1.0 : 0.0;
  s->bw_probe_wait = 2.0 + fmod(2.0 * e->random, 1.0);
  s->cycle_stamp = e->time;
  s->ack_phase = STOPPING;
  s->next_round_delivered = e->delivered;
}

static void start_refill(bbr *s, const sample *e) {
  s->mode = REFILL;
  s->bw_shortterm = INFINITY;
  s->inflight_shortterm = INFINITY;
  s->bw_probe_up_rounds = 0.0;
  s->bw_probe_up_acked = 0.0;
  s->prev_probe_precautionary = 0.0;
  s->ack_phase = REFILLING;
  s->next_round_delivered = e->delivered;
}

static void raise_slope(bbr *s) {
  s->probe_up_acked_per_inc = maximum(s->cwnd / pow(2.0, s->bw_probe_up_rounds), 1.0);
  s->bw_probe_up_rounds = minimum(s->bw_probe_up_rounds + 1.0, 30.0);
}

static double target_inflight(const bbr *s) {
  return minimum(s->min_rtt < INFINITY ? bandwidth(s) * s->min_rtt : INITIAL_WINDOW, s->cwnd);
}

static void note_losses(bbr *s, const sample *e) {
  if (e->lost == 0.0) return;
  if (s->is_loss_in_round == 0.0) {
    s->is_loss_in_round = 1.0;
    s->loss_round_delivered = e->delivered;
  }
  s->round_lost += e->lost;
  if (s->is_bw_probe_sample == 0.0 || e->lost_with <= e->lost_in_flight * LOSS_THRESHOLD) return;
  double before = e->lost_in_flight - 1.0, lost = e->lost_with - 1.0;
  double prefix = (LOSS_THRESHOLD * before - lost) / (1.0 - LOSS_THRESHOLD);
  double bound = maximum(before + prefix, target_inflight(s) * BETA);
  if (e->lost_limited > 0.0 || e->prior_delivered <= s->limited_until) bound = s->inflight_longterm;
  s->prev_probe_too_high = 1.0;
  s->is_bw_probe_sample = 0.0;
  s->inflight_longterm = bound;
  if (s->mode == UP) start_down(s, e);
}

static void congestion_signals(bbr *s, const sample *e, double rate) {
  int sampled = e->acked > 0.0 && e->interval > 0.0;
  int starts = sampled && e->prior_delivered >= s->loss_round_delivered;
  int begins = sampled && e->prior_delivered >= s->next_round_delivered;
  if (rate >= maximum(s->bw_now, s->bw_before) || !is_limited(s, e)) s->bw_now = maximum(s->bw_now, rate);
  s->bw_latest = maximum(s->bw_latest, rate);
  s->inflight_latest = maximum(s->inflight_latest, e->delivered - e->prior_delivered);
  s->loss_round_start = starts;
  if (starts) s->loss_round_delivered = e->delivered;
  s->round_start = begins;
  if (begins) s->next_round_delivered = e->delivered;
  s->round_count += begins;
  s->rounds_since_probe_up += begins;
  if (!starts) return;
  if (s->is_loss_in_round > 0.0 && s->mode != STARTUP && s->mode != REFILL && s->mode != UP) {
    double bw = s->bw_shortterm == INFINITY ? maximum(s->bw_now, s->bw_before) : s->bw_shortterm;
    double flight = s->inflight_shortterm == INFINITY ? s->cwnd : s->inflight_shortterm;
    s->bw_shortterm = maximum(s->bw_latest, BETA * bw);
    s->inflight_shortterm = maximum(s->inflight_latest, BETA * flight);
  }
  s->is_loss_in_round = 0.0;
}

static void aggregation(bbr *s, const sample *e) {
  double expected = bandwidth(s) * (e->time - s->extra_acked_start);
  if (s->extra_acked_delivered <= expected) {
    s->extra_acked_delivered = 0.0;
    s->extra_acked_start = e->time;
    expected = 0.0;
  }
  s->extra_acked_delivered += e->acked;
  double extra = minimum(s->extra_acked_delivered - expected, s->cwnd);
  double span = s->full_bw_reached > 0.0 ? maximum(1.0, 0.5 * EXTRA_ACKED_ROUNDS) : 1.0;
  if (s->round_count >= s->extra_acked_round + span) {
    s->extra_acked_before = s->extra_acked_now;
    s->extra_acked_now = extra;
    s->extra_acked_round = s->round_count;
  } else {
    s->extra_acked_now = maximum(s->extra_acked_now, extra);
  }
}

static void full_pipe(bbr *s, const sample *e, double rate) {
  if (s->full_bw_now == 0.0 && s->round_start > 0.0 && !is_limited(s, e)) {
    if (rate >= 1.25 * s->full_bw) {
      s->full_bw = rate;
      s->full_bw_count = 0.0;
    } else {
      s->full_bw_count += 1.0;
      s->full_bw_now = s->full_bw_count >= 3.0;
      s->full_bw_reached = maximum(s->full_bw_now, s->full_bw_reached);
    }
  }
  if (s->round_start > 0.0) {
    double lost = s->round_lost;
    int many = lost >= 6.0 && lost > LOSS_THRESHOLD * (lost + e->delivered - s->round_delivered);
    int lasts = e->recovering > 0.0 && s->round_count > s->recovery_round;
    if (s->mode == STARTUP && s->full_bw_reached == 0.0 && many && lasts) {
      s->full_bw_reached = 1.0;
      s->full_bw_now = 1.0;
      s->inflight_longterm = maximum(maximum(s->bw_now, s->bw_before) * s->min_rtt, s->inflight_latest);
    }
    s->round_lost = 0.0;
    s->round_delivered = e->delivered;
  }
  if (s->mode == STARTUP && s->full_bw_reached > 0.0) {
    s->mode = DRAIN;
    s->drain_start_round = s->round_count;
  }
  if (s->mode == DRAIN && (s->round_count > s->drain_start_round + 3.0 || e->in_flight <= inflight(s, 1.0)))
    start_down(s, e);
}

static int is_window_full(const bbr *s, const sample *e) {
  return e->in_flight + e->acked + e->lost >= floor(s->cwnd);
}

static void adapt_long_term(bbr *s, const sample *e) {
  if (s->ack_phase == STARTING && s->round_start > 0.0) s->ack_phase = FEEDBACK;
  if (s->ack_phase == STOPPING && s->round_start > 0.0) {
    s->is_bw_probe_sample = 0.0;
    s->ack_phase = NO_PROBE;
    if (s->mode >= DOWN && s->mode <= UP) {
      if (!is_limited(s, e)) {
        s->bw_before = s->bw_now;
        s->bw_now = 0.0;
      }
      if (s->prev_probe_precautionary > 0.0 && s->prev_probe_too_high == 0.0) {
        start_refill(s, e);
        return;
      }
    }
  }
  if (e->lost_since > e->sent_in_flight * LOSS_THRESHOLD || s->inflight_longterm == INFINITY) return;
  s->inflight_longterm = maximum(s->inflight_longterm, e->sent_in_flight);
  if (s->mode == UP && is_window_full(s, e) && s->cwnd >= s->inflight_longterm) {
    double acked = s->bw_probe_up_acked + e->acked;
    double steps = floor(acked / s->probe_up_acked_per_inc);
    if (steps > 0.0) acked -= steps * s->probe_up_acked_per_inc;
    s->bw_probe_up_acked = acked;
    s->inflight_longterm += steps;
    if (s->round_start > 0.0) raise_slope(s);
  }
}

static void restart_full_pipe(bbr *s, double rate) {
  s->full_bw = rate;
  s->full_bw_count = 0.0;
  s->full_bw_now = 0.0;
}

static void probing_cycle(bbr *s, const sample *e, double rate) {
  if (s->full_bw_reached == 0.0) return;
  int before = s->mode;
  adapt_long_term(s, e);
  if (s->mode < DOWN || s->mode > UP || (s->mode == REFILL && before != REFILL)) return;
  if (s->mode == DOWN || s->mode == CRUISE) {
    int waited = e->time > s->cycle_stamp + s->bw_probe_wait;
    if (waited || s->rounds_since_probe_up >= minimum(target_inflight(s), 63.0)) {
      start_refill(s, e);
      return;
    }
    bbr unbounded = *s;
    unbounded.bw_shortterm = INFINITY;
    if (s->mode == DOWN && e->in_flight <= with_headroom(s) && e->in_flight <= inflight(&unbounded, 1.0))
      s->mode = CRUISE;
  } else if (s->mode == REFILL) {
    if (s->round_start == 0.0) return;
    s->mode = UP;
    s->is_bw_probe_sample = 1.0;
    s->ack_phase = STARTING;
    s->next_round_delivered = e->delivered;
    restart_full_pipe(s, rate);
    raise_slope(s);
  } else if (s->prev_probe_too_high > 0.0 && e->in_flight >= s->inflight_longterm) {
    s->prev_probe_precautionary = 1.0;
    s->prev_probe_too_high = 0.0;
    start_down(s, e);
  } else if (is_window_full(s, e) && s->cwnd >= s->inflight_longterm) {
    restart_full_pipe(s, rate);
  } else if (s->full_bw_now > 0.0) {
    s->prev_probe_too_high = 0.0;
    start_down(s, e);
  }
}

static double probe_rtt_window(const bbr *s) {
  return maximum(s->min_rtt < INFINITY ? 0.5 * bandwidth(s) * s->min_rtt : INITIAL_WINDOW, MIN_CWND);
}

static void hold_probe_rtt(bbr *s, const sample *e) {
  s->limited_until = e->delivered + e->in_flight;
  if (s->probe_rtt_done_stamp > 0.0) {
    s->probe_rtt_round_done = maximum(s->probe_rtt_round_done, s->round_start);
  } else if (e->in_flight <= probe_rtt_window(s)) {
    s->probe_rtt_done_stamp = e->time + PROBE_RTT_DURATION;
    s->probe_rtt_round_done = 0.0;
    s->next_round_delivered = e->delivered;
  }
}

static void round_trip_time(bbr *s, const sample *e) {
  int expired = e->time > s->probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
  if (e->rtt == 0.0) return; /* no sample yet */
  if (s->min_rtt == INFINITY) s->pacing_rate = STARTUP_GAIN * INITIAL_WINDOW / e->rtt;
  if (e->rtt < s->probe_rtt_min_delay || expired) {
    s->probe_rtt_min_delay = e->rtt;
    s->probe_rtt_min_stamp = e->time;
  }
  if (s->probe_rtt_min_delay < s->min_rtt || e->time > s->min_rtt_stamp + MIN_RTT_WINDOW) {
    s->min_rtt = s->probe_rtt_min_delay;
    s->min_rtt_stamp = s->probe_rtt_min_stamp;
  }
  if (s->mode != PROBE_RTT && expired && e->restarted == 0.0) {
    s->mode = PROBE_RTT;
    s->prior_cwnd = s->recovering == 0.0 ? s->cwnd : maximum(s->prior_cwnd, s->cwnd);
    s->probe_rtt_done_stamp = 0.0;
    s->ack_phase = STOPPING;
    s->next_round_delivered = e->delivered;
  }
  if (s->mode != PROBE_RTT) return;
  hold_probe_rtt(s, e);
  if (!(s->probe_rtt_done_stamp > 0.0 && s->probe_rtt_round_done > 0.0 && e->time > s->probe_rtt_done_stamp)) return;
  s->probe_rtt_min_stamp = e->time;
  s->cwnd = maximum(s->cwnd, s->prior_cwnd);
  s->bw_shortterm = INFINITY;
  s->inflight_shortterm = INFINITY;
  s->mode = STARTUP;
  if (s->full_bw_reached > 0.0) {
    start_down(s, e);
    s->mode = CRUISE;
  }
}

static void set_rate_and_window(bbr *s, const sample *e) {
  static const double gains[] = {STARTUP_GAIN, DRAIN_GAIN, DOWN_GAIN, 1.0, 1.0, UP_GAIN, 1.0};
  double paced = gains[s->mode] * bandwidth(s) * (1.0 - MARGIN), cwnd = s->cwnd;
  if (paced > 0.0 && (s->full_bw_reached > 0.0 || paced > s->pacing_rate)) s->pacing_rate = paced;
  if (e->recovering > 0.0 && s->recovering == 0.0) {
    s->prior_cwnd = s->mode == PROBE_RTT ? maximum(s->prior_cwnd, cwnd) : cwnd;
    s->recovery_round = s->round_count;
  } else if (e->recovering == 0.0 && s->recovering > 0.0) {
    cwnd = maximum(cwnd, s->prior_cwnd);
  }
  double extra = maximum(s->extra_acked_now, s->extra_acked_before);
  double product = multiple(s, s->mode == UP ? 1.125 * CWND_GAIN : CWND_GAIN) + extra;
  double max_inflight = quantization_budget(s, s->pacing_rate, product);
  if (s->full_bw_reached > 0.0)
    cwnd = minimum(cwnd + e->acked, max_inflight);
  else if (cwnd < max_inflight || e->delivered < INITIAL_WINDOW)
    cwnd += e->acked;
  cwnd = maximum(cwnd, MIN_CWND);
  double cap = INFINITY;
  if (s->mode == PROBE_RTT) {
    cwnd = minimum(cwnd, probe_rtt_window(s));
    cap = with_headroom(s);
  } else if (s->mode == CRUISE) {
    cap = with_headroom(s);
  } else if (s->mode >= DOWN) {
    cap = s->inflight_longterm;
  }
  s->cwnd = minimum(cwnd, maximum(minimum(cap, s->inflight_shortterm), MIN_CWND));
  s->recovering = e->recovering;
}

static void on_delivery(bbr *s, const sample *e) {
  double rate = 0.0;
  if (e->acked > 0.0 && e->interval > 0.0 && e->interval >= s->min_rtt)
    rate = (e->delivered - e->prior_delivered) / e->interval;
  note_losses(s, e);
  congestion_signals(s, e, rate);
  aggregation(s, e);
  full_pipe(s, e, rate);
  probing_cycle(s, e, rate);
  round_trip_time(s, e);
  if (s->loss_round_start > 0.0) {
    s->bw_latest = rate;
    s->inflight_latest = e->delivered - e->prior_delivered;
  }
  set_rate_and_window(s, e);
}

static void *init(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control) {
  bbr *s = calloc(1, sizeof *s);
  if (!s) return 0;
  s->random = seed;
  s->cwnd = config->initial_window > 0.0 ? config->initial_window : INITIAL_WINDOW;
  s->pacing_rate = STARTUP_GAIN * INITIAL_WINDOW / 1e-3;
  s->min_rtt = s->probe_rtt_min_delay = s->probe_up_acked_per_inc = INFINITY;
  s->bw_shortterm = s->inflight_shortterm = s->inflight_longterm = INFINITY;
  s->limited_until = -1.0;
  control->window = s->cwnd;
  control->ssthresh = config->initial_ssthresh > 0.0 ? config->initial_ssthresh : INFINITY;
  control->pacing_rate = s->pacing_rate;
  return s;
}

static void on_sent(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  bbr *s = state;
  (void)control;
  if (event->in_flight_before == 0) s->first_sent = s->delivered_at = event->now;
  record r = {s->first_sent, s->delivered_at, s->delivered, s->lost_total, (double)event->in_flight,
              s->app_limited > 0.0 ? 1.0 : 0.0};
  memcpy(event->packet->slot, &r, sizeof r);
  if (event->flags & HOPFLOW_CC_APP_LIMITED) s->app_limited = maximum(s->delivered + (double)event->in_flight, 1.0);
}

static record record_of(const hopflow_cc_packet *packet) {
  record r;
  memcpy(&r, packet->slot, sizeof r);
  return r;
}

static void on_ack(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  bbr *s = state;
  const hopflow_cc_packet *newest = 0;
  double acked = (double)event->acked_count, lost = (double)event->lost_count, restarted = 0.0, lost_limited = 0.0;
  if (event->acked_count + event->lost_count == 0) return;
  s->lost_in_flight = s->lost_with = 0.0;
  for (uint64_t n = 0; n < event->lost_count; n++) {
    record r = record_of(&event->lost[n]);
    s->lost_total += 1.0;
    s->lost_in_flight = r.in_flight;
    s->lost_with = s->lost_total - r.lost;
    lost_limited = r.limited;
  }
  for (uint64_t n = 0; n < event->acked_count; n++) {
    record r = record_of(&event->acked[n]);
    if (r.limited > 0.0 && r.in_flight == 1.0) restarted = 1.0;
  }
  for (uint64_t n = 0; n < event->acked_count && !newest; n++)
    if (fabs(event->now - event->acked[n].sent - event->latest_rtt) < 1e-9) newest = &event->acked[n];
  s->delivered += acked;
  if (s->delivered > s->app_limited) s->app_limited = 0.0;
  sample e = {event->now, event->latest_rtt, acked, lost, s->delivered, s->delivered, 0.0, (double)event->in_flight,
              0.0, 0.0, s->lost_in_flight, s->lost_with, (event->flags & HOPFLOW_CC_REPAIRING) ? 1.0 : 0.0, draw(s),
              0.0, restarted, lost_limited};
  if (newest) {
    record r = record_of(newest);
    e.prior_delivered = r.delivered;
    e.interval = maximum(newest->sent - r.first_sent, event->now - r.delivered_at);
    e.sent_in_flight = r.in_flight;
    e.limited = r.limited;
    e.lost_since = s->lost_total - r.lost;
    s->first_sent = newest->sent;
  }
  if (acked > 0.0) s->delivered_at = event->now;
  s->cwnd = control->window;
  on_delivery(s, &e);
  control->window = s->cwnd;
  control->pacing_rate = s->pacing_rate;
}

static void on_timeout(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  bbr *s = state;
  s->delivered += (double)event->acked_count;
  s->lost_total += (double)event->lost_count;
  s->prior_cwnd = maximum(s->prior_cwnd, control->window);
  s->recovering = 1.0;
  control->window = s->cwnd = 1.0;
}

static const char *observe(void *state, double numbers[HOPFLOW_CC_NUMBERS]) {
  const bbr *s = state;
  double const values[] = {
      maximum(s->bw_now, s->bw_before), s->bw_shortterm, s->min_rtt, s->inflight_shortterm, s->inflight_longterm,
      maximum(s->extra_acked_now, s->extra_acked_before), s->full_bw, s->full_bw_count, s->full_bw_now, s->full_bw_reached,
      s->round_count, s->drain_start_round, s->probe_rtt_min_stamp, s->bw_probe_wait, s->bw_probe_up_rounds,
      s->prev_probe_too_high};
  memcpy(numbers, values, sizeof values);
  return modes[s->mode];
}

static const hopflow_cc_rule rule = {
    .abi = HOPFLOW_CC_ABI,
    .size = sizeof(hopflow_cc_rule),
    .name = "BBR in C",
    .claims = "bbr-draft",
    .recovery = "rack",
    .observed = "max_bw bw_shortterm min_rtt inflight_shortterm inflight_longterm extra_acked full_bw full_bw_count "
                "full_bw_now full_bw_reached round_count drain_start_round probe_rtt_min_stamp bw_probe_wait "
                "bw_probe_up_rounds prev_probe_too_high",
    .flags = HOPFLOW_CC_FLIGHT,
    .init = init,
    .on_sent = on_sent,
    .on_ack = on_ack,
    .on_timeout = on_timeout,
    .observe = observe,
    .destroy = free,
};

const hopflow_cc_rule *hopflow_cc(uint64_t abi) { return abi == HOPFLOW_CC_ABI ? &rule : 0; }
