// Commands of sets of counters.
#include "backends/softnic/firmware/firmware.h"
#include "core/format/prm/counters.h"

namespace gdakit::softnic {

using namespace format;

namespace {

void write_counters(const QueueCounters& counters,
                    prm::View<prm::QueryQCounterOut, std::uint8_t> out) {
  using prm::QueryQCounterOut;
  const auto put = [&out](auto field, std::uint64_t count) {
    out.set(field, static_cast<std::uint32_t>(count));
  };
  put(QueryQCounterOut::rx_write_requests, counters.rx_write_requests);
  put(QueryQCounterOut::rx_read_requests, counters.rx_read_requests);
  put(QueryQCounterOut::rx_atomic_requests, counters.rx_atomic_requests);
  put(QueryQCounterOut::out_of_buffer, counters.out_of_buffer);
  put(QueryQCounterOut::out_of_sequence, counters.out_of_sequence);
  put(QueryQCounterOut::duplicate_request, counters.duplicate_request);
  put(QueryQCounterOut::rnr_nak_retry_err, counters.rnr_nak_retry_err);
  put(QueryQCounterOut::packet_seq_err, counters.packet_seq_err);
  put(QueryQCounterOut::implied_nak_seq_err, counters.implied_nak_seq_err);
  put(QueryQCounterOut::local_ack_timeout_err, counters.local_ack_timeout_err);
  put(QueryQCounterOut::req_rnr_retries_exceeded, counters.req_rnr_retries_exceeded);
  put(QueryQCounterOut::resp_local_length_error, counters.resp_local_length_error);
  put(QueryQCounterOut::req_local_length_error, counters.req_local_length_error);
  put(QueryQCounterOut::local_operation_error, counters.local_operation_error);
  put(QueryQCounterOut::resp_local_protection, counters.resp_local_protection);
  put(QueryQCounterOut::req_local_protection, counters.req_local_protection);
  put(QueryQCounterOut::resp_cqe_error, counters.resp_cqe_error);
  put(QueryQCounterOut::req_cqe_error, counters.req_cqe_error);
  put(QueryQCounterOut::req_bad_response, counters.req_bad_response);
  put(QueryQCounterOut::req_remote_invalid_request, counters.req_remote_invalid_request);
  put(QueryQCounterOut::resp_remote_invalid_request, counters.resp_remote_invalid_request);
  put(QueryQCounterOut::req_remote_access_errors, counters.req_remote_access_errors);
  put(QueryQCounterOut::resp_remote_access_errors, counters.resp_remote_access_errors);
  put(QueryQCounterOut::req_remote_operation_errors, counters.req_remote_operation_errors);
  put(QueryQCounterOut::req_transport_retries_exceeded, counters.req_transport_retries_exceeded);
  put(QueryQCounterOut::cq_overflow, counters.cq_overflow);
  put(QueryQCounterOut::resp_cqe_flush_error, counters.resp_cqe_flush_error);
  put(QueryQCounterOut::req_cqe_flush_error, counters.req_cqe_flush_error);
  put(QueryQCounterOut::roce_adp_retrans, counters.roce_adp_retrans);
}

}  // namespace

Status Firmware::alloc_q_counter(In in, Out out) {
  const Outcome<CounterSet> set = counter_sets_.alloc(uid_of(in));
  if (!set) return set.status();
  prm::View<prm::AllocQCounterOut, std::uint8_t>(out).set(prm::AllocQCounterOut::counter_set_id,
                                                          *set);
  return {};
}

Status Firmware::dealloc_q_counter(In in, Out) {
  const auto set =
      prm::View<prm::DeallocQCounterIn>(in).get(prm::DeallocQCounterIn::counter_set_id);
  return counter_sets_.dealloc(static_cast<CounterSet>(set), uid_of(in)).status();
}

// Of several sets together (aggregate) nothing is told.
Status Firmware::query_q_counter(In in, Out out) {
  using prm::QueryQCounterIn;
  const prm::View<QueryQCounterIn> request(in);
  const auto set = static_cast<CounterSet>(request.get(QueryQCounterIn::counter_set_id));
  if (request.get(QueryQCounterIn::other_vport) != 0) {
    return refusal(CommandSyndrome::mailbox_function);
  }
  if (request.get(QueryQCounterIn::aggregate) != 0 || set == 0) {
    return refusal(CommandSyndrome::mailbox_counter_set_absent, set);
  }
  const Uid uid = uid_of(in);
  const Outcome<> found = counter_sets_.find(set, uid);
  if (!found) return found.status();
  const auto counted = [&](QpNumber qpn) { return *engine_.query_counters(qpn, uid); };
  write_counters(counter_sets_.counted(set, counted),
                 prm::View<prm::QueryQCounterOut, std::uint8_t>(out));
  if (request.get(QueryQCounterIn::clear) != 0) counter_sets_.clear(set, counted);
  return {};
}

void Firmware::join_counter_set(CounterSet set, QpNumber qpn, Uid uid) {
  counter_sets_.join(set, qpn, *engine_.query_counters(qpn, uid));
}

}  // namespace gdakit::softnic
