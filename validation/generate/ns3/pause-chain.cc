// SPDX-License-Identifier: GPL-2.0-only
//
// The tandem of malhotra2005, Sect. III, on ns-3's event queue and random numbers; packets are
// counted, not built, and handed on at once. A source whose Poisson rate follows the state a = 1..N
// of the aggregate of TCP connections, queue 1, queue 2, a sink. Transmissions are exponential or of
// fixed length. While paused, queue 1 sends at a lower rate, which takes hold within a packet
// (--pause=rate), or ends the packet in transmission and is silent (--pause=stop, as 802.3x does);
// messages may need time. Recovery (rule 13) happens always or only while queue 2 is up. At j = T1
// rule 8 replaces rule 6, or both fire as printed: queue 1 then sends at twice its rate, and every
// second of these packets on average starts a pause. Prints one line per batch (the first one is
// the warm-up): arrivals, then for each queue accepted, dropped, sent and the area below the queue
// length, then the time in which queue 1 was held, the OFF messages, the packets at the sink, and
// the packets in queue 1 and queue 2 at the end of the batch.

#include "ns3/core-module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

/// From seconds to ns-3's time, which counts nanoseconds.
Time
Span(double seconds)
{
    return Time(static_cast<std::int64_t>(std::llround(seconds * 1e9)));
}

/// What is counted at a queue between two lines of the output.
struct Counts
{
    std::uint64_t accepted = 0;
    std::uint64_t dropped = 0;
    std::uint64_t sent = 0;
    double area = 0; ///< packets x ns
};

/// A finite queue and its transmitter; work is in packets of mean length.
struct Station
{
    std::uint32_t capacity = 0; ///< the packet in transmission included
    std::uint32_t stored = 0;
    double rate = 0;  ///< packets/s
    double speed = 0; ///< the rate in force for the packet in transmission
    double left = 0;  ///< work left at `since` of the packet in transmission
    std::int64_t since = 0;
    std::int64_t changed = 0;
    EventId end;
    Counts counts;
    Ptr<ExponentialRandomVariable> work;

    void Integrate(std::int64_t now)
    {
        counts.area += static_cast<double>(now - changed) * stored;
        changed = now;
    }
};

/// Everything between source and sink.
class Tandem
{
  public:
    std::vector<double> rates;
    double rtt = 1;
    std::uint32_t high = 15;
    std::uint32_t low = 15;
    double linkRate = 100;
    double pausedRate = 2;
    double signalDelay = 0;
    bool fixedSize = false;
    bool stops = false;
    bool recoversWhenDown = true;
    bool bothAtThreshold = false;
    Station stations[2];

    void Begin()
    {
        m_gap = Stream(1);
        m_recovery = Stream(2);
        stations[0].work = Stream(3);
        stations[1].work = Stream(4);
        m_coin = CreateObject<UniformRandomVariable>();
        m_coin->SetStream(5);
        ScheduleArrival();
    }

    void Print()
    {
        const std::int64_t now = Now();
        std::printf("%llu", Number(std::exchange(m_arrivals, 0)));
        for (Station& station : stations)
        {
            station.Integrate(now);
            const Counts c = std::exchange(station.counts, Counts{});
            std::printf(" %llu %llu %llu %.9f",
                        Number(c.accepted),
                        Number(c.dropped),
                        Number(c.sent),
                        1e-9 * c.area);
        }
        CountHeld(now);
        std::printf(" %.9f %llu %llu %u %u\n",
                    1e-9 * static_cast<double>(std::exchange(m_heldTime, 0)),
                    Number(std::exchange(m_pauses, 0)),
                    Number(std::exchange(m_delivered, 0)),
                    stations[0].stored,
                    stations[1].stored);
    }

  private:
    static Ptr<ExponentialRandomVariable> Stream(std::int64_t number)
    {
        auto variable = CreateObject<ExponentialRandomVariable>();
        variable->SetStream(number);
        return variable;
    }

    static std::int64_t Now()
    {
        return Simulator::Now().GetTimeStep();
    }

    static unsigned long long Number(std::uint64_t value)
    {
        return value;
    }

    // the source

    void ScheduleArrival()
    {
        const double gap = m_gap->GetValue(1.0 / rates[m_state - 1], 0.0);
        m_next = Simulator::Schedule(Span(gap), &Tandem::Arrive, this);
    }

    void Arrive()
    {
        ++m_arrivals;
        ScheduleArrival();
        Enter(0);
    }

    void Lost()
    {
        ChangeTo(std::min<std::size_t>(2 * m_state, rates.size()));
    }

    /// The Poisson process forgets: the next arrival is drawn anew at the new rate.
    void ChangeTo(std::size_t state)
    {
        if (state != m_state)
        {
            m_state = state;
            m_next.Cancel();
            ScheduleArrival();
        }
        ScheduleRecovery();
    }

    void ScheduleRecovery()
    {
        if (m_state > 1 && !m_recover.IsPending() && (recoversWhenDown || !m_down))
        {
            m_recover =
                Simulator::Schedule(Span(m_recovery->GetValue(rtt, 0.0)), &Tandem::Recover, this);
        }
    }

    void Recover()
    {
        ChangeTo(m_state - 1);
    }

    // the queues, 0 and 1

    void Enter(int which)
    {
        Station& station = stations[which];
        if (station.stored >= station.capacity)
        {
            ++station.counts.dropped;
            Lost();
            return;
        }
        station.Integrate(Now());
        ++station.stored;
        ++station.counts.accepted;
        if (which == 1 && !m_down && Pauses(station.stored))
        {
            Signal(true);
        }
        if (!station.end.IsPending())
        {
            Start(which);
        }
    }

    void Start(int which)
    {
        Station& station = stations[which];
        if (which == 0 && m_held && stops)
        {
            return;
        }
        station.left = fixedSize ? 1.0 : station.work->GetValue(1.0, 0.0);
        Continue(which);
    }

    void Continue(int which)
    {
        Station& station = stations[which];
        station.since = Now();
        station.speed = which == 0 ? FirstSpeed() : station.rate;
        station.end = Simulator::Schedule(Span(std::max(station.left, 0.0) / station.speed),
                                          &Tandem::Finish, this, which);
    }

    double FirstSpeed() const
    {
        if (m_held && !stops)
        {
            return pausedRate;
        }
        const bool twice = bothAtThreshold && !m_down && stations[1].stored == high &&
                           high < stations[1].capacity;
        return (twice ? 2.0 : 1.0) * stations[0].rate;
    }

    /// What is left of the packet in transmission at queue 1 goes on at the rate of now.
    void Retime()
    {
        Station& first = stations[0];
        if (first.end.IsPending() && !stops)
        {
            first.left -= 1e-9 * static_cast<double>(Now() - first.since) * first.speed;
            first.end.Cancel();
            Continue(0);
        }
    }

    void Finish(int which)
    {
        Station& station = stations[which];
        station.Integrate(Now());
        --station.stored;
        ++station.counts.sent;
        if (which == 0)
        {
            Enter(1);
        }
        else
        {
            ++m_delivered;
            if (m_down && station.stored + 1 == low)
            {
                Signal(false);
            }
            if (bothAtThreshold)
            {
                Retime();
            }
        }
        if (station.stored > 0)
        {
            Start(which);
        }
    }

    // the pause

    /// Whether an arrival that brought queue 2 to this length starts a pause.
    bool Pauses(std::uint32_t stored)
    {
        if (bothAtThreshold)
        {
            return stored == high + 1 && m_coin->GetValue() < 0.5;
        }
        return stored > high;
    }

    void Signal(bool down)
    {
        m_down = down;
        m_pauses += down;
        if (!recoversWhenDown)
        {
            if (down)
            {
                m_recover.Cancel();
            }
            ScheduleRecovery();
        }
        if (signalDelay > 0)
        {
            Simulator::Schedule(Span(signalDelay), &Tandem::Hold, this, down);
        }
        else
        {
            Hold(down);
        }
    }

    void Hold(bool held)
    {
        CountHeld(Now());
        m_held = held;
        if (stations[0].end.IsPending())
        {
            Retime();
        }
        else if (!held && stations[0].stored > 0)
        {
            Start(0);
        }
    }

    void CountHeld(std::int64_t now)
    {
        m_heldTime += m_held ? now - m_heldSince : 0;
        m_heldSince = now;
    }

    std::size_t m_state = 1;
    bool m_down = false; ///< what queue 2 has announced
    bool m_held = false; ///< what queue 1 has heard
    std::int64_t m_heldSince = 0;
    std::int64_t m_heldTime = 0;
    std::uint64_t m_arrivals = 0;
    std::uint64_t m_pauses = 0;
    std::uint64_t m_delivered = 0;
    EventId m_next;
    EventId m_recover;
    Ptr<ExponentialRandomVariable> m_gap;
    Ptr<ExponentialRandomVariable> m_recovery;
    Ptr<UniformRandomVariable> m_coin;
};

} // namespace

int
main(int argc, char** argv)
{
    std::string rates = "25,1";
    std::uint32_t buffer1 = 10;
    std::uint32_t buffer2 = 20;
    double bottleneckRate = 15;
    std::string service = "exponential";
    std::string pause = "rate";
    std::string recovery = "always";
    std::string atThreshold = "exclusive";
    double warmup = 100;
    double batch = 1000;
    std::uint32_t batches = 20;
    std::uint32_t family = 0;
    std::uint32_t seed = 1;
    Tandem tandem;
    CommandLine cmd(__FILE__);
    cmd.AddValue("rates", "lambda_1,...,lambda_N in packets/s", rates);
    cmd.AddValue("buffer1", "B1 in packets", buffer1);
    cmd.AddValue("buffer2", "B2 in packets", buffer2);
    cmd.AddValue("high", "T1 in packets", tandem.high);
    cmd.AddValue("low", "T2 in packets", tandem.low);
    cmd.AddValue("link-rate", "mu1 in packets/s", tandem.linkRate);
    cmd.AddValue("paused-rate", "mu2 in packets/s, for --pause=rate", tandem.pausedRate);
    cmd.AddValue("bottleneck-rate", "nu in packets/s", bottleneckRate);
    cmd.AddValue("rtt", "mean time between recoveries in s", tandem.rtt);
    cmd.AddValue("service", "exponential or fixed", service);
    cmd.AddValue("pause", "rate or stop", pause);
    cmd.AddValue("signal-delay", "from the threshold to queue 1, in s", tandem.signalDelay);
    cmd.AddValue("recovery", "always, or up: only while queue 2 is up", recovery);
    cmd.AddValue("at-threshold", "exclusive: at j = T1 rule 8 replaces 6; or both", atThreshold);
    cmd.AddValue("warmup", "seconds before the first batch", warmup);
    cmd.AddValue("batch", "seconds of a batch", batch);
    cmd.AddValue("batches", "number of batches", batches);
    cmd.AddValue("family", "seed of ns-3's generator, added to 20051205", family);
    cmd.AddValue("seed", "run number of ns-3's random streams", seed);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_IF(service != "exponential" && service != "fixed", "service " << service);
    NS_ABORT_MSG_IF(pause != "rate" && pause != "stop", "pause " << pause);
    NS_ABORT_MSG_IF(recovery != "always" && recovery != "up", "recovery " << recovery);
    NS_ABORT_MSG_IF(atThreshold != "exclusive" && atThreshold != "both",
                    "at-threshold " << atThreshold);

    GlobalValue::Bind("SchedulerType", StringValue("ns3::ListScheduler")); // few pending events
    RngSeedManager::SetSeed(20051205 + family);
    RngSeedManager::SetRun(seed);

    std::istringstream list(rates);
    for (std::string level; std::getline(list, level, ',');)
    {
        tandem.rates.push_back(std::stod(level));
    }
    tandem.fixedSize = service == "fixed";
    tandem.stops = pause == "stop";
    tandem.recoversWhenDown = recovery == "always";
    tandem.bothAtThreshold = atThreshold == "both";
    tandem.stations[0].capacity = buffer1;
    tandem.stations[0].rate = tandem.linkRate;
    tandem.stations[1].capacity = buffer2;
    tandem.stations[1].rate = bottleneckRate;
    tandem.Begin();
    for (std::uint32_t k = 0; k <= batches; ++k)
    {
        Simulator::Schedule(Seconds(warmup + k * batch), &Tandem::Print, &tandem);
    }
    Simulator::Stop(Seconds(warmup + batches * batch) + NanoSeconds(1));
    Simulator::Run();
    Simulator::Destroy();
}
