/* Adapter from ngtcp2's congestion control to hopflow_cc.h. BSD-3-Clause.
 *
 * Compiled with the unmodified sources of a release of ngtcp2, of which it includes private headers. It does what
 * ngtcp2's connection does around its congestion control: samples of the delivery rate, packets in flight, and the
 * order of callbacks (lib/ngtcp2_rtb.c and lib/ngtcp2_conn.c).
 *
 * ALGORITHM  RENO (RFC 9002, Sect. 7), CUBIC (RFC 9438) or BBR (draft-ietf-ccwg-bbr)
 *
 * Releases 1.11.0 and 1.24.0 are known to it; private headers of others may differ.
 *
 * Clock: ns. Windows: bytes, which limit bytes in flight. Pace: ngtcp2 has an interval per byte, in ns / 1024.
 *
 * Where the simulation differs from QUIC: it has a retransmission timer (RFC 6298) in place of probe timeouts. Its
 * expiry is reported as a loss of all packets in flight with persistent congestion (RFC 9002, Sect. 7.6). The window
 * limits whole packets, so that it is full when another packet does not fit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ngtcp2_bbr.h"
#include "ngtcp2_cc.h"
#include "ngtcp2_conn_stat.h"
#include "ngtcp2_log.h"
#include "ngtcp2_rst.h"
#include "ngtcp2_rtb.h"

#include "hopflow_cc.h"

#define SINCE_1_24_0 0x011800
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
#include "ngtcp2_pcg.h"
#endif

#define RENO 1
#define CUBIC 2
#define BBR 3

typedef struct state {
  ngtcp2_conn_stat cstat;
  ngtcp2_rst rst;
  ngtcp2_log log;
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
  ngtcp2_pcg32 pcg;
#else
  uint64_t random;
#endif
  ngtcp2_cc *cc;
#if ALGORITHM == RENO
  ngtcp2_cc_reno algorithm;
#elif ALGORITHM == CUBIC
  ngtcp2_cc_cubic algorithm;
#else
  ngtcp2_cc_bbr algorithm;
#endif
} state;

/* What ngtcp2 stores with a packet for samples of the delivery rate: `rst` of ngtcp2_rtb_entry. */
#define RECORD(entry) (&(entry).rst)
typedef char record_fits[sizeof(((ngtcp2_rtb_entry *)0)->rst) <= HOPFLOW_CC_SLOT ? 1 : -1];

#if NGTCP2_VERSION_NUM < SINCE_1_24_0 && ALGORITHM == BBR
static void draw(uint8_t *bytes, size_t length, const ngtcp2_rand_ctx *context) {
  state *s = context->native_handle;
  for (size_t n = 0; n < length; n++) {
    s->random = 6364136223846793005u * s->random + 1442695040888963407u; /* Knuth, TAOCP 2, 3.3.4: MMIX */
    bytes[n] = (uint8_t)(s->random >> 56);
  }
}
#endif

static uint64_t to_ns(double seconds) { return (uint64_t)(1e9 * seconds + 0.5); }
static double known(uint64_t amount) { return amount == UINT64_MAX ? INFINITY : (double)amount; }

static void answer(const state *s, hopflow_cc_control *control) {
  control->window = (double)s->cstat.cwnd;
  control->ssthresh = known(s->cstat.ssthresh);
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
  control->pacing_rate = s->cstat.pacing_interval_m ? 1024e9 / (double)s->cstat.pacing_interval_m : 0.0;
#else /* a window per 0.8 of a round trip without an interval */
  uint64_t rtt = s->cstat.first_rtt_sample_ts == UINT64_MAX ? NGTCP2_MILLISECONDS : s->cstat.smoothed_rtt;
  double interval = (double)s->cstat.pacing_interval;
  control->pacing_rate = 1e9 / (interval > 0.0 ? interval : 0.8 * (double)rtt / (double)s->cstat.cwnd);
#endif
  control->send_quantum = (double)s->cstat.send_quantum;
}

static void *init(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control) {
  state *s = calloc(1, sizeof *s);
  if (!s) return 0;
  ngtcp2_conn_stat *c = &s->cstat;
  c->min_rtt = UINT64_MAX;
  c->initial_rtt = c->smoothed_rtt = 333 * NGTCP2_MILLISECONDS; /* RFC 9002, Sect. 6.2.2 */
  c->rttvar = c->smoothed_rtt / 2;
  c->first_rtt_sample_ts = UINT64_MAX;
  c->max_tx_udp_payload_size = (size_t)config->packet_bytes;
  c->cwnd = ngtcp2_cc_compute_initcwnd(c->max_tx_udp_payload_size);
  if (config->initial_window > 0.0) c->cwnd = (uint64_t)(config->initial_window * (double)config->packet_bytes);
  c->ssthresh = UINT64_MAX;
  if (config->initial_ssthresh > 0.0) c->ssthresh = (uint64_t)(config->initial_ssthresh * (double)config->packet_bytes);
  c->congestion_recovery_start_ts = UINT64_MAX;
  c->send_quantum = 64 * 1024;
  ngtcp2_rst_init(&s->rst);
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
  ngtcp2_pcg32_init(&s->pcg, seed);
#else
  s->random = seed;
#endif
#if ALGORITHM == RENO
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
  ngtcp2_cc_reno_init(&s->algorithm, &s->log, c);
#else
  ngtcp2_cc_reno_init(&s->algorithm, &s->log);
#endif
#elif ALGORITHM == CUBIC
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
  ngtcp2_cc_cubic_init(&s->algorithm, &s->log, c, &s->rst);
#else
  ngtcp2_cc_cubic_init(&s->algorithm, &s->log, &s->rst);
#endif
#else
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
  ngtcp2_cc_bbr_init(&s->algorithm, &s->log, c, &s->rst, 0, &s->pcg);
#else
  ngtcp2_rand_ctx context = {.native_handle = s};
  ngtcp2_cc_bbr_init(&s->algorithm, &s->log, c, &s->rst, 0, draw, &context);
#endif
#endif
  s->cc = &s->algorithm.cc;
  answer(s, control);
  return s;
}

/* After each transmission and ACK, as at the end of ngtcp2_conn_write_vmsg. */
static void note_limits(state *s, const hopflow_cc_event *event) {
  if (s->cstat.bytes_in_flight + s->cstat.max_tx_udp_payload_size > s->cstat.cwnd) {
    s->rst.is_cwnd_limited = 1;
  } else if (event->flags & HOPFLOW_CC_APP_LIMITED) {
    uint64_t limited = s->rst.delivered + s->cstat.bytes_in_flight;
    s->rst.app_limited = limited ? limited : 1;
  }
}

static ngtcp2_cc_pkt describe(const hopflow_cc_packet *packet, const ngtcp2_rtb_entry *entry) {
  ngtcp2_cc_pkt result;
  ngtcp2_cc_pkt_init(&result, (int64_t)packet->number, (size_t)packet->bytes, NGTCP2_PKTNS_ID_APPLICATION,
                     packet->sent_ns, entry->rst.lost, entry->rst.tx_in_flight, entry->rst.is_app_limited);
  return result;
}

static ngtcp2_rtb_entry read_entry(const hopflow_cc_packet *packet) {
  ngtcp2_rtb_entry entry;
  memset(&entry, 0, sizeof entry);
  entry.hd.pkt_num = (int64_t)packet->number;
  entry.pktlen = (size_t)packet->bytes;
  entry.ts = packet->sent_ns;
  memcpy(RECORD(entry), packet->slot, sizeof entry.rst);
  return entry;
}

static void on_sent(void *state_, const hopflow_cc_event *event, hopflow_cc_control *control) {
  state *s = state_;
  hopflow_cc_packet *packet = event->packet;
  ngtcp2_rtb_entry entry = read_entry(packet);
  if (s->cc->on_pkt_sent) {
    ngtcp2_cc_pkt sent = describe(packet, &entry);
    s->cc->on_pkt_sent(s->cc, &s->cstat, &sent);
  }
  s->cstat.bytes_in_flight += packet->bytes;
  ngtcp2_rst_on_pkt_sent(&s->rst, &entry, &s->cstat);
  memcpy(packet->slot, RECORD(entry), sizeof entry.rst);
  note_limits(s, event);
  answer(s, control);
}

/* Process what is lost, from the newest packet on; `ack` is that of the event. */
static void lose(state *s, const hopflow_cc_event *event, ngtcp2_cc_ack *ack) {
  uint64_t latest = event->lost[event->lost_count - 1].sent_ns;
  for (uint64_t n = event->lost_count; n-- > 0;) {
    const hopflow_cc_packet *packet = &event->lost[n];
    ngtcp2_rtb_entry entry = read_entry(packet);
    s->cstat.bytes_in_flight -= packet->bytes;
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
    s->rst.lost += packet->bytes;
#endif
    ack->bytes_lost += packet->bytes;
    if (s->cc->on_pkt_lost) {
      ngtcp2_cc_pkt lost = describe(packet, &entry);
      s->cc->on_pkt_lost(s->cc, &s->cstat, &lost, event->now_ns);
    }
  }
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
  s->cc->congestion_event(s->cc, &s->cstat, latest, ack, event->now_ns);
#else
  s->cc->congestion_event(s->cc, &s->cstat, latest, ack->bytes_lost, event->now_ns);
  s->rst.lost += ack->bytes_lost;
#endif
}

static void on_ack(void *state_, const hopflow_cc_event *event, hopflow_cc_control *control) {
  state *s = state_;
  ngtcp2_conn_stat *c = &s->cstat;
  ngtcp2_cc_ack ack;
  memset(&ack, 0, sizeof ack);
  ack.largest_pkt_sent_ts = ack.rtt = UINT64_MAX;
  if (event->acked_count) {
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
    ngtcp2_rst_reset_rate_sample(&s->rst, c);
#else
    ack.prior_bytes_in_flight = c->bytes_in_flight;
#endif
    for (uint64_t n = 0; n < event->acked_count; n++) c->bytes_in_flight -= event->acked[n].bytes;
    ack.largest_pkt_sent_ts = event->acked[event->acked_count - 1].sent_ns;
    ack.rtt = c->latest_rtt = to_ns(event->latest_rtt);
    c->min_rtt = to_ns(event->min_rtt);
    c->smoothed_rtt = to_ns(event->smoothed_rtt);
    c->rttvar = to_ns(event->rtt_variance);
    if (c->first_rtt_sample_ts == UINT64_MAX) c->first_rtt_sample_ts = event->now_ns;
    for (uint64_t n = 0; n < event->acked_count; n++) {
      const hopflow_cc_packet *packet = &event->acked[n];
      ngtcp2_rtb_entry entry = read_entry(packet);
      ack.bytes_delivered += packet->bytes;
      ack.pkt_delivered = entry.rst.delivered;
      ngtcp2_rst_update_rate_sample(&s->rst, &entry, event->now_ns);
      if (s->cc->on_pkt_acked) {
        ngtcp2_cc_pkt acked = describe(packet, &entry);
        s->cc->on_pkt_acked(s->cc, c, &acked, event->now_ns);
      }
    }
    ngtcp2_rst_on_ack_recv(&s->rst, c);
  }
  if (event->lost_count) lose(s, event, &ack);
  if (event->acked_count && s->cc->on_ack_recv) s->cc->on_ack_recv(s->cc, c, &ack, event->now_ns);
  note_limits(s, event);
  answer(s, control);
}

static void on_timeout(void *state_, const hopflow_cc_event *event, hopflow_cc_control *control) {
  state *s = state_;
  ngtcp2_cc_ack ack;
  memset(&ack, 0, sizeof ack);
  ack.largest_pkt_sent_ts = ack.rtt = UINT64_MAX;
  if (event->lost_count) lose(s, event, &ack);
  if (s->cc->on_persistent_congestion) s->cc->on_persistent_congestion(s->cc, &s->cstat, event->now_ns);
  answer(s, control);
}

#if ALGORITHM == BBR
static const char *const states[] = {"Startup",       "Drain",      "ProbeBW_DOWN", "ProbeBW_CRUISE",
                                     "ProbeBW_REFILL", "ProbeBW_UP", "ProbeRTT"};

#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
#define SHORTTERM shortterm
#define LONGTERM longterm
#define SINCE_1_24 " drain_start_round"
#else
#define SHORTTERM lo
#define LONGTERM hi
#define SINCE_1_24 ""
#endif
#define JOIN(a, b) a##b
#define FIELD(a, b) JOIN(a, b)
#define OBSERVED                                                                                                  \
  "max_bw bw_shortterm inflight_shortterm inflight_longterm extra_acked full_bw full_bw_count full_bw_now "       \
  "full_bw_reached round_count min_rtt probe_rtt_min_stamp bw_probe_wait bw_probe_up_rounds" SINCE_1_24

static double seconds(uint64_t ns) { return 1e-9 * known(ns); }

static const char *observe(void *state_, double numbers[HOPFLOW_CC_NUMBERS]) {
  const state *s = state_;
  const ngtcp2_cc_bbr *b = &s->algorithm;
  double values[] = {
      known(b->max_bw),
      known(b->FIELD(bw_, SHORTTERM)),
      known(b->FIELD(inflight_, SHORTTERM)),
      known(b->FIELD(inflight_, LONGTERM)),
      known(b->extra_acked),
      known(b->full_bw),
      (double)b->full_bw_count,
      (double)b->full_bw_now,
      (double)b->full_bw_reached,
      (double)b->round_count,
      seconds(b->min_rtt),
      seconds(b->probe_rtt_min_stamp),
      seconds(b->bw_probe_wait),
      (double)b->bw_probe_up_rounds,
#if NGTCP2_VERSION_NUM >= SINCE_1_24_0
      (double)b->drain_start_round,
#endif
  };
  memcpy(numbers, values, sizeof values);
  return states[b->state];
}
#endif

static const hopflow_cc_rule rule = {
    .abi = HOPFLOW_CC_ABI,
    .size = sizeof(hopflow_cc_rule),
#if ALGORITHM == RENO
    .name = "ngtcp2 Reno",
    .claims = "newreno",
#elif ALGORITHM == CUBIC
    .name = "ngtcp2 CUBIC",
    .claims = "cubic-rfc9438",
#else
    .name = "ngtcp2 BBR",
    .claims = "bbr-draft",
    .observed = OBSERVED,
    .observe = observe,
#endif
    .recovery = "rack",
    .flags = HOPFLOW_CC_BYTES | HOPFLOW_CC_FLIGHT,
    .init = init,
    .on_sent = on_sent,
    .on_ack = on_ack,
    .on_timeout = on_timeout,
    .destroy = free,
};

HOPFLOW_CC_EXPORT const hopflow_cc_rule *hopflow_cc(uint64_t abi) { return abi == HOPFLOW_CC_ABI ? &rule : 0; }
