// Which fields of QUERY_Q_COUNTER's answer are which of our counters.
#pragma once

#include "core/format/prm/counters.h"
#include "core/host/counters.h"

namespace gdakit {

// visit(field, member) for each of them.
template <class Visit>
void for_each_q_counter(const Visit& visit) {
  using Out = format::prm::QueryQCounterOut;
  visit(Out::rx_write_requests, &QueueCounters::rx_write_requests);
  visit(Out::rx_read_requests, &QueueCounters::rx_read_requests);
  visit(Out::rx_atomic_requests, &QueueCounters::rx_atomic_requests);
  visit(Out::out_of_buffer, &QueueCounters::out_of_buffer);
  visit(Out::out_of_sequence, &QueueCounters::out_of_sequence);
  visit(Out::duplicate_request, &QueueCounters::duplicate_request);
  visit(Out::rnr_nak_retry_err, &QueueCounters::rnr_nak_retry_err);
  visit(Out::packet_seq_err, &QueueCounters::packet_seq_err);
  visit(Out::implied_nak_seq_err, &QueueCounters::implied_nak_seq_err);
  visit(Out::local_ack_timeout_err, &QueueCounters::local_ack_timeout_err);
  visit(Out::req_rnr_retries_exceeded, &QueueCounters::req_rnr_retries_exceeded);
  visit(Out::resp_local_length_error, &QueueCounters::resp_local_length_error);
  visit(Out::req_local_length_error, &QueueCounters::req_local_length_error);
  visit(Out::local_operation_error, &QueueCounters::local_operation_error);
  visit(Out::resp_local_protection, &QueueCounters::resp_local_protection);
  visit(Out::req_local_protection, &QueueCounters::req_local_protection);
  visit(Out::resp_cqe_error, &QueueCounters::resp_cqe_error);
  visit(Out::req_cqe_error, &QueueCounters::req_cqe_error);
  visit(Out::req_bad_response, &QueueCounters::req_bad_response);
  visit(Out::req_remote_invalid_request, &QueueCounters::req_remote_invalid_request);
  visit(Out::resp_remote_invalid_request, &QueueCounters::resp_remote_invalid_request);
  visit(Out::req_remote_access_errors, &QueueCounters::req_remote_access_errors);
  visit(Out::resp_remote_access_errors, &QueueCounters::resp_remote_access_errors);
  visit(Out::req_remote_operation_errors, &QueueCounters::req_remote_operation_errors);
  visit(Out::req_transport_retries_exceeded, &QueueCounters::req_transport_retries_exceeded);
  visit(Out::cq_overflow, &QueueCounters::cq_overflow);
  visit(Out::resp_cqe_flush_error, &QueueCounters::resp_cqe_flush_error);
  visit(Out::req_cqe_flush_error, &QueueCounters::req_cqe_flush_error);
  visit(Out::roce_adp_retrans, &QueueCounters::roce_adp_retrans);
}

}  // namespace gdakit
