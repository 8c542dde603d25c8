// SPDX-License-Identifier: GPL-2.0-only
//
// The diffusion-type flow control of takano2006 as a network device: everything above the send path
// is ns-3's point-to-point device, the send path is ours. Every flow has its own queue; a packet
// leaves when the link is free and its flow has a whole packet of credit, which grows at the flow's
// rate J. A node's rates follow eqs. (1), (2) and (13) from the last feedback of the next node and
// from its own queues; a host's rate is what node 1 of its path asks for, eq. (9).

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/ppp-header.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>

constexpr std::size_t FLOWS = 2; ///< target and background

/// What is the same at all devices; rates in packets/s, gain D/d in 1/s.
struct Law
{
    double linkRate = 0;
    double bitRate = 0;
    double intensity = 1;
    double gain = 0;
    bool countTransmission = false; ///< whether n includes the packet in transmission
    std::array<ns3::Ipv4Address, FLOWS> sources;
};

/// Rate and number of stored packets that a node reports about one flow.
struct Report
{
    bool valid = false;
    double rate = 0;
    double stored = 0;
};

class DfcDevice : public ns3::PointToPointNetDevice
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("hopflow::DfcDevice")
                                     .SetParent<ns3::PointToPointNetDevice>()
                                     .AddConstructor<DfcDevice>();
        return tid;
    }

    /// `capacity` in packets, of all flows together; a host has no limit and no law of its own.
    void Configure(const Law* law, std::size_t capacity, bool host)
    {
        m_law = law;
        m_capacity = capacity;
        m_host = host;
        for (auto& flow : m_flows)
        {
            flow.rate = law->linkRate;
            flow.downstream = {true, law->linkRate, 0.0};
        }
    }

    bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address&, std::uint16_t) override
    {
        const std::size_t j = FlowOf(packet);
        Flow& flow = m_flows[j];
        if (!m_host && Waiting(0) + Waiting(1) >= m_capacity)
        {
            ++flow.dropped;
            return false;
        }
        ns3::PppHeader ppp;
        ppp.SetProtocol(0x0021); // IPv4
        packet->AddHeader(ppp);
        Settle(flow);
        Integrate(flow);
        flow.queue.push_back(packet);
        ++flow.accepted;
        flow.peak = std::max(flow.peak, flow.queue.size());
        m_peak = std::max(m_peak, Waiting(0) + Waiting(1));
        if (!flow.active)
        {
            flow.active = true;
            Adjust();
        }
        Next();
        return true;
    }

    /// Feedback from downstream: for a node (r, n) of every flow it knows, for a host its rate.
    void Receive(std::array<Report, FLOWS> reports)
    {
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            if (reports[j].valid)
            {
                m_flows[j].downstream = reports[j];
            }
        }
        Adjust();
        Next();
    }

    /// The nominal rates J(intensity, t), eqs. (1), (2) and (13).
    std::array<double, FLOWS> Nominal(double intensity) const
    {
        std::array<double, FLOWS> wanted{};
        double sum = 0;
        double active = 0;
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            const Flow& flow = m_flows[j];
            if (flow.active)
            {
                wanted[j] = intensity * flow.downstream.rate -
                            m_law->gain * (flow.downstream.stored - Stored(j));
                sum += std::max(wanted[j], 0.0);
                ++active;
            }
        }
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            const double share = sum > 0 ? std::max(wanted[j], 0.0) / sum : 1.0 / active;
            wanted[j] = std::max(0.0, std::min(share * m_law->linkRate, wanted[j]));
        }
        return wanted;
    }

    /// Eqs. (4), (5): what this node tells the previous one, and by eq. (9) what it tells a host.
    Report MakeReport(std::size_t j, bool toHost) const
    {
        if (!m_flows[j].active)
        {
            return {};
        }
        if (toHost)
        {
            return {true, Nominal(m_law->intensity)[j] - m_law->gain * Stored(j), 0.0};
        }
        return {true, Nominal(1.0)[j], Stored(j)};
    }

    std::size_t Waiting(std::size_t j) const
    {
        return m_flows[j].queue.size();
    }

    std::size_t Transmitting(std::size_t j) const
    {
        return m_busy && m_current == j;
    }

    std::uint64_t Accepted(std::size_t j) const
    {
        return m_flows[j].accepted;
    }

    std::uint64_t Dropped(std::size_t j) const
    {
        return m_flows[j].dropped;
    }

    std::uint64_t Sent(std::size_t j) const
    {
        return m_flows[j].sent;
    }

    std::size_t Peak(std::size_t j) const
    {
        return m_flows[j].peak;
    }

    std::size_t Peak() const
    {
        return m_peak;
    }

    /// Integral of the waiting packets of flow j since the last call, in packet seconds.
    double CollectArea(std::size_t j)
    {
        Integrate(m_flows[j]);
        return std::exchange(m_flows[j].area, 0.0);
    }

    /// Called when the last bit of a packet of a flow has left.
    std::function<void(std::size_t)> onLeave = [](std::size_t) {};

  private:
    struct Flow
    {
        std::deque<ns3::Ptr<ns3::Packet>> queue;
        bool active = false; ///< from its first packet on
        double rate = 0;     ///< J, packets/s
        double credit = 1;   ///< packets that may leave
        ns3::Time settled;
        Report downstream;
        double area = 0;
        ns3::Time integrated;
        std::uint64_t accepted = 0;
        std::uint64_t dropped = 0;
        std::uint64_t sent = 0;
        std::size_t peak = 0;
    };

    std::size_t FlowOf(ns3::Ptr<const ns3::Packet> packet) const
    {
        ns3::Ipv4Header header;
        packet->PeekHeader(header);
        return header.GetSource() == m_law->sources[0] ? 0 : 1;
    }

    double Stored(std::size_t j) const
    {
        return static_cast<double>(Waiting(j) + (m_law->countTransmission ? Transmitting(j) : 0));
    }

    static void Integrate(Flow& flow)
    {
        const ns3::Time now = ns3::Simulator::Now();
        flow.area += (now - flow.integrated).GetSeconds() * static_cast<double>(flow.queue.size());
        flow.integrated = now;
    }

    /// Credit grows at the flow's rate; while its queue is empty, to one packet at most.
    static void Settle(Flow& flow)
    {
        const ns3::Time now = ns3::Simulator::Now();
        flow.credit += (now - flow.settled).GetSeconds() * flow.rate;
        flow.settled = now;
        if (flow.queue.empty())
        {
            flow.credit = std::min(flow.credit, 1.0);
        }
    }

    void Adjust()
    {
        const auto rates = m_host ? Asked() : Nominal(m_law->intensity);
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            Settle(m_flows[j]);
            m_flows[j].rate = rates[j];
        }
    }

    std::array<double, FLOWS> Asked() const
    {
        std::array<double, FLOWS> rates{};
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            rates[j] = std::clamp(m_flows[j].downstream.rate, 0.0, m_law->linkRate);
        }
        return rates;
    }

    /// Start the packet whose flow has the largest credit, or wait until some flow has enough.
    void Next()
    {
        if (m_busy)
        {
            return;
        }
        m_wake.Cancel();
        std::size_t best = FLOWS;
        double wait = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            Flow& flow = m_flows[j];
            if (flow.queue.empty())
            {
                continue;
            }
            Settle(flow);
            if (flow.credit >= 1.0)
            {
                if (best == FLOWS || flow.credit > m_flows[best].credit)
                {
                    best = j;
                }
            }
            else if (flow.rate > 0)
            {
                wait = std::min(wait, (1.0 - flow.credit) / flow.rate);
            }
        }
        if (best < FLOWS)
        {
            Start(best);
        }
        else if (wait < 1.0) // a later feedback decides otherwise
        {
            m_wake = ns3::Simulator::Schedule(ns3::NanoSeconds(std::ceil(1e9 * wait)),
                                              &DfcDevice::Next,
                                              this);
        }
    }

    void Start(std::size_t j)
    {
        Flow& flow = m_flows[j];
        Integrate(flow);
        m_packet = flow.queue.front();
        flow.queue.pop_front();
        flow.credit -= 1.0;
        m_current = j;
        m_busy = true;
        ns3::Simulator::Schedule(ns3::Seconds(8.0 * m_packet->GetSize() / m_law->bitRate),
                                 &DfcDevice::Finish,
                                 this);
    }

    void Finish()
    {
        m_busy = false;
        ++m_flows[m_current].sent;
        onLeave(m_current);
        ns3::StaticCast<ns3::PointToPointChannel>(GetChannel())
            ->TransmitStart(m_packet, this, ns3::Seconds(0)); // arrives one link delay later
        Next();
    }

    const Law* m_law = nullptr;
    std::size_t m_capacity = 0;
    bool m_host = false;
    std::array<Flow, FLOWS> m_flows;
    std::size_t m_peak = 0;
    bool m_busy = false;
    std::size_t m_current = 0;
    ns3::Ptr<ns3::Packet> m_packet;
    ns3::EventId m_wake;
};
