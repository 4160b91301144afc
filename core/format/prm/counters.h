// Mailboxes of sets of counters (Q counters), in which queue pairs count by qpc.counter_set_id.
#pragma once

#include <cstddef>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

struct AllocQCounterOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<AllocQCounterOut, 88, 8> counter_set_id{};
};

struct DeallocQCounterIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DeallocQCounterIn, 88, 8> counter_set_id{};
};

struct QueryQCounterIn : MboxIn {
  static constexpr std::size_t kBytes = 32;
  static constexpr Field<QueryQCounterIn, 64, 1> other_vport{};
  static constexpr Field<QueryQCounterIn, 192, 1> clear{};
  static constexpr Field<QueryQCounterIn, 193, 1> aggregate{};
  static constexpr Field<QueryQCounterIn, 248, 8> counter_set_id{};
};

struct QueryQCounterOut : MboxOut {
  static constexpr std::size_t kBytes = 256;
  static constexpr Field<QueryQCounterOut, 128, 32> rx_write_requests{};
  static constexpr Field<QueryQCounterOut, 192, 32> rx_read_requests{};
  static constexpr Field<QueryQCounterOut, 256, 32> rx_atomic_requests{};
  static constexpr Field<QueryQCounterOut, 384, 32> out_of_buffer{};
  static constexpr Field<QueryQCounterOut, 448, 32> out_of_sequence{};
  static constexpr Field<QueryQCounterOut, 512, 32> duplicate_request{};
  static constexpr Field<QueryQCounterOut, 576, 32> rnr_nak_retry_err{};
  static constexpr Field<QueryQCounterOut, 640, 32> packet_seq_err{};
  static constexpr Field<QueryQCounterOut, 704, 32> implied_nak_seq_err{};
  static constexpr Field<QueryQCounterOut, 768, 32> local_ack_timeout_err{};
  static constexpr Field<QueryQCounterOut, 896, 32> req_rnr_retries_exceeded{};
  static constexpr Field<QueryQCounterOut, 960, 32> resp_local_length_error{};
  static constexpr Field<QueryQCounterOut, 992, 32> req_local_length_error{};
  static constexpr Field<QueryQCounterOut, 1056, 32> local_operation_error{};
  static constexpr Field<QueryQCounterOut, 1088, 32> resp_local_protection{};
  static constexpr Field<QueryQCounterOut, 1120, 32> req_local_protection{};
  static constexpr Field<QueryQCounterOut, 1152, 32> resp_cqe_error{};
  static constexpr Field<QueryQCounterOut, 1184, 32> req_cqe_error{};
  static constexpr Field<QueryQCounterOut, 1248, 32> req_bad_response{};
  static constexpr Field<QueryQCounterOut, 1280, 32> req_remote_invalid_request{};
  static constexpr Field<QueryQCounterOut, 1312, 32> resp_remote_invalid_request{};
  static constexpr Field<QueryQCounterOut, 1344, 32> req_remote_access_errors{};
  static constexpr Field<QueryQCounterOut, 1376, 32> resp_remote_access_errors{};
  static constexpr Field<QueryQCounterOut, 1408, 32> req_remote_operation_errors{};
  static constexpr Field<QueryQCounterOut, 1440, 32> req_transport_retries_exceeded{};
  static constexpr Field<QueryQCounterOut, 1472, 32> cq_overflow{};
  static constexpr Field<QueryQCounterOut, 1504, 32> resp_cqe_flush_error{};
  static constexpr Field<QueryQCounterOut, 1536, 32> req_cqe_flush_error{};
  static constexpr Field<QueryQCounterOut, 1600, 32> roce_adp_retrans{};
};

}  // namespace gdakit::format::prm
