// SPDX-License-Identifier: GPL-2.0-only
//
// One-way TCP as a sender and a receiver of numbered packets, without handshake, bytes or headers:
// Tahoe, Reno and NewReno as ns-2's agents behave with their default settings, so that both
// simulators can be compared packet for packet. The receiver acknowledges every packet with the last
// one that came in order. Tahoe goes back to the first unacknowledged packet; Reno leaves fast
// recovery with the first ACK of new data; NewReno stays until all that was outstanding is
// acknowledged and sends one packet again per partial ACK. ns-3's own socket is no substitute: it has
// neither Tahoe nor Reno and searches its whole list of segments for every ACK during recovery.

#pragma once

#include "ns3/core-module.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

enum class Recovery
{
    tahoe,
    reno,
    newReno
};

class WindowSender
{
  public:
    WindowSender(Recovery recovery, std::int64_t window)
        : m_recovery(recovery),
          m_bound(window),
          m_threshold(static_cast<double>(window))
    {
    }

    WindowSender(const WindowSender&) = delete;

    /// Puts a packet into the network.
    std::function<void(std::int64_t)> output;

    std::uint64_t sent = 0;   ///< also those sent again
    std::uint64_t resent = 0; ///< of these
    std::uint64_t timeouts = 0;
    std::uint64_t fastRetransmits = 0;

    double WindowPackets() const
    {
        return m_window;
    }

    void Start()
    {
        Fill(UNLIMITED);
    }

    void Acknowledge(std::int64_t ack)
    {
        if (ack < m_acked)
        {
            return;
        }
        if (ack > m_acked)
        {
            const bool partial =
                m_recovery == Recovery::newReno && m_recovering && ack < m_recover;
            if (partial)
            {
                Partial(ack);
            }
            else
            {
                Advance(ack);
            }
        }
        else
        {
            Duplicate();
        }
        if (m_duplicates == 0 || m_recovery == Recovery::tahoe)
        {
            Fill(UNLIMITED);
        }
        else if (m_duplicates >= DUPLICATES)
        {
            Fill(m_recovery == Recovery::newReno ? 2 : UNLIMITED);
        }
    }

  private:
    static constexpr std::int64_t UNLIMITED = std::int64_t{1} << 60;
    static constexpr int DUPLICATES = 3;
    static constexpr double TIMER_TICK = 0.01; ///< s
    static constexpr double LEAST_TIMEOUT = 0.2;
    static constexpr double FIRST_TIMEOUT = 3.0;

    std::int64_t Allowed() const
    {
        return std::min(static_cast<std::int64_t>(m_window) + m_inflation, m_bound);
    }

    void Fill(std::int64_t most)
    {
        for (; most > 0 && m_next <= m_acked + Allowed(); --most)
        {
            Send(m_next++);
        }
    }

    void Send(std::int64_t number)
    {
        ++sent;
        if (number > m_highest)
        {
            m_highest = number;
            if (!m_timing)
            {
                m_timing = true;
                if (number > m_timed)
                {
                    m_timed = number;
                    m_timedAt = ns3::Simulator::Now().GetSeconds();
                }
            }
        }
        else
        {
            ++resent;
        }
        if (!m_timer.IsPending())
        {
            Restart();
        }
        output(number);
    }

    /// An ACK of new data outside of NewReno's recovery.
    void Advance(std::int64_t ack)
    {
        m_recovering = false;
        m_inflation = 0;
        m_firstPartial = true;
        Timer(ack);
        m_duplicates = 0;
        Take(ack, true);
        if (m_window < m_threshold)
        {
            m_window += 1.0;
        }
        else
        {
            m_window += 1.0 / m_window;
        }
        if (ack == 0)
        {
            m_window = 2.0; // the first packet stands for the handshake
        }
    }

    void Partial(std::int64_t ack)
    {
        const std::int64_t deflation = ack - m_acked;
        if (m_firstPartial)
        {
            m_firstPartial = false;
            Timer(ack);
        }
        if (m_inflation > deflation)
        {
            m_inflation -= deflation - 1;
        }
        else
        {
            m_window = std::max(1.0, m_window - static_cast<double>(deflation - m_inflation));
            m_inflation = 1;
        }
        Take(ack, false);
        Send(m_acked + 1);
    }

    void Take(std::int64_t ack, bool measure)
    {
        m_acked = ack;
        m_next = std::max(m_next, ack + 1);
        if (m_timing && ack >= m_timed)
        {
            m_timing = false;
            m_backoff = 1;
            if (measure)
            {
                Measure(ns3::Simulator::Now().GetSeconds() - m_timedAt);
            }
        }
    }

    void Duplicate()
    {
        ++m_duplicates;
        if (m_duplicates < DUPLICATES)
        {
            // limited transmit
            if (m_next <= m_acked + m_bound &&
                static_cast<double>(m_next) <= static_cast<double>(m_acked + m_duplicates) + m_window)
            {
                Send(m_next++);
            }
        }
        else if (m_duplicates > DUPLICATES)
        {
            m_inflation += m_recovering && m_recovery != Recovery::tahoe;
        }
        else if (m_acked > m_recover)
        {
            ++fastRetransmits;
            m_recover = m_highest;
            const std::int64_t half = Allowed() / 2;
            m_threshold = static_cast<double>(std::max<std::int64_t>(2, half));
            m_recovering = true;
            m_timing = false;
            if (m_recovery == Recovery::tahoe)
            {
                m_window = 1.0;
                m_next = m_acked + 1;
                Restart();
                return;
            }
            m_window = static_cast<double>(std::max<std::int64_t>(1, half));
            Restart();
            Send(m_acked + 1);
            m_inflation = DUPLICATES;
        }
    }

    // retransmission timer, with the tick and the fixed-point filters of ns-2

    void Timer(std::int64_t ack)
    {
        if (m_next > ack || ack < m_highest)
        {
            Restart();
        }
        else
        {
            m_timer.Cancel();
        }
    }

    void Restart()
    {
        const double least = std::max(LEAST_TIMEOUT, 2 * TIMER_TICK);
        const double timeout = std::max(least, m_timeout * m_backoff);
        m_timer.Cancel();
        m_timer = ns3::Simulator::Schedule(ns3::Seconds(timeout), &WindowSender::Expire, this);
    }

    void Expire()
    {
        ++timeouts;
        m_inflation = 0;
        m_duplicates = m_recovery == Recovery::tahoe ? m_duplicates : 0;
        m_recover = m_highest;
        m_threshold = static_cast<double>(std::max<std::int64_t>(2, Allowed() / 2));
        m_window = 1.0;
        m_recovering = false;
        m_backoff = std::min(64, 2 * m_backoff);
        m_next = m_acked + 1;
        m_timing = false;
        Restart();
        Fill(UNLIMITED);
    }

    void Measure(double seconds)
    {
        const int rtt = std::max(1, static_cast<int>(seconds / TIMER_TICK + 0.5));
        if (m_mean == 0)
        {
            m_mean = 8 * rtt;
            m_deviation = 2 * rtt;
        }
        else
        {
            int delta = rtt - m_mean / 8;
            m_mean = std::max(1, m_mean + delta);
            delta = std::abs(delta) - m_deviation / 4;
            m_deviation = std::max(1, m_deviation + delta);
        }
        m_timeout = (8 * m_deviation + m_mean) / 8 * TIMER_TICK;
    }

    Recovery m_recovery;
    std::int64_t m_bound;
    double m_window = 1.0;
    double m_threshold;
    std::int64_t m_inflation = 0;
    std::int64_t m_next = 0;
    std::int64_t m_acked = -1;
    std::int64_t m_highest = -1;
    std::int64_t m_recover = -1;
    int m_duplicates = 0;
    bool m_recovering = false;
    bool m_firstPartial = true;
    bool m_timing = false;
    std::int64_t m_timed = -1;
    double m_timedAt = 0;
    int m_mean = 0;
    int m_deviation = 0;
    int m_backoff = 1;
    double m_timeout = FIRST_TIMEOUT;
    ns3::EventId m_timer;
};

class WindowReceiver
{
  public:
    explicit WindowReceiver(std::int64_t window)
        : m_seen(static_cast<std::size_t>(4 * window), false)
    {
    }

    std::uint64_t duplicates = 0; ///< packets that had come before

    /// The acknowledgement that answers this packet.
    std::int64_t Take(std::int64_t number)
    {
        if (number < m_next || m_seen[Place(number)])
        {
            ++duplicates;
        }
        else
        {
            m_seen[Place(number)] = true;
            while (m_seen[Place(m_next)])
            {
                m_seen[Place(m_next++)] = false;
            }
        }
        return m_next - 1;
    }

    std::int64_t InOrder() const
    {
        return m_next;
    }

  private:
    std::size_t Place(std::int64_t number) const
    {
        return static_cast<std::size_t>(number) % m_seen.size();
    }

    std::vector<bool> m_seen;
    std::int64_t m_next = 0;
};
