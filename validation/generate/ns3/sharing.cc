// SPDX-License-Identifier: GPL-2.0-only
//
// Two flows with congestion controls of ns-3, from hosts of their own, over one bottleneck with a drop-tail
// queue in its device. Prints one line `flow BYTES`, received from `begin` to `end`, for each, then
// `queue PACKETS DROPS`: the mean number of packets in the queue over that time, and those that it dropped.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <array>
#include <cstdio>
#include <string>

using namespace ns3;

namespace
{

constexpr std::uint32_t SEGMENT = 1446; // with timestamps and headers of TCP, IPv4, PPP: 1500 bytes
constexpr std::uint16_t PORT = 5000;

double g_begin;
double g_area{0};
double g_since{0};
std::uint32_t g_queued{0};
std::uint64_t g_drops{0};

void
Changed(std::uint32_t, std::uint32_t now)
{
    const double time = Simulator::Now().GetSeconds();
    if (time > g_begin)
    {
        g_area += g_queued * (time - std::max(g_since, g_begin));
    }
    g_since = time;
    g_queued = now;
}

void
Dropped(Ptr<const Packet>)
{
    g_drops += Simulator::Now().GetSeconds() >= g_begin;
}

void
Start(std::array<std::uint64_t, 2>* before, ApplicationContainer* sinks)
{
    for (std::uint32_t n = 0; n < 2; ++n)
    {
        (*before)[n] = DynamicCast<PacketSink>(sinks->Get(n))->GetTotalRx();
    }
}

} // namespace

int
main(int argc, char** argv)
{
    std::array<std::string, 2> types{"ns3::TcpBbr", "ns3::TcpNewReno"};
    double rate = 20e6;
    double rtt = 0.04;
    std::uint32_t buffer = 100;
    double end = 100;
    std::uint32_t seed = 1;
    g_begin = 20;
    CommandLine options(__FILE__);
    options.AddValue("first", "TypeId of the congestion control of the first flow", types[0]);
    options.AddValue("second", "of the second flow", types[1]);
    options.AddValue("rate", "of the bottleneck, bit/s; ten times that on the access links", rate);
    options.AddValue("rtt", "propagation there and back, in s; a tenth of it on the bottleneck", rtt);
    options.AddValue("buffer", "of the bottleneck, in packets", buffer);
    options.AddValue("begin", "of the measurement, in s", g_begin);
    options.AddValue("end", "of the simulation, in s", end);
    options.AddValue("seed", "run number of the random streams", seed);
    options.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(20000 * SEGMENT));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(20000 * SEGMENT));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(0.2)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));

    auto random = CreateObject<UniformRandomVariable>();
    NodeContainer routers;
    routers.Create(2);
    NodeContainer hosts;
    hosts.Create(2);
    InternetStackHelper stack;
    stack.Install(routers);
    stack.Install(hosts);
    const double near = 0.05 * rtt;
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(std::uint64_t(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(near)));
    link.SetQueue("ns3::DropTailQueue",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, buffer)));
    auto bottleneck = link.Install(routers);
    auto queue = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue();
    queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Changed));
    // a device whose queue is full is stopped: what comes then is dropped above it
    routers.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
        "TcDrop",
        MakeCallback(&Dropped));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const auto target = addresses.Assign(bottleneck).GetAddress(1);
    TrafficControlHelper none; // the helper of addresses has put FqCoDel above each device
    none.Uninstall(bottleneck);

    ApplicationContainer sinks;
    for (std::uint32_t n = 0; n < 2; ++n)
    {
        PointToPointHelper way;
        way.SetDeviceAttribute("DataRate", DataRateValue(DataRate(std::uint64_t(10 * rate))));
        way.SetChannelAttribute("Delay", TimeValue(Seconds(0.5 * rtt - near)));
        way.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        auto devices = way.Install(hosts.Get(n), routers.Get(0));
        addresses.NewNetwork();
        addresses.Assign(devices);
        none.Uninstall(devices);
        hosts.Get(n)->GetObject<TcpL4Protocol>()->SetAttribute(
            "SocketType",
            TypeIdValue(TypeId::LookupByName(types[n])));
        const InetSocketAddress remote(target, PORT + n);
        PacketSinkHelper sink("ns3::TcpSocketFactory", remote);
        sinks.Add(sink.Install(routers.Get(1)));
        BulkSendHelper source("ns3::TcpSocketFactory", remote);
        source.SetAttribute("SendSize", UintegerValue(SEGMENT));
        source.Install(hosts.Get(n)).Start(Seconds(random->GetValue()));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::array<std::uint64_t, 2> before{};
    Simulator::Schedule(Seconds(g_begin), &Start, &before, &sinks);
    Simulator::Stop(Seconds(end));
    Simulator::Run();
    g_area += g_queued * (end - g_since);
    for (std::uint32_t n = 0; n < 2; ++n)
    {
        std::printf("flow %lu\n", DynamicCast<PacketSink>(sinks.Get(n))->GetTotalRx() - before[n]);
    }
    std::printf("queue %.6f %lu\n", g_area / (end - g_begin), g_drops);
    Simulator::Destroy();
    return 0;
}
