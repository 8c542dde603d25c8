// SPDX-License-Identifier: GPL-2.0-only
//
// Flows with different congestion controls over bottlenecks in a row (kaneko2007): senders and
// receivers are on the nodes that the bottlenecks connect, flow i on the nodes `from` and `to`; each
// packet of data is lost with probability `loss` behind the last bottleneck. A flow with a longer
// round trip than its bottlenecks have ends at a node of its own behind a link that is `access` times
// as fast. What goes backwards leaves a node up to `overhead` seconds late, at random, in its order.
// Writes, into the working folder, what ns2/linux.tcl writes:
//   samples.txt, every `step` seconds: time; arrivals, departures, drops and area of the last queue;
//     each flow: sent, received, lost at random, acknowledged, cwnd
//   links.txt, at `begin` and `end`: time; the same four of every link, forward before backward
//   drops.txt, lost.txt: time and flow of each packet refused by a queue or lost at random; `ack`
//     behind them for an acknowledgement

#include "rules.h"

#include "ns3/applications-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <sstream>
#include <vector>

using namespace ns3;

namespace
{

constexpr std::uint32_t SEGMENT = 1458; // with TCP, IPv4 and PPP headers: 1500 bytes on the link
constexpr std::uint16_t FIRST_PORT = 5000;

struct Flow
{
    std::uint64_t sent{0};
    std::uint64_t received{0};
    std::uint64_t lost{0};
    std::uint64_t acked{0};
    std::uint32_t lastAck{0};
    bool acking{false};
    double window{0};
    int to{1};
};

/// A queue with its counts.
struct Link
{
    std::uint64_t arrivals{0};
    std::uint64_t departures{0};
    std::uint64_t drops{0};
    std::uint32_t queued{0};
    double area{0};
    double since{0};
};

/// A device that hands every packet to its queue up to `Overhead` late, at random, in its order.
class LateDevice : public PointToPointNetDevice
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::LateDevice")
                               .SetParent<PointToPointNetDevice>()
                               .AddConstructor<LateDevice>();
        return id;
    }

    void SetOverhead(double seconds)
    {
        m_overhead = seconds;
        m_late->SetStream(2);
    }

    bool Send(Ptr<Packet> packet, const Address& to, std::uint16_t protocol) override
    {
        const Time late = Simulator::Now() + Seconds(m_late->GetValue(0, m_overhead));
        m_last = std::max(m_last, late);
        Simulator::Schedule(m_last - Simulator::Now(), &LateDevice::Hand, this, packet, to, protocol);
        return true;
    }

  private:
    void Hand(Ptr<Packet> packet, const Address& to, std::uint16_t protocol)
    {
        PointToPointNetDevice::Send(packet, to, protocol);
    }

    Ptr<UniformRandomVariable> m_late{CreateObject<UniformRandomVariable>()};
    double m_overhead{0};
    Time m_last{0};
};

NS_OBJECT_ENSURE_REGISTERED(LateDevice);

std::vector<Flow> g_flows;
std::vector<Link> g_links; // forward, then backward
std::FILE* g_samples;
std::FILE* g_dropFile;
std::FILE* g_lostFile;
std::FILE* g_linkFile;

template <typename T>
std::vector<T>
List(std::string text) // separated by commas: CommandLine ends a value at a space
{
    std::replace(text.begin(), text.end(), ',', ' ');
    std::istringstream words(text);
    std::vector<T> found;
    for (T word; words >> word;)
    {
        found.push_back(word);
    }
    return found;
}

/// The flow of a packet of data, from its destination port; -1 for a packet without data, but with
/// `acks` the flow of an acknowledgement too, from its source port.
int
FlowOf(Ptr<const Packet> packet, bool acks = false)
{
    auto copy = packet->Copy();
    PppHeader link;
    Ipv4Header ip;
    TcpHeader tcp;
    copy->RemoveHeader(link);
    copy->RemoveHeader(ip);
    const bool data = ip.GetPayloadSize() >= 1000;
    if (!data && !acks)
    {
        return -1;
    }
    copy->RemoveHeader(tcp);
    const int flow = (data ? tcp.GetDestinationPort() : tcp.GetSourcePort()) - FIRST_PORT;
    return flow < int(g_flows.size()) ? flow : -1; // a SYN has the sender's own port
}

void
Integrate(Link* link)
{
    const double now = Simulator::Now().GetSeconds();
    link->area += link->queued * (now - link->since);
    link->since = now;
}

void
Entered(Link* link, Ptr<const Packet>)
{
    Integrate(link);
    ++link->queued;
    ++link->arrivals;
}

void
Left(Link* link, Ptr<const Packet>)
{
    Integrate(link);
    --link->queued;
    ++link->departures;
}

void
Refused(Link* link, Ptr<const Packet> packet)
{
    ++link->arrivals;
    ++link->drops;
    const double now = Simulator::Now().GetSeconds();
    if (const int flow = FlowOf(packet); flow >= 0)
    {
        std::fprintf(g_dropFile, "%.6f %d\n", now, flow + 1);
    }
    else if (const int acked = FlowOf(packet, true); acked >= 0)
    {
        std::fprintf(g_dropFile, "%.6f %d ack\n", now, acked + 1);
    }
}

void
Lost(Ptr<const Packet> packet)
{
    const int flow = FlowOf(packet);
    if (flow >= 0)
    {
        ++g_flows[flow].lost;
        std::fprintf(g_lostFile, "%.6f %d\n", Simulator::Now().GetSeconds(), flow + 1);
    }
}

void
Received(int node, Ptr<const Packet> packet)
{
    const int flow = FlowOf(packet);
    if (flow >= 0 && g_flows[flow].to == node)
    {
        ++g_flows[flow].received;
    }
}

void
Sent(Flow* flow, Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>)
{
    flow->sent += packet->GetSize() > 0;
}

void
Acked(Flow* flow, SequenceNumber32, SequenceNumber32 now)
{
    const std::uint32_t value = now.GetValue();
    if (flow->acking)
    {
        flow->acked += value - flow->lastAck; // modulo 2^32, as sequence numbers are
    }
    flow->acking = true;
    flow->lastAck = value;
}

void
Window(Flow* flow, std::uint32_t, std::uint32_t now)
{
    flow->window = double(now) / SEGMENT;
}

void
Watch(Ptr<BulkSendApplication> source, Flow* flow)
{
    auto socket = source->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeBoundCallback(&Sent, flow));
    socket->TraceConnectWithoutContext("HighestRxAck", MakeBoundCallback(&Acked, flow));
    socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&Window, flow));
}

void
Choose(Ptr<Node> node, std::string rule)
{
    node->GetObject<TcpL4Protocol>()->SetAttribute("SocketType",
                                                   TypeIdValue(TypeId::LookupByName(rule)));
}

void
Write(std::FILE* file, Link& link)
{
    Integrate(&link);
    std::fprintf(file, " %lu %lu %lu %.6f", link.arrivals, link.departures, link.drops, link.area);
}

void
Sample()
{
    std::fprintf(g_samples, "%.6f", Simulator::Now().GetSeconds());
    Write(g_samples, g_links[g_links.size() / 2 - 1]);
    for (const auto& flow : g_flows)
    {
        std::fprintf(g_samples,
                     " %lu %lu %lu %lu %.3f",
                     flow.sent,
                     flow.received,
                     flow.lost,
                     flow.acked / SEGMENT,
                     flow.window);
    }
    std::fprintf(g_samples, "\n");
}

void
SampleLinks()
{
    std::fprintf(g_linkFile, "%.6f", Simulator::Now().GetSeconds());
    for (auto& link : g_links)
    {
        Write(g_linkFile, link);
    }
    std::fprintf(g_linkFile, "\n");
}

void
WatchLink(Ptr<NetDevice> device, Link* link)
{
    auto queue = DynamicCast<PointToPointNetDevice>(device)->GetQueue();
    queue->TraceConnectWithoutContext("Enqueue", MakeBoundCallback(&Entered, link));
    queue->TraceConnectWithoutContext("Dequeue", MakeBoundCallback(&Left, link));
    queue->TraceConnectWithoutContext("Drop", MakeBoundCallback(&Refused, link));
}

/// A link without the second queue that a PointToPointHelper would put above the devices' own.
NetDeviceContainer
Connect(Ptr<Node> from,
        Ptr<Node> to,
        double rate,
        double delay,
        std::uint32_t buffer,
        std::uint32_t backBuffer = 1000000,
        double late = 0)
{
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(Seconds(delay)));
    NetDeviceContainer devices;
    for (const auto& node : {from, to})
    {
        auto device = CreateObject<PointToPointNetDevice>();
        if (node == to && late > 0)
        {
            auto slow = CreateObject<LateDevice>();
            slow->SetOverhead(late);
            device = slow;
        }
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(DataRate(std::uint64_t(rate)));
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, node == from ? buffer : backBuffer));
        device->SetQueue(queue);
        node->AddDevice(device);
        device->Attach(channel);
        devices.Add(device);
    }
    return devices;
}

} // namespace

int
main(int argc, char** argv)
{
    std::string rules = "ns3::TcpNewReno";
    std::string starts = "0";
    std::string rtts = "0.04";
    std::string from = "0";
    std::string to = "1";
    std::uint32_t hops = 1;
    double delay = 0.02;
    std::uint32_t backBuffer = 1000000;
    double rate = 100e6;
    double access = 10;
    std::uint32_t buffer = 333;
    double loss = 0;
    double overhead = 0;
    std::uint32_t seed = 1;
    double begin = 20;
    double end = 100;
    double drain = 120;
    double step = 0.1;
    std::uint32_t window = 7000;
    std::uint32_t ssthresh = 333;
    double fastAlpha = 20;
    CommandLine options(__FILE__);
    options.AddValue("rules", "TypeIds of the flows' congestion controls", rules);
    options.AddValue("starts", "their first times, in s, all different", starts);
    options.AddValue("rtts", "their round trips without queueing and transmission, in s", rtts);
    options.AddValue("from", "nodes of their senders", from);
    options.AddValue("to", "nodes of their receivers", to);
    options.AddValue("hops", "number of bottlenecks", hops);
    options.AddValue("delay", "of each of them, in s", delay);
    options.AddValue("back-buffer", "queues of the way back, in packets", backBuffer);
    options.AddValue("rate", "rate of the bottleneck, in bit/s", rate);
    options.AddValue("access", "rate of other links / rate of the bottleneck", access);
    options.AddValue("buffer", "queue of the bottleneck, in packets", buffer);
    options.AddValue("loss", "probability that a packet of data is lost behind the queue", loss);
    options.AddValue("overhead", "largest delay of what goes backwards, in s", overhead);
    options.AddValue("seed", "run number of the random streams", seed);
    options.AddValue("begin", "of the first line of links.txt, in s", begin);
    options.AddValue("end", "when the sources stop, in s", end);
    options.AddValue("drain", "time after that, in s", drain);
    options.AddValue("step", "between samples, in s", step);
    options.AddValue("window", "send and receive buffers, in packets", window);
    options.AddValue("ssthresh", "window at which slow start ends, in packets", ssthresh);
    options.AddValue("fast-alpha", "packets that a FAST flow keeps in the queue", fastAlpha);
    options.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    const std::uint32_t bytes = window * SEGMENT;
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(bytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(bytes));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold",
                       UintegerValue(ssthresh * SEGMENT));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false)); // counts whole ms
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(0.2)));
    Config::SetDefault("ns3::TcpFast::Alpha", DoubleValue(fastAlpha));

    const auto names = List<std::string>(rules);
    const auto begins = List<double>(starts);
    const auto trips = List<double>(rtts);
    g_flows.resize(names.size());
    g_samples = std::fopen("samples.txt", "w");
    g_dropFile = std::fopen("drops.txt", "w");
    g_lostFile = std::fopen("lost.txt", "w");
    g_linkFile = std::fopen("links.txt", "w");

    const auto firsts = List<int>(from);
    const auto lasts = List<int>(to);
    NodeContainer nodes;
    nodes.Create(hops + 1);
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    std::vector<Ipv4Address> address(hops + 1);
    g_links.resize(2 * hops);
    Ptr<PointToPointNetDevice> back;
    for (std::uint32_t h = 0; h < hops; ++h)
    {
        auto pair =
            Connect(nodes.Get(h), nodes.Get(h + 1), rate, delay, buffer, backBuffer, overhead);
        auto interfaces = addresses.Assign(pair);
        addresses.NewNetwork();
        address[h] = interfaces.GetAddress(0);
        address[h + 1] = interfaces.GetAddress(1);
        for (int side = 0; side < 2; ++side)
        {
            WatchLink(pair.Get(side), &g_links[h + side * hops]);
            pair.Get(side)->TraceConnectWithoutContext("MacRx",
                                                       MakeBoundCallback(&Received, int(h) + side));
        }
        back = DynamicCast<PointToPointNetDevice>(pair.Get(1));
    }
    if (loss > 0)
    {
        auto model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(loss);
        model->AssignStreams(1);
        back->SetReceiveErrorModel(model);
    }
    back->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Lost));

    for (std::size_t i = 0; i < names.size(); ++i)
    {
        auto sender = nodes.Get(firsts[i]);
        auto target = nodes.Get(lasts[i]);
        auto place = address[lasts[i]];
        g_flows[i].to = lasts[i];
        const double extra = trips[i] / 2 - std::abs(lasts[i] - firsts[i]) * delay;
        if (extra > 1e-9)
        {
            auto last = target;
            target = CreateObject<Node>();
            stack.Install(target);
            auto link = Connect(last, target, access * rate, extra, 1000000);
            place = addresses.Assign(link).GetAddress(1);
            addresses.NewNetwork();
        }
        const InetSocketAddress remote(place, FIRST_PORT + i);
        PacketSinkHelper sink("ns3::TcpSocketFactory", remote);
        sink.Install(target);
        auto source = CreateObject<BulkSendApplication>();
        source->SetAttribute("Protocol", TypeIdValue(TcpSocketFactory::GetTypeId()));
        source->SetAttribute("Remote", AddressValue(remote));
        source->SetAttribute("SendSize", UintegerValue(SEGMENT));
        source->SetStartTime(Seconds(begins[i]));
        source->SetStopTime(Seconds(end));
        // Applications schedule their start when the simulation begins, hence after this.
        Simulator::Schedule(Seconds(begins[i]), &Choose, sender, names[i]);
        sender->AddApplication(source);
        Simulator::Schedule(Seconds(begins[i]) + NanoSeconds(1), &Watch, source, &g_flows[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (int i = 1; i * step < end + step / 2; ++i)
    {
        Simulator::Schedule(Seconds(i * step), &Sample);
    }
    Simulator::Schedule(Seconds(begin), &SampleLinks);
    Simulator::Schedule(Seconds(end), &SampleLinks);
    Simulator::Stop(Seconds(end + drain));
    Simulator::Run();
    Sample();
    Simulator::Destroy();
    for (auto* file : {g_samples, g_dropFile, g_lostFile, g_linkFile})
    {
        std::fclose(file);
    }
    return 0;
}
