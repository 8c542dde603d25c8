// SPDX-License-Identifier: GPL-2.0-only
//
// takano2006, scenario 1 with DFC: a target flow over nodes 1..30 from t = 0 and a background flow
// over nodes 15..30 from t = 0.1 s, both ns-3's TCP NewReno, each from a host in front of its first
// node that sends at the rate r_0 of eq. (9). ACKs return over plain devices. Prints records
//   efficiency <end of the millisecond> <flow> <mean packets on the links / the most that fit>
//   queue <time> <node> <flow> <waiting now> <mean waiting since the last record>
//   host <time> <flow> <packets waiting> <congestion window> <packets in flight>
//   node <node> <accepted> <dropped> <sent> <peak of target> <peak of background> <peak of both>
//   flow <flow> <into the host> <waiting there> <in nodes> <on links> <dropped> <received> <unique>

#include "dfc-device.h"

#include "ns3/applications-module.h"

#include <cstdio>
#include <vector>

using namespace ns3;

namespace
{

const char* const NAMES[FLOWS] = {"target", "background"};
constexpr std::uint32_t HEADERS = 42; // PPP 2, IPv4 20, TCP 20 bytes

/// A link: DFC towards the receivers, a plain device for the ACKs; addresses 10.0.<number>.1, .2.
Ptr<DfcDevice>
Connect(Ptr<Node> from, Ptr<Node> to, const Law& law, std::size_t capacity, bool host, Time delay)
{
    static std::uint32_t number = 0;
    auto forward = CreateObject<DfcDevice>();
    auto backward = CreateObject<PointToPointNetDevice>();
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(delay));
    forward->Configure(&law, capacity, host);
    backward->SetDataRate(DataRate(static_cast<std::uint64_t>(law.bitRate)));
    backward->SetQueue(CreateObjectWithAttributes<DropTailQueue<Packet>>(
        "MaxSize", QueueSizeValue(QueueSize("10000p"))));
    forward->SetAddress(Mac48Address::Allocate());
    backward->SetAddress(Mac48Address::Allocate());
    from->AddDevice(forward);
    to->AddDevice(backward);
    forward->Attach(channel);
    backward->Attach(channel);
    Ipv4AddressHelper addresses(Ipv4Address(0x0a000000 + 256 * ++number), "255.255.255.0");
    NetDeviceContainer both(forward);
    both.Add(backward);
    addresses.Assign(both);
    return forward;
}

Ipv4Address
AddressOf(Ptr<NetDevice> device)
{
    auto ipv4 = device->GetNode()->GetObject<Ipv4>();
    return ipv4->GetAddress(ipv4->GetInterfaceForDevice(device), 0).GetLocal();
}

void
Route(Ptr<NetDevice> device, Ipv4Address to)
{
    auto ipv4 = device->GetNode()->GetObject<Ipv4>();
    auto routing = Ipv4StaticRoutingHelper().GetStaticRouting(ipv4);
    auto peer = device->GetChannel()->GetDevice(device->GetChannel()->GetDevice(0) == device);
    routing->AddHostRouteTo(to, AddressOf(peer), ipv4->GetInterfaceForDevice(device));
}

} // namespace

int
main(int argc, char** argv)
{
    std::uint32_t nodes = 30;
    std::uint32_t ingress = 15;
    double megabits = 370;
    double delay = 1e-4;
    std::uint32_t buffer = 1800;
    double diffusion = 0.1;
    std::uint32_t window = 5000;
    double backgroundStart = 0.1;
    double duration = 1.5;
    bool synchronous = false;
    std::uint32_t seed = 1;
    Law law;
    CommandLine cmd(__FILE__);
    cmd.AddValue("nodes", "nodes of the chain", nodes);
    cmd.AddValue("ingress", "node where the background flow enters", ingress);
    cmd.AddValue("megabits", "link rate in Mb/s", megabits);
    cmd.AddValue("delay", "link delay in s", delay);
    cmd.AddValue("buffer", "packets that a node can hold", buffer);
    cmd.AddValue("diffusion", "D", diffusion);
    cmd.AddValue("intensity", "alpha", law.intensity);
    cmd.AddValue("window", "largest TCP window in packets", window);
    cmd.AddValue("background-start", "in s", backgroundStart);
    cmd.AddValue("duration", "in s", duration);
    cmd.AddValue("synchronous", "all feedback clocks in phase, instead of random phases",
                 synchronous);
    cmd.AddValue("count-transmission", "n includes the packet in transmission",
                 law.countTransmission);
    cmd.AddValue("seed", "run number of ns-3's random streams", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(20061010);
    RngSeedManager::SetRun(seed);

    law.bitRate = 1e6 * megabits;
    law.linkRate = law.bitRate / (8 * 1500);
    law.gain = diffusion / delay;
    const std::uint32_t segment = 1500 - HEADERS;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window * segment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window * segment));

    const Time step = Seconds(delay);
    NodeContainer chain(nodes);
    NodeContainer hosts(FLOWS);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.SetRoutingHelper(Ipv4StaticRoutingHelper());
    internet.Install(chain);
    internet.Install(hosts);
    const std::uint32_t first[FLOWS] = {1, ingress};
    std::vector<Ptr<DfcDevice>> links(nodes); // links[i]: node i to node i + 1
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        links[i] = Connect(chain.Get(i - 1), chain.Get(i), law, buffer, false, step);
    }
    Ptr<DfcDevice> shapers[FLOWS];
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        shapers[j] = Connect(hosts.Get(j), chain.Get(first[j] - 1), law, 0, true, step);
        law.sources[j] = AddressOf(shapers[j]);
    }
    auto other = [](Ptr<NetDevice> device) { return device->GetChannel()->GetDevice(1); };
    const Ipv4Address sink = AddressOf(other(links[nodes - 1]));
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        Route(shapers[j], sink);
        for (std::uint32_t i = first[j]; i < nodes; ++i)
        {
            Route(other(links[i]), law.sources[j]); // ACKs
        }
    }
    for (std::uint32_t i = 1; i + 1 < nodes; ++i)
    {
        Route(links[i], sink);
    }

    // TCP
    const double start[FLOWS] = {0.0, backgroundStart};
    Ptr<BulkSendApplication> senders[FLOWS];
    Ptr<PacketSink> sinks[FLOWS];
    double windows[FLOWS] = {};
    double flights[FLOWS] = {};
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        const InetSocketAddress address(sink, static_cast<std::uint16_t>(5001 + j));
        auto listening =
            PacketSinkHelper("ns3::TcpSocketFactory", address).Install(chain.Get(nodes - 1));
        listening.Start(Seconds(0));
        sinks[j] = DynamicCast<PacketSink>(listening.Get(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", address);
        bulk.SetAttribute("SendSize", UintegerValue(segment));
        auto installed = bulk.Install(hosts.Get(j));
        installed.Start(Seconds(start[j]));
        senders[j] = DynamicCast<BulkSendApplication>(installed.Get(0));
        Simulator::Schedule(Seconds(start[j]) + NanoSeconds(1), [&, j] {
            const auto watch = [&](const char* source, double* to) {
                senders[j]->GetSocket()->TraceConnectWithoutContext(
                    source,
                    Callback<void, std::uint32_t, std::uint32_t>(
                        [to, segment](std::uint32_t, std::uint32_t bytes) {
                            *to = static_cast<double>(bytes) / segment;
                        }));
            };
            watch("CongestionWindow", &windows[j]);
            watch("BytesInFlight", &flights[j]);
        });
    }
    std::uint64_t received[FLOWS] = {};
    other(links[nodes - 1])
        ->TraceConnectWithoutContext(
            "MacRx", Callback<void, Ptr<const Packet>>([&](Ptr<const Packet> packet) {
                Ptr<Packet> copy = packet->Copy();
                PppHeader ppp;
                Ipv4Header header;
                copy->RemoveHeader(ppp);
                copy->PeekHeader(header);
                ++received[header.GetSource() == law.sources[0] ? 0 : 1];
            }));

    // feedback: every node once per link delay, from its own phase on, downstream nodes first
    auto phase = CreateObject<UniformRandomVariable>();
    phase->SetStream(1);
    std::vector<std::function<void()>> ticks(nodes + 1);
    for (std::uint32_t i = nodes; i >= 1; --i)
    {
        ticks[i] = [&, i] {
            std::array<Report, FLOWS> reports;
            for (std::size_t j = 0; j < FLOWS; ++j)
            {
                if (i == nodes)
                {
                    reports[j] = {true, law.linkRate, 0.0};
                    continue;
                }
                const bool toHost = i == first[j];
                reports[j] = links[i]->MakeReport(j, toHost);
                if (toHost)
                {
                    std::array<Report, FLOWS> asked;
                    std::swap(asked[j], reports[j]);
                    Simulator::Schedule(step, [&, j, asked] { shapers[j]->Receive(asked); });
                }
            }
            if (i > 1)
            {
                Simulator::Schedule(step, [&, i, reports] { links[i - 1]->Receive(reports); });
            }
            Simulator::Schedule(step, ticks[i]);
        };
        const double at = phase->GetValue(0.0, delay);
        Simulator::Schedule(synchronous ? Seconds(0) : Seconds(at), ticks[i]);
    }

    // records
    const double bin = 1e-3;
    const auto bins = static_cast<std::size_t>(std::llround(duration / bin));
    std::array<std::vector<double>, FLOWS> transit;
    transit.fill(std::vector<double>(bins + 1, 0.0));
    std::uint64_t onLinks[FLOWS] = {}; // at the end
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        links[i]->onLeave = [&](std::size_t j) {
            const double now = Simulator::Now().GetSeconds();
            const auto k = static_cast<std::size_t>(now / bin);
            const double inside = std::min(delay, static_cast<double>(k + 1) * bin - now);
            transit[j][std::min(k, bins)] += inside;
            transit[j][std::min(k + 1, bins)] += delay - inside;
            onLinks[j] += now + delay > duration;
        };
    }
    for (auto& shaper : shapers)
    {
        shaper->onLeave = [&](std::size_t j) {
            onLinks[j] += Simulator::Now().GetSeconds() + delay > duration;
        };
    }
    std::function<void()> sample = [&] {
        const double now = Simulator::Now().GetSeconds();
        for (std::uint32_t i = 1; i < nodes; ++i)
        {
            for (std::size_t j = 0; j < FLOWS; ++j)
            {
                if (i >= first[j])
                {
                    std::printf("queue %.3f %u %s %zu %.4f\n", now, i, NAMES[j],
                                links[i]->Waiting(j), links[i]->CollectArea(j) / 5e-3);
                }
            }
        }
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            std::printf("host %.3f %s %zu %.3f %.3f\n", now, NAMES[j], shapers[j]->Waiting(j),
                        windows[j], flights[j]);
        }
        Simulator::Schedule(Seconds(5e-3), sample);
    };
    Simulator::Schedule(Seconds(5e-3), sample);
    Simulator::Stop(Seconds(duration) + NanoSeconds(1));
    Simulator::Run();

    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        const double most = law.linkRate * delay * (nodes - first[j]);
        for (std::size_t k = 0; k < bins; ++k)
        {
            std::printf("efficiency %.3f %s %.6f\n", bin * static_cast<double>(k + 1), NAMES[j],
                        transit[j][k] / bin / most);
        }
    }
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        std::printf("node %u %llu %llu %llu %zu %zu %zu\n", i,
                    static_cast<unsigned long long>(links[i]->Accepted(0) + links[i]->Accepted(1)),
                    static_cast<unsigned long long>(links[i]->Dropped(0) + links[i]->Dropped(1)),
                    static_cast<unsigned long long>(links[i]->Sent(0) + links[i]->Sent(1)),
                    links[i]->Peak(0), links[i]->Peak(1), links[i]->Peak());
    }
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        std::uint64_t inside = 0;
        std::uint64_t dropped = 0;
        for (std::uint32_t i = first[j]; i < nodes; ++i)
        {
            inside += links[i]->Waiting(j) + links[i]->Transmitting(j);
            dropped += links[i]->Dropped(j);
        }
        std::printf("flow %s %llu %zu %llu %llu %llu %llu %llu\n", NAMES[j],
                    static_cast<unsigned long long>(shapers[j]->Accepted(j)),
                    shapers[j]->Waiting(j) + shapers[j]->Transmitting(j),
                    static_cast<unsigned long long>(inside),
                    static_cast<unsigned long long>(onLinks[j]),
                    static_cast<unsigned long long>(dropped),
                    static_cast<unsigned long long>(received[j]),
                    static_cast<unsigned long long>(sinks[j]->GetTotalRx() / segment));
    }
    Simulator::Destroy();
}
