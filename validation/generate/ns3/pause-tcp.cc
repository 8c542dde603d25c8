// SPDX-License-Identifier: GPL-2.0-only
//
// The packet simulation of malhotra2005, Sects. IV and V: TCP connections from one host over link A,
// bridge 1 with queue 1, link B, bridge 2 with queue 2, link C, to another host. TCP is an agent of
// ours (Reno) or ns-3's stack. Queue 2 pauses queue 1 by 802.3x messages. The propagation delay is on
// link A, half of the RTT in each direction; ACKs return over queues without limit. Prints `name
// value` lines: sums over the measured time (m_...), counts of the whole run from an empty network,
// and what is stored at its end.

#include "pause-port.h"
#include "reno-agent.h"

#include "ns3/internet-module.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// A congestion control that counts what happens to it.
template <class Base>
class Counted : public Base
{
  public:
    Tally* tally = nullptr;

    void CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event) override
    {
        tally->timeouts += event == TcpSocketState::CA_EVENT_LOSS;
        Base::CwndEvent(tcb, event);
    }

    void CongestionStateSet(Ptr<TcpSocketState> tcb,
                            const TcpSocketState::TcpCongState_t state) override
    {
        tally->recoveries += state == TcpSocketState::CA_RECOVERY;
        Base::CongestionStateSet(tcb, state);
    }

    void PktsAcked(Ptr<TcpSocketState> tcb, std::uint32_t segments, const Time& rtt) override
    {
        tally->rtt += rtt.GetSeconds();
        ++tally->samples;
        Base::PktsAcked(tcb, segments, rtt);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        auto copy = CreateObject<Counted<Base>>();
        copy->tally = tally;
        return copy;
    }
};

/// One sender: files one after the other, or data without end.
class Flow
{
  public:
    Tally tally;

    Flow(const Plan& plan, Ptr<Node> node, Address to, std::int64_t stream)
        : m_plan(plan),
          m_node(node),
          m_to(to),
          m_random(CreateObject<UniformRandomVariable>())
    {
        m_random->SetStream(stream);
        const double start = m_random->GetValue(0.0, plan.starts);
        Simulator::ScheduleWithContext(node->GetId(), Seconds(start), [this] { Begin(); });
    }

  private:
    void Begin()
    {
        if (!m_plan.fresh)
        {
            Connect();
        }
        NextFile();
    }

    void Connect()
    {
        m_socket = Socket::CreateSocket(m_node, TcpSocketFactory::GetTypeId());
        auto base = DynamicCast<TcpSocketBase>(m_socket);
        if (m_plan.tcp == "newreno")
        {
            Control<TcpNewReno>(base);
        }
        else
        {
            Control<TcpLinuxReno>(base);
        }
        m_highest = SequenceNumber32(0);
        base->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::Sent, this));
        m_socket->SetConnectCallback(MakeCallback(&Flow::Connected, this),
                                     MakeCallback(&Flow::Failed, this));
        m_socket->SetCloseCallbacks(MakeNullCallback<void, Ptr<Socket>>(),
                                    MakeCallback(&Flow::Failed, this));
        m_socket->SetSendCallback(MakeCallback(&Flow::Acknowledged, this));
        m_open = false;
        ++tally.connections;
        m_socket->Bind();
        m_socket->Connect(m_to);
    }

    template <class Base>
    void Control(Ptr<TcpSocketBase> socket)
    {
        auto control = CreateObject<Counted<Base>>();
        control->tally = &tally;
        socket->SetCongestionControlAlgorithm(control);
    }

    void Connected(Ptr<Socket>)
    {
        m_open = true;
        Fill();
    }

    void Failed(Ptr<Socket>)
    {
        ++tally.failed;
    }

    void NextFile()
    {
        if (m_plan.fresh)
        {
            Connect();
        }
        m_fileStart = Simulator::Now();
        m_pending += m_plan.traffic == "endless" ? 1ULL << 60 : m_plan.fileBytes;
        if (m_plan.traffic == "clock")
        {
            Simulator::Schedule(Seconds(m_plan.interval), &Flow::NextFile, this);
        }
        Fill();
    }

    /// Give TCP whole segments only, but for the end of the last file.
    void Fill()
    {
        while (m_open && m_pending > 0)
        {
            const auto bytes =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(m_pending, m_plan.segment));
            if (m_socket->GetTxAvailable() < bytes)
            {
                return;
            }
            m_pending -= bytes;
            m_inside += bytes;
            m_socket->Send(Create<Packet>(bytes));
        }
    }

    /// New data was acknowledged.
    void Acknowledged(Ptr<Socket> socket, std::uint32_t)
    {
        Fill();
        UintegerValue size;
        socket->GetAttribute("SndBufSize", size);
        if (m_inside == 0 || m_pending > 0 || socket->GetTxAvailable() < size.Get())
        {
            return;
        }
        m_inside = 0;
        if (m_plan.traffic == "think")
        {
            ++tally.files;
            tally.fileTime += (Simulator::Now() - m_fileStart).GetSeconds();
            if (m_plan.fresh)
            {
                m_socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, std::uint32_t>());
                m_socket->Close();
            }
            const double wait = m_plan.exponential
                                    ? -m_plan.interval * std::log(1.0 - m_random->GetValue(0, 1))
                                    : m_plan.interval;
            Simulator::Schedule(Seconds(wait), &Flow::NextFile, this);
        }
    }

    void Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        ++tally.segments;
        const SequenceNumber32 end = header.GetSequenceNumber() + packet->GetSize();
        if (header.GetSequenceNumber() < m_highest)
        {
            ++tally.retransmissions;
        }
        m_highest = std::max(m_highest, end);
    }

    const Plan& m_plan;
    Ptr<Node> m_node;
    Address m_to;
    Ptr<UniformRandomVariable> m_random;
    Ptr<Socket> m_socket;
    bool m_open = false;
    std::uint64_t m_pending = 0; ///< bytes that TCP has not taken yet
    std::uint64_t m_inside = 0;  ///< bytes that TCP took since its buffer was empty
    SequenceNumber32 m_highest;
    Time m_fileStart;
};

/// The receiver of one flow, over all of its connections: bytes in order, each once.
class Receiver
{
  public:
    std::uint64_t bytes = 0;

    Receiver(Ptr<Node> node, std::uint16_t port)
    {
        m_listening = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        m_listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_listening->Listen();
        m_listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                       MakeCallback(&Receiver::Accepted, this));
    }

  private:
    void Accepted(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Receiver::Read, this));
        socket->SetCloseCallbacks(MakeCallback(&Receiver::Closed, this),
                                  MakeNullCallback<void, Ptr<Socket>>());
        Read(socket);
    }

    void Read(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            bytes += packet->GetSize();
        }
    }

    void Closed(Ptr<Socket> socket)
    {
        Read(socket);
        socket->Close();
    }

    Ptr<Socket> m_listening;
};

/// A link of two ports; the first sends towards the receivers.
std::pair<Ptr<PausePort>, Ptr<PausePort>>
Join(Ptr<Node> from, Ptr<Node> to, double bitRate, std::uint32_t capacity, double delay)
{
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(Seconds(delay)));
    std::pair<Ptr<PausePort>, Ptr<PausePort>> ports(CreateObject<PausePort>(),
                                                    CreateObject<PausePort>());
    ports.first->Configure(capacity, bitRate);
    ports.second->Configure(0, bitRate);
    ports.first->RememberFor(Seconds(delay));
    for (auto& [port, node] : {std::pair(ports.first, from), std::pair(ports.second, to)})
    {
        port->SetAddress(Mac48Address::Allocate());
        port->SetMtu(1500);
        node->AddDevice(port);
        port->Attach(channel);
    }
    return ports;
}

/// A bridge of two ports: what comes in on one goes out on the other.
void
Bridge(Ptr<Node> node, Ptr<PausePort> one, Ptr<PausePort> two)
{
    for (auto& [in, out] : {std::pair(one, two), std::pair(two, one)})
    {
        Ptr<PausePort> exit = out;
        node->RegisterProtocolHandler(
            Node::ProtocolHandler([exit](Ptr<NetDevice>, Ptr<const Packet> packet, auto&&...) {
                exit->Send(packet->Copy(), exit->GetBroadcast(), 0x0800);
            }),
            0x0800,
            in);
    }
}

void
Say(const char* name, double value)
{
    std::printf("%s %.12g\n", name, value);
}

} // namespace

int
main(int argc, char** argv)
{
    double packetRates[3] = {25, 100, 15};
    std::uint32_t hostBuffer = 0;
    std::uint32_t buffer1 = 10;
    std::uint32_t buffer2 = 20;
    PauseRule rule{15, 15, 0.00056, 0};
    double rtt = 1;
    std::uint32_t flows = 8;
    std::uint32_t delayedAcks = 1;
    bool sack = true;
    std::string recovery = "classic";
    double warmup = 100;
    double duration = 1000;
    std::uint32_t quanta = 0;
    std::uint32_t seed = 1;
    Plan plan;
    plan.starts = 0;
    CommandLine cmd(__FILE__);
    cmd.AddValue("link-a", "frames of 1500 bytes per second", packetRates[0]);
    cmd.AddValue("link-b", "frames of 1500 bytes per second", packetRates[1]);
    cmd.AddValue("link-c", "frames of 1500 bytes per second", packetRates[2]);
    cmd.AddValue("host-buffer", "frames that the host holds before link A; 0: no limit", hostBuffer);
    cmd.AddValue("buffer1", "B1 in frames", buffer1);
    cmd.AddValue("buffer2", "B2 in frames", buffer2);
    cmd.AddValue("high", "T1 in frames; B2 switches the pause off", rule.high);
    cmd.AddValue("low", "T2 in frames", rule.low);
    cmd.AddValue("signal-delay", "from the threshold to queue 1, in s", rule.delay);
    cmd.AddValue("quanta", "pause time, in 512 bit times of link B; 0: ON/OFF messages", quanta);
    cmd.AddValue("rtt", "propagation to and fro, in s", rtt);
    cmd.AddValue("flows", "number of flows", flows);
    cmd.AddValue("traffic", "think, clock or endless", plan.traffic);
    cmd.AddValue("file-bytes", "size of a file", plan.fileBytes);
    cmd.AddValue("interval", "think time, or period of the clock, in s", plan.interval);
    cmd.AddValue("exponential", "think times are exponential", plan.exponential);
    cmd.AddValue("fresh", "a connection per file", plan.fresh);
    cmd.AddValue("tcp", "reno, or ns-3's newreno or linuxreno", plan.tcp);
    cmd.AddValue("recovery", "classic or prr, ns-3's stack", recovery);
    cmd.AddValue("sack", "selective acknowledgements, ns-3's stack", sack);
    cmd.AddValue("window", "largest window in segments", plan.window);
    cmd.AddValue("initial-window", "in segments", plan.initialWindow);
    cmd.AddValue("delayed-acks", "segments per acknowledgement, ns-3's stack", delayedAcks);
    cmd.AddValue("minimum-rto", "in s", plan.minimumRto);
    cmd.AddValue("starts", "flows begin within this time in s; 0: interval, rtt or 1 s", plan.starts);
    cmd.AddValue("warmup", "seconds before the measured time", warmup);
    cmd.AddValue("duration", "measured time in s", duration);
    cmd.AddValue("seed", "run number of ns-3's random streams", seed);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_IF(plan.traffic != "think" && plan.traffic != "clock" && plan.traffic != "endless",
                    "traffic " << plan.traffic);
    NS_ABORT_MSG_IF(plan.tcp != "reno" && plan.tcp != "newreno" && plan.tcp != "linuxreno",
                    "tcp " << plan.tcp);
    NS_ABORT_MSG_IF(recovery != "classic" && recovery != "prr", "recovery " << recovery);
    RngSeedManager::SetSeed(20051206);
    RngSeedManager::SetRun(seed);

    const double frame = 1500; // bytes on the wire: 26 of 802.3, 20 of IPv4, 20 of TCP, the segment
    const std::uint32_t segment = 1500 - 26 - 40;
    plan.segment = segment;
    plan.firstRto = 3 + 2 * rtt;
    if (plan.starts <= 0)
    {
        plan.starts = std::max({plan.interval, rtt, 1.0});
    }
    double bitRates[3];
    for (int i = 0; i < 3; ++i)
    {
        bitRates[i] = 8 * frame * packetRates[i];
    }
    rule.period = 512.0 * quanta / bitRates[1];
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(recovery == "prr" ? TcpPrrRecovery::GetTypeId()
                                                     : TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(plan.minimumRto)));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(plan.initialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayedAcks));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(plan.firstRto)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * plan.window * segment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(plan.window * segment));

    NodeContainer hosts(2);
    NodeContainer bridges(2);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    auto a = Join(hosts.Get(0), bridges.Get(0), bitRates[0], hostBuffer, rtt / 2);
    auto b = Join(bridges.Get(0), bridges.Get(1), bitRates[1], buffer1, 0);
    auto c = Join(bridges.Get(1), hosts.Get(1), bitRates[2], buffer2, 0);
    Bridge(bridges.Get(0), a.second, b.first);
    Bridge(bridges.Get(1), b.second, c.first);
    c.first->ControlUpstream(b.first, rule);
    const bool agents = plan.tcp == "reno";
    if (!agents)
    {
        internet.Install(hosts);
        NetDeviceContainer ends(a.first);
        ends.Add(c.second);
        Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(ends);
    }

    std::vector<std::unique_ptr<RenoFlow>> pairs;
    std::vector<std::unique_ptr<Flow>> senders;
    std::vector<std::unique_ptr<Receiver>> receivers;
    for (std::uint32_t j = 0; j < flows; ++j)
    {
        const auto port = static_cast<std::uint16_t>(5001 + j);
        if (agents)
        {
            pairs.push_back(std::make_unique<RenoFlow>(
                plan, static_cast<std::uint8_t>(j), a.first, c.second, 1000 + j));
            continue;
        }
        receivers.push_back(std::make_unique<Receiver>(hosts.Get(1), port));
        senders.push_back(std::make_unique<Flow>(
            plan, hosts.Get(0), InetSocketAddress("10.0.0.2", port), 1000 + j));
    }
    std::uint64_t received = 0; // frames at the receiving host
    auto forward = [&](Ptr<NetDevice>, Ptr<const Packet> packet, auto&&...) {
        ++received;
        AgentHeader header;
        if (agents && packet->PeekHeader(header) > 0)
        {
            pairs[header.flow]->Data(header);
        }
    };
    auto backward = [&](Ptr<NetDevice>, Ptr<const Packet> packet, auto&&...) {
        AgentHeader header;
        if (agents && packet->PeekHeader(header) > 0)
        {
            pairs[header.flow]->Ack(header);
        }
    };
    hosts.Get(1)->RegisterProtocolHandler(Node::ProtocolHandler(forward), 0x0800, c.second);
    hosts.Get(0)->RegisterProtocolHandler(Node::ProtocolHandler(backward), 0x0800, a.first);
    auto tallyOf = [&](std::uint32_t j) { return agents ? pairs[j]->tally : senders[j]->tally; };
    auto bytesOf = [&](std::uint32_t j) { return agents ? pairs[j]->bytes : receivers[j]->bytes; };

    Ptr<PausePort> queues[3] = {a.first, b.first, c.first};
    PortCounts before[3];
    PortCounts after[3];
    std::vector<Tally> base(flows);
    std::vector<std::uint64_t> baseBytes(flows);
    Simulator::Schedule(Seconds(warmup), [&] {
        for (int i = 0; i < 3; ++i)
        {
            before[i] = queues[i]->Collect();
        }
        for (std::uint32_t j = 0; j < flows; ++j)
        {
            base[j] = tallyOf(j);
            baseBytes[j] = bytesOf(j);
        }
    });
    Simulator::Stop(Seconds(warmup + duration) + NanoSeconds(1));
    Simulator::Run();

    Tally sum;
    Tally all;
    std::uint64_t bytes = 0;
    std::uint64_t measured = 0;
    std::uint64_t least = ~0ULL;
    std::uint64_t most = 0;
    for (std::uint32_t j = 0; j < flows; ++j)
    {
        const Tally t = tallyOf(j);
        all.segments += t.segments;
        all.retransmissions += t.retransmissions;
        all.connections += t.connections;
        all.failed += t.failed;
        sum.segments += t.segments - base[j].segments;
        sum.retransmissions += t.retransmissions - base[j].retransmissions;
        sum.recoveries += t.recoveries - base[j].recoveries;
        sum.timeouts += t.timeouts - base[j].timeouts;
        sum.files += t.files - base[j].files;
        sum.fileTime += t.fileTime - base[j].fileTime;
        sum.rtt += t.rtt - base[j].rtt;
        sum.samples += t.samples - base[j].samples;
        const std::uint64_t own = bytesOf(j) - baseBytes[j];
        bytes += bytesOf(j);
        measured += own;
        least = std::min(least, own);
        most = std::max(most, own);
    }
    for (int i = 0; i < 3; ++i)
    {
        after[i] = queues[i]->Collect();
    }
    const char* const names[3] = {"host", "1", "2"};
    auto say = [](std::string name, int i, const char* const* which, double value) {
        Say((name + "_" + which[i]).c_str(), value);
    };
    Say("m_bytes", static_cast<double>(measured));
    Say("m_bytes_least", static_cast<double>(least));
    Say("m_bytes_most", static_cast<double>(most));
    Say("m_segments", static_cast<double>(sum.segments));
    Say("m_retransmissions", static_cast<double>(sum.retransmissions));
    Say("m_recoveries", static_cast<double>(sum.recoveries));
    Say("m_timeouts", static_cast<double>(sum.timeouts));
    Say("m_files", static_cast<double>(sum.files));
    Say("m_file_time", sum.fileTime);
    Say("m_rtt", sum.samples > 0 ? sum.rtt / static_cast<double>(sum.samples) : 0.0);
    Say("m_pauses", static_cast<double>(after[2].pauses));
    Say("m_messages", static_cast<double>(after[2].messages));
    Say("m_held", after[1].heldTime);
    for (int i = 0; i < 3; ++i)
    {
        say("m_accepted", i, names, static_cast<double>(after[i].accepted));
        say("m_dropped", i, names, static_cast<double>(after[i].dropped));
        say("m_area", i, names, after[i].queueArea);
        say("peak", i, names, std::max(before[i].peak, after[i].peak));
        say("accepted", i, names, static_cast<double>(before[i].accepted + after[i].accepted));
        say("dropped", i, names, static_cast<double>(before[i].dropped + after[i].dropped));
        say("sent", i, names, static_cast<double>(before[i].sent + after[i].sent));
        say("left", i, names, queues[i]->Stored());
    }
    const Time end = Simulator::Now();
    Say("on_link_a", static_cast<double>(a.first->LeftSince(end - Seconds(rtt / 2))));
    Say("received", static_cast<double>(received));
    Say("segments", static_cast<double>(all.segments));
    Say("retransmissions", static_cast<double>(all.retransmissions));
    Say("connections", static_cast<double>(all.connections));
    Say("failed", static_cast<double>(all.failed));
    Say("bytes", static_cast<double>(bytes));
    Simulator::Destroy();
}
