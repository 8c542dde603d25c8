// SPDX-License-Identifier: GPL-2.0-only
//
// Congestion controls of kaneko2007 that ns-3 does not have: TCP-Fusion and the decrease of
// Westwood-RE (the slides), TCP-Adaptive Reno (Shimonishi, Hama, Murase, PFLDnet 2006), Compound TCP (Tan, Song, Zhang, Sridharan, INFOCOM
// 2006), FAST TCP (Jin, Wei, Low, INFOCOM 2004). Windows in packets, times in seconds.

#ifndef HOPFLOW_RULES_H
#define HOPFLOW_RULES_H

#include "ns3/core-module.h"
#include "ns3/internet-module.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace ns3
{

/// What the rules share: slow start, a real-valued window, round trips, rate estimates. The window
/// grows once per acknowledgement, as in Linux 2.6 and in ns-3's NewReno, however much it acknowledges.
class HybridRule : public TcpCongestionOps
{
  public:
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t acked) override
    {
        // Recovery and timeouts move the socket's window: follow it.
        const double theirs = double(tcb->m_cWnd.Get()) / tcb->m_segmentSize;
        if (std::abs(theirs - m_window) > 1.0)
        {
            Moved(theirs);
            m_window = theirs;
        }
        if (acked > 0 && m_window * tcb->m_segmentSize < tcb->m_ssThresh)
        {
            m_window += 1.0;
            SlowStart();
        }
        else if (acked > 0)
        {
            Avoid();
        }
        m_window = std::max(m_window, 2.0);
        tcb->m_cWnd = static_cast<uint32_t>(m_window * tcb->m_segmentSize);
    }

    /// The third argument may be the smoothed round trip; the socket's state has the last one.
    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t acked, const Time&) override
    {
        m_acked += acked;
        if (!tcb->m_lastRtt.Get().IsStrictlyPositive())
        {
            return;
        }
        m_rtt = tcb->m_lastRtt.Get().GetSeconds();
        m_rttMin = std::min(m_rttMin, m_rtt);
        m_rttSum += m_rtt;
        ++m_rttCount;
        const double now = Simulator::Now().GetSeconds();
        const double length = now - m_roundStart;
        if (length < m_rtt)
        {
            return;
        }
        // One round trip: a sample of the rate, and Tustin's low-pass filter over the samples.
        const double sample = m_acked / length;
        m_rate = m_rate == 0 ? sample : 0.9 * m_rate + 0.05 * (sample + m_lastSample);
        m_lastSample = sample;
        m_largestRate = std::max(m_largestRate, m_rate);
        m_roundRtt = m_rttSum / m_rttCount;
        Round();
        m_roundStart = now;
        m_rttSum = 0;
        m_rttCount = m_acked = 0;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t) override
    {
        m_window = double(tcb->m_cWnd.Get()) / tcb->m_segmentSize;
        const double kept = std::max(Decrease(), 2.0);
        return static_cast<uint32_t>(kept * tcb->m_segmentSize);
    }

  protected:
    /// One acknowledged packet in congestion avoidance.
    virtual void Avoid() = 0;
    /// The window that is kept at a loss.
    virtual double Decrease() = 0;

    /// One acknowledged packet in slow start.
    virtual void SlowStart()
    {
    }

    /// The socket's window is another one now.
    virtual void Moved(double)
    {
    }

    /// A round trip is over.
    virtual void Round()
    {
    }

    double m_window{10};
    double m_rtt{0};
    double m_rttMin{1e9};
    double m_roundRtt{0};
    double m_rate{0};
    double m_largestRate{0};

  private:
    double m_roundStart{0};
    double m_rttSum{0};
    double m_lastSample{0};
    uint32_t m_rttCount{0};
    uint32_t m_acked{0};
};

/// max(a window like Reno's, a window that keeps alpha packets in the bottleneck).
class TcpFusion : public HybridRule
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::TcpFusion")
                               .SetParent<TcpCongestionOps>()
                               .AddConstructor<TcpFusion>();
        return id;
    }

    std::string GetName() const override
    {
        return "TcpFusion";
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpFusion>(this);
    }

  private:
    static constexpr double D_MIN = 1e-3;

    void SlowStart() override
    {
        m_reno = m_window;
    }

    void Avoid() override
    {
        m_reno += 1.0 / m_window;
        const double queued = m_window * (m_rtt - m_rttMin) / m_rtt;
        const double alpha = std::max(m_rate * D_MIN, 1.0);
        if (queued < alpha)
        {
            m_window += std::max(m_largestRate * D_MIN, 1.0) / m_window;
        }
        else if (queued > 3 * alpha)
        {
            m_window += (alpha - queued) / m_window;
        }
        m_window = std::max(m_window, m_reno);
    }

    double Decrease() override
    {
        m_reno = std::max(std::min(m_reno, m_window) / 2, 2.0);
        return m_window * std::max(m_rttMin / m_rtt, 0.5);
    }

    double m_reno{10};
};

/// Reno's increase with the decrease of Westwood-RE, RTTmin / RTT of the window is kept.
class TcpRateEstimate : public HybridRule
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::TcpRateEstimate")
                               .SetParent<TcpCongestionOps>()
                               .AddConstructor<TcpRateEstimate>();
        return id;
    }

    std::string GetName() const override
    {
        return "TcpRateEstimate";
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpRateEstimate>(this);
    }

  private:
    void Avoid() override
    {
        m_window += 1.0 / m_window;
    }

    double Decrease() override
    {
        return m_window * m_rttMin / m_rtt;
    }
};

/// Increase and decrease by the congestion level c, how close the round trip is to that at losses.
class TcpAdaptiveReno : public HybridRule
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::TcpAdaptiveReno")
                               .SetParent<TcpCongestionOps>()
                               .AddConstructor<TcpAdaptiveReno>();
        return id;
    }

    std::string GetName() const override
    {
        return "TcpAdaptiveReno";
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpAdaptiveReno>(this);
    }

  private:
    static constexpr double M = 10e6 / 12000; // packets/s
    static constexpr double ALPHA = 10;
    static constexpr double MEMORY = 0.85;

    double Level() const
    {
        if (m_rttCong <= m_rttMin)
        {
            return m_rttCong == 0 ? 0.0 : 1.0;
        }
        return std::clamp((m_rtt - m_rttMin) / (m_rttCong - m_rttMin), 0.0, 1.0);
    }

    void SlowStart() override
    {
        m_base = m_window;
        m_probe = 0;
    }

    void Moved(double window) override
    {
        m_base = window;
        m_probe = 0;
    }

    void Avoid() override
    {
        const double most = m_largestRate / M;
        const double tail = std::exp(-ALPHA);
        const double beta = 2 * most * (1 / ALPHA - (1 / ALPHA + 1) * tail);
        const double gamma = 1 - 2 * most * (1 / ALPHA - (1 / ALPHA + 0.5) * tail);
        const double c = Level();
        const double increase = most * std::exp(-ALPHA * c) + beta * c + gamma;
        m_base += 1.0 / m_window;
        m_probe = std::max(m_probe + increase / m_window, 0.0);
        m_window = m_base + m_probe;
    }

    double Decrease() override
    {
        const double kept = m_window / (1 + Level());
        m_rttCong = m_rttCong == 0 ? m_rtt : MEMORY * m_rttCong + (1 - MEMORY) * m_rtt;
        m_base = kept;
        m_probe = 0;
        return kept;
    }

    double m_base{10};
    double m_probe{0};
    double m_rttCong{0};
};

/// A window like Reno's plus a delay window.
class TcpCompound : public HybridRule
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::TcpCompound")
                               .SetParent<TcpCongestionOps>()
                               .AddConstructor<TcpCompound>();
        return id;
    }

    std::string GetName() const override
    {
        return "TcpCompound";
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpCompound>(this);
    }

  private:
    static constexpr double ALPHA = 0.125;
    static constexpr double BETA = 0.5;
    static constexpr double K = 0.75;
    static constexpr double GAMMA = 30;
    static constexpr double ZETA = 1;

    void SlowStart() override
    {
        m_loss = m_window;
        m_delay = 0;
        m_avoiding = false;
    }

    void Moved(double window) override
    {
        m_delay = std::clamp(window - m_loss, 0.0, m_delay);
        m_loss = window - m_delay;
    }

    void Avoid() override
    {
        m_avoiding = true;
        m_loss += 1.0 / m_window;
        m_window = m_loss + m_delay;
    }

    void Round() override
    {
        if (!m_avoiding)
        {
            return;
        }
        const double window = m_loss + m_delay;
        const double queued = window * (1 - m_rttMin / m_roundRtt);
        if (queued < GAMMA)
        {
            m_delay += std::max(ALPHA * std::pow(window, K) - 1, 0.0);
        }
        else
        {
            m_delay = std::max(m_delay - ZETA * queued, 0.0);
        }
    }

    double Decrease() override
    {
        m_loss = std::min(m_loss, m_window) / 2;
        m_delay = std::max(m_window * (1 - BETA) - m_loss, 0.0);
        return m_loss + m_delay;
    }

    double m_loss{10};
    double m_delay{0};
    bool m_avoiding{false};
};

/// w <- min(2 w, (1 - gamma) w + gamma (baseRTT/RTT w + alpha)) each round trip, spread over it.
class TcpFast : public HybridRule
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id =
            TypeId("ns3::TcpFast")
                .SetParent<TcpCongestionOps>()
                .AddConstructor<TcpFast>()
                .AddAttribute("Alpha",
                              "packets that the flow keeps in queues",
                              DoubleValue(20),
                              MakeDoubleAccessor(&TcpFast::m_alpha),
                              MakeDoubleChecker<double>());
        return id;
    }

    std::string GetName() const override
    {
        return "TcpFast";
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpFast>(this);
    }

  private:
    static constexpr double GAMMA = 0.5;

    void SlowStart() override
    {
        m_step = 0;
    }

    void Avoid() override
    {
        m_window += m_step;
    }

    void Round() override
    {
        const double aim =
            std::min(2 * m_window,
                     (1 - GAMMA) * m_window + GAMMA * (m_rttMin / m_roundRtt * m_window + m_alpha));
        m_step = (aim - m_window) / m_window;
    }

    double Decrease() override
    {
        m_step = 0;
        return m_window / 2;
    }

    double m_alpha{20};
    double m_step{0};
};

NS_OBJECT_ENSURE_REGISTERED(TcpFusion);
NS_OBJECT_ENSURE_REGISTERED(TcpRateEstimate);
NS_OBJECT_ENSURE_REGISTERED(TcpAdaptiveReno);
NS_OBJECT_ENSURE_REGISTERED(TcpCompound);
NS_OBJECT_ENSURE_REGISTERED(TcpFast);

} // namespace ns3

#endif
