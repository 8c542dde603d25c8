// SPDX-License-Identifier: GPL-2.0-only
//
// NewReno flows from hosts of their own over one bottleneck whose queue is managed: the queue discipline
// `disc` of ns-3 above a device that holds one packet. Prints, from `begin` to `end`: one line `flow
// RECEIVED` for each flow (bytes at its receiver), and `queue DROPS PACKETS SOJOURN`: packets that the
// discipline dropped, the mean number in it over time, the mean time in it of those that left, in s.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <vector>

using namespace ns3;

namespace
{

constexpr std::uint32_t SEGMENT = 1458; // with TCP, IPv4 and PPP headers: 1500 bytes on the link
constexpr std::uint16_t PORT = 5000;

double g_begin;
std::uint64_t g_drops{0};
std::uint64_t g_left{0};
double g_sojourn{0};
double g_area{0};
double g_since{0};
std::uint32_t g_queued{0};

bool
Measuring()
{
    return Simulator::Now().GetSeconds() >= g_begin;
}

void
Dropped(Ptr<const QueueDiscItem>)
{
    g_drops += Measuring();
}

void
Sojourn(Time time)
{
    g_left += Measuring();
    g_sojourn += Measuring() ? time.GetSeconds() : 0;
}

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
Start(std::vector<std::uint64_t>* before, ApplicationContainer* sinks)
{
    for (std::uint32_t n = 0; n < sinks->GetN(); ++n)
    {
        (*before)[n] = DynamicCast<PacketSink>(sinks->Get(n))->GetTotalRx();
    }
}

} // namespace

int
main(int argc, char** argv)
{
    std::string disc = "ns3::CoDelQueueDisc";
    std::uint32_t flows = 4;
    double rate = 20e6;
    double delay = 0.02;
    double access = 0.005;
    std::uint32_t buffer = 200;
    double target = 0.005;
    double interval = 0.1;
    double end = 60;
    std::uint32_t seed = 1;
    g_begin = 10;
    CommandLine options(__FILE__);
    options.AddValue("disc", "TypeId of the queue discipline", disc);
    options.AddValue("flows", "number of flows", flows);
    options.AddValue("rate", "of the bottleneck, in bit/s; ten times that on the access links", rate);
    options.AddValue("delay", "of the bottleneck, in s", delay);
    options.AddValue("access", "delay of the access links, in s, each up to 1 % longer at random", access);
    options.AddValue("buffer", "of the bottleneck, in packets", buffer);
    options.AddValue("target", "of CoDel, in s", target);
    options.AddValue("interval", "of CoDel, in s", interval);
    options.AddValue("begin", "of the measurement, in s", g_begin);
    options.AddValue("end", "of the simulation, in s", end);
    options.AddValue("seed", "run number of the random streams", seed);
    options.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1000 * SEGMENT));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1000 * SEGMENT));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(0.2)));

    auto random = CreateObject<UniformRandomVariable>();
    NodeContainer routers;
    routers.Create(2);
    NodeContainer hosts;
    hosts.Create(flows);
    InternetStackHelper stack;
    stack.Install(routers);
    stack.Install(hosts);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(std::uint64_t(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    auto bottleneck = link.Install(routers);
    TrafficControlHelper control;
    control.SetRootQueueDisc(disc);
    auto queue = control.Install(bottleneck.Get(0)).Get(0);
    queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, buffer));
    if (disc == "ns3::CoDelQueueDisc")
    {
        queue->SetAttribute("Target", TimeValue(Seconds(target)));
        queue->SetAttribute("Interval", TimeValue(Seconds(interval)));
    }
    queue->TraceConnectWithoutContext("Drop", MakeCallback(&Dropped));
    queue->TraceConnectWithoutContext("SojournTime", MakeCallback(&Sojourn));
    queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Changed));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const auto target_address = addresses.Assign(bottleneck).GetAddress(1);

    ApplicationContainer sinks;
    for (std::uint32_t n = 0; n < flows; ++n)
    {
        PointToPointHelper way;
        way.SetDeviceAttribute("DataRate", DataRateValue(DataRate(std::uint64_t(10 * rate))));
        way.SetChannelAttribute("Delay",
                                TimeValue(Seconds(access * (1 + 0.01 * random->GetValue()))));
        way.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
        auto devices = way.Install(hosts.Get(n), routers.Get(0));
        addresses.NewNetwork();
        addresses.Assign(devices);
        const InetSocketAddress remote(target_address, PORT + n);
        PacketSinkHelper sink("ns3::TcpSocketFactory", remote);
        sinks.Add(sink.Install(routers.Get(1)));
        BulkSendHelper source("ns3::TcpSocketFactory", remote);
        source.SetAttribute("SendSize", UintegerValue(SEGMENT));
        auto sender = source.Install(hosts.Get(n));
        sender.Start(Seconds(random->GetValue()));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<std::uint64_t> before(flows, 0);
    Simulator::Schedule(Seconds(g_begin), &Start, &before, &sinks);
    Simulator::Stop(Seconds(end));
    Simulator::Run();
    g_area += g_queued * (end - g_since);
    for (std::uint32_t n = 0; n < flows; ++n)
    {
        std::printf("flow %lu\n", DynamicCast<PacketSink>(sinks.Get(n))->GetTotalRx() - before[n]);
    }
    std::printf("queue %lu %.6f %.9f\n",
                g_drops,
                g_area / (end - g_begin),
                g_left ? g_sojourn / g_left : 0.0);
    Simulator::Destroy();
    return 0;
}
