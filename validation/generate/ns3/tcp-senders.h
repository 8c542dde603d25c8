// SPDX-License-Identifier: GPL-2.0-only
//
// ns-3's TCP socket for windows of many thousand packets without losses: the window is bounded like
// ns-2's `window_`, and new data is sent without a walk over everything outstanding. Recovery from
// losses is that of the base class, NewReno without SACK.

#pragma once

#include "ns3/internet-module.h"

#include <algorithm>
#include <cstdint>

/// A rule of congestion control whose window stays below a bound.
template <class Rule>
class Bounded : public Rule
{
  public:
    explicit Bounded(std::uint32_t bytes)
        : m_bytes(bytes)
    {
    }

    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> state, std::uint32_t segments) override
    {
        Rule::IncreaseWindow(state, segments);
        if (state->m_cWnd.Get() > m_bytes)
        {
            state->m_cWnd = m_bytes;
        }
    }

  private:
    std::uint32_t m_bytes;
};

class SenderSocket : public ns3::TcpSocketBase
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("hopflow::SenderSocket")
                                     .SetParent<ns3::TcpSocketBase>()
                                     .AddConstructor<SenderSocket>();
        return tid;
    }

    std::uint64_t sent = 0;   ///< segments, also those sent again
    std::uint64_t resent = 0; ///< of these
    std::uint64_t timeouts = 0;
    std::uint64_t fastRetransmits = 0;

    double WindowPackets() const
    {
        return static_cast<double>(m_tcb->m_cWnd.Get()) / m_tcb->m_segmentSize;
    }

  protected:
    std::uint32_t SendDataPacket(ns3::SequenceNumber32 seq, std::uint32_t size, bool ack) override
    {
        ++sent;
        resent += seq < m_tcb->m_highTxMark.Get();
        return TcpSocketBase::SendDataPacket(seq, size, ack);
    }

    void ReTxTimeout() override
    {
        if (m_state == ESTABLISHED && m_txBuffer->HeadSequence() < m_tcb->m_highTxMark.Get())
        {
            ++timeouts;
        }
        TcpSocketBase::ReTxTimeout();
    }

    /// Whole segments only: the base class looks through its list for the remainder of one.
    std::uint32_t AvailableWindow() const override
    {
        const std::uint32_t bytes = TcpSocketBase::AvailableWindow();
        return bytes - bytes % m_tcb->m_segmentSize;
    }

    void ProcessAck(const ns3::SequenceNumber32& ack,
                    bool scoreboard,
                    std::uint32_t delivered,
                    const ns3::SequenceNumber32& head,
                    bool data) override
    {
        using State = ns3::TcpSocketState;
        const auto before = m_tcb->m_congState.Get();
        TcpSocketBase::ProcessAck(ack, scoreboard, delivered, head, data);
        if (m_tcb->m_congState <= State::CA_DISORDER && m_txBuffer->GetLost() == 0)
        {
            SendNew();
        }
        fastRetransmits += before != State::CA_RECOVERY && m_tcb->m_congState == State::CA_RECOVERY;
    }

  private:
    /// New data as far as the window goes, which the base class would send next, but after a walk
    /// over all that is outstanding.
    void SendNew()
    {
        const std::uint32_t size = m_tcb->m_segmentSize;
        while (AvailableWindow() >= size &&
               m_txBuffer->SizeFromSequence(m_tcb->m_nextTxSequence) >= size)
        {
            m_tcb->m_nextTxSequence += SendDataPacket(m_tcb->m_nextTxSequence, size, m_connected);
        }
    }
};
