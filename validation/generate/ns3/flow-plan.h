// SPDX-License-Identifier: GPL-2.0-only
//
// What the flows of a TCP simulation share, and what each of them counts.

#pragma once

#include <cstdint>
#include <string>

/// Counts of one sender; all of them grow.
struct Tally
{
    std::uint64_t segments = 0;
    std::uint64_t retransmissions = 0;
    std::uint64_t recoveries = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t files = 0;
    double fileTime = 0;
    double rtt = 0;
    std::uint64_t samples = 0;
    std::uint64_t connections = 0;
    std::uint64_t failed = 0;
};

/// Traffic and TCP of all flows.
struct Plan
{
    std::string traffic = "think"; ///< think, clock or endless
    std::string tcp = "reno";      ///< reno (an agent of ours), newreno or linuxreno (ns-3's)
    bool fresh = false;            ///< a connection per file
    bool exponential = false;      ///< think times
    std::uint64_t fileBytes = 80000;
    double interval = 1;
    std::uint32_t segment = 1434;
    std::uint32_t window = 44;
    std::uint32_t initialWindow = 2;
    double minimumRto = 0.2;
    double firstRto = 3;
    double starts = 1; ///< s: every flow begins at random within it
};
