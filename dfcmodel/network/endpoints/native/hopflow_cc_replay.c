/* hopflow_cc_replay.c: play the recorded calls of a run into a congestion control, without hopflow or Python.
 *
 *     cc -g -fsanitize=address,undefined -I "$(hopflow cc-header)" mycc.c "$(hopflow cc-header)/hopflow_cc_replay.c" -o replay
 *     ./replay records/scenario-flow-1.hcc
 *
 * Records are written by `NativeRule(..., record="records")` or `hopflow simulate --record records`. The library is
 * linked into the program, so that debuggers, valgrind and sanitizers see it. What it decides after each call is
 * compared with the record: the program prints the first difference and exits with 1; with 2 where a record cannot be
 * read. What a function is called with is written before the call: if the library ends its process, or does not return,
 * the record ends within the call, which the program names and makes again. Calls are counted from 0. `observe` and
 * `destroy` are not recorded.
 *
 * The format: the line "hopflow-cc 1", the ABI version (uint64), hopflow_cc_config, the seed (uint64), and the first
 * hopflow_cc_control. Of each call follow the index of its function (uint64), hopflow_cc_event, its acknowledged and
 * its lost packets, the packet of on_sent, and hopflow_cc_control before and after the call. Slots of packets come
 * from the calls that are played, since a rule may keep addresses in them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hopflow_cc.h"

static const char *const names[] = {"on_sent", "on_ack", "on_timeout", "on_timer"};
static const char *const fields[] = {"window", "ssthresh",     "pacing_rate", "departure",
                                     "timer",  "departure_ns", "timer_ns",    "send_quantum"};

static unsigned char (*slots)[HOPFLOW_CC_SLOT]; /* of each transmission */
static uint64_t room;

static void *memory(void *old, uint64_t count, size_t size) {
  void *result = realloc(old, (size_t)(count ? count : 1) * size);
  if (!result) {
    fprintf(stderr, "no memory\n");
    exit(2);
  }
  return result;
}

static unsigned char *slot_of(uint64_t number) {
  if (number >= room) {
    uint64_t before = room;
    room = 2 * number + 1024;
    slots = memory(slots, room, sizeof *slots);
    memset(slots + before, 0, (size_t)(room - before) * sizeof *slots);
  }
  return slots[number];
}

/* Read an array; 0 at the end of the file. */
static int take(FILE *file, void *place, size_t size, uint64_t count) {
  return count == 0 || fread(place, size, (size_t)count, file) == count;
}

static int take_packets(FILE *file, hopflow_cc_packet **packets, uint64_t count) {
  *packets = memory(*packets, count, sizeof **packets);
  if (!take(file, *packets, sizeof **packets, count)) return 0;
  for (uint64_t n = 0; n < count; n++) memcpy((*packets)[n].slot, slot_of((*packets)[n].number), HOPFLOW_CC_SLOT);
  return 1;
}

/* Print the first field in which two decisions differ; 0: none. */
static int differs(const hopflow_cc_control *found, const hopflow_cc_control *expected) {
  for (size_t n = 0; n < sizeof fields / sizeof *fields; n++) {
    const char *x = (const char *)found + 8 * n, *y = (const char *)expected + 8 * n;
    double a, b;
    uint64_t i, j;
    if (memcmp(x, y, 8) == 0) continue;
    memcpy(&a, x, 8), memcpy(&b, y, 8), memcpy(&i, x, 8), memcpy(&j, y, 8);
    if (n == 5 || n == 6)
      printf("%s = %llu, recorded %llu\n", fields[n], (unsigned long long)i, (unsigned long long)j);
    else
      printf("%s = %.17g, recorded %.17g\n", fields[n], a, b);
    return 1;
  }
  return 0;
}

static int play(FILE *file, const hopflow_cc_rule *rule) {
  char line[14] = "";
  uint64_t abi = 0, seed = 0, function, calls = 0;
  hopflow_cc_config config;
  hopflow_cc_control control, before, after;
  hopflow_cc_event event;
  hopflow_cc_packet packet, *acked = 0, *lost = 0;
  memset(&control, 0, sizeof control);
  if (!fgets(line, sizeof line, file) || strcmp(line, "hopflow-cc 1\n") != 0 || !take(file, &abi, 8, 1) ||
      abi != HOPFLOW_CC_ABI || !take(file, &config, sizeof config, 1) || !take(file, &seed, 8, 1)) {
    fprintf(stderr, "not a record of version %d of the ABI\n", HOPFLOW_CC_ABI);
    return 2;
  }
  int open = !take(file, &after, sizeof after, 1);
  if (open) fprintf(stderr, "calling init, within which the record ends\n");
  void *state = rule->init(&config, seed, &control);
  if (!state) {
    printf("init returns null\n");
    return 1;
  }
  int wrong = !open && differs(&control, &after);
  if (wrong) printf("after init\n");
  hopflow_cc_callback *const functions[] = {rule->on_sent, rule->on_ack, rule->on_timeout, rule->on_timer};
  while (!wrong && !open && take(file, &function, 8, 1) && take(file, &event, sizeof event, 1)) {
    if (function > 3 || !functions[function]) {
      fprintf(stderr, "call %llu: the rule has no such function\n", (unsigned long long)calls);
      return 2;
    }
    if (!take_packets(file, &acked, event.acked_count) || !take_packets(file, &lost, event.lost_count)) break;
    event.acked = acked, event.lost = lost;
    if (event.packet) {
      if (!take(file, &packet, sizeof packet, 1)) break;
      event.packet = &packet;
    }
    if (!take(file, &before, sizeof before, 1)) break;
    open = !take(file, &after, sizeof after, 1);
    if (open)
      fprintf(stderr, "calling %s at %.9f s, call %llu, within which the record ends\n", names[function], event.now,
              (unsigned long long)calls);
    functions[function](state, &event, &before);
    if (event.packet) memcpy(slot_of(packet.number), packet.slot, HOPFLOW_CC_SLOT);
    if (open) break;
    wrong = differs(&before, &after);
    if (wrong) printf("after call %llu, %s at %.9f s\n", (unsigned long long)calls, names[function], event.now);
    calls++;
  }
  if (rule->destroy) rule->destroy(state);
  free(acked), free(lost), free(slots);
  if (!wrong) printf("%llu calls as recorded\n", (unsigned long long)calls);
  return wrong;
}

int main(int count, char **arguments) {
  const hopflow_cc_rule *rule = hopflow_cc(HOPFLOW_CC_ABI);
  if (count != 2 || !rule) {
    fprintf(stderr, count == 2 ? "hopflow_cc returns null\n" : "usage: %s RECORD\n", arguments[0]);
    return 2;
  }
  FILE *file = fopen(arguments[1], "rb");
  if (!file) {
    fprintf(stderr, "%s cannot be opened: %s\n", arguments[1], strerror(errno));
    return 2;
  }
  int status = play(file, rule);
  fclose(file);
  return status;
}
