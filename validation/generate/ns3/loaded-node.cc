// SPDX-License-Identifier: GPL-2.0-only
//
// takano2006, Fig. 3, in whole packets: a closed ring of nodes under diffusion-type flow control, one
// of them loaded with `hot` packets more than the others. Every node holds `level` packets and is told
// the rate `load` of the link rate, which is also what its link carries at the start; 0 and 0 are a
// ring without other traffic. From then on a node tells the previous one its nominal rate (eq. 5) and
// its packets, or with --feedback=0 the same rate for ever and its packets. Prints
//   node <time> <distance from the loaded node> <waiting> <waiting and in transmission> <on the link>

#include "dfc-chain.h"

#include <cstdio>
#include <memory>
#include <vector>

using namespace ns3;

int
main(int argc, char** argv)
{
    Time::SetResolution(Time::PS);
    std::uint32_t nodes = 161;
    double megabits = 12300;
    double delay = 1e-4;
    double load = 0.5;
    std::uint32_t level = 60;
    std::uint32_t hot = 400;
    std::uint32_t periods = 600;
    std::uint32_t every = 100;
    std::uint32_t seed = 1;
    bool feedback = true;
    Law law;
    CommandLine cmd(__FILE__);
    cmd.AddValue("nodes", "nodes of the ring", nodes);
    cmd.AddValue("megabits", "link rate in Mb/s", megabits);
    cmd.AddValue("delay", "link delay in s", delay);
    cmd.AddValue("diffusion", "D", law.diffusion);
    cmd.AddValue("load", "rate told at the start, over the link rate", load);
    cmd.AddValue("level", "packets in every node", level);
    cmd.AddValue("hot", "packets more in one of them", hot);
    cmd.AddValue("feedback", "nodes tell their nominal rates; 0: the rate of the start", feedback);
    cmd.AddValue("periods", "link delays to simulate", periods);
    cmd.AddValue("every", "link delays between two records", every);
    cmd.AddValue("seed", "run number of ns-3's random streams", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(20061010);
    RngSeedManager::SetRun(seed);

    constexpr std::uint32_t PACKET = 1500;
    law.bitRate = 1e6 * megabits;
    law.linkRate = law.bitRate / (8 * PACKET);
    const double told = load * law.linkRate;
    const std::uint32_t loaded = nodes / 2;
    const std::int64_t period = Ticks(delay);

    std::vector<std::unique_ptr<Element>> ring(nodes);
    for (auto& node : ring)
    {
        node = std::make_unique<Element>(law, Element::Kind::node, 1'000'000, delay);
    }
    for (std::uint32_t i = 0; i < nodes; ++i)
    {
        Element* next = ring[(i + 1) % nodes].get();
        ring[i]->deliver = [next](std::size_t j, Cargo cargo) {
            next->Arrive(j, std::move(cargo));
        };
    }

    // the start: what every node was told, what it holds, and what is on its way to it
    const auto onWay = static_cast<std::uint32_t>(std::lround(told * delay));
    auto uniform = CreateObject<UniformRandomVariable>();
    uniform->SetStream(1);
    for (std::uint32_t i = 0; i < nodes; ++i)
    {
        Element* node = ring[i].get();
        Reports first;
        first[0] = {true, told, static_cast<double>(level)};
        node->Receive(first);
        for (std::uint32_t n = 0; n < level + (i == loaded ? hot : 0); ++n)
        {
            node->Arrive(0, {PACKET, -1, nullptr});
        }
        node->Receive(first);
        for (std::uint32_t n = 0; n < onWay; ++n)
        {
            const double at = delay * (n + uniform->GetValue(0.0, 1.0)) / onWay;
            Simulator::Schedule(Time(Ticks(at)), [node] {
                node->Arrive(0, {PACKET, -1, nullptr});
            });
        }
    }

    // feedback: every node to the previous one once per delay, from its own phase on
    std::vector<std::function<void()>> ticks(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i)
    {
        Element* node = ring[i].get();
        Element* previous = ring[(i + nodes - 1) % nodes].get();
        ticks[i] = [&, i, node, previous] {
            Reports reports = node->ForNode();
            if (!feedback)
            {
                reports[0].rate = told;
            }
            Simulator::Schedule(Time(period), [previous, reports] { previous->Receive(reports); });
            Simulator::Schedule(Time(period), ticks[i]);
        };
        const double phase = uniform->GetValue(0.0, 1.0);
        Simulator::Schedule(Time(Ticks(phase * delay)), ticks[i]);
    }

    const std::uint64_t all = std::uint64_t{nodes} * (level + onWay) + hot;
    for (std::uint32_t k = every; k <= periods; k += every)
    {
        Simulator::Schedule(Time(period * k), [&, k, all] {
            std::uint64_t sum = 0;
            for (std::uint32_t i = 0; i < nodes; ++i)
            {
                const Element& node = *ring[i];
                sum += node.Inside(0) + node.OnLink(0);
                std::printf("node %.4f %d %zu %zu %zu\n", k * delay,
                            static_cast<int>(i) - static_cast<int>(loaded), node.Waiting(0),
                            node.Inside(0), node.OnLink(0));
            }
            NS_ABORT_MSG_UNLESS(sum == all, sum << " packets instead of " << all);
        });
    }
    Simulator::Stop(Time(period * periods + 1));
    Simulator::Run();
    Simulator::Destroy();
}
