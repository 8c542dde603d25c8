// SPDX-License-Identifier: GPL-2.0-only
//
// TCP Reno (RFC 5681 with limited transmit, RFC 3042) as a pair of agents that count whole segments,
// for ns-3 has no Reno: its NewReno without SACK retransmits what was not lost. One recovery point
// guards against a second fast retransmission in the same window; a partial ACK ends the recovery, as
// Reno's does. After a timeout the sender goes back to the first segment without ACK, which doubles
// the timer until a segment that was sent once is acknowledged (Karn; RFC 6298 otherwise, one timed
// segment per round trip). No handshake. Headers are 40 bytes, as those of IPv4 and TCP.

#pragma once

#include "flow-plan.h"

#include "ns3/network-module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

/// Flow and number of a segment, or of the next one that the receiver expects; 40 bytes.
class AgentHeader : public ns3::Header
{
  public:
    std::uint8_t flow = 0;
    std::int64_t number = 0;

    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid =
            ns3::TypeId("hopflow::AgentHeader").SetParent<ns3::Header>().AddConstructor<AgentHeader>();
        return tid;
    }

    ns3::TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    std::uint32_t GetSerializedSize() const override
    {
        return 40;
    }

    void Serialize(ns3::Buffer::Iterator start) const override
    {
        start.WriteU8(flow);
        start.WriteU64(static_cast<std::uint64_t>(number));
        start.WriteU8(0, 31);
    }

    std::uint32_t Deserialize(ns3::Buffer::Iterator start) override
    {
        flow = start.ReadU8();
        number = static_cast<std::int64_t>(start.ReadU64());
        return 40;
    }

    void Print(std::ostream& stream) const override
    {
        stream << "flow " << unsigned(flow) << " number " << number;
    }
};

/// Both ends of one Reno flow.
class RenoFlow
{
  public:
    Tally tally;
    std::uint64_t bytes = 0; ///< what the receiver has in order, each once

    RenoFlow(const Plan& plan, std::uint8_t flow, ns3::Ptr<ns3::NetDevice> sender,
             ns3::Ptr<ns3::NetDevice> receiver, std::int64_t stream)
        : m_plan(plan),
          m_flow(flow),
          m_sender(sender),
          m_receiver(receiver),
          m_random(ns3::CreateObject<ns3::UniformRandomVariable>())
    {
        m_random->SetStream(stream);
        m_fileSegments = static_cast<std::int64_t>((plan.fileBytes + plan.segment - 1) / plan.segment);
        Reset();
        const double start = m_random->GetValue(0.0, plan.starts);
        tally.connections = 1;
        ns3::Simulator::Schedule(ns3::Seconds(start), &RenoFlow::NextFile, this);
    }

    /// A data segment came in at the receiving host.
    void Data(const AgentHeader& header)
    {
        if (header.number >= m_expected)
        {
            m_early.insert(header.number);
        }
        while (!m_early.empty() && *m_early.begin() == m_expected)
        {
            m_early.erase(m_early.begin());
            bytes += Bytes(m_expected++);
        }
        Transmit(m_receiver, m_expected, 0);
    }

    /// An ACK came in at the sending host.
    void Ack(const AgentHeader& header)
    {
        if (header.number > m_first)
        {
            NewAck(header.number);
        }
        else if (header.number == m_first && m_next > m_first)
        {
            DuplicateAck();
        }
    }

  private:
    static double Now()
    {
        return ns3::Simulator::Now().GetSeconds();
    }

    /// Payload of a segment: the last one of a file is shorter.
    std::uint32_t Bytes(std::int64_t number) const
    {
        const bool last = (number + 1) % m_fileSegments == 0 && m_plan.traffic != "endless";
        return last ? static_cast<std::uint32_t>(
                          m_plan.fileBytes - (m_fileSegments - 1) * std::uint64_t{m_plan.segment})
                    : m_plan.segment;
    }

    void Reset()
    {
        m_window = m_plan.initialWindow;
        m_threshold = m_plan.window;
        m_srtt = -1;
        m_rto = m_plan.firstRto;
        m_backoff = 1;
        m_timing = false;
    }

    void NextFile()
    {
        if (m_plan.fresh && m_end > 0)
        {
            Reset();
            ++tally.connections;
        }
        m_fileStart = Now();
        m_end += m_plan.traffic == "endless" ? std::int64_t{1} << 60 : m_fileSegments;
        if (m_plan.traffic == "clock")
        {
            ns3::Simulator::Schedule(ns3::Seconds(m_plan.interval), &RenoFlow::NextFile, this);
        }
        SendMuch();
    }

    void FileDone()
    {
        ++tally.files;
        tally.fileTime += Now() - m_fileStart;
        const double wait = m_plan.exponential
                                ? -m_plan.interval * std::log(1.0 - m_random->GetValue(0, 1))
                                : m_plan.interval;
        ns3::Simulator::Schedule(ns3::Seconds(wait), &RenoFlow::NextFile, this);
    }

    // sending

    void Transmit(ns3::Ptr<ns3::NetDevice> device, std::int64_t number, std::uint32_t payload)
    {
        AgentHeader header;
        header.flow = m_flow;
        header.number = number;
        auto packet = ns3::Create<ns3::Packet>(payload);
        packet->AddHeader(header);
        device->Send(packet, device->GetBroadcast(), 0x0800);
    }

    void Output(std::int64_t number)
    {
        ++tally.segments;
        if (number <= m_highest)
        {
            ++tally.retransmissions;
        }
        else
        {
            m_highest = number;
            if (!m_timing)
            {
                m_timing = true;
                m_timed = number;
                m_timedSince = Now();
            }
        }
        Transmit(m_sender, number, Bytes(number));
        if (!m_timer.IsPending())
        {
            StartTimer();
        }
    }

    std::int64_t Window() const
    {
        return std::min<std::int64_t>(static_cast<std::int64_t>(m_window) + m_inflation,
                                      m_plan.window);
    }

    void SendMuch()
    {
        while (m_next < m_end && m_next < m_first + Window())
        {
            Output(m_next++);
        }
    }

    // ACKs

    void NewAck(std::int64_t first)
    {
        m_inflation = 0;
        m_duplicates = 0;
        m_first = first;
        m_next = std::max(m_next, m_first);
        if (m_timing && m_first > m_timed)
        {
            m_timing = false;
            m_backoff = 1;
            Sample(Now() - m_timedSince);
        }
        m_timer.Cancel();
        if (m_next > m_first)
        {
            StartTimer();
        }
        m_window += m_window < m_threshold ? 1.0 : 1.0 / m_window;
        m_window = std::min(m_window, static_cast<double>(m_plan.window));
        SendMuch();
        if (m_plan.traffic == "think" && m_first == m_end)
        {
            FileDone();
        }
    }

    void DuplicateAck()
    {
        ++m_duplicates;
        if (m_duplicates < 3)
        {
            // limited transmit: one new segment per duplicate ACK
            if (m_next < m_end && m_next < m_first + m_plan.window &&
                m_next <= m_first + static_cast<std::int64_t>(m_window) + m_duplicates - 1)
            {
                Output(m_next++);
            }
        }
        else if (m_duplicates == 3)
        {
            if (m_first <= m_recover)
            {
                return; // of a window that was cut already
            }
            m_recover = m_highest;
            ++tally.recoveries;
            Halve();
            m_window = m_threshold;
            m_inflation = 3;
            m_timing = false;
            m_timer.Cancel();
            Output(m_first);
            SendMuch();
        }
        else if (m_inflation > 0)
        {
            ++m_inflation;
            SendMuch();
        }
    }

    void Halve()
    {
        m_threshold = std::max(std::floor(std::min<double>(m_window, m_plan.window) / 2), 2.0);
    }

    // the timer

    void StartTimer()
    {
        const double seconds =
            std::min(std::max(m_rto, m_plan.minimumRto) * m_backoff, std::max(60.0, m_rto));
        m_timer = ns3::Simulator::Schedule(ns3::Seconds(seconds), &RenoFlow::Timeout, this);
    }

    void Timeout()
    {
        ++tally.timeouts;
        m_recover = m_highest;
        m_inflation = 0;
        m_duplicates = 0;
        Halve();
        m_window = 1;
        m_backoff = std::min(2 * m_backoff, 64);
        m_timing = false;
        m_next = m_first;
        SendMuch();
    }

    void Sample(double rtt)
    {
        tally.rtt += rtt;
        ++tally.samples;
        if (m_srtt < 0)
        {
            m_srtt = rtt;
            m_deviation = rtt / 2;
        }
        else
        {
            m_deviation = 0.75 * m_deviation + 0.25 * std::abs(m_srtt - rtt);
            m_srtt = 0.875 * m_srtt + 0.125 * rtt;
        }
        m_rto = m_srtt + 4 * m_deviation;
    }

    const Plan& m_plan;
    std::uint8_t m_flow;
    ns3::Ptr<ns3::NetDevice> m_sender;
    ns3::Ptr<ns3::NetDevice> m_receiver;
    ns3::Ptr<ns3::UniformRandomVariable> m_random;
    std::int64_t m_fileSegments = 0;
    double m_fileStart = 0;
    std::int64_t m_end = 0;      ///< segments that the application has produced
    std::int64_t m_first = 0;    ///< first segment without ACK
    std::int64_t m_next = 0;     ///< next segment to be sent
    std::int64_t m_highest = -1; ///< highest segment ever sent
    std::int64_t m_recover = -1;
    double m_window = 1;
    double m_threshold = 0;
    std::int64_t m_inflation = 0;
    int m_duplicates = 0;
    bool m_timing = false;
    std::int64_t m_timed = 0;
    double m_timedSince = 0;
    double m_srtt = -1;
    double m_deviation = 0;
    double m_rto = 3;
    int m_backoff = 1;
    ns3::EventId m_timer;
    std::int64_t m_expected = 0;
    std::set<std::int64_t> m_early;
};
