#include "core/host/counter_table.h"

#include <algorithm>
#include <array>

#include "core/host/q_counters.h"

namespace gdakit {
namespace {

using Row = CounterRow;
using N = NicCounters;
using format::Syndrome;

constexpr auto kQueue = CounterOf::queue;
constexpr auto kNic = CounterOf::nic;
constexpr auto kRequester = ErrorSide::requester;
constexpr auto kResponder = ErrorSide::responder;

constexpr auto kTable = std::to_array<CounterRow>({
    Row{"posted_wqebbs", "WQEBBs", "Announced to the NIC, by doorbell or by doorbell record",
        &N::posted_wqebbs},
    Row{"fetched_wqebbs", "WQEBBs",
        "Read from the send queue; those read again for a repetition count again",
        &N::fetched_wqebbs},
    Row{"completed_wqes", "WQEs", "Send WQEs that have completed, flushed ones included", &N::wqes},
    Row{"cqes", "CQEs", "Completions written to a completion queue, errors included", &N::cqes},
    Row{"cq_overflow", "CQEs", "Completions lost because the completion queue had no room",
        &N::cq_overflow},
    Row{"doorbells", "doorbells", "Doorbells that the NIC took", &N::doorbells},
    Row{"lost_doorbells", "doorbells",
        "Times that the doorbell record announced WQEs whose doorbell never came: another one "
        "overwrote it",
        &N::lost_doorbells},
    Row{"packets_sent", "packets", "Given to the wire, repetitions and answers included",
        &N::packets_sent},
    Row{"udp_packets_sent", "packets", "Those of packets_sent that went to a peer over UDP",
        &N::udp_packets_sent},
    Row{"packets_received", "packets", "Taken from the wire for this queue pair",
        &N::packets_received},
    Row{"bytes_sent", "bytes", "Payload given to the wire, repetitions included", &N::bytes_sent},
    Row{"bytes_received", "bytes", "Payload taken into memory, each byte once", &N::bytes_received},
    Row{"rx_write_requests", "messages", "RDMA WRITEs from the peer, each once",
        &N::rx_write_requests},
    Row{"rx_read_requests", "messages",
        "RDMA READ requests from the peer, each once; a long READ may ask in several",
        &N::rx_read_requests},
    Row{"rx_atomic_requests", "messages", "Atomics from the peer, each once",
        &N::rx_atomic_requests},
    Row{"out_of_sequence", "packets",
        "Requests that came before one that is missing; those behind one that was dropped for want "
        "of a receive WQE are left out",
        &N::out_of_sequence},
    Row{"duplicate_request", "packets", "Requests that had been executed before",
        &N::duplicate_request},
    Row{"out_of_buffer", "packets", "Requests dropped because no receive WQE was posted",
        &N::out_of_buffer},
    Row{"naks_sent", "packets", "Negative acknowledges sent, of all kinds", &N::naks},
    Row{"retries", "times", "The requester went back to send again, for whatever reason",
        &N::retries},
    Row{"packet_seq_err", "packets",
        "NAKs of a sequence error that made the requester send again; repeated NAKs of one gap "
        "and those beyond the retry limit are left out",
        &N::packet_seq_err},
    Row{"implied_nak_seq_err", "packets",
        "Answers that came before a missing answer to a READ or an atomic, and so made the "
        "requester ask again",
        &N::implied_nak_seq_err},
    Row{"rnr_nak_retry_err", "packets",
        "NAKs of a receiver without receive WQE, within the retry limit", &N::rnr_nak_retry_err},
    Row{"local_ack_timeout_err", "times",
        "The ack timer of the queue pair expired, within the retry limit",
        &N::local_ack_timeout_err},
    Row{"roce_adp_retrans", "times",
        "The requester sent again earlier than the ack timer says (adaptive retransmission)",
        &N::roce_adp_retrans},
    Row{"np_ecn_marked_roce_packets", "packets",
        "Requests and READ responses that came marked: the network is congested",
        &N::np_ecn_marked_roce_packets},
    Row{"np_cnp_sent", "packets", "Congestion notifications sent to the peer", &N::np_cnp_sent},
    Row{"rp_cnp_handled", "packets", "Congestion notifications from the peer: the rate is lowered",
        &N::rp_cnp_handled},
    Row{"req_cqe_error", "WQEs", "Send WQEs that completed in error, flushed ones included",
        &N::req_cqe_error},
    Row{"req_cqe_flush_error", "WQEs", "Send WQEs flushed because the queue pair had failed",
        &N::req_cqe_flush_error, kQueue, kRequester, Syndrome::flushed},
    Row{"req_local_length_error", "WQEs", "Send WQEs of a wrong length", &N::req_local_length_error,
        kQueue, kRequester, Syndrome::local_length},
    Row{"local_operation_error", "WQEs", "Send WQEs that are malformed or not allowed",
        &N::local_operation_error, kQueue, kRequester, Syndrome::local_qp_operation},
    Row{"req_local_protection", "WQEs",
        "Send WQEs whose own memory has no such key, range or right", &N::req_local_protection,
        kQueue, kRequester, Syndrome::local_protection},
    Row{"req_bad_response", "WQEs", "Send WQEs whose answer was not what they asked for",
        &N::req_bad_response, kQueue, kRequester, Syndrome::bad_response},
    Row{"req_remote_invalid_request", "WQEs", "Send WQEs that the peer refused as invalid",
        &N::req_remote_invalid_request, kQueue, kRequester, Syndrome::remote_invalid_request},
    Row{"req_remote_access_errors", "WQEs",
        "Send WQEs that the peer refused for key, range or right", &N::req_remote_access_errors,
        kQueue, kRequester, Syndrome::remote_access},
    Row{"req_remote_operation_errors", "WQEs", "Send WQEs that failed within the peer",
        &N::req_remote_operation_errors, kQueue, kRequester, Syndrome::remote_operation},
    Row{"req_transport_retries_exceeded", "WQEs", "Send WQEs that no repetition got an answer for",
        &N::req_transport_retries_exceeded, kQueue, kRequester, Syndrome::transport_retry_exceeded},
    Row{"req_rnr_retries_exceeded", "WQEs", "Send WQEs for which the peer never had a receive WQE",
        &N::req_rnr_retries_exceeded, kQueue, kRequester, Syndrome::rnr_retry_exceeded},
    Row{"resp_cqe_error", "WQEs", "Receive WQEs that completed in error, flushed ones included",
        &N::resp_cqe_error},
    Row{"resp_cqe_flush_error", "WQEs", "Receive WQEs flushed because the queue pair had failed",
        &N::resp_cqe_flush_error},
    Row{"resp_local_length_error", "requests", "Refused: longer than the receive WQE",
        &N::resp_local_length_error, kQueue, kResponder, Syndrome::local_length},
    Row{"resp_local_protection", "requests",
        "Refused: the receive WQE's memory has no such key, range or right",
        &N::resp_local_protection, kQueue, kResponder, Syndrome::local_protection},
    Row{"resp_remote_invalid_request", "requests", "Refused: invalid",
        &N::resp_remote_invalid_request, kQueue, kResponder, Syndrome::remote_invalid_request},
    Row{"resp_remote_access_errors", "requests", "Refused: no such key, range or right",
        &N::resp_remote_access_errors, kQueue, kResponder, Syndrome::remote_access},
    Row{"rx_icrc_encapsulated", "packets",
        "Came over UDP with a wrong ICRC: damaged on the way, dropped", &N::rx_icrc_encapsulated,
        kNic},
    Row{"udp_unconnected", "packets", "Not sent over UDP: nobody is connected by that number",
        &N::udp_unconnected, kNic},
    Row{"udp_unsendable", "packets", "Not sent over UDP: the system refused them",
        &N::udp_unsendable, kNic},
    Row{"udp_overrun", "packets", "Came over UDP when the socket's buffer was full: lost",
        &N::udp_overrun, kNic},
    Row{"udp_strangers", "packets", "Came over UDP from no address and port of a PE: dropped",
        &N::udp_strangers, kNic},
    Row{"udp_untrue_tags", "packets",
        "Came over UDP without a tag, where one is needed, or with a wrong one: dropped",
        &N::udp_untrue_tags, kNic},
    Row{"udp_too_long", "packets", "Came over UDP with more payload than the MTU: dropped",
        &N::udp_too_long, kNic},
    Row{"udp_malformed", "packets",
        "Came over UDP with a length, version, opcode or header that no PE sends: dropped",
        &N::udp_malformed, kNic},
    Row{"dropped_doorbells", "doorbells", "For no queue pair that takes them",
        &N::dropped_doorbells, kNic},
    Row{"cq_doorbells", "doorbells", "Arms of completion queues that the NIC took",
        &N::cq_doorbells, kNic},
    Row{"eq_doorbells", "doorbells", "For event queues, of which the NIC has none: dropped",
        &N::eq_doorbells, kNic},
    Row{"dropped_packets", "packets",
        "For no queue pair of the NIC, not from its peer, or of another service type",
        &N::dropped_packets, kNic},
    Row{"pkey_violations", "packets", "Not for the partition of their queue pair: dropped",
        &N::pkey_violations, kNic},
    Row{"qkey_violations", "packets", "Datagrams without the Q_Key of their queue pair: dropped",
        &N::qkey_violations, kNic},
    Row{"xrc_violations", "packets",
        "Requests of XRC for a shared receive queue that there is not in their queue pair's "
        "domain: "
        "dropped",
        &N::xrc_violations, kNic},
    Row{"rx_dct_connect", "packets", "Connects of DC that a target has taken", &N::rx_dct_connect,
        kNic},
    Row{"dc_cnaks_sent", "packets",
        "Connections of DC that were refused, or ended, for want of a responder", &N::dc_cnaks_sent,
        kNic},
    Row{"dc_key_violations", "packets", "Connects of DC that named another key than their target's",
        &N::dc_key_violations, kNic},
});

constexpr bool every_member_has_a_row() {
  const auto of_queue = std::ranges::count(kTable, kQueue, &CounterRow::of);
  return of_queue * sizeof(std::uint64_t) == sizeof(QueueCounters) &&
         kTable.size() * sizeof(std::uint64_t) == sizeof(NicCounters);
}
static_assert(every_member_has_a_row());

}  // namespace

std::span<const CounterRow> counter_table() { return kTable; }

QueueCounters& QueueCounters::operator+=(const QueueCounters& more) {
  for (const CounterRow& row : kTable) {
    if (row.of != kQueue) continue;
    const auto member = static_cast<std::uint64_t QueueCounters::*>(row.member);
    this->*member += more.*member;
  }
  return *this;
}

NicCounters& NicCounters::operator+=(const NicCounters& more) {
  for (const CounterRow& row : kTable) this->*row.member += more.*row.member;
  return *this;
}

bool is_q_counter(const CounterRow& row) {
  bool found = false;
  for_each_q_counter([&](auto, std::uint64_t QueueCounters::*counter) {
    found = found || row.member == static_cast<std::uint64_t NicCounters::*>(counter);
  });
  return found;
}

std::string_view syndrome_label(Syndrome syndrome) {
  switch (syndrome) {
    case Syndrome::none: return "";
    case Syndrome::local_length: return "local_length";
    case Syndrome::local_qp_operation: return "local_qp_operation";
    case Syndrome::local_protection: return "local_protection";
    case Syndrome::flushed: return "flushed";
    case Syndrome::memory_window_bind: return "memory_window_bind";
    case Syndrome::bad_response: return "bad_response";
    case Syndrome::local_access: return "local_access";
    case Syndrome::remote_invalid_request: return "remote_invalid_request";
    case Syndrome::remote_access: return "remote_access";
    case Syndrome::remote_operation: return "remote_operation";
    case Syndrome::transport_retry_exceeded: return "transport_retry_exceeded";
    case Syndrome::rnr_retry_exceeded: return "rnr_retry_exceeded";
    case Syndrome::remote_aborted: return "remote_aborted";
  }
  return "";
}

void count_error(QueueCounters& counters, ErrorSide side, Syndrome syndrome) {
  const auto row = std::ranges::find_if(kTable, [=](const CounterRow& each) {
    return each.side == side && each.syndrome == syndrome;
  });
  if (row == kTable.end()) return;
  ++(counters.*static_cast<std::uint64_t QueueCounters::*>(row->member));
}

}  // namespace gdakit
