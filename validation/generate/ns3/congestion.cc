// SPDX-License-Identifier: GPL-2.0-only
//
// Flows with different congestion controls over one bottleneck (kaneko2007): all senders on one node
// whose device is the bottleneck with its drop-tail queue; each packet of data is lost with
// probability `loss` behind it. A flow with a longer round trip ends at a node of its own behind a
// link that is `access` times as fast. Writes, into the working folder, what ns2/linux.tcl writes:
//   samples.txt, every `step` seconds: time; arrivals, departures, drops and area of the queue; each
//     flow: sent, received, lost at random, acknowledged, cwnd
//   drops.txt, lost.txt: time and flow of each packet refused by the queue or lost at random

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
};

std::vector<Flow> g_flows;
std::uint64_t g_arrivals = 0;
std::uint64_t g_departures = 0;
std::uint64_t g_drops = 0;
std::uint32_t g_queued = 0;
double g_area = 0;
double g_since = 0;
std::FILE* g_samples;
std::FILE* g_dropFile;
std::FILE* g_lostFile;

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

/// The flow of a packet of data, from its destination port; -1 for a packet without data.
int
FlowOf(Ptr<const Packet> packet)
{
    auto copy = packet->Copy();
    PppHeader link;
    Ipv4Header ip;
    TcpHeader tcp;
    copy->RemoveHeader(link);
    copy->RemoveHeader(ip);
    if (ip.GetPayloadSize() < 1000)
    {
        return -1;
    }
    copy->RemoveHeader(tcp);
    return tcp.GetDestinationPort() - FIRST_PORT;
}

void
Integrate()
{
    const double now = Simulator::Now().GetSeconds();
    g_area += g_queued * (now - g_since);
    g_since = now;
}

void
Entered(Ptr<const Packet>)
{
    Integrate();
    ++g_queued;
    ++g_arrivals;
}

void
Left(Ptr<const Packet>)
{
    Integrate();
    --g_queued;
    ++g_departures;
}

void
Refused(Ptr<const Packet> packet)
{
    ++g_arrivals;
    ++g_drops;
    const int flow = FlowOf(packet);
    if (flow >= 0)
    {
        std::fprintf(g_dropFile, "%.6f %d\n", Simulator::Now().GetSeconds(), flow + 1);
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
Received(Ptr<const Packet> packet)
{
    const int flow = FlowOf(packet);
    if (flow >= 0)
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
Sample()
{
    Integrate();
    std::fprintf(g_samples,
                 "%.6f %lu %lu %lu %.6f",
                 Simulator::Now().GetSeconds(),
                 g_arrivals,
                 g_departures,
                 g_drops,
                 g_area);
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

NetDeviceContainer
Connect(Ptr<Node> from, Ptr<Node> to, double rate, double delay, std::uint32_t buffer)
{
    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(std::uint64_t(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, buffer)));
    return link.Install(from, to);
}

} // namespace

int
main(int argc, char** argv)
{
    std::string rules = "ns3::TcpNewReno";
    std::string starts = "0";
    std::string rtts = "0.04";
    double rate = 100e6;
    double access = 10;
    std::uint32_t buffer = 333;
    double loss = 0;
    std::uint32_t seed = 1;
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
    options.AddValue("rate", "rate of the bottleneck, in bit/s", rate);
    options.AddValue("access", "rate of other links / rate of the bottleneck", access);
    options.AddValue("buffer", "queue of the bottleneck, in packets", buffer);
    options.AddValue("loss", "probability that a packet of data is lost behind the queue", loss);
    options.AddValue("seed", "run number of the random streams", seed);
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

    const double shortest = *std::min_element(trips.begin(), trips.end());
    auto left = CreateObject<Node>();
    auto right = CreateObject<Node>();
    InternetStackHelper stack;
    stack.Install(NodeContainer(left, right));
    auto bottleneck = Connect(left, right, rate, shortest / 2, buffer);
    auto back = DynamicCast<PointToPointNetDevice>(bottleneck.Get(1));
    back->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, 1000000));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    auto interfaces = addresses.Assign(bottleneck);

    auto queue = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue();
    queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&Entered));
    queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Left));
    queue->TraceConnectWithoutContext("Drop", MakeCallback(&Refused));
    if (loss > 0)
    {
        auto model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(loss);
        model->AssignStreams(1);
        back->SetReceiveErrorModel(model);
    }
    back->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Lost));
    back->TraceConnectWithoutContext("MacRx", MakeCallback(&Received));

    for (std::size_t i = 0; i < names.size(); ++i)
    {
        auto target = right;
        auto address = interfaces.GetAddress(1);
        if (trips[i] > shortest)
        {
            target = CreateObject<Node>();
            stack.Install(target);
            auto link =
                Connect(right, target, access * rate, (trips[i] - shortest) / 2, 1000000);
            addresses.NewNetwork();
            address = addresses.Assign(link).GetAddress(1);
        }
        const InetSocketAddress remote(address, FIRST_PORT + i);
        PacketSinkHelper sink("ns3::TcpSocketFactory", remote);
        sink.Install(target);
        auto source = CreateObject<BulkSendApplication>();
        source->SetAttribute("Protocol", TypeIdValue(TcpSocketFactory::GetTypeId()));
        source->SetAttribute("Remote", AddressValue(remote));
        source->SetAttribute("SendSize", UintegerValue(SEGMENT));
        source->SetStartTime(Seconds(begins[i]));
        source->SetStopTime(Seconds(end));
        // Applications schedule their start when the simulation begins, hence after this.
        Simulator::Schedule(Seconds(begins[i]), &Choose, left, names[i]);
        left->AddApplication(source);
        Simulator::Schedule(Seconds(begins[i]) + NanoSeconds(1), &Watch, source, &g_flows[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (int i = 1; i * step < end + step / 2; ++i)
    {
        Simulator::Schedule(Seconds(i * step), &Sample);
    }
    Simulator::Stop(Seconds(end + drain));
    Simulator::Run();
    Sample();
    Simulator::Destroy();
    for (auto* file : {g_samples, g_dropFile, g_lostFile})
    {
        std::fclose(file);
    }
    return 0;
}
