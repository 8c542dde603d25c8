// SPDX-License-Identifier: GPL-2.0-only
//
// Queue pairs of RDMA at line rate, with go-back-N, between hosts at leaf switches and one spine under PFC, in the RDMA
// model of ns-3 (Li et al., HPCC). Prints one line for each flow: its number and the time in ns at which its sender has
// the last ACK.
#include <cstdint>
#include <cstring>
#include <tuple> // the model's headers need these three before them

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/qbb-channel.h"
#include "ns3/qbb-net-device.h"
#include "ns3/rdma-driver.h"
#include "ns3/rdma-hw.h"
#include "ns3/switch-node.h"

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PRIORITY = 3;      // of all flows
constexpr uint16_t FIRST_PORT = 1000; // of the first flow, others count on
constexpr uint32_t HEADER = 36;       // PPP 2, IPv4 20, UDP 8, number and priority 6
constexpr uint32_t HEADROOM = 400000; // bytes of each ingress; nothing is lost with less
// A switch divides what is free of its buffer by 2^SHIFT, which is the threshold of each ingress. The buffer is so
// large that what waits changes the threshold by less than a tenth of a packet.
constexpr uint32_t SHIFT = 15;

struct Settings
{
    uint32_t leaves = 4;
    uint32_t hosts = 8;
    uint64_t access = 100'000'000'000;
    uint64_t trunk = 100'000'000'000;
    uint32_t delay = 1000;
    uint32_t xoff = 20;
    uint32_t xon = 10;
    uint32_t payload = 4096;
    double end = 0.05;
};

struct Transfer
{
    uint32_t source;
    uint32_t target;
    uint32_t packets;
};

std::vector<Transfer>
Transfers(const std::string& listed)
{
    std::vector<Transfer> found;
    std::istringstream flows(listed);
    for (std::string one; std::getline(flows, one, ',');)
    {
        Transfer t{};
        if (std::sscanf(one.c_str(), "%u-%u-%u", &t.source, &t.target, &t.packets) != 3)
        {
            NS_FATAL_ERROR("flow " << one << ": must be source-target-packets");
        }
        found.push_back(t);
    }
    return found;
}

Ipv4Address
AddressOf(uint32_t host)
{
    return Ipv4Address(0x0b000001 + host * 0x100);
}

class Fabric
{
  public:
    explicit Fabric(const Settings& settings);
    void Send(uint32_t n, const Transfer& t);

  private:
    struct Ends
    {
        uint32_t of_first;
        uint32_t of_second;
    };

    Ends Connect(Ptr<Node> first, Ptr<Node> second, uint64_t rate);
    void SetThresholds(Ptr<SwitchNode> node);
    void AddDriver(uint32_t host);

    Settings m_settings;
    std::vector<Ptr<Node>> m_hosts;
    std::vector<Ptr<SwitchNode>> m_leaves;
    Ptr<SwitchNode> m_spine;
    uint32_t m_links = 0;
};

void
Nothing()
{
}

void
PrintEnd(Ptr<RdmaQueuePair> pair)
{
    std::printf("%u %ld\n", pair->sport - FIRST_PORT, static_cast<long>(Simulator::Now().GetNanoSeconds()));
}

Fabric::Fabric(const Settings& settings)
    : m_settings(settings)
{
    InternetStackHelper internet;
    for (uint32_t h = 0; h < settings.leaves * settings.hosts; h++)
    {
        m_hosts.push_back(CreateObject<Node>());
        internet.Install(m_hosts.back());
    }
    for (uint32_t l = 0; l < settings.leaves; l++)
    {
        m_leaves.push_back(CreateObject<SwitchNode>());
        internet.Install(m_leaves.back());
    }
    m_spine = CreateObject<SwitchNode>();
    internet.Install(m_spine);

    for (uint32_t h = 0; h < m_hosts.size(); h++)
    {
        Ptr<SwitchNode> leaf = m_leaves[h / settings.hosts];
        Ends port = Connect(m_hosts[h], leaf, settings.access);
        Ipv4Address address = AddressOf(h);
        leaf->AddTableEntry(address, port.of_second);
    }
    for (uint32_t l = 0; l < m_leaves.size(); l++)
    {
        Ends port = Connect(m_leaves[l], m_spine, settings.trunk);
        for (uint32_t h = 0; h < m_hosts.size(); h++)
        {
            Ipv4Address address = AddressOf(h);
            if (h / settings.hosts == l)
            {
                m_spine->AddTableEntry(address, port.of_second);
            }
            else
            {
                m_leaves[l]->AddTableEntry(address, port.of_first);
            }
        }
    }
    for (const auto& leaf : m_leaves)
    {
        SetThresholds(leaf);
    }
    SetThresholds(m_spine);
    RdmaEgressQueue::ack_q_idx = 0; // ACKs of hosts are before data and never paused
    for (uint32_t h = 0; h < m_hosts.size(); h++)
    {
        AddDriver(h);
    }
}

Fabric::Ends
Fabric::Connect(Ptr<Node> first, Ptr<Node> second, uint64_t rate)
{
    Ptr<QbbChannel> channel = CreateObject<QbbChannel>();
    channel->SetAttribute("Delay", TimeValue(NanoSeconds(m_settings.delay)));
    NetDeviceContainer devices;
    for (const auto& node : {first, second})
    {
        Ptr<QbbNetDevice> device = CreateObject<QbbNetDevice>();
        device->SetAttribute("DataRate", DataRateValue(DataRate(rate)));
        device->SetAddress(Mac48Address::Allocate());
        device->SetQueue(CreateObject<BEgressQueue>());
        node->AddDevice(device);
        device->Attach(channel);
        devices.Add(device);
    }
    if (first->GetNodeType() == 0)
    {
        Ptr<Ipv4> own = first->GetObject<Ipv4>();
        uint32_t interface = own->AddInterface(devices.Get(0));
        Ipv4Address address = AddressOf(m_links); // the links of hosts come first, in their order
        own->AddAddress(interface, Ipv4InterfaceAddress(address, Ipv4Mask("255.0.0.0")));
    }
    std::ostringstream base; // addresses of ports, from which pause messages are sent
    base << "10." << m_links / 254 + 1 << '.' << m_links % 254 + 1 << ".0";
    Ipv4AddressHelper helper(base.str().c_str(), "255.255.255.0");
    helper.Assign(devices);
    m_links++;
    return {devices.Get(0)->GetIfIndex(), devices.Get(1)->GetIfIndex()};
}

void
Fabric::SetThresholds(Ptr<SwitchNode> node)
{
    node->SetAttribute("AckHighPrio", UintegerValue(1)); // ACKs are before data and never paused
    Ptr<SwitchMmu> memory = node->m_mmu;
    uint32_t ports = node->GetNDevices() - 1;
    uint32_t size = m_settings.payload + HEADER;
    memory->reserve = 0;
    for (uint32_t p = 1; p <= ports; p++)
    {
        memory->ConfigHdrm(p, HEADROOM);
        memory->pfc_a_shift[p] = SHIFT;
    }
    memory->ConfigNPort(ports);
    // Between a packet and the next: a pause above xoff packets, an end at xon or below.
    uint32_t threshold = m_settings.xoff * size + size / 2;
    memory->resume_offset = (m_settings.xoff - m_settings.xon) * size;
    memory->ConfigBufferSize((threshold << SHIFT) + memory->total_hdrm);
    memory->node_id = node->GetId();
}

void
Fabric::AddDriver(uint32_t host)
{
    Ptr<RdmaHw> hardware = CreateObject<RdmaHw>();
    hardware->SetAttribute("Mtu", UintegerValue(m_settings.payload));
    hardware->SetAttribute("CcMode", UintegerValue(0)); // line rate
    hardware->SetAttribute("L2AckInterval", UintegerValue(1)); // an ACK per packet
    hardware->SetAttribute("L2ChunkSize", UintegerValue(m_settings.payload));
    hardware->SetAttribute("L2BackToZero", BooleanValue(false)); // go-back-N
    Ptr<RdmaDriver> driver = CreateObject<RdmaDriver>();
    driver->SetNode(m_hosts[host]);
    driver->SetRdmaHw(hardware);
    m_hosts[host]->AggregateObject(driver);
    driver->Init();
    driver->TraceConnectWithoutContext("QpComplete", MakeCallback(&PrintEnd));
    for (uint32_t h = 0; h < m_hosts.size(); h++)
    {
        Ipv4Address address = AddressOf(h);
        hardware->AddTableEntry(address, 1);
    }
}

void
Fabric::Send(uint32_t n, const Transfer& t)
{
    Ptr<RdmaDriver> driver = m_hosts[t.source]->GetObject<RdmaDriver>();
    uint64_t bytes = static_cast<uint64_t>(t.packets) * m_settings.payload;
    uint16_t port = FIRST_PORT + n;
    driver->AddQueuePair(t.source, t.target, n, bytes, PRIORITY, AddressOf(t.source), AddressOf(t.target),
                         port, port, 0, 0, MakeCallback(&Nothing), MakeCallback(&Nothing));
}

} // namespace

int
main(int argc, char* argv[])
{
    Settings settings;
    std::string flows;
    CommandLine command(__FILE__);
    command.AddValue("leaves", "leaf switches, each connected to the one spine", settings.leaves);
    command.AddValue("hosts", "hosts of each leaf", settings.hosts);
    command.AddValue("access", "rate of the links of hosts, bit/s", settings.access);
    command.AddValue("trunk", "rate of the links of the spine, bit/s", settings.trunk);
    command.AddValue("delay", "of each link, ns", settings.delay);
    command.AddValue("xoff", "packets of one ingress above which it is paused", settings.xoff);
    command.AddValue("xon", "packets at or below which the pause ends", settings.xon);
    command.AddValue("payload", "bytes of a packet without its header of 36", settings.payload);
    command.AddValue("end", "of the simulation, s", settings.end);
    command.AddValue("flows", "source-target-packets of each flow, with commas between", flows);
    command.Parse(argc, argv);

    IntHeader::mode = IntHeader::NONE; // no telemetry in packets
    Fabric fabric(settings);
    std::vector<Transfer> transfers = Transfers(flows);
    for (uint32_t n = 0; n < transfers.size(); n++)
    {
        Simulator::Schedule(Seconds(0), &Fabric::Send, &fabric, n, transfers[n]);
    }
    Simulator::Stop(Seconds(settings.end));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
