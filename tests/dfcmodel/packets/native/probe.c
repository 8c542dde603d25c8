/* A rule with a fixed window that checks what it is told, and that misbehaves where it is compiled to do so.
 *
 * PROBE_WINDOW   packets of its window; default 20
 * PROBE_FLAGS    flags of its table
 * PROBE_RATE     pacing rate, packets/s; PROBE_QUANTUM its quantum, packets
 * PROBE_GAP      packets depart this many seconds after each other, by `departure`
 * PROBE_TIMER    period of its timer, s
 * PROBE_TABLE    a statement that changes its table; PROBE_ACK, PROBE_INIT, PROBE_SENT: one at the end of the function
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hopflow_cc.h"

#ifndef PROBE_WINDOW
#define PROBE_WINDOW 20.0
#endif
#ifndef PROBE_FLAGS
#define PROBE_FLAGS 0
#endif

typedef struct probe {
  double unit, timers, timeouts, last_timer, persistent;
  uint64_t sent, acked, lost, wrong, flight, acks, seed;
} probe;

static double to_seconds(uint64_t ns) { return 1e-9 * (double)ns; }

static void set_times(hopflow_cc_control *control, double departure, double timer) {
  control->departure = departure;
  control->departure_ns = (uint64_t)(1e9 * departure + 0.5);
  control->timer = timer;
  control->timer_ns = (uint64_t)(1e9 * timer + 0.5);
#if PROBE_FLAGS & HOPFLOW_CC_NANOSECONDS
  control->departure = control->timer = NAN; /* are not read */
#endif
}

static void *init(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control) {
  probe *s = calloc(1, sizeof *s);
  if (!s) return 0;
  s->seed = seed;
  s->unit = PROBE_FLAGS & HOPFLOW_CC_BYTES ? (double)config->packet_bytes : 1.0;
  control->window = PROBE_WINDOW * s->unit;
  control->ssthresh = INFINITY;
#ifdef PROBE_RATE
  control->pacing_rate = PROBE_RATE * s->unit;
#endif
#ifdef PROBE_QUANTUM
  control->send_quantum = PROBE_QUANTUM * s->unit;
#endif
#ifdef PROBE_TIMER
  set_times(control, 0.0, PROBE_TIMER);
#endif
#ifdef PROBE_INIT
  PROBE_INIT;
#endif
  return s;
}

static void check_event(probe *s, const hopflow_cc_event *event) {
  if (fabs(to_seconds(event->now_ns) - event->now) > 0.6e-9) s->wrong++;
  if (event->in_flight_before != s->flight) s->wrong++;
}

static void on_sent(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  probe *s = state;
  hopflow_cc_packet *packet = event->packet;
  uint64_t mark[2] = {~s->sent, s->seed};
  check_event(s, event);
  if (packet->number != s->sent || packet->sent != event->now || packet->sent_ns != event->now_ns) s->wrong++;
  for (int n = 0; n < HOPFLOW_CC_SLOT; n++) s->wrong += packet->slot[n] != 0;
  memcpy(packet->slot, mark, sizeof mark);
  packet->slot[HOPFLOW_CC_SLOT - 1] = 7;
  s->sent++;
  s->flight++;
  if (event->in_flight != s->flight || event->acked_count + event->lost_count > 0) s->wrong++;
#ifdef PROBE_GAP
  set_times(control, event->now + PROBE_GAP, 0.0);
#endif
  (void)control;
#ifdef PROBE_SENT
  PROBE_SENT;
#endif
}

static void check_packets(probe *s, const hopflow_cc_event *event, const hopflow_cc_packet *packets, uint64_t count) {
  for (uint64_t n = 0; n < count; n++) {
    uint64_t mark[2];
    memcpy(mark, packets[n].slot, sizeof mark);
    if (mark[0] != ~packets[n].number || mark[1] != s->seed || packets[n].slot[HOPFLOW_CC_SLOT - 1] != 7) s->wrong++;
    if (n > 0 && packets[n].number <= packets[n - 1].number) s->wrong++;
    if (packets[n].sent > event->now || packets[n].bytes == 0) s->wrong++;
  }
  s->flight -= count;
}

static void check_report(probe *s, const hopflow_cc_event *event) {
  check_event(s, event);
  check_packets(s, event, event->acked, event->acked_count);
  check_packets(s, event, event->lost, event->lost_count);
  if (event->in_flight != s->flight || event->packet) s->wrong++;
  s->acked += event->acked_count;
  s->lost += event->lost_count;
}

static void on_ack(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  probe *s = state;
  check_report(s, event);
  if (event->acked_count > 0 && !(event->latest_rtt > 0.0 && event->min_rtt > 0.0 && event->smoothed_rtt > 0.0)) s->wrong++;
  s->acks++;
  (void)control;
#ifdef PROBE_ACK
  PROBE_ACK;
#endif
}

static void on_timeout(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  probe *s = state;
  check_report(s, event);
  if (event->in_flight != 0) s->wrong++;
  s->timeouts += 1.0;
  if (event->flags & HOPFLOW_CC_PERSISTENT_CONGESTION) s->persistent += 1.0;
  control->window = PROBE_WINDOW * s->unit;
}

static void on_timer(void *state, const hopflow_cc_event *event, hopflow_cc_control *control) {
  probe *s = state;
  check_event(s, event);
  s->timers += 1.0;
  s->last_timer = event->now;
#ifdef PROBE_TIMER
  set_times(control, 0.0, event->now + PROBE_TIMER);
#endif
  (void)control;
}

static const char *observe(void *state, double numbers[HOPFLOW_CC_NUMBERS]) {
  probe *s = state;
  numbers[0] = (double)s->sent;
  numbers[1] = (double)s->acked;
  numbers[2] = (double)s->lost;
  numbers[3] = (double)s->wrong;
  numbers[4] = s->timers;
  numbers[5] = s->last_timer;
  numbers[6] = s->timeouts;
  numbers[7] = s->persistent;
  return s->sent ? "sending" : "idle";
}

static hopflow_cc_rule rule = {
    HOPFLOW_CC_ABI,
    sizeof(hopflow_cc_rule),
    "probe",
    "other",
    "sack",
    "sent acked lost wrong timers last_timer timeouts persistent",
    PROBE_FLAGS,
    HOPFLOW_CC_NOT_ECT,
    init,
    on_sent,
    on_ack,
    on_timeout,
    on_timer,
    observe,
    free,
};

#ifdef PROBE_NO_FUNCTION
#define hopflow_cc other_name
const hopflow_cc_rule *other_name(uint64_t abi);
#endif
const hopflow_cc_rule *hopflow_cc(uint64_t abi) {
  (void)abi;
#ifdef PROBE_TABLE
  PROBE_TABLE;
#endif
  return &rule;
}
