// What a NIC counts, for each of its queue pairs and for itself. What each number means, the table
// of counter_table.h says.
//
// Names are hardware's (mlx5: rdma statistic, hw_counters, QUERY_Q_COUNTER) where hardware counts
// the same. Counts of queue pairs that live, and of those that are gone, add up to the NIC's.
#pragma once

#include <cstdint>

namespace gdakit {

// Of one queue pair. All of it are 64-bit counts, and each has a row in counter_table().
struct QueueCounters {
  // The send queue and its doorbells.
  std::uint64_t posted_wqebbs = 0;
  std::uint64_t fetched_wqebbs = 0;
  std::uint64_t wqes = 0;
  std::uint64_t cqes = 0;
  std::uint64_t cq_overflow = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t lost_doorbells = 0;
  // The wire.
  std::uint64_t packets_sent = 0;
  std::uint64_t udp_packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t rx_write_requests = 0;
  std::uint64_t rx_read_requests = 0;
  std::uint64_t rx_atomic_requests = 0;
  // What the responder finds wrong with the sequence of requests.
  std::uint64_t out_of_sequence = 0;
  std::uint64_t duplicate_request = 0;
  std::uint64_t out_of_buffer = 0;
  std::uint64_t naks = 0;
  // Why the requester sends again.
  std::uint64_t retries = 0;
  std::uint64_t packet_seq_err = 0;
  std::uint64_t implied_nak_seq_err = 0;
  std::uint64_t rnr_nak_retry_err = 0;
  std::uint64_t local_ack_timeout_err = 0;
  std::uint64_t roce_adp_retrans = 0;
  // Congestion: what the receiver of marked packets does, and their sender.
  std::uint64_t np_ecn_marked_roce_packets = 0;
  std::uint64_t np_cnp_sent = 0;
  std::uint64_t rp_cnp_handled = 0;
  // Errors of the requester, then of the responder, by syndrome.
  std::uint64_t req_cqe_error = 0;
  std::uint64_t req_cqe_flush_error = 0;
  std::uint64_t req_local_length_error = 0;
  std::uint64_t local_operation_error = 0;
  std::uint64_t req_local_protection = 0;
  std::uint64_t req_bad_response = 0;
  std::uint64_t req_remote_invalid_request = 0;
  std::uint64_t req_remote_access_errors = 0;
  std::uint64_t req_remote_operation_errors = 0;
  std::uint64_t req_transport_retries_exceeded = 0;
  std::uint64_t req_rnr_retries_exceeded = 0;
  std::uint64_t resp_cqe_error = 0;
  std::uint64_t resp_cqe_flush_error = 0;
  std::uint64_t resp_local_length_error = 0;
  std::uint64_t resp_local_protection = 0;
  std::uint64_t resp_remote_invalid_request = 0;
  std::uint64_t resp_remote_access_errors = 0;

  QueueCounters& operator+=(const QueueCounters& more);
};

// Of a NIC: all its queue pairs together, and what belongs to none of them.
struct NicCounters : QueueCounters {
  // The wire between hosts: what it dropped, in or out.
  std::uint64_t rx_icrc_encapsulated = 0;
  std::uint64_t udp_unconnected = 0;
  std::uint64_t udp_unsendable = 0;
  std::uint64_t udp_overrun = 0;
  std::uint64_t udp_strangers = 0;
  std::uint64_t udp_untrue_tags = 0;
  std::uint64_t udp_too_long = 0;
  std::uint64_t udp_malformed = 0;
  std::uint64_t dropped_doorbells = 0;
  std::uint64_t cq_doorbells = 0;
  std::uint64_t eq_doorbells = 0;
  std::uint64_t dropped_packets = 0;
  std::uint64_t pkey_violations = 0;
  std::uint64_t qkey_violations = 0;
  std::uint64_t xrc_violations = 0;
  // DC, as a target.
  std::uint64_t rx_dct_connect = 0;
  std::uint64_t dc_cnaks_sent = 0;
  std::uint64_t dc_key_violations = 0;

  using QueueCounters::operator+=;
  NicCounters& operator+=(const NicCounters& more);
};

}  // namespace gdakit
