// SPDX-License-Identifier: BSD-3-Clause
//
// A shaper with one queue discipline of the kernel, by rtnetlink.
//
// The shaper is a token bucket (tbf) with one child. The bucket holds little more than a packet, so
// that packets leave at the rate, each when the transmission of the one before it would end. At the
// same time tbf takes the next packet out of the child and holds it until it leaves: a child that
// measures delays does so one transmission early. What is held counts as queued.
//
// Options have the names and units of the kernel's netlink attributes (times in us), except those
// of RED: its sizes are in bytes, `wlog` is the negative binary logarithm of the weight.

#define _GNU_SOURCE
#include "queues.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <net/if.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 4096, IDLE_CELLS = 256, MAX_SHIFT = 31 };

static int netlink = -1, device_index;
static char kind[16];

struct request {
    struct nlmsghdr header;
    struct tcmsg queue;
    unsigned char attributes[ROOM];
};

struct option {
    const char *name;
    int attribute;
};

static const struct option codel_options[] = {
    {"target", TCA_CODEL_TARGET},     {"limit", TCA_CODEL_LIMIT},
    {"interval", TCA_CODEL_INTERVAL}, {"ecn", TCA_CODEL_ECN},
    {"ce_threshold", TCA_CODEL_CE_THRESHOLD}, {NULL, 0}};
static const struct option fq_codel_options[] = {
    {"target", TCA_FQ_CODEL_TARGET},
    {"limit", TCA_FQ_CODEL_LIMIT},
    {"interval", TCA_FQ_CODEL_INTERVAL},
    {"ecn", TCA_FQ_CODEL_ECN},
    {"flows", TCA_FQ_CODEL_FLOWS},
    {"quantum", TCA_FQ_CODEL_QUANTUM},
    {"ce_threshold", TCA_FQ_CODEL_CE_THRESHOLD},
    {"drop_batch_size", TCA_FQ_CODEL_DROP_BATCH_SIZE},
    {"memory_limit", TCA_FQ_CODEL_MEMORY_LIMIT},
    {NULL, 0}};
static const struct option pie_options[] = {
    {"target", TCA_PIE_TARGET}, {"limit", TCA_PIE_LIMIT},
    {"tupdate", TCA_PIE_TUPDATE}, {"alpha", TCA_PIE_ALPHA},
    {"beta", TCA_PIE_BETA},     {"ecn", TCA_PIE_ECN},
    {"bytemode", TCA_PIE_BYTEMODE}, {"dq_rate_estimator", TCA_PIE_DQ_RATE_ESTIMATOR},
    {NULL, 0}};
static const struct option fq_options[] = {
    {"plimit", TCA_FQ_PLIMIT},
    {"flow_plimit", TCA_FQ_FLOW_PLIMIT},
    {"quantum", TCA_FQ_QUANTUM},
    {"initial_quantum", TCA_FQ_INITIAL_QUANTUM},
    {"rate_enable", TCA_FQ_RATE_ENABLE},
    {"buckets_log", TCA_FQ_BUCKETS_LOG},
    {"orphan_mask", TCA_FQ_ORPHAN_MASK},
    {"ce_threshold", TCA_FQ_CE_THRESHOLD},
    {NULL, 0}};
static const struct {
    const char *name;
    const struct option *options;
} of_kind[] = {{"codel", codel_options}, {"fq_codel", fq_codel_options},
               {"pie", pie_options},     {"fq", fq_options}};

static void *append(struct request *request, int type, const void *data, size_t size)
{
    size_t at = NLMSG_ALIGN(request->header.nlmsg_len);
    struct rtattr *attribute = (struct rtattr *)((char *)request + at);
    attribute->rta_type = (unsigned short)type;
    attribute->rta_len = (unsigned short)RTA_LENGTH(size);
    if (size)
        memcpy(RTA_DATA(attribute), data, size);
    request->header.nlmsg_len = (uint32_t)(at + RTA_ALIGN(attribute->rta_len));
    return attribute;
}

static struct rtattr *begin_nested(struct request *request, int type)
{
    return append(request, type, NULL, 0);
}

static void end_nested(struct request *request, struct rtattr *nested)
{
    char *end = (char *)request + request->header.nlmsg_len;
    nested->rta_len = (unsigned short)(end - (char *)nested);
}

static struct request new_request(int type, int flags, uint32_t parent, uint32_t handle)
{
    struct request request = {0};
    request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.queue);
    request.header.nlmsg_type = (unsigned short)type;
    request.header.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags);
    request.queue.tcm_family = AF_UNSPEC;
    request.queue.tcm_ifindex = device_index;
    request.queue.tcm_parent = parent;
    request.queue.tcm_handle = handle;
    return request;
}

// Send a request; return the size of the answer in `answer`, or -1 with the error of the kernel.
static ssize_t exchange(struct request *request, void *answer, size_t room)
{
    if (send(netlink, request, request->header.nlmsg_len, 0) < 0)
        return -1;
    ssize_t size = recv(netlink, answer, room, 0);
    struct nlmsghdr *header = answer;
    if (size < (ssize_t)sizeof *header)
        return -1;
    if (header->nlmsg_type == NLMSG_ERROR) {
        int error = ((struct nlmsgerr *)NLMSG_DATA(header))->error;
        errno = -error;
        return error ? -1 : size;
    }
    return size;
}

static int install(struct request *request)
{
    unsigned char answer[ROOM];
    return exchange(request, answer, sizeof answer) < 0 ? -1 : 0;
}

static int install_shaper(double rate, uint32_t burst)
{
    struct request request =
        new_request(RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, TC_H_ROOT, 0x00010000);
    append(&request, TCA_KIND, "tbf", 4);
    struct rtattr *options = begin_nested(&request, TCA_OPTIONS);
    struct tc_tbf_qopt shape = {.limit = burst};
    shape.rate.rate = (uint32_t)llround(rate / 8.0);
    shape.rate.linklayer = TC_LINKLAYER_ETHERNET;
    append(&request, TCA_TBF_PARMS, &shape, sizeof shape);
    append(&request, TCA_TBF_BURST, &burst, sizeof burst);
    end_nested(&request, options);
    return install(&request);
}

// RED ages its average over idle time: by 2^-shift after each cell of 2^cell_log us.
static void fill_idle_table(struct tc_red_qopt *red, unsigned char *shifts, double packet_us)
{
    double weight = ldexp(1.0, -red->Wlog);
    double per_us = weight < 1.0 ? -log2(1.0 - weight) / packet_us : MAX_SHIFT;
    red->Scell_log = 0;
    while (ldexp(IDLE_CELLS - 1, red->Scell_log) * per_us < MAX_SHIFT)
        red->Scell_log++;
    for (int i = 0; i < IDLE_CELLS; i++)
        shifts[i] = (unsigned char)fmin(MAX_SHIFT, ldexp(i, red->Scell_log) * per_us);
}

static const char *append_red(struct request *request, char *options, double rate)
{
    struct tc_red_qopt red = {.Wlog = 9};
    double probability = 0.1, packet = 1500;
    unsigned char shifts[IDLE_CELLS];
    for (char *save, *word = strtok_r(options, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char *value = strchr(word, '=');
        if (!value)
            return word;
        *value++ = 0;
        if (!strcmp(word, "limit"))
            red.limit = (uint32_t)atol(value);
        else if (!strcmp(word, "min"))
            red.qth_min = (uint32_t)atol(value);
        else if (!strcmp(word, "max"))
            red.qth_max = (uint32_t)atol(value);
        else if (!strcmp(word, "wlog"))
            red.Wlog = (unsigned char)atol(value);
        else if (!strcmp(word, "probability"))
            probability = atof(value);
        else if (!strcmp(word, "packet"))
            packet = atof(value);
        else if (!strcmp(word, "ecn"))
            red.flags |= atol(value) ? TC_RED_ECN : 0;
        else if (!strcmp(word, "adaptive"))
            red.flags |= atol(value) ? TC_RED_ADAPTATIVE : 0;
        else if (!strcmp(word, "harddrop"))
            red.flags |= atol(value) ? TC_RED_HARDDROP : 0;
        else
            return word;
    }
    fill_idle_table(&red, shifts, 8e6 * packet / rate);
    uint32_t largest = (uint32_t)fmin(4294967295.0, probability * 4294967296.0);
    append(request, TCA_RED_PARMS, &red, sizeof red);
    append(request, TCA_RED_STAB, shifts, sizeof shifts);
    append(request, TCA_RED_MAX_P, &largest, sizeof largest);
    return NULL;
}

static const struct option *known_options(void)
{
    for (size_t i = 0; i < sizeof of_kind / sizeof *of_kind; i++)
        if (!strcmp(kind, of_kind[i].name))
            return of_kind[i].options;
    return NULL;
}

static const char *append_numbers(struct request *request, char *options)
{
    const struct option *known = known_options();
    if (!known)
        return kind;
    for (char *save, *word = strtok_r(options, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char *value = strchr(word, '=');
        if (!value)
            return word;
        *value++ = 0;
        const struct option *option = known;
        while (option->name && strcmp(option->name, word))
            option++;
        if (!option->name)
            return word;
        uint32_t number = (uint32_t)strtoul(value, NULL, 0);
        append(request, option->attribute, &number, sizeof number);
    }
    return NULL;
}

static const char *install_discipline(char *options, double rate)
{
    struct request request = new_request(
        RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, 0x00010001, 0x00100000);
    const char *refused = NULL;
    append(&request, TCA_KIND, kind, strlen(kind) + 1);
    if (!strcmp(kind, "pfifo") || !strcmp(kind, "bfifo")) {
        if (strncmp(options, "limit=", 6))
            refused = kind;
        else {
            struct tc_fifo_qopt fifo = {.limit = (uint32_t)atol(options + 6)};
            append(&request, TCA_OPTIONS, &fifo, sizeof fifo);
        }
    } else {
        struct rtattr *nested = begin_nested(&request, TCA_OPTIONS);
        int is_red = !strcmp(kind, "red");
        refused = is_red ? append_red(&request, options, rate) : append_numbers(&request, options);
        end_nested(&request, nested);
    }
    if (refused) {
        errno = EINVAL;
        return refused;
    }
    return install(&request) ? kind : NULL;
}

const char *install_queue(const char *device, double rate, uint32_t burst, char *text)
{
    char *options = strchr(text, ':');
    size_t length = options ? (size_t)(options - text) : strlen(text);
    errno = EINVAL;
    if (length >= sizeof kind)
        return text;
    memcpy(kind, text, length);
    static char none[1];
    options = options ? options + 1 : none;
    netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    device_index = (int)if_nametoindex(device);
    if (netlink < 0 || !device_index)
        return device;
    if (install_shaper(rate, burst))
        return "tbf";
    return install_discipline(options, rate);
}

// Numbers that only some disciplines have, from their own statistics.
static void read_own(struct queue_state *state, const struct rtattr *own)
{
    union {
        struct tc_codel_xstats codel;
        struct tc_fq_codel_xstats fq_codel;
        struct tc_pie_xstats pie;
        struct tc_red_xstats red;
        struct tc_fq_qd_stats fq;
        unsigned char bytes[256];
    } found = {0};
    size_t size = RTA_PAYLOAD(own);
    memcpy(&found, RTA_DATA(own), size < sizeof found ? size : sizeof found);
    if (!strcmp(kind, "codel")) {
        state->marks = found.codel.ecn_mark + found.codel.ce_mark;
        state->control = found.codel.count;
    } else if (!strcmp(kind, "fq_codel"))
        state->marks = found.fq_codel.qdisc_stats.ecn_mark + found.fq_codel.qdisc_stats.ce_mark;
    else if (!strcmp(kind, "pie")) {
        state->marks = found.pie.ecn_mark;
        state->control = ldexp((double)found.pie.prob, -64);
    } else if (!strcmp(kind, "red"))
        state->marks = found.red.marked;
    else if (!strcmp(kind, "fq"))
        state->marks = (uint32_t)found.fq.ce_mark;
}

// The attribute of a type among those of an answer or of another attribute; NULL if there is none.
static struct rtattr *find(struct rtattr *first, size_t size, int type)
{
    int left = (int)size;
    for (struct rtattr *each = first; RTA_OK(each, left); each = RTA_NEXT(each, left))
        if (each->rta_type == type)
            return each;
    return NULL;
}

static struct rtattr *find_within(struct rtattr *outer, int type)
{
    return find(RTA_DATA(outer), RTA_PAYLOAD(outer), type);
}

// Ask for the discipline; return the attribute of a type in the answer, or NULL with errno.
static struct rtattr *ask(unsigned char *answer, int type)
{
    struct request request = new_request(RTM_GETQDISC, NLM_F_ECHO, 0x00010001, 0);
    size_t before = NLMSG_LENGTH(sizeof(struct tcmsg));
    ssize_t size = exchange(&request, answer, ROOM);
    struct nlmsghdr *header = (struct nlmsghdr *)answer;
    if (size < 0)
        return NULL;
    errno = EPROTO;
    if (header->nlmsg_type != RTM_NEWQDISC)
        return NULL;
    return find((struct rtattr *)(answer + before), header->nlmsg_len - before, type);
}

int read_queue(struct queue_state *state)
{
    unsigned char answer[ROOM];
    struct rtattr *statistics = ask(answer, TCA_STATS2);
    struct rtattr *common = statistics ? find_within(statistics, TCA_STATS_QUEUE) : NULL;
    if (!common)
        return -1;
    struct gnet_stats_queue queue;
    memcpy(&queue, RTA_DATA(common), sizeof queue);
    *state = (struct queue_state){queue.qlen, queue.backlog, queue.drops, 0, 0};
    struct rtattr *own = find_within(statistics, TCA_STATS_APP);
    if (own)
        read_own(state, own);
    return 0;
}

int report_options(void (*report)(const char *name, long long value))
{
    unsigned char answer[ROOM];
    struct rtattr *options = ask(answer, TCA_OPTIONS);
    if (!options)
        return -1;
    if (!strcmp(kind, "red")) {
        struct rtattr *parameters = find_within(options, TCA_RED_PARMS);
        struct rtattr *probability = find_within(options, TCA_RED_MAX_P);
        if (!parameters || !probability)
            return -1;
        struct tc_red_qopt red;
        memcpy(&red, RTA_DATA(parameters), sizeof red);
        report("limit", red.limit);
        report("min", red.qth_min);
        report("max", red.qth_max);
        report("wlog", red.Wlog);
        report("flags", red.flags);
        report("cell_log", red.Scell_log);
        report("max_p", *(uint32_t *)RTA_DATA(probability));
        return 0;
    }
    const struct option *known = known_options();
    if (!known)
        report("limit", *(uint32_t *)RTA_DATA(options));
    for (; known && known->name; known++) {
        struct rtattr *found = find_within(options, known->attribute);
        if (found)
            report(known->name, *(uint32_t *)RTA_DATA(found));
    }
    return 0;
}
