// SPDX-License-Identifier: BSD-3-Clause
//
// A link between two network namespaces of one kernel, and the TCP flows over it.
//
// The program is the only process of a User-Mode Linux that was booted with time-travel=inf-cpu,
// so computing takes no simulated time. It opens a TUN device in each of two namespaces. The
// kernel's TCP sends from the first to the second, and the packets that leave a device are the
// arrivals at a link:
//
//     departure = max(arrival, previous departure) + bits / rate
//
// A packet is dropped where `buffer` packets wait besides the one in transmission, and delivered
// `delay` after its departure. The reverse link has the same rate and delay and no limit. A data
// packet that `loss` or `every` selects is discarded before the queue. The selection depends on the
// number of the data packet within its flow and on `seed` alone.
//
// With `discipline` the queue is one of the kernel's: a third namespace forwards the packets and
// shapes them to `rate` (queues.c). A packet leaves that namespace when its transmission begins.
//
// usage: linkemu [key=value ...] [flow=RULE@START [extra=S] [message=BYTES interval=S] ...]
// extra is a longer delay of the flow's reverse path; a flow with messages sends one each interval.
// Results go to the file `output`: one line per sample, drop, second and flow.

#define _GNU_SOURCE
#include "queues.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FLOWS = 8, RING = 1 << 14, MTU = 1500, BUFFER_BYTES = 4 << 20, FIRST_PORT = 5000 };
enum { CONGESTION_EXPERIENCED = 3 };
#define NS 1000000000LL
// Offset of tcpi_total_rto (Linux 6.7) from tcpi_snd_wnd, which older headers end with.
#define TOTAL_RTO_AFTER_SND_WND 12

struct packet {
    int64_t departure, due;
    int size;
    unsigned char bytes[MTU];
};

struct link {
    int from, to;
    double rate;
    int64_t delay, last_departure;
    unsigned head, tail, in_system; // delivered, accepted, first that has not departed
    struct packet *ring;
};

// A packet on its way through the kernel's queue: its IP identification and when it came.
struct arrival {
    int64_t time;
    unsigned id;
};

struct flow {
    char rule[16];
    int64_t start, extra, interval, next_message;
    int listener, sender, receiver;
    long data_packets, bytes, bytes_before, queue_drops, losses, message;
    struct arrival *arrivals;
    unsigned first_arrival, last_arrival;
    int64_t *delays; // in the queue, ns, from `since` on
    long departed, marks;
};

// Delays of the packets of all flows since the last sample, ns.
static struct {
    long packets;
    int64_t sum, min, max;
} recent;

static struct flow flows[MAX_FLOWS];
static int flow_count, lateness_count;
static double rate = 20e6, delay = 0.02, seconds = 30, loss, sample = 0.01;
static long buffer = 67, every, seed = 1;
static char qdisc[16] = "pfifo_fast";
static long min_tso_segs = 2, comp_sack_nr = 44, quickack; // the kernel's; 1: an ACK for each packet
static long ecn = -1, burst = 1600; // burst: bytes of the shaper's bucket
static double since = 5; // s from which delays of the kernel's queue are summed up
static char *discipline;
static int router_in = -1, router_out = -1;
static int64_t origin, worst_lateness;
static uint64_t digest = 14695981039346656037ULL;
static FILE *output;

// The first process powers off the kernel that it was booted by; no other process may.
static void power_off(void)
{
    sync();
    if (getpid() == 1)
        reboot(RB_POWER_OFF);
}

static void fail(const char *what)
{
    fprintf(output ? output : stderr, "failed %s: %s\n", what, strerror(errno));
    if (output) {
        fclose(output);
        rename("/output.part", "/output");
    }
    power_off();
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS + t.tv_nsec - origin;
}

static void add_to_digest(int64_t value)
{
    for (int i = 0; i < 8; i++)
        digest = (digest ^ (uint64_t)(value >> 8 * i & 255)) * 1099511628211ULL;
}

// Uniform in [0, 1) from the seed, a flow and a packet number (SplitMix64's mixing function).
static double uniform(uint64_t flow, uint64_t number)
{
    uint64_t z = ((uint64_t)seed << 40) + (flow << 32) + number;
    z = (z + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void set_sysctl(const char *name, const char *value)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/sys/net/%s", name);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, value, strlen(value)) < 0)
        fail(path);
    close(fd);
}

static void set_number(const char *name, long value)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", value);
    set_sysctl(name, text);
}

static const char *const of_kernel[] = {"core/default_qdisc", "ipv4/tcp_mem"};
static const char *const of_namespace[] = {
    "ipv4/tcp_sack", "ipv4/tcp_timestamps", "ipv4/tcp_ecn", "ipv4/tcp_early_retrans",
    "ipv4/tcp_recovery", "ipv4/tcp_no_metrics_save", "ipv4/tcp_slow_start_after_idle",
    "ipv4/tcp_rmem", "ipv4/tcp_wmem", "ipv4/tcp_limit_output_bytes", "ipv4/tcp_min_tso_segs",
    "ipv4/tcp_pacing_ss_ratio"};

static void print_sysctl(const char *name)
{
    char path[128], value[128] = "";
    snprintf(path, sizeof path, "/proc/sys/net/%s", name);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(value, sizeof value, file))
        fail(path);
    fclose(file);
    value[strcspn(value, "\n")] = 0;
    for (char *c = value; *c; c++)
        if (*c == '\t')
            *c = ' ';
    fprintf(output, "sysctl %s %s\n", name, value);
}

static void print_sysctls(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_sysctl(names[i]);
}

static void enter_namespace(void)
{
    if (unshare(CLONE_NEWNET))
        fail("unshare");
    set_sysctl("ipv4/tcp_no_metrics_save", "1");
    set_number("ipv4/tcp_min_tso_segs", min_tso_segs);
    set_number("ipv4/tcp_comp_sack_nr", comp_sack_nr);
    if (ecn >= 0)
        set_number("ipv4/tcp_ecn", ecn);
}

// Bring up a TUN device in the present network namespace.
static int open_tun(const char *name, const char *address)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    strcpy(request.ifr_name, name);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    if (fd < 0)
        fail("/dev/net/tun");
    if (ioctl(fd, TUNSETIFF, &request))
        fail("TUNSETIFF");
    int control = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in *in = (struct sockaddr_in *)&request.ifr_addr;
    memset(in, 0, sizeof *in);
    in->sin_family = AF_INET;
    inet_pton(AF_INET, address, &in->sin_addr);
    if (ioctl(control, SIOCSIFADDR, &request))
        fail("SIOCSIFADDR");
    inet_pton(AF_INET, "255.255.255.0", &in->sin_addr);
    if (ioctl(control, SIOCSIFNETMASK, &request))
        fail("SIOCSIFNETMASK");
    request.ifr_qlen = 20000;
    if (ioctl(control, SIOCSIFTXQLEN, &request))
        fail("SIOCSIFTXQLEN");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(control, SIOCSIFFLAGS, &request))
        fail("SIOCSIFFLAGS");
    close(control);
    return fd;
}

static void print_option(const char *name, long long value)
{
    fprintf(output, "sysctl queue/%s %lld\n", name, value);
}

// A namespace that forwards from `router_in` to `router_out`, where the discipline is.
static void open_router(void)
{
    enter_namespace();
    set_sysctl("ipv4/ip_forward", "1");
    router_in = open_tun("in", "10.0.1.1");
    router_out = open_tun("out", "10.0.0.254");
    const char *refused = install_queue("out", rate, (uint32_t)burst, discipline);
    if (refused)
        fail(refused);
    if (report_options(print_option))
        fail("options of the queue");
}

static struct sockaddr_in receiver_address(int flow)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(FIRST_PORT + flow)};
    inet_pton(AF_INET, "10.0.0.2", &in.sin_addr);
    return in;
}

static void open_socket(int *fd, int option)
{
    int size = BUFFER_BYTES;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, option, &size, sizeof size))
        fail("socket");
}

static void discard_departed(struct link *link, int64_t now)
{
    while (link->in_system != link->tail && link->ring[link->in_system % RING].departure <= now)
        link->in_system++;
}

// Data packets of a flow have a payload; SYN and pure ACKs are never selected for a loss.
static int select_loss(struct flow *flow)
{
    long number = ++flow->data_packets;
    if (every && number % every == 0)
        return 1;
    return loss > 0 && uniform((uint64_t)(flow - flows), (uint64_t)number) < loss;
}

static int64_t transmission(const struct link *link, int size)
{
    return (int64_t)llround(8.0 * (double)size / link->rate * 1e9);
}

// Read a packet of a flow into the next place of the ring; NULL if there is none.
static struct flow *read_packet(struct link *link, int from, int forward)
{
    for (;;) {
        struct packet *packet = &link->ring[link->tail % RING];
        ssize_t size = read(from, packet->bytes, MTU);
        if (size < 0)
            return NULL;
        const unsigned char *ip = packet->bytes, *tcp = ip + 4 * (ip[0] & 15);
        if (size < 40 || ip[0] >> 4 != 4 || ip[9] != IPPROTO_TCP)
            continue;
        int index = (forward ? tcp[2] << 8 | tcp[3] : tcp[0] << 8 | tcp[1]) - FIRST_PORT;
        if (index < 0 || index >= flow_count)
            continue;
        packet->size = (int)size;
        return &flows[index];
    }
}

// Deliver the packet that was read last at `due`, and not before it those that are due earlier.
static void put_in_flight(struct link *link, int64_t departure, int64_t due)
{
    unsigned place = link->tail++;
    if (link->tail - link->head >= RING) {
        errno = ENOBUFS;
        fail("ring of packets in flight");
    }
    link->ring[place % RING].departure = departure;
    link->ring[place % RING].due = due;
    static struct packet moved;
    for (; place != link->head && link->ring[(place - 1) % RING].due > due; place--) {
        moved = link->ring[place % RING];
        link->ring[place % RING] = link->ring[(place - 1) % RING];
        link->ring[(place - 1) % RING] = moved;
    }
}

static unsigned identification(const struct packet *packet)
{
    return (unsigned)packet->bytes[4] << 8 | packet->bytes[5];
}

static void enter_queue(struct flow *flow, const struct packet *packet, int64_t now)
{
    flow->arrivals[flow->last_arrival++ % RING] =
        (struct arrival){.time = now, .id = identification(packet)};
    if (flow->last_arrival - flow->first_arrival >= RING) {
        errno = ENOBUFS;
        fail("packets in the queue");
    }
    if (write(router_in, packet->bytes, (size_t)packet->size) < 0)
        fail("write to TUN");
}

// The kernel keeps the order of a flow: those before a packet that departs were dropped.
static void leave_queue(struct flow *flow, const struct packet *packet, int64_t now)
{
    int index = (int)(flow - flows);
    for (; flow->first_arrival != flow->last_arrival; flow->first_arrival++) {
        struct arrival *arrival = &flow->arrivals[flow->first_arrival % RING];
        if (arrival->id == identification(packet)) {
            int64_t delay = now - arrival->time;
            if (now >= llround(since * 1e9))
                flow->delays[flow->departed++] = delay;
            if (!recent.packets || delay < recent.min)
                recent.min = delay;
            if (delay > recent.max)
                recent.max = delay;
            recent.sum += delay;
            recent.packets++;
            flow->marks += (packet->bytes[1] & 3) == CONGESTION_EXPERIENCED;
            flow->first_arrival++;
            return;
        }
        flow->queue_drops++;
        fprintf(output, "drop %lld %d queue\n", (long long)arrival->time, index);
    }
    errno = EPROTO;
    fail("order of the packets of a flow");
}

static void read_router(struct link *link, int64_t now)
{
    struct flow *flow;
    while ((flow = read_packet(link, router_out, 1))) {
        struct packet *packet = &link->ring[link->tail % RING];
        leave_queue(flow, packet, now);
        int64_t departure = now + transmission(link, packet->size);
        put_in_flight(link, departure, departure + link->delay);
    }
}

static void accept_packets(struct link *link, int forward, int64_t now)
{
    struct flow *flow;
    while ((flow = read_packet(link, link->from, forward))) {
        struct packet *packet = &link->ring[link->tail % RING];
        const unsigned char *ip = packet->bytes, *tcp = ip + 4 * (ip[0] & 15);
        int index = (int)(flow - flows), size = packet->size;
        int has_data = size > (tcp - ip) + 4 * (tcp[12] >> 4);
        discard_departed(link, now);
        long waiting = (long)(link->tail - link->in_system) - 1;
        if (forward) {
            add_to_digest(now);
            add_to_digest(index);
            add_to_digest(size);
        }
        if (forward && has_data && select_loss(flow)) {
            flow->losses++;
            fprintf(output, "drop %lld %d loss\n", (long long)now, index);
            continue;
        }
        if (forward && discipline) {
            enter_queue(flow, packet, now);
            continue;
        }
        if (forward && waiting >= buffer) {
            flow->queue_drops++;
            fprintf(output, "drop %lld %d queue\n", (long long)now, index);
            continue;
        }
        int64_t begin = now > link->last_departure ? now : link->last_departure;
        link->last_departure = begin + transmission(link, size);
        int64_t extra = forward ? 0 : flow->extra;
        put_in_flight(link, link->last_departure, link->last_departure + link->delay + extra);
    }
}

static void deliver_packets(struct link *link, int64_t now)
{
    while (link->head != link->tail && link->ring[link->head % RING].due <= now) {
        struct packet *packet = &link->ring[link->head % RING];
        if (now - packet->due > worst_lateness)
            worst_lateness = now - packet->due;
        lateness_count++;
        discard_departed(link, now);
        link->head++;
        if (write(link->to, packet->bytes, (size_t)packet->size) < 0)
            fail("write to TUN");
    }
}

static struct tcp_info read_info(struct flow *flow, unsigned *timeouts)
{
    union {
        struct tcp_info info;
        unsigned char bytes[512];
    } data = {0};
    socklen_t size = sizeof data;
    if (getsockopt(flow->sender, IPPROTO_TCP, TCP_INFO, &data, &size))
        fail("TCP_INFO");
    uint16_t total;
    memcpy(&total, data.bytes + offsetof(struct tcp_info, tcpi_snd_wnd) + TOTAL_RTO_AFTER_SND_WND, 2);
    *timeouts = total;
    return data.info;
}

static void sample_queue(int64_t time)
{
    struct queue_state queue;
    if (read_queue(&queue))
        fail("statistics of the queue");
    fprintf(output, "queue %lld %u %u %u %u %.9g %ld %lld %lld %lld\n", (long long)time,
            queue.packets, queue.bytes, queue.drops, queue.marks, queue.control, recent.packets,
            (long long)recent.sum, (long long)recent.min, (long long)recent.max);
    memset(&recent, 0, sizeof recent);
}

static void sample_flows(int64_t time, int full_second)
{
    unsigned timeouts;
    if (discipline)
        sample_queue(time);
    for (int i = 0; i < flow_count; i++) {
        struct flow *flow = &flows[i];
        if (flow->sender < 0)
            continue;
        struct tcp_info info = read_info(flow, &timeouts);
        fprintf(output, "window %lld %d %u %u %u %u\n", (long long)time, i, info.tcpi_snd_cwnd,
                info.tcpi_snd_ssthresh, info.tcpi_rtt, info.tcpi_ca_state);
        if (full_second) {
            fprintf(output, "second %lld %d %ld\n", (long long)(time / NS), i,
                    flow->bytes - flow->bytes_before);
            flow->bytes_before = flow->bytes;
        }
    }
}

static void start_flow(struct flow *flow)
{
    struct sockaddr_in to = receiver_address((int)(flow - flows));
    open_socket(&flow->sender, SO_SNDBUFFORCE);
    if (setsockopt(flow->sender, IPPROTO_TCP, TCP_CONGESTION, flow->rule, strlen(flow->rule)))
        fail(flow->rule);
    int on = 1;
    if (flow->message && setsockopt(flow->sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("TCP_NODELAY");
    flow->next_message = flow->start + flow->interval;
    if (connect(flow->sender, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS)
        fail("connect");
}

static void process_sockets(struct flow *flow)
{
    static char received[1 << 16];
    ssize_t size;
    if (flow->receiver < 0) {
        flow->receiver = accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK);
        if (flow->receiver < 0)
            return;
    }
    while ((size = recv(flow->receiver, received, sizeof received, MSG_TRUNC)) > 0)
        flow->bytes += size;
    int on = 1;
    if (quickack && setsockopt(flow->receiver, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on))
        fail("TCP_QUICKACK");
}

static char zeros[1 << 16];

// A message that is due before the connection is open, or with a full send buffer, is left out.
static void send_messages(struct flow *flow, int64_t now)
{
    for (; flow->sender >= 0 && flow->message && flow->next_message <= now;
         flow->next_message += flow->interval)
        if (send(flow->sender, zeros, (size_t)flow->message, MSG_NOSIGNAL) != flow->message &&
            errno != EAGAIN)
            fail("message");
}

static void fill_sender(struct flow *flow)
{
    while (send(flow->sender, zeros, sizeof zeros, MSG_NOSIGNAL) > 0)
        ;
}

static int compare_delays(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

// Mean delay of a flow in the kernel's queue, ns, and what a part of its packets does not exceed.
static void report_delays(struct flow *flow)
{
    static const double parts[] = {0, 0.1, 0.5, 0.9, 0.99, 1};
    double sum = 0;
    for (long i = 0; i < flow->departed; i++)
        sum += (double)flow->delays[i];
    qsort(flow->delays, (size_t)flow->departed, sizeof *flow->delays, compare_delays);
    fprintf(output, "delays %d %ld %ld %.0f", (int)(flow - flows), flow->marks, flow->departed,
            flow->departed ? sum / (double)flow->departed : 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        fprintf(output, " %lld",
                flow->departed
                    ? (long long)flow->delays[llround(parts[i] * (double)(flow->departed - 1))]
                    : 0);
    fprintf(output, "\n");
}

static void report(void)
{
    for (int i = 0; i < flow_count; i++) {
        struct flow *flow = &flows[i];
        unsigned timeouts;
        struct tcp_info info = read_info(flow, &timeouts);
        fprintf(output,
                "flow %d bytes=%ld data_packets=%ld queue_drops=%ld losses=%ld retransmissions=%u "
                "timeouts=%u min_rtt=%u mss=%u rwnd_limited=%llu sndbuf_limited=%llu dsacks=%u "
                "reordered=%u\n",
                i, flow->bytes, flow->data_packets, flow->queue_drops, flow->losses,
                info.tcpi_total_retrans, timeouts, info.tcpi_min_rtt, info.tcpi_snd_mss,
                (unsigned long long)info.tcpi_rwnd_limited,
                (unsigned long long)info.tcpi_sndbuf_limited, info.tcpi_dsack_dups,
                info.tcpi_reord_seen);
        if (discipline)
            report_delays(flow);
    }
    fprintf(output, "link delivered=%d worst_lateness=%lld digest=%016llx\n", lateness_count,
            (long long)worst_lateness, (unsigned long long)digest);
}

static void read_options(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (!value)
            continue;
        *value++ = 0;
        if (!strcmp(words[i], "rate"))
            rate = atof(value);
        else if (!strcmp(words[i], "delay"))
            delay = atof(value);
        else if (!strcmp(words[i], "buffer"))
            buffer = atol(value);
        else if (!strcmp(words[i], "seconds"))
            seconds = atof(value);
        else if (!strcmp(words[i], "loss"))
            loss = atof(value);
        else if (!strcmp(words[i], "every"))
            every = atol(value);
        else if (!strcmp(words[i], "seed"))
            seed = atol(value);
        else if (!strcmp(words[i], "sample"))
            sample = atof(value);
        else if (!strcmp(words[i], "min_tso_segs"))
            min_tso_segs = atol(value);
        else if (!strcmp(words[i], "comp_sack_nr"))
            comp_sack_nr = atol(value);
        else if (!strcmp(words[i], "quickack"))
            quickack = atol(value);
        else if (!strcmp(words[i], "qdisc"))
            snprintf(qdisc, sizeof qdisc, "%s", value);
        else if (!strcmp(words[i], "discipline"))
            discipline = value;
        else if (!strcmp(words[i], "burst"))
            burst = atol(value);
        else if (!strcmp(words[i], "ecn"))
            ecn = atol(value);
        else if (!strcmp(words[i], "since"))
            since = atof(value);
        else if (!strcmp(words[i], "extra") && flow_count)
            flows[flow_count - 1].extra = llround(atof(value) * 1e9);
        else if (!strcmp(words[i], "message") && flow_count)
            flows[flow_count - 1].message = atol(value);
        else if (!strcmp(words[i], "interval") && flow_count)
            flows[flow_count - 1].interval = llround(atof(value) * 1e9);
        else if (!strcmp(words[i], "flow") && flow_count < MAX_FLOWS) {
            struct flow *flow = &flows[flow_count++];
            char *at = strchr(value, '@');
            if (at)
                *at++ = 0;
            snprintf(flow->rule, sizeof flow->rule, "%s", value);
            flow->start = at ? llround(atof(at) * 1e9) : 0;
            flow->sender = flow->receiver = -1;
        } else {
            errno = EINVAL;
            fail(words[i]);
        }
    }
}

static void run(struct link *forward, struct link *reverse)
{
    int64_t end = llround(seconds * 1e9), period = llround(sample * 1e9), next_sample = period;
    origin += now_ns();
    while (next_sample <= end) {
        int64_t now = now_ns(), wake = next_sample;
        for (int i = 0; i < flow_count; i++)
            if (flows[i].sender < 0 && flows[i].start <= now)
                start_flow(&flows[i]);
        deliver_packets(forward, now);
        deliver_packets(reverse, now);
        for (int i = 0; i < flow_count; i++)
            process_sockets(&flows[i]);
        for (int i = 0; i < flow_count; i++)
            send_messages(&flows[i], now);
        accept_packets(reverse, 0, now);
        accept_packets(forward, 1, now);
        if (discipline)
            read_router(forward, now);
        if (now >= next_sample) {
            sample_flows(next_sample, next_sample % NS == 0);
            next_sample += period;
            continue;
        }
        if (forward->head != forward->tail && forward->ring[forward->head % RING].due < wake)
            wake = forward->ring[forward->head % RING].due;
        if (reverse->head != reverse->tail && reverse->ring[reverse->head % RING].due < wake)
            wake = reverse->ring[reverse->head % RING].due;
        struct pollfd polled[3 + 2 * MAX_FLOWS];
        nfds_t n = 0;
        polled[n++] = (struct pollfd){.fd = forward->from, .events = POLLIN};
        polled[n++] = (struct pollfd){.fd = reverse->from, .events = POLLIN};
        polled[n++] = (struct pollfd){.fd = router_out, .events = POLLIN};
        for (int i = 0; i < flow_count; i++) {
            struct flow *flow = &flows[i];
            int receiving = flow->receiver < 0 ? flow->listener : flow->receiver;
            if (flow->sender < 0 && flow->start < wake)
                wake = flow->start;
            polled[n++] = (struct pollfd){.fd = receiving, .events = POLLIN};
            if (flow->sender >= 0 && flow->message && flow->next_message < wake)
                wake = flow->next_message;
            int filling = flow->message ? -1 : flow->sender;
            polled[n++] = (struct pollfd){.fd = filling, .events = POLLOUT};
        }
        now = now_ns();
        if (wake < now)
            wake = now;
        struct timespec timeout = {(wake - now) / NS, (wake - now) % NS};
        if (ppoll(polled, n, &timeout, NULL) < 0)
            fail("ppoll");
        for (int i = 0; i < flow_count; i++)
            if (polled[4 + 2 * i].revents & POLLOUT)
                fill_sender(&flows[i]);
    }
}

int main(int count, char **words)
{
    if (getpid() != 1) {
        fprintf(stderr, "linkemu is the first process of a User-Mode Linux; see README.md\n");
        return 2;
    }
    output = fopen("/output.part", "w");
    if (!output)
        fail("/output.part");
    if (mount("proc", "/proc", "proc", 0, NULL) || mount("ramfs", "/dev", "ramfs", 0, NULL))
        fail("mount");
    mkdir("/dev/net", 0755);
    if (mknod("/dev/net/tun", S_IFCHR | 0600, makedev(10, 200)))
        fail("mknod");
    setvbuf(output, NULL, _IOFBF, 1 << 20);
    read_options(count, words);
    set_sysctl("core/default_qdisc", qdisc);
    print_sysctls(of_kernel, sizeof of_kernel / sizeof *of_kernel);
    prctl(PR_SET_TIMERSLACK, 1);
    struct link forward = {.rate = rate, .delay = llround(delay * 1e9)}, reverse = forward;
    forward.ring = calloc(RING, sizeof *forward.ring);
    reverse.ring = calloc(RING, sizeof *reverse.ring);
    enter_namespace();
    forward.to = reverse.from = open_tun("tun0", "10.0.0.2");
    for (int i = 0; i < flow_count; i++) {
        struct sockaddr_in at = receiver_address(i);
        open_socket(&flows[i].listener, SO_RCVBUFFORCE);
        if (bind(flows[i].listener, (struct sockaddr *)&at, sizeof at) ||
            listen(flows[i].listener, 1))
            fail("listen");
        // DCTCP's receiver reports every mark; those of other rules repeat one until it is answered.
        if (!strcmp(flows[i].rule, "dctcp") &&
            setsockopt(flows[i].listener, IPPROTO_TCP, TCP_CONGESTION, "dctcp", 5))
            fail("dctcp");
    }
    if (discipline) {
        for (int i = 0; i < flow_count; i++) {
            flows[i].arrivals = calloc(RING, sizeof *flows[i].arrivals);
            flows[i].delays = calloc((size_t)(rate * seconds / 320) + RING, sizeof *flows[i].delays);
        }
        open_router();
    }
    enter_namespace();
    forward.from = reverse.to = open_tun("tun0", "10.0.0.1");
    run(&forward, &reverse);
    report();
    print_sysctls(of_namespace, sizeof of_namespace / sizeof *of_namespace);
    fclose(output);
    rename("/output.part", "/output");
    power_off();
    return 0;
}
