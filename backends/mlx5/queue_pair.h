// A queue pair of RC with its completion queues, or an initiator of DC, made by firmware commands
// on memory that the caller gives, with QueueRecords where its doorbell record is: what is sent
// completes to a collapsed CQ, and what is received to an ordinary one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/mlx5/completion_queue.h"
#include "backends/mlx5/connection_card.h"
#include "backends/mlx5/dc_target.h"
#include "backends/mlx5/open_nic.h"
#include "backends/mlx5/queue_umems.h"
#include "backends/mlx5/way.h"
#include "core/format/cqe.h"
#include "core/format/prm/qp.h"
#include "core/host/backend.h"

namespace gdakit::mlx5 {

// Of an initiator, which learns of its peers from its WQEs alone.
struct InitiatorOptions {
  const DcReceives* receives = nullptr;
  std::uint8_t mtu = 0;        // ibv_mtu
  std::uint8_t log_reads = 0;  // READs and atomics under way, 2^n
};

struct QueuePairOptions {
  QueueMemory memory;
  mlx5dv_devx_uar* uar = nullptr;  // with the doorbell register
  std::uint32_t first_psn = 0;
  std::uint8_t ack_timeout = 18;                   // 4.096 us * 2^n
  std::uint8_t counter_set = 0;                    // that it counts in; 0: none
  std::optional<InitiatorOptions> initiator = {};  // nothing: it is of RC
};

// What the firmware tells of a queue pair.
struct QueuePairReport {
  std::uint32_t state = 0;  // 0 reset, 1 init, 2 RTR, 3 RTS, 4 SQ error, 5 SQ drained, 6 error
  format::Syndrome first_error = format::Syndrome::none;  // where it tells that
};

class QueuePair {
 public:
  static constexpr std::uint32_t kTries = 8;  // to send a packet, until it gives up

  // `umems` gives that of its memory. An initiator is ready to post.
  static Result<std::unique_ptr<QueuePair>> create(const OpenNic& nic, QueueUmems& umems,
                                                   const QueuePairOptions& options);
  std::uint32_t qpn() const { return qpn_; }
  bool is_initiator() const { return options_.initiator.has_value(); }
  // Of RC. The card is in range. If it fails, the queue pair is as it was. It and report() fail
  // once destroy() has taken the QP away.
  Result<void> connect(const ConnectionCard& peer);
  // Its objects go one after the other. If one does not, those behind it stay, and the next call
  // goes on there.
  Result<void> destroy();
  Result<QueuePairReport> report() const;
  // Until destroy().
  const DevxObject& object() const { return *qp_; }

 private:
  QueuePair(const OpenNic& nic, const QueuePairOptions& options) : nic_(nic), options_(options) {}
  Result<void> create_cqs();
  Result<void> create_qp();
  using QpcWriter = format::prm::View<format::prm::Qpc, std::uint8_t>;
  void write_receives(QpcWriter context) const;
  Result<void> to_init();
  void name_lag_port(format::prm::Mailbox<format::prm::Init2rtrQpIn>& in) const;
  Result<void> to_rtr(const ConnectionCard& peer, const Way& way);
  Result<void> to_rtr_as_initiator();
  Result<void> to_rts(std::uint8_t log_reads);
  Result<void> start();
  void reset();
  Error destroyed() const;

  const OpenNic& nic_;
  const QueuePairOptions options_;
  std::shared_ptr<Umem> umem_;  // null once destroy() has given it up
  CompletionQueue send_cq_;
  CompletionQueue receive_cq_;
  std::optional<DevxObject> qp_;  // goes before its CQs and its memory
  std::uint32_t qpn_ = 0;
  const std::uint8_t lag_port_ = nic_.next_lag_port();
};

}  // namespace gdakit::mlx5
