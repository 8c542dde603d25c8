// SPDX-License-Identifier: GPL-2.0-only
//
// sharing.cc with one more loss recovery for the option --ns3::TcpL4Protocol::RecoveryType, and with a
// first option --leastTimeout=SECONDS: the least retransmission timeout of both senders.

#define main sharing
#include "sharing.cc"
#undef main

#include <algorithm>

namespace
{

/// Proportional rate reduction with the slow-start reduction bound, RFC 6937, Sect. 3, on connections with
/// SACK. ns-3.44's own counts a packet twice in DeliveredData for each duplicate ACK (its issue 1350), takes
/// RecoverFS for the pipe (issue 1351), and bounds as in RFC 9937.
class Rfc6937Recovery : public TcpRecoveryOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId type = TypeId("Rfc6937Recovery")
                                 .SetParent<TcpRecoveryOps>()
                                 .AddConstructor<Rfc6937Recovery>();
        return type;
    }

    std::string GetName() const override
    {
        return "Rfc6937Recovery";
    }

    void EnterRecovery(Ptr<TcpSocketState> state,
                       std::uint32_t,
                       std::uint32_t flight,
                       std::uint32_t delivered) override
    {
        m_delivered = m_out = 0;
        m_flight = flight;
        DoRecovery(state, delivered, true);
    }

    void DoRecovery(Ptr<TcpSocketState> state, std::uint32_t delivered, bool) override
    {
        const std::int64_t pipe = state->m_bytesInFlight.Get();
        const std::int64_t target = state->m_ssThresh.Get();
        m_delivered += delivered;
        std::int64_t count = 0;
        if (pipe > target)
        {
            count = (m_delivered * target + m_flight - 1) / m_flight - m_out;
        }
        else
        {
            const std::int64_t most = std::max<std::int64_t>(m_delivered - m_out, delivered);
            count = std::min(target - pipe, most + state->m_segmentSize);
        }
        state->m_cWnd = pipe + std::max<std::int64_t>(count, 0);
        state->m_cWndInfl = state->m_cWnd;
    }

    void ExitRecovery(Ptr<TcpSocketState> state) override
    {
        state->m_cWndInfl = state->m_cWnd;
    }

    void UpdateBytesSent(std::uint32_t sent) override
    {
        m_out += sent;
    }

    Ptr<TcpRecoveryOps> Fork() override
    {
        return CopyObject<Rfc6937Recovery>(this);
    }

  private:
    std::int64_t m_delivered{0};
    std::int64_t m_out{0};
    std::int64_t m_flight{1};
};

NS_OBJECT_ENSURE_REGISTERED(Rfc6937Recovery);

void
SetLeastTimeout(double seconds)
{
    Config::Set("/NodeList/*/$ns3::TcpL4Protocol/SocketList/*/MinRto", TimeValue(Seconds(seconds)));
}

} // namespace

int
main(int argc, char** argv)
{
    double least = 0.2;
    CommandLine own(__FILE__);
    own.AddValue("leastTimeout", "of both senders, in s", least);
    const int first = std::min(argc - 1, 1);
    own.Parse(1 + first, argv);
    Simulator::Schedule(Seconds(1.0), &SetLeastTimeout, least); // both flows have started
    argv[first] = argv[0];
    return sharing(argc - first, argv + first);
}
