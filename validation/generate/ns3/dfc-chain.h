// SPDX-License-Identifier: GPL-2.0-only
//
// A chain of nodes as one object, for links too fast for IP forwarding at every hop: ns-3's packets
// and events, but no network layer between the first node and the last. An element is a node or a
// host with its queues and its outgoing link. Under diffusion-type flow control (takano2006, eqs. (1),
// (2), (9), (13)) every flow has its own queue and a credit that grows at its rate J; otherwise there
// is one FIFO queue. A link keeps its packets in order and has one pending event.

#pragma once

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>

constexpr std::size_t FLOWS = 2;    ///< target and background
constexpr double TICK = 1e-12;      ///< resolution of the clock, s
constexpr double WHOLE = 1.0 - 1e-9; ///< credit that lets a packet leave

inline std::int64_t
Clock()
{
    return ns3::Simulator::Now().GetTimeStep();
}

inline std::int64_t
Ticks(double seconds)
{
    return static_cast<std::int64_t>(std::llround(seconds / TICK));
}

/// What is the same everywhere; rates in packets/s.
struct Law
{
    double linkRate = 0;
    double bitRate = 0;
    double intensity = 1;
    double diffusion = 0.1;
    bool countTransmission = false; ///< whether n includes the packet in transmission
    bool perFlow = false;           ///< whether the capacity is of each flow or of all together
    bool diffusive = true;          ///< otherwise FIFO
};

/// Rate and number of stored packets that a node reports about one flow.
struct Report
{
    bool valid = false;
    double rate = 0;
    double stored = 0;
};

using Reports = std::array<Report, FLOWS>;

/// What a link carries: a packet of ns-3's network layer, or a number of a window sender.
struct Cargo
{
    std::uint32_t bytes;
    std::int64_t number;
    ns3::Ptr<ns3::Packet> packet;
};

class Element
{
  public:
    enum class Kind
    {
        node,
        shaped, ///< a host that follows what its first node asks for
        free    ///< a host that sends at the link rate
    };

    Element(const Law& law, Kind kind, std::size_t capacity, double delay)
        : m_law(law),
          m_kind(kind),
          m_capacity(capacity),
          m_delay(Ticks(delay)),
          m_gain(law.diffusion / delay)
    {
        for (auto& flow : m_flows)
        {
            flow.rate = law.linkRate;
            flow.downstream = {true, law.linkRate, 0.0};
        }
    }

    Element(const Element&) = delete;

    /// What happens at the far end of the link.
    std::function<void(std::size_t, Cargo)> deliver;
    std::uint32_t context = ns3::Simulator::NO_CONTEXT; ///< id of the node there, if it is one
    /// Called when the last bit of a packet of a flow has left.
    std::function<void(std::size_t)> onLeave = [](std::size_t) {};

    void Arrive(std::size_t j, Cargo cargo)
    {
        Flow& flow = m_flows[j];
        ++flow.arrivals;
        const std::size_t found = m_law.perFlow ? Waiting(j) : Waiting(0) + Waiting(1);
        if (m_kind == Kind::node && found >= m_capacity)
        {
            ++flow.dropped;
            m_lastDrop = Clock();
            m_firstDrop = m_firstDrop < 0 ? m_lastDrop : m_firstDrop;
            return;
        }
        Settle(flow);
        flow.queue.push_back(std::move(cargo));
        if (!m_law.diffusive)
        {
            m_order.push_back(j);
        }
        flow.peak = std::max(flow.peak, flow.queue.size());
        m_peak = std::max(m_peak, Waiting(0) + Waiting(1));
        if (!flow.active)
        {
            flow.active = true;
            Adjust();
        }
        Next();
    }

    /// Feedback from downstream: for a node (r, n) of every flow it knows, for a host its rate.
    void Receive(const Reports& reports)
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

    /// The nominal rates J(intensity, t), eqs. (1), (2) and (13) over the active flows.
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
                            m_gain * (flow.downstream.stored - Stored(j));
                sum += std::max(wanted[j], 0.0);
                ++active;
            }
        }
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            const double share = sum > 0 ? std::max(wanted[j], 0.0) / sum : 1.0 / active;
            wanted[j] = std::max(0.0, std::min(share * m_law.linkRate, wanted[j]));
        }
        return wanted;
    }

    /// Eqs. (4), (5): what this node tells the previous one.
    Reports ForNode() const
    {
        Reports reports;
        const auto rates = Nominal(1.0);
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            reports[j] = {m_flows[j].active, rates[j], Stored(j)};
        }
        return reports;
    }

    /// Eq. (9): what this node tells the host of flow j behind a link of `delay` seconds.
    Reports ForHost(std::size_t j, double delay) const
    {
        Reports reports;
        const double rate = m_law.intensity * Nominal(1.0)[j];
        reports[j] = {m_flows[j].active, rate - m_law.diffusion / delay * Stored(j), 0.0};
        return reports;
    }

    std::size_t Waiting(std::size_t j) const
    {
        return m_flows[j].queue.size();
    }

    /// Waiting and in transmission.
    std::size_t Inside(std::size_t j) const
    {
        return Waiting(j) + Transmitting(j);
    }

    /// In propagation.
    std::size_t OnLink(std::size_t j) const
    {
        return static_cast<std::size_t>(
            std::count_if(m_link.begin(), m_link.end(), [j](const auto& p) { return p.flow == j; }));
    }

    std::uint64_t Arrivals(std::size_t j) const
    {
        return m_flows[j].arrivals;
    }

    std::uint64_t Dropped(std::size_t j) const
    {
        return m_flows[j].dropped;
    }

    std::uint64_t Departures(std::size_t j) const
    {
        return m_flows[j].departures;
    }

    std::size_t Peak(std::size_t j) const
    {
        return m_flows[j].peak;
    }

    std::size_t Peak() const
    {
        return m_peak;
    }

    /// Seconds; negative if nothing was dropped.
    double FirstDrop() const
    {
        return m_firstDrop < 0 ? -1.0 : TICK * static_cast<double>(m_firstDrop);
    }

    double LastDrop() const
    {
        return m_lastDrop < 0 ? -1.0 : TICK * static_cast<double>(m_lastDrop);
    }

    std::int64_t Delay() const
    {
        return m_delay;
    }

  private:
    struct Flow
    {
        std::deque<Cargo> queue;
        bool active = false; ///< from its first packet on
        double rate = 0;     ///< J, packets/s
        double credit = 1;   ///< packets that may leave
        std::int64_t settled = 0;
        Report downstream;
        std::uint64_t arrivals = 0;
        std::uint64_t dropped = 0;
        std::uint64_t departures = 0;
        std::size_t peak = 0;
    };

    struct Propagating
    {
        std::int64_t arrival;
        std::size_t flow;
        Cargo cargo;
    };

    std::size_t Transmitting(std::size_t j) const
    {
        return m_busy && m_current == j;
    }

    double Stored(std::size_t j) const
    {
        return static_cast<double>(m_law.countTransmission ? Inside(j) : Waiting(j));
    }

    /// Credit grows at the flow's rate; while its queue is empty, to one packet at most.
    static void Settle(Flow& flow)
    {
        const std::int64_t now = Clock();
        flow.credit += TICK * static_cast<double>(now - flow.settled) * flow.rate;
        flow.settled = now;
        if (flow.queue.empty())
        {
            flow.credit = std::min(flow.credit, 1.0);
        }
    }

    void Adjust()
    {
        std::array<double, FLOWS> rates{};
        if (m_kind == Kind::node)
        {
            rates = Nominal(m_law.intensity);
        }
        for (std::size_t j = 0; j < FLOWS; ++j)
        {
            if (m_kind == Kind::shaped)
            {
                rates[j] = std::clamp(m_flows[j].downstream.rate, 0.0, m_law.linkRate);
            }
            else if (m_kind == Kind::free)
            {
                rates[j] = m_law.linkRate;
            }
            Settle(m_flows[j]);
            m_flows[j].rate = rates[j];
        }
    }

    /// Start the packet whose flow has the largest credit, or wait until some flow has enough.
    void Next()
    {
        if (m_busy)
        {
            return;
        }
        if (!m_law.diffusive)
        {
            if (!m_order.empty())
            {
                const std::size_t first = m_order.front();
                m_order.pop_front();
                Start(first);
            }
            return;
        }
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
            if (flow.credit >= WHOLE)
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
            const std::int64_t ticks = static_cast<std::int64_t>(std::ceil(wait / TICK));
            const std::int64_t at = Clock() + ticks;
            if (m_wake.IsPending() && m_wakeAt <= at)
            {
                return; // looks again then
            }
            m_wake.Cancel();
            m_wakeAt = at;
            m_wake = ns3::Simulator::Schedule(ns3::Time(ticks), &Element::Next, this);
        }
    }

    void Start(std::size_t j)
    {
        Flow& flow = m_flows[j];
        m_cargo = std::move(flow.queue.front());
        flow.queue.pop_front();
        flow.credit -= 1.0;
        m_current = j;
        m_busy = true;
        const double seconds = 8.0 * m_cargo.bytes / m_law.bitRate;
        const auto ticks = static_cast<std::int64_t>(std::ceil(seconds / TICK));
        ns3::Simulator::Schedule(ns3::Time(ticks), &Element::Finish, this);
    }

    void Finish()
    {
        m_busy = false;
        ++m_flows[m_current].departures;
        onLeave(m_current);
        m_link.push_back({Clock() + m_delay, m_current, std::move(m_cargo)});
        if (m_link.size() == 1)
        {
            ns3::Simulator::ScheduleWithContext(context, ns3::Time(m_delay), &Element::Pass, this);
        }
        Next();
    }

    void Pass()
    {
        const std::size_t j = m_link.front().flow;
        Cargo cargo = std::move(m_link.front().cargo);
        m_link.pop_front();
        if (!m_link.empty())
        {
            const std::int64_t ticks = m_link.front().arrival - Clock();
            ns3::Simulator::ScheduleWithContext(context, ns3::Time(ticks), &Element::Pass, this);
        }
        deliver(j, std::move(cargo));
    }

    const Law& m_law;
    Kind m_kind;
    std::size_t m_capacity;
    std::int64_t m_delay;
    double m_gain;
    std::array<Flow, FLOWS> m_flows;
    std::deque<std::size_t> m_order;
    std::deque<Propagating> m_link;
    std::size_t m_peak = 0;
    std::int64_t m_firstDrop = -1;
    std::int64_t m_lastDrop = -1;
    bool m_busy = false;
    std::size_t m_current = 0;
    Cargo m_cargo;
    ns3::EventId m_wake;
    std::int64_t m_wakeAt = 0;
};

/// A host's device: what IP sends goes into the chain; what comes back uses the plain device.
class EntryDevice : public ns3::PointToPointNetDevice
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("hopflow::EntryDevice")
                                     .SetParent<ns3::PointToPointNetDevice>()
                                     .AddConstructor<EntryDevice>();
        return tid;
    }

    std::function<void(ns3::Ptr<ns3::Packet>)> forward;

    bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address&, std::uint16_t) override
    {
        ns3::PppHeader ppp;
        ppp.SetProtocol(0x0021); // IPv4
        packet->AddHeader(ppp);
        forward(packet);
        return true;
    }
};
