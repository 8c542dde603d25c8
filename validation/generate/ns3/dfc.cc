// SPDX-License-Identifier: GPL-2.0-only
//
// takano2006, Fig. 5, with DFC or with FIFO queues: a target flow from node 1 and a background flow
// from node `ingress` to the last node, TCP or constant-rate UDP. IP, TCP and UDP are ns-3's and live
// in the hosts and the last node; between them stands the chain of dfc-chain.h. ACKs return over one
// link per flow with the delay of all hops. Prints records
//   efficiency <end of the bin> <flow> <packets that left a link> <mean propagating / most that fit>
//   occupancy <time> <node> <waiting of target> <of background>
//   host <end of the bin> <flow> <packets waiting in the host> <window>
//   node <node> <arrivals> <departures> <drops of target, background> <stored of both at the end>
//        <peak of target, background, both> <first drop> <last drop, negative if none>
//   flow <flow> <start> <offered> <in the host> <in nodes> <on links> <dropped> <received> <unique>
//        <sent> <sent again> <timeouts> <fast retransmits> <peak of the host>

#include "dfc-chain.h"
#include "tcp-senders.h"
#include "window-sender.h"

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const char* const NAMES[FLOWS] = {"target", "background"};
constexpr std::uint32_t PACKET = 1500;
constexpr std::uint32_t TCP_HEADERS = 42; // PPP 2, IPv4 20, TCP 20 bytes
constexpr std::uint32_t UDP_HEADERS = 30;
constexpr std::uint32_t FIRST = 40; ///< the first packet of a window sender
constexpr std::uint32_t ACK = 40;   ///< its receiver's acknowledgements

std::vector<double>
Numbers(const std::string& text)
{
    std::istringstream words(text);
    std::vector<double> numbers;
    for (std::string word; std::getline(words, word, ',');)
    {
        numbers.push_back(std::stod(word));
    }
    return numbers;
}

/// The way of the acknowledgements back: a constant delay, one pending event.
struct ReturnPath
{
    std::int64_t delay = 0;
    std::function<void(std::int64_t)> deliver;
    std::deque<std::pair<std::int64_t, std::int64_t>> pending; ///< time, number

    void Put(std::int64_t number)
    {
        pending.emplace_back(::Clock() + delay, number);
        if (pending.size() == 1)
        {
            Simulator::Schedule(Time(delay), &ReturnPath::Pass, this);
        }
    }

    void Pass()
    {
        const std::int64_t number = pending.front().second;
        pending.pop_front();
        if (!pending.empty())
        {
            Simulator::Schedule(Time(pending.front().first - ::Clock()), &ReturnPath::Pass, this);
        }
        deliver(number);
    }
};

} // namespace

int
main(int argc, char** argv)
{
    Time::SetResolution(Time::PS);
    std::uint32_t nodes = 30;
    std::uint32_t ingress = 15;
    double megabits = 370;
    double delay = 1e-4;
    double spread = 1;
    std::uint32_t buffer = 1800;
    std::uint32_t window = 5000;
    std::uint32_t initial = 2;
    double duration = 1.5;
    double jitter = 0;
    double bin = 1e-2;
    bool synchronous = false;
    std::uint32_t seed = 1;
    std::string host = "shaped";
    std::string discipline = "dfc";
    std::string target = "newreno";
    std::string background = "newreno";
    double load = 0.5;
    std::uint32_t vegas = 1;
    std::string instants = "0.1,0.2,0.5,1,1.5";
    Law law;
    CommandLine cmd(__FILE__);
    cmd.AddValue("nodes", "nodes of the chain", nodes);
    cmd.AddValue("ingress", "node where the background flow enters", ingress);
    cmd.AddValue("megabits", "link rate in Mb/s", megabits);
    cmd.AddValue("delay", "mean link delay in s, the hosts' link delay", delay);
    cmd.AddValue("spread", "largest over mean delay before scaling, log-uniform; 1: equal", spread);
    cmd.AddValue("buffer", "packets that a node can hold", buffer);
    cmd.AddValue("per-flow", "the buffer is of each flow", law.perFlow);
    cmd.AddValue("diffusion", "D", law.diffusion);
    cmd.AddValue("intensity", "alpha", law.intensity);
    cmd.AddValue("window", "largest TCP window in packets", window);
    cmd.AddValue("initial", "initial TCP window in packets", initial);
    cmd.AddValue("duration", "in s", duration);
    cmd.AddValue("jitter", "starts are later by a uniform time below this, in s", jitter);
    cmd.AddValue("bin", "width of the efficiency's intervals in s", bin);
    cmd.AddValue("synchronous", "all feedback clocks in phase", synchronous);
    cmd.AddValue("count-transmission", "n includes the packet in transmission",
                 law.countTransmission);
    cmd.AddValue("seed", "run number of ns-3's random streams", seed);
    cmd.AddValue("host", "shaped, unshaped or direct", host);
    cmd.AddValue("discipline", "dfc or fifo", discipline);
    cmd.AddValue("target", "tahoe, reno, newreno (window-sender.h), ns3-newreno, ns3-vegas or udp", target);
    cmd.AddValue("background", "as target, or none", background);
    cmd.AddValue("load", "rate of UDP over the link rate", load);
    cmd.AddValue("vegas", "Vegas' thresholds over ns-2's 1, 3, 1 packets", vegas);
    cmd.AddValue("instants", "times of the occupancies in s", instants);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(20061010);
    RngSeedManager::SetRun(seed);

    law.bitRate = 1e6 * megabits;
    law.linkRate = law.bitRate / (8 * PACKET);
    law.diffusive = discipline == "dfc";
    const std::uint32_t segment = PACKET - TCP_HEADERS;
    const std::uint32_t first[FLOWS] = {1, ingress};
    const std::string kinds[FLOWS] = {target, background};
    const bool direct = host == "direct";
    NS_ABORT_MSG_UNLESS(direct || host == "shaped" || host == "unshaped", "unknown host");
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initial));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window * segment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window * segment));
    Config::SetDefault("ns3::UdpSocket::RcvBufSize", UintegerValue(100 * PACKET));
    Config::SetDefault("ns3::TcpVegas::Alpha", UintegerValue(vegas));
    Config::SetDefault("ns3::TcpVegas::Beta", UintegerValue(3 * vegas));
    Config::SetDefault("ns3::TcpVegas::Gamma", UintegerValue(vegas));

    // random numbers: phases, then starts, then delays
    const auto uniform = [](std::int64_t stream) {
        auto variable = CreateObject<UniformRandomVariable>();
        variable->SetStream(stream);
        return variable;
    };
    auto phase = uniform(1);
    std::vector<double> phases(nodes + 1);
    for (std::uint32_t i = nodes; i >= 1; --i)
    {
        const double drawn = phase->GetValue(0.0, 1.0);
        phases[i] = synchronous ? 0.0 : drawn;
    }
    auto later = uniform(2);
    double start[FLOWS];
    start[0] = later->GetValue(0.0, 1.0) * jitter;
    start[1] = 0.1 + later->GetValue(0.0, 1.0) * jitter;
    auto length = uniform(3);
    std::vector<double> delays(nodes, delay); // delays[i]: link from node i, 0 from a host
    double sum = 0;
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        delays[i] = std::pow(spread, length->GetValue(-1.0, 1.0));
        sum += delays[i];
    }
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        delays[i] *= delay * (nodes - 1) / sum;
    }

    // the chain
    std::vector<std::unique_ptr<Element>> chain(nodes);
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        chain[i] = std::make_unique<Element>(law, Element::Kind::node, buffer, delays[i]);
    }
    for (std::uint32_t i = 1; i + 1 < nodes; ++i)
    {
        Element* next = chain[i + 1].get();
        chain[i]->deliver = [next](std::size_t j, Cargo cargo) {
            next->Arrive(j, std::move(cargo));
        };
    }
    std::unique_ptr<Element> hosts[FLOWS];
    const auto kind = host == "shaped" && law.diffusive ? Element::Kind::shaped : Element::Kind::free;
    for (std::size_t j = 0; j < FLOWS && !direct; ++j)
    {
        hosts[j] = std::make_unique<Element>(law, kind, 0, delay);
        Element* entry = chain[first[j]].get();
        hosts[j]->deliver = [entry](std::size_t flow, Cargo cargo) {
            entry->Arrive(flow, std::move(cargo));
        };
    }

    // hosts and receivers
    NodeContainer ends(FLOWS + 1);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(ends);
    Ptr<Node> last = ends.Get(FLOWS);
    Ptr<PointToPointNetDevice> exits[FLOWS];
    Ipv4Address addresses[FLOWS]; // of the receivers
    std::unique_ptr<WindowSender> windows[FLOWS];
    std::unique_ptr<WindowReceiver> receivers[FLOWS];
    ReturnPath returns[FLOWS];
    std::uint64_t offered[FLOWS] = {};
    std::uint64_t received[FLOWS] = {};
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        const double hop = 8.0 * TCP_HEADERS / law.bitRate; // an ACK's transmission
        double back = direct ? -hop : delay;                // the device below adds one
        for (std::uint32_t i = first[j]; i < nodes; ++i)
        {
            back += delays[i] + hop;
        }
        auto entry = CreateObject<EntryDevice>();
        exits[j] = CreateObject<PointToPointNetDevice>();
        auto channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(Time(Ticks(back))));
        exits[j]->SetDataRate(DataRate(static_cast<std::uint64_t>(law.bitRate)));
        exits[j]->SetQueue(CreateObjectWithAttributes<DropTailQueue<Packet>>(
            "MaxSize", QueueSizeValue(QueueSize("100000p"))));
        entry->SetAddress(Mac48Address::Allocate());
        exits[j]->SetAddress(Mac48Address::Allocate());
        ends.Get(j)->AddDevice(entry);
        last->AddDevice(exits[j]);
        entry->Attach(channel);
        exits[j]->Attach(channel);
        NetDeviceContainer both(entry);
        both.Add(exits[j]);
        Ipv4AddressHelper helper(Ipv4Address(0x0a000000 + 256 * (j + 1)), "255.255.255.0");
        addresses[j] = helper.Assign(both).GetAddress(1);
        Element* into = direct ? chain[first[j]].get() : hosts[j].get();
        entry->forward = [&offered, into, j](Ptr<Packet> packet) {
            ++offered[j];
            into->Arrive(j, {packet->GetSize(), -1, packet});
        };
        if (kinds[j] == "tahoe" || kinds[j] == "reno" || kinds[j] == "newreno")
        {
            const auto recovery = kinds[j] == "tahoe"  ? Recovery::tahoe
                                  : kinds[j] == "reno" ? Recovery::reno
                                                       : Recovery::newReno;
            windows[j] = std::make_unique<WindowSender>(recovery, window);
            receivers[j] = std::make_unique<WindowReceiver>(window);
            windows[j]->output = [&offered, into, j](std::int64_t number) {
                ++offered[j];
                into->Arrive(j, {number == 0 ? FIRST : PACKET, number, nullptr});
            };
            const double transmission = 8.0 * ACK / law.bitRate;
            returns[j].delay = Ticks(direct ? 0.0 : delay + transmission);
            for (std::uint32_t i = first[j]; i < nodes; ++i)
            {
                returns[j].delay += Ticks(delays[i] + transmission);
            }
            returns[j].deliver = [&, j](std::int64_t number) { windows[j]->Acknowledge(number); };
        }
    }
    chain[nodes - 1]->context = last->GetId();
    chain[nodes - 1]->deliver = [&](std::size_t j, Cargo cargo) {
        ++received[j];
        if (cargo.packet)
        {
            exits[j]->Receive(cargo.packet);
        }
        else
        {
            returns[j].Put(receivers[j]->Take(cargo.number));
        }
    };

    // applications
    Ptr<SenderSocket> senders[FLOWS];
    Ptr<Socket> datagrams[FLOWS];
    std::uint64_t unique[FLOWS] = {}; // bytes
    std::vector<Ptr<Socket>> listeners;
    std::function<void()> cast[FLOWS];
    const std::uint32_t payload = PACKET - UDP_HEADERS;
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        if (kinds[j] == "none")
        {
            continue;
        }
        if (windows[j])
        {
            Simulator::Schedule(Seconds(start[j]), [&, j] { windows[j]->Start(); });
            continue;
        }
        const bool udp = kinds[j] == "udp";
        const auto read = [&unique, j](Ptr<Socket> socket) {
            while (auto packet = socket->Recv())
            {
                unique[j] += packet->GetSize();
            }
        };
        auto listener =
            Socket::CreateSocket(last, udp ? UdpSocketFactory::GetTypeId() : TcpSocketFactory::GetTypeId());
        const InetSocketAddress address(addresses[j], static_cast<std::uint16_t>(5001 + j));
        listener->Bind(address);
        listeners.push_back(listener);
        if (udp)
        {
            listener->SetRecvCallback(Callback<void, Ptr<Socket>>(read));
            datagrams[j] = Socket::CreateSocket(ends.Get(j), UdpSocketFactory::GetTypeId());
            datagrams[j]->Connect(address);
            const Time interval = Time(Ticks(1.0 / (load * law.linkRate)));
            cast[j] = [&, j, interval] {
                datagrams[j]->Send(Create<Packet>(payload));
                Simulator::Schedule(interval, cast[j]);
            };
            Simulator::Schedule(Seconds(start[j]), cast[j]);
            continue;
        }
        listener->Listen();
        listener->SetAcceptCallback(
            Callback<bool, Ptr<Socket>, const Address&>(
                [](Ptr<Socket>, const Address&) { return true; }),
            Callback<void, Ptr<Socket>, const Address&>(
                [read](Ptr<Socket> socket, const Address&) {
                    socket->SetRecvCallback(Callback<void, Ptr<Socket>>(read));
                }));
        auto tcp = ends.Get(j)->GetObject<TcpL4Protocol>();
        auto sender = CreateObject<SenderSocket>();
        senders[j] = sender;
        sender->SetNode(ends.Get(j));
        sender->SetTcp(tcp);
        sender->SetRtt(CreateObject<RttMeanDeviation>());
        if (kinds[j] == "ns3-vegas")
        {
            sender->SetCongestionControlAlgorithm(
                CreateObject<Bounded<TcpVegas>>(window * segment));
        }
        else
        {
            NS_ABORT_MSG_UNLESS(kinds[j] == "ns3-newreno", "unknown sender " << kinds[j]);
            sender->SetCongestionControlAlgorithm(
                CreateObject<Bounded<TcpNewReno>>(window * segment));
        }
        sender->SetRecoveryAlgorithm(CreateObject<TcpClassicRecovery>());
        const auto fill = [segment](Ptr<Socket> socket) {
            while (socket->GetTxAvailable() >= segment &&
                   socket->Send(Create<Packet>(segment)) > 0)
            {
            }
        };
        Simulator::Schedule(Seconds(start[j]), [sender, address, fill] {
            sender->Bind();
            sender->SetConnectCallback(Callback<void, Ptr<Socket>>(fill),
                                       MakeNullCallback<void, Ptr<Socket>>());
            sender->SetSendCallback(Callback<void, Ptr<Socket>, std::uint32_t>(
                [fill](Ptr<Socket> socket, std::uint32_t) { fill(socket); }));
            sender->Connect(address);
        });
    }

    // feedback: every node to the previous one, and where a flow enters to its host, once per delay
    // of that link, from its own phase on; downstream nodes first
    struct Beat
    {
        double fraction;
        std::int64_t period;
        std::function<void()> report;
    };
    std::vector<Beat> clocks;
    for (std::uint32_t i = nodes; i >= 1 && law.diffusive; --i)
    {
        for (std::size_t j = 0; j < FLOWS && !direct; ++j)
        {
            if (i == first[j])
            {
                const Time travel = Time(Ticks(delay));
                clocks.push_back({phases[i], Ticks(delay), [&, i, j, travel] {
                                      const Reports asked = chain[i]->ForHost(j, delay);
                                      Simulator::Schedule(travel, [&, j, asked] {
                                          hosts[j]->Receive(asked);
                                      });
                                  }});
            }
        }
        if (i > 1)
        {
            const Time travel = Time(chain[i - 1]->Delay());
            clocks.push_back({phases[i], chain[i - 1]->Delay(), [&, i, travel] {
                                  const Report sink{true, law.linkRate, 0.0};
                                  const Reports told =
                                      i == nodes ? Reports{sink, sink} : chain[i]->ForNode();
                                  Simulator::Schedule(travel, [&, i, told] {
                                      chain[i - 1]->Receive(told);
                                  });
                              }});
        }
    }
    std::vector<std::function<void()>> ticks(clocks.size());
    for (std::size_t k = 0; k < clocks.size(); ++k)
    {
        ticks[k] = [&, k] {
            clocks[k].report();
            Simulator::Schedule(Time(clocks[k].period), ticks[k]);
        };
        const double at = clocks[k].fraction * static_cast<double>(clocks[k].period);
        Simulator::Schedule(Time(std::llround(at)), ticks[k]);
    }

    // records
    const auto bins = static_cast<std::size_t>(std::llround(duration / bin));
    const std::int64_t width = Ticks(bin);
    std::array<std::vector<double>, FLOWS> transit;
    std::array<std::vector<std::uint64_t>, FLOWS> left;
    double most[FLOWS] = {};
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        transit[j].assign(bins + 1, 0.0);
        left[j].assign(bins + 1, 0);
        for (std::uint32_t i = first[j]; i < nodes; ++i)
        {
            most[j] += law.linkRate * delays[i];
        }
    }
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        const std::int64_t travel = chain[i]->Delay();
        chain[i]->onLeave = [&, travel](std::size_t j) {
            const std::int64_t now = ::Clock();
            const auto k = static_cast<std::size_t>(now / width);
            const std::int64_t inside =
                std::min(travel, (static_cast<std::int64_t>(k) + 1) * width - now);
            ++left[j][std::min(k, bins)];
            transit[j][std::min(k, bins)] += TICK * static_cast<double>(inside);
            transit[j][std::min(k + 1, bins)] += TICK * static_cast<double>(travel - inside);
        };
    }
    for (const double at : Numbers(instants))
    {
        Simulator::Schedule(Seconds(at), [&, at] {
            for (std::uint32_t i = 1; i < nodes; ++i)
            {
                std::printf("occupancy %.4f %u %zu %zu\n", at, i, chain[i]->Waiting(0),
                            chain[i]->Waiting(1));
            }
        });
    }
    for (std::size_t k = 1; k <= bins; ++k)
    {
        Simulator::Schedule(Time(static_cast<std::int64_t>(k) * width), [&, k] {
            for (std::size_t j = 0; j < FLOWS; ++j)
            {
                std::printf("host %.4f %s %zu %.2f\n", bin * static_cast<double>(k), NAMES[j],
                            direct ? 0 : hosts[j]->Inside(j),
                            senders[j]   ? senders[j]->WindowPackets()
                            : windows[j] ? windows[j]->WindowPackets()
                                         : 0.0);
            }
        });
    }
    Simulator::Stop(Seconds(duration));
    Simulator::Run();

    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        for (std::size_t k = 0; k < bins; ++k)
        {
            std::printf("efficiency %.4f %s %llu %.7f\n", bin * static_cast<double>(k + 1), NAMES[j],
                        static_cast<unsigned long long>(left[j][k]), transit[j][k] / bin / most[j]);
        }
    }
    for (std::uint32_t i = 1; i < nodes; ++i)
    {
        const Element& e = *chain[i];
        std::printf("node %u %llu %llu %llu %llu %zu %zu %zu %zu %.9f %.9f\n", i,
                    static_cast<unsigned long long>(e.Arrivals(0) + e.Arrivals(1)),
                    static_cast<unsigned long long>(e.Departures(0) + e.Departures(1)),
                    static_cast<unsigned long long>(e.Dropped(0)),
                    static_cast<unsigned long long>(e.Dropped(1)), e.Inside(0) + e.Inside(1),
                    e.Peak(0), e.Peak(1), e.Peak(), e.FirstDrop(), e.LastDrop());
    }
    for (std::size_t j = 0; j < FLOWS; ++j)
    {
        std::uint64_t inside = 0;
        std::uint64_t dropped = 0;
        std::uint64_t onLinks = direct ? 0 : hosts[j]->OnLink(j);
        for (std::uint32_t i = first[j]; i < nodes; ++i)
        {
            inside += chain[i]->Inside(j);
            dropped += chain[i]->Dropped(j);
            onLinks += chain[i]->OnLink(j);
        }
        std::uint64_t counts[] = {unique[j] / payload, offered[j], 0, 0, 0};
        if (senders[j])
        {
            const SenderSocket& s = *senders[j];
            const std::uint64_t of[] = {
                unique[j] / segment, s.sent, s.resent, s.timeouts, s.fastRetransmits};
            std::copy(std::begin(of), std::end(of), counts);
        }
        else if (windows[j])
        {
            const WindowSender& s = *windows[j];
            const std::uint64_t of[] = {static_cast<std::uint64_t>(receivers[j]->InOrder()),
                                        s.sent,
                                        s.resent,
                                        s.timeouts,
                                        s.fastRetransmits};
            std::copy(std::begin(of), std::end(of), counts);
        }
        std::printf("flow %s %.9f %llu %zu %llu %llu %llu %llu", NAMES[j], start[j],
                    static_cast<unsigned long long>(offered[j]), direct ? 0 : hosts[j]->Inside(j),
                    static_cast<unsigned long long>(inside),
                    static_cast<unsigned long long>(onLinks),
                    static_cast<unsigned long long>(dropped),
                    static_cast<unsigned long long>(received[j]));
        for (const std::uint64_t count : counts)
        {
            std::printf(" %llu", static_cast<unsigned long long>(count));
        }
        std::printf(" %zu\n", direct ? 0 : hosts[j]->Peak(j));
    }
    Simulator::Destroy();
}
