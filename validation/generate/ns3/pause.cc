// SPDX-License-Identifier: GPL-2.0-only
//
// The tandem of malhotra2005, Sect. III, packet by packet: a source whose Poisson rate follows the
// state a = 1..N of the aggregate of TCP connections, two bridges with finite queues, 802.3x pause
// from the second to the first, a sink. A packet lost at either queue takes a to min(2a, N), every
// exponential time of mean RTT takes it back by one. Prints one line per batch (the first one is
// the warm-up): arrivals, then for each queue accepted, dropped, sent and the area below the queue
// length, then the paused time, the OFF messages, the packets that reached the sink, and the
// packets in queue 1 and queue 2 at the end of the batch.

#include "pause-device.h"

#include <cstdio>
#include <sstream>
#include <vector>

using namespace ns3;

/// The aggregate of TCP connections.
class AggregateSource : public Application
{
  public:
    void Configure(std::vector<double> rates, double rtt, Ptr<NetDevice> device)
    {
        m_rates = std::move(rates);
        m_rtt = rtt;
        m_device = device;
        m_gap = CreateObject<ExponentialRandomVariable>();
        m_gap->SetStream(1);
        m_recovery = CreateObject<ExponentialRandomVariable>();
        m_recovery->SetStream(2);
    }

    void Lost()
    {
        ChangeTo(std::min<std::size_t>(2 * m_state, m_rates.size()));
    }

    std::uint64_t Collect()
    {
        return std::exchange(m_arrivals, 0);
    }

  private:
    void StartApplication() override
    {
        ScheduleArrival();
    }

    void ScheduleArrival()
    {
        const double gap = m_gap->GetValue(1.0 / m_rates[m_state - 1], 0.0);
        m_next = Simulator::Schedule(Seconds(gap), &AggregateSource::Arrive, this);
    }

    void Arrive()
    {
        ++m_arrivals;
        ScheduleArrival();
        m_device->Send(Create<Packet>(1500), m_device->GetBroadcast(), 0x0800);
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
        if (m_state > 1 && !m_recover.IsPending())
        {
            const double wait = m_recovery->GetValue(m_rtt, 0.0);
            m_recover = Simulator::Schedule(Seconds(wait), &AggregateSource::Recover, this);
        }
    }

    void Recover()
    {
        ChangeTo(m_state - 1);
    }

    std::vector<double> m_rates;
    double m_rtt = 1;
    std::size_t m_state = 1;
    std::uint64_t m_arrivals = 0;
    EventId m_next;
    EventId m_recover;
    Ptr<NetDevice> m_device;
    Ptr<ExponentialRandomVariable> m_gap;
    Ptr<ExponentialRandomVariable> m_recovery;
};

int
main(int argc, char** argv)
{
    std::string rates = "25,1";
    std::uint32_t buffer1 = 10;
    std::uint32_t buffer2 = 20;
    std::uint32_t high = 15;
    std::uint32_t low = 15;
    double linkRate = 100;
    double pausedRate = 2;
    double bottleneckRate = 15;
    double rtt = 1;
    double warmup = 100;
    double batch = 1000;
    std::uint32_t batches = 30;
    std::uint32_t seed = 1;
    CommandLine cmd(__FILE__);
    cmd.AddValue("rates", "lambda_1,...,lambda_N in packets/s", rates);
    cmd.AddValue("buffer1", "B1 in packets", buffer1);
    cmd.AddValue("buffer2", "B2 in packets", buffer2);
    cmd.AddValue("high", "T1 in packets", high);
    cmd.AddValue("low", "T2 in packets", low);
    cmd.AddValue("link-rate", "mu1 in packets/s", linkRate);
    cmd.AddValue("paused-rate", "mu2 in packets/s", pausedRate);
    cmd.AddValue("bottleneck-rate", "nu in packets/s", bottleneckRate);
    cmd.AddValue("rtt", "mean time between recoveries in s", rtt);
    cmd.AddValue("warmup", "seconds before the first batch", warmup);
    cmd.AddValue("batch", "seconds of a batch", batch);
    cmd.AddValue("batches", "number of batches", batches);
    cmd.AddValue("seed", "run number of ns-3's random streams", seed);
    cmd.Parse(argc, argv);

    GlobalValue::Bind("SchedulerType", StringValue("ns3::ListScheduler")); // few pending events
    RngSeedManager::SetSeed(20051205);
    RngSeedManager::SetRun(seed);

    std::vector<double> levels;
    std::istringstream list(rates);
    for (std::string level; std::getline(list, level, ',');)
    {
        levels.push_back(std::stod(level));
    }

    NodeContainer nodes(3);
    std::vector<Ptr<PauseDevice>> queues;
    for (std::uint32_t i = 0; i < 2; ++i)
    {
        auto queue = CreateObject<PauseDevice>();
        auto peer = CreateObject<PointToPointNetDevice>();
        auto channel = CreateObject<PointToPointChannel>();
        queue->SetAddress(Mac48Address::Allocate());
        peer->SetAddress(Mac48Address::Allocate());
        nodes.Get(i)->AddDevice(queue);
        nodes.Get(i + 1)->AddDevice(peer);
        queue->Attach(channel);
        peer->Attach(channel);
        queues.push_back(queue);
    }
    queues[0]->Configure(buffer1, linkRate, pausedRate, 3);
    queues[1]->Configure(buffer2, bottleneckRate, bottleneckRate, 4);
    queues[1]->ControlUpstream(queues[0], high, low);

    auto source = CreateObject<AggregateSource>();
    source->Configure(levels, rtt, queues[0]);
    nodes.Get(0)->AddApplication(source);
    for (auto& queue : queues)
    {
        queue->OnDrop([&source] { source->Lost(); });
    }

    std::uint64_t delivered = 0;
    auto forward = [&](Ptr<NetDevice>, Ptr<const Packet> packet, auto&&...) {
        queues[1]->Send(packet->Copy(), queues[1]->GetBroadcast(), 0x0800);
    };
    auto count = [&](auto&&...) { ++delivered; };
    nodes.Get(1)->RegisterProtocolHandler(Node::ProtocolHandler(forward), 0x0800, nullptr);
    nodes.Get(2)->RegisterProtocolHandler(Node::ProtocolHandler(count), 0x0800, nullptr);

    for (std::uint32_t k = 0; k <= batches; ++k)
    {
        Simulator::Schedule(Seconds(warmup + k * batch), [&] {
            std::printf("%llu", static_cast<unsigned long long>(source->Collect()));
            const DeviceCounts counts[2] = {queues[0]->Collect(), queues[1]->Collect()};
            for (const auto& c : counts)
            {
                std::printf(" %llu %llu %llu %.9f",
                            static_cast<unsigned long long>(c.accepted),
                            static_cast<unsigned long long>(c.dropped),
                            static_cast<unsigned long long>(c.sent),
                            c.queueArea);
            }
            std::printf(" %.9f %llu %llu %zu %zu\n",
                        counts[0].pausedTime,
                        static_cast<unsigned long long>(counts[0].pauses),
                        static_cast<unsigned long long>(std::exchange(delivered, 0)),
                        queues[0]->Stored(),
                        queues[1]->Stored());
        });
    }
    Simulator::Stop(Seconds(warmup + batches * batch) + NanoSeconds(1));
    Simulator::Run();
    Simulator::Destroy();
}
