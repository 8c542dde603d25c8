/* hopflow_cc.h: a congestion control in C for hopflow's packet simulation. ABI version 1, C99.
 *
 * A library exports one function, `hopflow_cc`, which returns a table of functions (`hopflow_cc_rule`):
 *
 *     cc -std=c99 -O2 -fPIC -shared -I "$(hopflow cc-header)" mycc.c -o libcc.so -lm
 *     hopflow compare ./libcc.so cubic --bandwidth 24Mbps --rtt 40ms --buffer 80
 *
 * Units. Amounts are packets, or bytes with HOPFLOW_CC_BYTES; a packet has `packet_bytes` bytes. Each time is given
 * twice: in seconds (double), and in nanoseconds rounded to the nearest (uint64_t). The clock starts at 0 with the
 * run and continues while the application is idle. Answers are in the units that the table declares.
 *
 * State. A library keeps nothing outside the state that `init` returns. Several connections run in one process. And a
 * simulation that needs more memory than it had reserved starts over: it calls `init` again, and repeats all calls.
 *
 * Order. `on_sent` is called for each packet as it leaves, before the next packet is decided. `on_ack` is called
 * once for each ACK or loss timer that acknowledges or loses packets, after the loss recovery has processed it and
 * before packets are sent in response. With HOPFLOW_CC_ECT0, if the ACK echoes a mark that is a congestion event, two
 * calls of `on_ack` are made for it: first one with HOPFLOW_CC_MARK_EVENT and without packets, then that with the
 * packets. No callback is called from within another one.
 */
#ifndef HOPFLOW_CC_H
#define HOPFLOW_CC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOPFLOW_CC_ABI 1
#define HOPFLOW_CC_SLOT 64    /* bytes that a rule may write for each packet */
#define HOPFLOW_CC_NUMBERS 32 /* numbers that `observe` may report */

/* Flags of a table. */
#define HOPFLOW_CC_BYTES 1       /* windows, quanta and rates are bytes and bytes/s, not packets and packets/s */
#define HOPFLOW_CC_NANOSECONDS 2 /* `departure_ns` and `timer_ns` are read, not `departure` and `timer` */
#define HOPFLOW_CC_FLIGHT 4      /* the window limits packets in flight (RFC 9002), as QUIC's does. Without it the
                                    window limits sequence numbers from the first unacknowledged packet on outside
                                    of recovery, and the pipe of RFC 6675 within it */

/* Codepoints of ECN. */
#define HOPFLOW_CC_NOT_ECT 0
#define HOPFLOW_CC_ECT1 1 /* each mark is reported once (RFC 9331) */
#define HOPFLOW_CC_ECT0 2 /* marks are echoed until the sender has reduced its window (RFC 3168) */

/* Flags of an event. */
#define HOPFLOW_CC_STARTS_RECOVERY 1       /* a congestion event: loss recovery starts with this ACK or timer */
#define HOPFLOW_CC_IN_RECOVERY 2           /* the sender is in loss recovery, after this event */
#define HOPFLOW_CC_PERSISTENT_CONGESTION 4 /* at a timeout: packets lost since the last acknowledged one
                                              span the time of RFC 9002, 7.6.1 */
#define HOPFLOW_CC_APP_LIMITED 8           /* the application had no more data, and the window was not full */
#define HOPFLOW_CC_WINDOW_LIMITED 16       /* before this event the window had no room for another packet */
#define HOPFLOW_CC_MARK_EVENT 32           /* with ECT(0): a congestion event, at most one per round trip */
#define HOPFLOW_CC_REPAIRING 64            /* data that were sent before the last congestion event or timeout are not
                                              all acknowledged: Linux is in the state CWR, Recovery or Loss */

/* The connection, for `init`. */
typedef struct hopflow_cc_config {
  uint64_t flow;           /* number of the flow in its scenario */
  uint64_t packet_bytes;   /* bytes of a data packet, headers included */
  double max_window;       /* window of the receiver, packets */
  double initial_window;   /* packets that the user asks for; 0: the rule's own */
  double initial_ssthresh; /* slow-start threshold, packets, that the user asks for; 0: the rule's own */
  double max_ack_delay;    /* maximum delay of an ACK, s; 0: ACKs are not delayed */
} hopflow_cc_config;

/* A packet that was sent. */
typedef struct hopflow_cc_packet {
  uint64_t number;  /* of the transmission: 0, 1, 2, ... in the order of sending */
  uint64_t data;    /* number of the data; a retransmission has that of the original */
  uint64_t bytes;
  double sent;      /* s */
  uint64_t sent_ns;
  unsigned char slot[HOPFLOW_CC_SLOT]; /* what the rule wrote at `on_sent`; zeros before */
} hopflow_cc_packet;

/* What has happened. Arrays are in the order of sending, and valid during the call. */
typedef struct hopflow_cc_event {
  double now; /* s */
  uint64_t now_ns;
  double latest_rtt;   /* of the last ACK, s; 0: none yet */
  double smoothed_rtt; /* RFC 9002, 5.3, updated by each ACK of a new packet, without a correction for delayed ACKs */
  double rtt_variance;
  double min_rtt;
  uint64_t in_flight_before; /* packets in flight before this event; at `on_sent` without the packet */
  uint64_t in_flight;        /* after it; all packets have `packet_bytes` bytes */
  uint64_t marked;     /* acknowledged packets with a congestion mark; with ECT(0) 1: the ACK echoes one */
  uint64_t growth;     /* how often a window of RFC 5681 grows now: once for an ACK of new data; 0 in recovery, when
                          application-limited, and at marked ACKs. A delayed ACK of two packets counts once, or twice
                          if the flow counts packets (`delayed_acks="counted"`, RFC 3465). Rules that count the bytes
                          of `acked` do not need it */
  uint64_t flags;
  uint64_t acked_count;
  uint64_t lost_count;
  const hopflow_cc_packet *acked; /* may be null if `acked_count` is 0 */
  const hopflow_cc_packet *lost;  /* may be null if `lost_count` is 0 */
  hopflow_cc_packet *packet; /* at `on_sent`: the packet, whose slot may be written; otherwise null */
} hopflow_cc_event;

/* What the rule decides; it keeps its values between calls. The simulation changes `window` and `ssthresh` only when
 * it reduces a window above `max_window`, or when the loss recovery sets them (PRR, Linux). At a timeout of a packet
 * that the timer has sent again before, `ssthresh` keeps the value from before the call (RFC 5681, 3.1); a copy in the
 * state of the rule does not, see `on_timeout`. */
typedef struct hopflow_cc_control {
  double window;         /* at least one packet, unless packets are paced */
  double ssthresh;       /* slow-start threshold, which recoveries such as PRR read */
  double pacing_rate;    /* 0: packets are not paced */
  double departure;      /* the next packet leaves no earlier, s; 0: at once */
  double timer;          /* when `on_timer` is called, s; 0: not */
  uint64_t departure_ns; /* the same with HOPFLOW_CC_NANOSECONDS */
  uint64_t timer_ns;
  double send_quantum;   /* amount that leaves back to back when packets are paced; 0: one packet */
} hopflow_cc_control;

typedef void hopflow_cc_callback(void *state, const hopflow_cc_event *event, hopflow_cc_control *control);

/* The functions of a rule. All but `init`, `on_ack` and `on_timeout` may be null. */
typedef struct hopflow_cc_rule {
  uint64_t abi;         /* HOPFLOW_CC_ABI */
  uint64_t size;        /* sizeof(hopflow_cc_rule) */
  const char *name;     /* for tables and figures, beside the first digits of the library's SHA-256 */
  const char *claims;   /* what it claims to be: "newreno", "cubic-rfc9438", "bbr-draft" or "other" */
  const char *recovery; /* loss recovery: "sack" (RFC 6675), "prr" (RFC 6937), "rack" (RFC 8985) or "linux-6.12" */
  const char *observed; /* names of the numbers of `observe`, separated by spaces; null: none */
  uint64_t flags;       /* HOPFLOW_CC_BYTES | ... */
  uint64_t ecn;         /* HOPFLOW_CC_NOT_ECT, ... */

  /* Return the state of a new connection, and set its first window; null: an error. `seed` is the first state of the
   * flow's generator of random numbers (Marsaglia's xorshift by 13, 7 and 17). Equal seeds give equal runs. */
  void *(*init)(const hopflow_cc_config *config, uint64_t seed, hopflow_cc_control *control);
  hopflow_cc_callback *on_sent;
  hopflow_cc_callback *on_ack;
  /* The retransmission timer expired (RFC 6298): all packets in flight are in `lost`. The simulation has no probe
   * timeouts of QUIC, which reduce nothing. A stack that has them reports `lost` as lost, and then reduces its window
   * as in persistent congestion (RFC 9002, 7.6.2), whether that flag is set or not. If the timer expires again before
   * new data are acknowledged, ssthresh stays as it is (RFC 5681, 3.1), also that in the state of the rule. */
  hopflow_cc_callback *on_timeout;
  hopflow_cc_callback *on_timer;   /* at `timer`, which must be set again */
  /* Write numbers in the order of `observed`, and return the name of a state or null. Suites on BBR read variables and
   * states by the names of the IETF draft, such as max_bw and ProbeBW_UP: rates and amounts in the units of the table,
   * times in s. */
  const char *(*observe)(void *state, double numbers[HOPFLOW_CC_NUMBERS]);
  void (*destroy)(void *state);
} hopflow_cc_rule;

#if defined(_WIN32)
#define HOPFLOW_CC_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define HOPFLOW_CC_EXPORT __attribute__((visibility("default")))
#else
#define HOPFLOW_CC_EXPORT
#endif

/* Defined by the library: return its table, which stays valid, or null for a version of the ABI that it lacks. */
HOPFLOW_CC_EXPORT const hopflow_cc_rule *hopflow_cc(uint64_t abi);

#ifdef __cplusplus
}
#endif
#endif
