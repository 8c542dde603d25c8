// %NAME%: written by dfcmodel.packets.ns3_export for ns-3.44.
//
// %NODES%
//
// Options: --seed, the run number of the random streams; --jitter, s: each flow starts up to that much
// later, at random. Writes into the working folder: samples.txt (time, then packets delivered and
// window of each flow), flows.txt (flow, packets delivered, packets sent again), links.txt (from, to,
// drops).
//
// Build with a C++20 compiler against the modules core, network, internet, point-to-point and
// traffic-control.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

using Attributes = std::vector<std::pair<std::string, std::string>>;

/// One direction of a link: its rate, the packets or bytes that may wait, and the discipline of its queue.
struct Direction
{
    std::uint64_t bits;
    std::uint32_t room;
    bool inBytes;
    std::string discipline; ///< TypeId; empty: drop-tail
    Attributes attributes;
};

struct Link
{
    std::uint32_t from;
    std::uint32_t to;
    double delay;
    Direction there;
    Direction back;
};

/// A flow; without rule it is a source of constant rate over UDP.
struct Flow
{
    std::vector<std::uint32_t> path;
    std::string rule; ///< TypeId of the congestion control
    Attributes attributes;
    bool sack;
    double start;
    std::uint64_t packets; ///< 0: without end
    std::uint64_t window;
    std::uint32_t first; ///< initial window
    std::uint32_t perAck;
    double rate; ///< of a source of constant rate, packets/s
};

// %SCENARIO%

/// Sends each packet on the path of its flow: every flow has two addresses of its own.
class PathRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("PathRouting").SetParent<Ipv4RoutingProtocol>();
        return id;
    }

    void Add(Ipv4Address target, Ipv4Address source, Ptr<NetDevice> device)
    {
        auto route = Create<Ipv4Route>();
        route->SetDestination(target);
        route->SetSource(source);
        route->SetGateway(target); // any address that is set: a point-to-point link has one neighbour
        route->SetOutputDevice(device);
        m_routes[target] = route;
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        auto found = m_routes.find(header.GetDestination());
        error = found == m_routes.end() ? Socket::ERROR_NOROUTETOHOST : Socket::ERROR_NOTERROR;
        return found == m_routes.end() ? nullptr : found->second;
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback&,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback&) override
    {
        const auto interface = m_ipv4->GetInterfaceForDevice(device);
        if (m_ipv4->IsDestinationAddress(header.GetDestination(), interface))
        {
            deliver(packet, header, interface);
            return true;
        }
        auto found = m_routes.find(header.GetDestination());
        if (found == m_routes.end())
        {
            return false;
        }
        forward(found->second, packet, header);
        return true;
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void NotifyInterfaceUp(std::uint32_t) override {}
    void NotifyInterfaceDown(std::uint32_t) override {}
    void NotifyAddAddress(std::uint32_t, Ipv4InterfaceAddress) override {}
    void NotifyRemoveAddress(std::uint32_t, Ipv4InterfaceAddress) override {}
    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

  private:
    Ptr<Ipv4> m_ipv4;
    std::map<Ipv4Address, Ptr<Ipv4Route>> m_routes;
};

struct Counts
{
    std::uint64_t bytes{0};
    std::uint64_t sentAgain{0};
    double window{0};
    std::uint64_t left{0}; ///< bytes still to be given to the socket
    SequenceNumber32 highest;
    bool began{false};
};

std::vector<Counts> g_counts;
std::map<std::pair<std::uint32_t, std::uint32_t>, Ptr<PointToPointNetDevice>> g_devices;
std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> g_drops;
std::vector<Ptr<Node>> g_nodes;
std::vector<Ptr<Socket>> g_sockets;
std::FILE* g_samples;

Ipv4Address
AddressOf(std::uint32_t flow, bool receiver)
{
    return Ipv4Address(0x0a000000 + 4 * flow + (receiver ? 2 : 1));
}

template <class Item>
void
Dropped(std::uint64_t* count, Ptr<const Item>)
{
    ++*count;
}

Ptr<Object>
Made(const std::string& type, const Attributes& attributes)
{
    ObjectFactory factory(type);
    for (const auto& [name, value] : attributes)
    {
        factory.Set(name, StringValue(value));
    }
    return factory.Create<Object>();
}

Ptr<PointToPointNetDevice>
AddDevice(std::uint32_t from, std::uint32_t to, const Direction& way)
{
    auto device = CreateObject<PointToPointNetDevice>();
    device->SetAddress(Mac48Address::Allocate());
    device->SetDataRate(DataRate(way.bits));
    device->SetMtu(std::max(1500U, PACKET_SIZE));
    auto queue = CreateObject<DropTailQueue<Packet>>();
    const bool managed = !way.discipline.empty();
    const auto unit = way.inBytes ? QueueSizeUnit::BYTES : QueueSizeUnit::PACKETS;
    queue->SetMaxSize(QueueSize(unit, managed ? 1 : way.room));
    device->SetQueue(queue);
    g_nodes[from]->AddDevice(device);
    auto* drops = &g_drops[{from, to}];
    queue->TraceConnectWithoutContext("Drop", MakeBoundCallback(&Dropped<Packet>, drops));
    if (managed)
    {
        auto interface = CreateObject<NetDeviceQueueInterface>();
        interface->GetTxQueue(0)->ConnectQueueTraces(queue);
        device->AggregateObject(interface);
    }
    g_devices[{from, to}] = device;
    return device;
}

void
Manage(std::uint32_t from, std::uint32_t to, const Direction& way)
{
    auto device = g_devices[{from, to}];
    auto discipline = DynamicCast<QueueDisc>(Made(way.discipline, way.attributes));
    discipline->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, way.room - 1)); // the device holds one
    auto* drops = &g_drops[{from, to}];
    discipline->TraceConnectWithoutContext("Drop",
                                           MakeBoundCallback(&Dropped<QueueDiscItem>, drops));
    g_nodes[from]->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, discipline);
}

void
AddLink(const Link& link)
{
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(Seconds(link.delay)));
    AddDevice(link.from, link.to, link.there)->Attach(channel);
    AddDevice(link.to, link.from, link.back)->Attach(channel);
    for (auto [a, b] : {std::pair{link.from, link.to}, {link.to, link.from}})
    {
        auto ipv4 = g_nodes[a]->GetObject<Ipv4>();
        ipv4->SetUp(ipv4->AddInterface(g_devices[{a, b}]));
    }
    for (auto [a, b, way] : {std::tuple{link.from, link.to, &link.there},
                             std::tuple{link.to, link.from, &link.back}})
    {
        if (!way->discipline.empty())
        {
            Manage(a, b, *way);
        }
    }
}

Ptr<PathRouting>
RoutingOf(std::uint32_t node)
{
    return DynamicCast<PathRouting>(g_nodes[node]->GetObject<Ipv4>()->GetRoutingProtocol());
}

void
AddRoutes(std::uint32_t f)
{
    const auto& path = FLOWS[f].path;
    const auto sender = AddressOf(f, false);
    const auto receiver = AddressOf(f, true);
    for (std::size_t n = 0; n + 1 < path.size(); ++n)
    {
        RoutingOf(path[n])->Add(receiver, sender, g_devices[{path[n], path[n + 1]}]);
        RoutingOf(path[n + 1])->Add(sender, receiver, g_devices[{path[n + 1], path[n]}]);
    }
    const auto last = path.size() - 1;
    const std::pair ends{std::pair{path[0], path[1]}, std::pair{path[last], path[last - 1]}};
    for (auto [way, address] : {std::pair{ends.first, sender}, {ends.second, receiver}})
    {
        auto ipv4 = g_nodes[way.first]->GetObject<Ipv4>();
        const auto interface = ipv4->GetInterfaceForDevice(g_devices[way]);
        ipv4->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask::GetOnes()));
    }
}

Ptr<TcpSocketBase>
TcpSocketOf(std::uint32_t node, const Flow& flow)
{
    auto tcp = g_nodes[node]->GetObject<TcpL4Protocol>();
    // Without SACK, limited transmit makes ns-3.44 send again what has arrived.
    const auto recovery =
        flow.sack ? TcpClassicRecovery::GetTypeId() : TcpPrrRecovery::GetTypeId();
    auto socket = DynamicCast<TcpSocketBase>(
        tcp->CreateSocket(TypeId::LookupByName(flow.rule), recovery));
    socket->SetAttribute("LimitedTransmit", BooleanValue(flow.sack));
    socket->SetCongestionControlAlgorithm(
        DynamicCast<TcpCongestionOps>(Made(flow.rule, flow.attributes)));
    socket->SetAttribute("SegmentSize", UintegerValue(SEGMENT));
    socket->SetAttribute("InitialCwnd", UintegerValue(flow.first));
    socket->SetAttribute("SndBufSize", UintegerValue(flow.window * SEGMENT));
    socket->SetAttribute("RcvBufSize", UintegerValue(flow.window * SEGMENT));
    socket->SetAttribute("DelAckCount", UintegerValue(flow.perAck));
    socket->SetAttribute("DelAckTimeout", TimeValue(Seconds(ACK_DELAY)));
    socket->SetAttribute("DataRetries", UintegerValue(1000000));
    socket->SetAttribute("ConnCount", UintegerValue(1000000));
    socket->SetAttribute("ConnTimeout", TimeValue(Seconds(1)));
    socket->SetAttribute("MinRto", TimeValue(Seconds(MIN_RTO)));
    socket->SetAttribute("Sack", BooleanValue(flow.sack));
    socket->SetAttribute("Timestamp", BooleanValue(false));
    socket->SetUseEcn(MARKS ? TcpSocketState::On : TcpSocketState::Off);
    return socket;
}

void
Fill(std::uint32_t f, Ptr<Socket> socket, std::uint32_t)
{
    auto& counts = g_counts[f];
    while (socket->GetTxAvailable() >= SEGMENT && counts.left >= SEGMENT)
    {
        socket->Send(Create<Packet>(SEGMENT));
        counts.left -= SEGMENT;
    }
}

void
Connected(std::uint32_t f, Ptr<Socket> socket)
{
    Fill(f, socket, 0);
}

void
Window(std::uint32_t f, std::uint32_t, std::uint32_t bytes)
{
    g_counts[f].window = double(bytes) / SEGMENT;
}

void
Sent(std::uint32_t f, Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    auto& counts = g_counts[f];
    if (packet->GetSize() == 0)
    {
        return;
    }
    const auto end = header.GetSequenceNumber() + SequenceNumber32(packet->GetSize());
    counts.sentAgain += counts.began && end <= counts.highest;
    counts.highest = counts.began ? std::max(counts.highest, end) : end;
    counts.began = true;
}

void
Receive(std::uint32_t f, Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
        g_counts[f].bytes += packet->GetSize();
    }
}

void
Accept(std::uint32_t f, Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeBoundCallback(&Receive, f));
    g_sockets.push_back(socket);
}

void
StartTcp(std::uint32_t f)
{
    const auto& flow = FLOWS[f];
    auto socket = TcpSocketOf(flow.path.front(), flow);
    g_sockets.push_back(socket);
    const std::uint64_t all = ~std::uint64_t{0};
    g_counts[f].left = flow.packets == 0 ? all : flow.packets * SEGMENT;
    socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&Window, f));
    socket->TraceConnectWithoutContext("Tx", MakeBoundCallback(&Sent, f));
    socket->SetSendCallback(MakeBoundCallback(&Fill, f));
    socket->SetConnectCallback(MakeBoundCallback(&Connected, f), MakeNullCallback<void, Ptr<Socket>>());
    socket->Bind();
    socket->Connect(InetSocketAddress(AddressOf(f, true), 5000));
}

void
SendUdp(std::uint32_t f, Ptr<Socket> socket, std::uint64_t number, Time first)
{
    const auto& flow = FLOWS[f];
    socket->Send(Create<Packet>(PACKET_SIZE - 30)); // headers of UDP, IPv4 and PPP
    if (flow.packets == 0 || number + 1 < flow.packets)
    {
        const Time next = first + Seconds((number + 1) / flow.rate);
        Simulator::Schedule(next - Simulator::Now(), &SendUdp, f, socket, number + 1, first);
    }
}

void
StartUdp(std::uint32_t f)
{
    auto socket = Socket::CreateSocket(g_nodes[FLOWS[f].path.front()], UdpSocketFactory::GetTypeId());
    socket->Connect(InetSocketAddress(AddressOf(f, true), 5000));
    g_sockets.push_back(socket);
    SendUdp(f, socket, 0, Simulator::Now());
}

void
AddFlow(std::uint32_t f, double start)
{
    const auto& flow = FLOWS[f];
    AddRoutes(f);
    const bool tcp = !flow.rule.empty();
    Ptr<Socket> listener;
    if (tcp)
    {
        listener = TcpSocketOf(flow.path.back(), flow);
    }
    else
    {
        listener = Socket::CreateSocket(g_nodes[flow.path.back()], UdpSocketFactory::GetTypeId());
        listener->SetRecvCallback(MakeBoundCallback(&Receive, f));
    }
    listener->Bind(InetSocketAddress(AddressOf(f, true), 5000));
    if (tcp)
    {
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeBoundCallback(&Accept, f));
    }
    g_sockets.push_back(listener);
    Simulator::Schedule(Seconds(start), tcp ? &StartTcp : &StartUdp, f);
}

double
Delivered(std::uint32_t f)
{
    const std::uint32_t size = FLOWS[f].rule.empty() ? PACKET_SIZE - 30 : SEGMENT;
    return double(g_counts[f].bytes) / size;
}

void
Sample()
{
    std::fprintf(g_samples, "%.12g", Simulator::Now().GetSeconds());
    for (std::uint32_t f = 0; f < FLOWS.size(); ++f)
    {
        std::fprintf(g_samples, " %.12g %.12g", Delivered(f), g_counts[f].window);
    }
    std::fprintf(g_samples, "\n");
}

void
WriteTotals()
{
    auto* flows = std::fopen("flows.txt", "w");
    for (std::uint32_t f = 0; f < FLOWS.size(); ++f)
    {
        std::fprintf(flows, "%u %.12g %lu\n", f, Delivered(f), g_counts[f].sentAgain);
    }
    std::fclose(flows);
    auto* links = std::fopen("links.txt", "w");
    for (const auto& [ends, drops] : g_drops)
    {
        std::fprintf(links, "%u %u %lu\n", ends.first, ends.second, drops);
    }
    std::fclose(links);
}

} // namespace

int
main(int argc, char** argv)
{
    std::uint32_t seed = SEED;
    double jitter = 0;
    CommandLine options(__FILE__);
    options.AddValue("seed", "run number of the random streams", seed);
    options.AddValue("jitter", "each flow starts up to that much later, at random, s", jitter);
    options.Parse(argc, argv);
    Time::SetResolution(Time::PS);
    RngSeedManager::SetRun(seed);
    Config::SetDefault("ns3::Ipv4L3Protocol::DefaultTtl", UintegerValue(255));

    g_nodes.resize(NODES);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    for (auto& node : g_nodes)
    {
        node = CreateObject<Node>();
        stack.Install(node);
        node->GetObject<Ipv4>()->SetRoutingProtocol(CreateObject<PathRouting>());
    }
    for (const auto& link : LINKS)
    {
        AddLink(link);
    }
    g_counts.resize(FLOWS.size());
    auto random = CreateObject<UniformRandomVariable>();
    for (std::uint32_t f = 0; f < FLOWS.size(); ++f)
    {
        AddFlow(f, FLOWS[f].start + (jitter > 0 ? random->GetValue(0, jitter) : 0.0));
    }
    g_samples = std::fopen("samples.txt", "w");
    for (std::uint32_t k = 1; k <= SAMPLES; ++k)
    {
        Simulator::Schedule(Seconds(std::min(k * SAMPLE, DURATION)), &Sample);
    }
    Simulator::Stop(Seconds(DURATION) + PicoSeconds(1));
    Simulator::Run();
    std::fclose(g_samples);
    WriteTotals();
    Simulator::Destroy();
    return 0;
}
