// SPDX-License-Identifier: GPL-2.0-only
//
// One queue of the pause tandem as a network device: everything above the send path is ns-3's
// point-to-point device, the send path is ours. A packet's transmission is an exponential amount of
// work of mean 1, done at the rate in force (packets/s): the nominal rate, or the paused rate while
// the downstream device holds this one. What is left of a packet goes on at the new rate when the
// rate changes, so that every transmission is exponential given the rate.

#pragma once

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/ppp-header.h"

#include <cstdint>
#include <deque>
#include <functional>

/// What a device has counted since the last call of PauseDevice::Collect; areas in packet seconds.
struct DeviceCounts
{
    std::uint64_t accepted = 0;
    std::uint64_t dropped = 0;
    std::uint64_t sent = 0;
    std::uint64_t pauses = 0;
    double queueArea = 0;
    double pausedTime = 0;
};

/// A finite queue with exponential transmissions that an ON/OFF pause slows down.
class PauseDevice : public ns3::PointToPointNetDevice
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("hopflow::PauseDevice")
                                     .SetParent<ns3::PointToPointNetDevice>()
                                     .AddConstructor<PauseDevice>();
        return tid;
    }

    /// Capacity in packets, the one in transmission included; rates in packets/s.
    void Configure(std::uint32_t capacity, double rate, double pausedRate, std::int64_t stream)
    {
        m_capacity = capacity;
        m_rate = rate;
        m_pausedRate = pausedRate;
        m_work = ns3::CreateObject<ns3::ExponentialRandomVariable>();
        m_work->SetStream(stream);
    }

    /// Hold `upstream` when an arrival makes the queue exceed `high`, let it go when a departure
    /// leaves it at `low` - 1. With `high` at the capacity no arrival can do so: control is off.
    void ControlUpstream(ns3::Ptr<PauseDevice> upstream, std::uint32_t high, std::uint32_t low)
    {
        m_upstream = upstream;
        m_high = high;
        m_low = low;
    }

    /// Called after every packet that found the queue full.
    void OnDrop(std::function<void()> call)
    {
        m_onDrop = std::move(call);
    }

    bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address&, std::uint16_t) override
    {
        if (m_queue.size() >= m_capacity)
        {
            ++m_counts.dropped;
            m_onDrop();
            return false;
        }
        ns3::PppHeader ppp;
        ppp.SetProtocol(0x0021); // what ns-3's receive path knows as IPv4
        packet->AddHeader(ppp);
        Integrate();
        m_queue.push_back(packet);
        ++m_counts.accepted;
        if (m_upstream && !m_upstream->m_paused && m_queue.size() > m_high)
        {
            m_upstream->Pause(true);
        }
        if (m_queue.size() == 1)
        {
            Start();
        }
        return true;
    }

    /// An OFF (true) or ON (false) message from downstream.
    void Pause(bool off)
    {
        Integrate();
        m_counts.pauses += off;
        if (m_end.IsPending())
        {
            m_left -= (ns3::Simulator::Now() - m_since).GetSeconds() * Rate();
            m_end.Cancel();
            m_paused = off;
            Continue();
        }
        m_paused = off;
    }

    /// Counts since the last call, with the areas up to now.
    DeviceCounts Collect()
    {
        Integrate();
        return std::exchange(m_counts, DeviceCounts{});
    }

    std::size_t Stored() const
    {
        return m_queue.size();
    }

  private:
    double Rate() const
    {
        return m_paused ? m_pausedRate : m_rate;
    }

    void Integrate()
    {
        const ns3::Time now = ns3::Simulator::Now();
        const double span = (now - m_lastChange).GetSeconds();
        m_counts.queueArea += span * static_cast<double>(m_queue.size());
        m_counts.pausedTime += m_paused ? span : 0.0;
        m_lastChange = now;
    }

    void Start()
    {
        m_left = m_work->GetValue(1.0, 0.0);
        Continue();
    }

    void Continue()
    {
        m_since = ns3::Simulator::Now();
        const double seconds = std::max(m_left, 0.0) / Rate();
        m_end = ns3::Simulator::Schedule(ns3::Seconds(seconds), &PauseDevice::Finish, this);
    }

    void Finish()
    {
        Integrate();
        ns3::Ptr<ns3::Packet> packet = m_queue.front();
        m_queue.pop_front();
        ++m_counts.sent;
        if (m_upstream && m_upstream->m_paused && m_queue.size() + 1 == m_low)
        {
            m_upstream->Pause(false);
        }
        ns3::StaticCast<ns3::PointToPointChannel>(GetChannel())
            ->TransmitStart(packet, this, ns3::Seconds(0)); // the peer has it at this same time
        if (!m_queue.empty())
        {
            Start();
        }
    }

    std::uint32_t m_capacity = 0;
    std::uint32_t m_high = 0;
    std::uint32_t m_low = 0;
    double m_rate = 0;
    double m_pausedRate = 0;
    bool m_paused = false;
    double m_left = 0; ///< work that the packet in transmission still needed at m_since
    ns3::Time m_since;
    ns3::Time m_lastChange;
    ns3::EventId m_end;
    std::deque<ns3::Ptr<ns3::Packet>> m_queue;
    ns3::Ptr<PauseDevice> m_upstream;
    ns3::Ptr<ns3::ExponentialRandomVariable> m_work;
    std::function<void()> m_onDrop = [] {};
    DeviceCounts m_counts;
};
