// SPDX-License-Identifier: GPL-2.0-only
//
// A full-duplex Ethernet port with a finite queue and 802.3x pause, as a network device: everything
// above the send path is ns-3's point-to-point device, the send path is ours. A frame takes its bytes
// on the wire over the bit rate; the queue counts frames, the one in transmission included. A paused
// port ends the frame that it is sending and starts no other.

#pragma once

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/ppp-header.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

/// What a port has counted since the last call of PausePort::Collect; areas in frame seconds.
struct PortCounts
{
    std::uint64_t accepted = 0;
    std::uint64_t dropped = 0;
    std::uint64_t sent = 0;
    std::uint64_t pauses = 0;
    std::uint64_t messages = 0;
    double queueArea = 0;
    double heldTime = 0;
    std::uint32_t peak = 0;
};

/// How a port holds the one upstream.
struct PauseRule
{
    std::uint32_t high = 0; ///< an arrival that makes the queue exceed it starts the pause
    std::uint32_t low = 0;  ///< a departure that leaves one frame less ends the pause
    double delay = 0;       ///< s, from the threshold to the effect upstream
    double period = 0;      ///< s, of a timed pause; 0: ON/OFF messages
};

/// A port of a host or of a bridge.
class PausePort : public ns3::PointToPointNetDevice
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("hopflow::PausePort")
                                     .SetParent<ns3::PointToPointNetDevice>()
                                     .AddConstructor<PausePort>();
        return tid;
    }

    /// Preamble and delimiter 8, addresses and type 14, check sequence 4 bytes; at least 64 + 8.
    static std::uint32_t WireBytes(std::uint32_t payload)
    {
        return std::max(payload + 26, 72U);
    }

    /// Capacity in frames, 0 for no limit; rate in bit/s.
    void Configure(std::uint32_t capacity, double bitRate)
    {
        m_capacity = capacity;
        m_bitRate = bitRate;
    }

    void ControlUpstream(ns3::Ptr<PausePort> upstream, const PauseRule& rule)
    {
        m_upstream = upstream;
        m_rule = rule;
    }

    bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address&, std::uint16_t) override
    {
        if (m_capacity > 0 && m_queue.size() >= m_capacity)
        {
            ++m_counts.dropped;
            return false;
        }
        ns3::PppHeader ppp;
        ppp.SetProtocol(0x0021); // what ns-3's receive path knows as IPv4
        Integrate();
        const std::uint32_t bytes = WireBytes(packet->GetSize());
        packet->AddHeader(ppp);
        m_queue.emplace_back(packet, bytes);
        ++m_counts.accepted;
        m_counts.peak = std::max(m_counts.peak, Stored());
        if (m_upstream && !m_down && m_queue.size() > m_rule.high)
        {
            m_down = true;
            ++m_counts.pauses;
            Announce();
        }
        Start();
        return true;
    }

    /// Counts since the last call, with the areas up to now.
    PortCounts Collect()
    {
        Integrate();
        return std::exchange(m_counts, PortCounts{});
    }

    std::uint32_t Stored() const
    {
        return static_cast<std::uint32_t>(m_queue.size());
    }

    /// Frames whose last bit left at this time or later: those still on a link of this delay.
    std::uint64_t LeftSince(ns3::Time time) const
    {
        return std::count_if(m_left.begin(), m_left.end(), [time](ns3::Time t) { return t >= time; });
    }

    /// How long a frame may be under way after its last bit left.
    void RememberFor(ns3::Time span)
    {
        m_memory = span;
    }

  private:
    void Integrate()
    {
        const ns3::Time now = ns3::Simulator::Now();
        const double span = (now - m_lastChange).GetSeconds();
        m_counts.queueArea += span * static_cast<double>(m_queue.size());
        m_counts.heldTime += m_held ? span : 0.0;
        m_lastChange = now;
    }

    void Start()
    {
        if (m_sending || m_held || m_queue.empty())
        {
            return;
        }
        m_sending = true;
        const double seconds = 8.0 * m_queue.front().second / m_bitRate;
        ns3::Simulator::Schedule(ns3::Seconds(seconds), &PausePort::Finish, this);
    }

    void Finish()
    {
        Integrate();
        ns3::Ptr<ns3::Packet> packet = m_queue.front().first;
        m_queue.pop_front();
        m_sending = false;
        ++m_counts.sent;
        if (m_down && Stored() + 1 == m_rule.low)
        {
            m_down = false;
            m_repeat.Cancel();
            if (m_rule.period == 0)
            {
                Announce();
            }
        }
        if (m_memory.IsStrictlyPositive())
        {
            const ns3::Time now = ns3::Simulator::Now();
            m_left.push_back(now);
            while (m_left.front() + m_memory < now)
            {
                m_left.pop_front();
            }
        }
        ns3::StaticCast<ns3::PointToPointChannel>(GetChannel())
            ->TransmitStart(packet, this, ns3::Seconds(0));
        // after the frame has arrived where the link is short: its pause may be for us
        ns3::Simulator::ScheduleNow(&PausePort::Start, this);
    }

    /// Send a pause message upstream; a timed one is repeated at half of its time.
    void Announce()
    {
        ++m_counts.messages;
        ns3::Simulator::Schedule(ns3::Seconds(m_rule.delay), &PausePort::Hear, m_upstream, m_down,
                                 m_rule.period);
        if (m_rule.period > 0)
        {
            m_repeat =
                ns3::Simulator::Schedule(ns3::Seconds(m_rule.period / 2), &PausePort::Announce, this);
        }
    }

    /// A pause message from downstream.
    void Hear(bool off, double period)
    {
        Integrate();
        m_held = off;
        m_expiry.Cancel();
        if (off && period > 0)
        {
            m_expiry = ns3::Simulator::Schedule(ns3::Seconds(period), &PausePort::Hear, this, false,
                                                0.0);
        }
        Start();
    }

    std::uint32_t m_capacity = 0;
    double m_bitRate = 0;
    bool m_sending = false;
    bool m_held = false; ///< told to be silent
    bool m_down = false; ///< has told the upstream port to be silent
    PauseRule m_rule;
    ns3::EventId m_repeat;
    ns3::EventId m_expiry;
    ns3::Time m_lastChange;
    ns3::Time m_memory;
    std::deque<ns3::Time> m_left; ///< when the latest frames left, for LeftSince
    std::deque<std::pair<ns3::Ptr<ns3::Packet>, std::uint32_t>> m_queue;
    ns3::Ptr<PausePort> m_upstream;
    PortCounts m_counts;
};
