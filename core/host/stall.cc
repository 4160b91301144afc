#include "core/host/stall.h"

#include <algorithm>
#include <cstdio>

#include "core/base/hex.h"
#include "core/host/symmetric_heap.h"
#include "device/channel_views.h"

namespace gdakit {
namespace {

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", static_cast<double>(ns) * 1e-9);
  return text;
}

// Which side did not do its part, judged from how far each index has come.
std::string blame(const StallReport& report) {
  const format::CqeTail tail{report.cqe_tail};
  if (tail.opcode() == format::CqeOpcode::requester_error) {
    return "the NIC reported an error at WQE " + std::to_string(tail.wqe_counter()) + " (" +
           opcode_name(tail.send_opcode()) + ")";
  }
  if (report.completed >= report.posted && report.ready > report.posted) {
    return "this PE: slots are ready that no doorbell has announced; is a batch left open "
           "(Batch::more), or a thread stopped in its post?";
  }
  if (report.completed >= report.posted && report.reserved > report.ready) {
    return "this PE: a thread has reserved slots and not written them";
  }
  if ((report.doorbell_record & 0xffff) != (report.posted & 0xffff)) {
    return "this PE: the doorbell record does not hold the announced index";
  }
  return "the NIC, or the PE at the other end: the WQEs were announced and have not completed";
}

std::string queue_lines(const StallReport& report) {
  return "\n  " + queue_name(report.queue) + " to PE " + std::to_string(report.peer) +
         ": waiting for index " + std::to_string(report.target) + "; reserved " +
         std::to_string(report.reserved) + ", ready " + std::to_string(report.ready) + ", posted " +
         std::to_string(report.posted) + ", doorbell record " +
         std::to_string(report.doorbell_record) + ", completed " +
         std::to_string(report.completed) + ", last CQE " + hex_number(report.cqe_tail) +
         "\n  to blame: " + blame(report);
}

const char* relation(Compare compare) {
  switch (compare) {
    case Compare::eq: return "";
    case Compare::ne: return "anything but ";
    case Compare::gt: return "more than ";
    case Compare::ge: return "at least ";
    case Compare::lt: return "less than ";
    case Compare::le: return "at most ";
  }
  return "";
}

std::string broken_lines(const HostView& host) {
  std::string text;
  for (const HostView::Queue& queue : host.broken_queues) text += "\n  " + queue.text;
  return text;
}

// What a PE has left undone, and what else may be the cause.
std::string blame_peer(int pe, const std::string& undone, const HostView& host) {
  const auto to_it = [pe](const HostView::Queue& queue) { return queue.peer == pe; };
  const std::string text = "\n  to blame: PE " + std::to_string(pe) + ", which did not " + undone;
  if (std::any_of(host.broken_queues.begin(), host.broken_queues.end(), to_it)) {
    return text + ", or cannot know: what was sent by the broken queue has not arrived";
  }
  const bool direct = host.heap != nullptr && host.heap->transports().has_direct_atomics(pe);
  return direct ? text : text + ", or the NIC between";
}

// Who should have written a word only the kernel knows.
std::string blame_for_word(const HostView& host) {
  const std::string text =
      "\n  to blame: not known, because only the kernel knows who should "
      "write this word; ";
  if (host.heap == nullptr) return text + "look for its writer";
  return text + (host.broken_queues.empty()
                     ? "no queue of this PE is broken"
                     : "what this PE sent by the broken queue has not arrived");
}

std::string word_lines(const StallReport& report, const HostView& host) {
  const std::string text = "\n  word at " + place_text(report.address, host.heap) + " holds " +
                           std::to_string(report.value) + "; waiting for " +
                           relation(report.compare) + std::to_string(report.target) +
                           broken_lines(host);
  return text + (report.peer >= 0 ? blame_peer(report.peer, "come", host) : blame_for_word(host));
}

std::string message_lines(const StallReport& report, const HostView& host) {
  const std::string text =
      "\n  " + queue_name(report.queue) +
      (report.peer < 0 ? ""
                       : ": waiting for message " + std::to_string(report.target) +
                             "; receives posted " + std::to_string(report.posted) + ", taken out " +
                             std::to_string(report.completed)) +
      broken_lines(host);
  if (report.peer >= 0) return text + blame_peer(report.peer, "send", host);
  return text + "\n  to blame: not known, because any PE may send";
}

std::string lock_lines(const StallReport& report, int my_pe, const HostView& host) {
  const std::string text = "\n  lock at " + place_text(report.address, host.heap);
  if (report.peer == my_pe) {
    return text + ": ticket " + std::to_string(report.target) + " waits for ticket " +
           std::to_string(report.value) +
           " of this PE\n  to blame: the thread of this PE that has the lock, or waits for it at "
           "another PE";
  }
  if (report.peer >= 0) {
    return text + ": waiting for PE " + std::to_string(report.peer) +
           ", which stands before this PE in the queue" + broken_lines(host) +
           blame_peer(report.peer, "hand the lock over", host);
  }
  return text + ": waiting to be told which PE stands behind this one" + broken_lines(host) +
         "\n  to blame: the PE that came next, or the NIC between";
}

}  // namespace

const char* waited_for(Site site) {
  switch (site) {
    case Site::queue_room: return "room in the send queue, to post an operation";
    case Site::queue_completion: return "a completion";
    case Site::fetch_slot: return "a slot of the fetch ring, to get a value";
    case Site::signal: return "a word that another PE writes";
    case Site::team: return "another PE of its team to come to a collective operation";
    case Site::lock: return "a lock, to set or clear it";
    case Site::message: return "a message on a channel";
    case Site::user: return "something of its own";
    case Site::count: break;
  }
  return "something unknown";
}

const char* called_there(Site site) {
  switch (site) {
    case Site::queue_completion: return ", in quiet or the end of an operation";
    case Site::signal: return ", in wait_until or one of its kind";
    case Site::message: return ", in wait_receive";
    default: return "";
  }
}

std::string describe(format::Syndrome syndrome) {
  using format::Syndrome;
  switch (syndrome) {
    case Syndrome::none: return "no error";
    case Syndrome::local_length: return "local length error: a message does not fit its buffer";
    case Syndrome::local_qp_operation: return "local QP operation error: a malformed WQE";
    case Syndrome::local_protection:
      return "local protection error: the local key does not cover the local buffer";
    case Syndrome::flushed: return "flushed: an earlier WQE had broken the queue";
    case Syndrome::memory_window_bind: return "memory window bind error";
    case Syndrome::bad_response: return "bad response from the peer's NIC";
    case Syndrome::local_access: return "local access error";
    case Syndrome::remote_invalid_request:
      return "remote invalid request: the peer's queue does not allow or understand it";
    case Syndrome::remote_access:
      return "remote access error: the remote key does not cover the remote address or right";
    case Syndrome::remote_operation: return "remote operation error: the peer's NIC failed";
    case Syndrome::transport_retry_exceeded:
      return "transport retry exceeded: the peer's NIC does not answer";
    case Syndrome::rnr_retry_exceeded:
      return "receiver-not-ready retry exceeded: the peer posted no receive";
    case Syndrome::remote_aborted: return "remote aborted error";
  }
  return "unknown syndrome " + hex_number(static_cast<std::uint8_t>(syndrome));
}

std::string opcode_name(std::uint8_t opcode) {
  using format::Opcode;
  if (opcode == QueueError::kReceive) return "receive";
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::nop: return "NOP";
    case Opcode::send_inval: return "SEND_INVAL";
    case Opcode::rdma_write: return "RDMA_WRITE";
    case Opcode::rdma_write_imm: return "RDMA_WRITE_IMM";
    case Opcode::send: return "SEND";
    case Opcode::send_imm: return "SEND_IMM";
    case Opcode::rdma_read: return "RDMA_READ";
    case Opcode::atomic_cs: return "ATOMIC_CS";
    case Opcode::atomic_fa: return "ATOMIC_FA";
    case Opcode::atomic_masked_cs: return "ATOMIC_MASKED_CS";
    case Opcode::atomic_masked_fa: return "ATOMIC_MASKED_FA";
    case Opcode::dump: return "DUMP";
    case Opcode::umr: return "UMR";
  }
  return "opcode " + hex_number(opcode);
}

std::string QueuePeers::text() const {
  const std::string one = "PE " + std::to_string(first);
  return step == 0 ? one : one + ", PE " + std::to_string(first + step) + " and so on (DC)";
}

std::string describe(const QueueError& error, const QueuePeers& peers) {
  const std::string queue = "the queue to " + peers.text() + " is broken: ";
  if (error.is_abandoned()) return queue + "a thread gave up waiting on it";
  return queue + describe(error.syndrome()) + " (vendor syndrome " +
         hex_number(error.vendor_syndrome()) + ") at WQE " + std::to_string(error.wqe_index()) +
         ", " + opcode_name(error.opcode());
}

std::string queue_name(std::uint32_t queue) {
  return queue < kFirstChannel ? "queue " + std::to_string(queue)
                               : "channel " + std::to_string(queue - kFirstChannel);
}

std::string broken_queue_text(std::uint32_t queue, const QueuePeers& peers,
                              const std::string& why) {
  return "the queue to " + peers.text() + " is broken: " + why + " (" + queue_name(queue) + ")";
}

std::string describe(const Status& status) {
  const std::string where = status.peer < 0 ? "" : ", PE " + std::to_string(status.peer);
  switch (status.code) {
    case StatusCode::ok: return "ok";
    case StatusCode::queue_error: return describe(status.syndrome) + where;
    case StatusCode::stalled:
      return "stalled: a wait exceeded GDAKIT_WATCHDOG, or gave up as an earlier one had" + where;
    case StatusCode::peer_lost: return "lost" + where;
    case StatusCode::invalid_address:
      return "an address that is neither in the symmetric heap nor registered" + where;
    case StatusCode::invalid_argument:
      return "an argument that is not allowed (Context::check_device says which)" + where;
  }
  return "unknown status";
}

bool concerns_queue(Site site) {
  return site == Site::queue_room || site == Site::queue_completion || site == Site::fetch_slot;
}

std::string place_text(std::uint64_t address, const SymmetricHeap* heap) {
  const auto* const at = reinterpret_cast<const void*>(address);
  const bool known = heap != nullptr && heap->reserves(at);
  return known ? heap->describe(at) + " [" + hex_number(address) + "]"
               : "address " + hex_number(address);
}

std::string describe(const StallReport& report, int my_pe, const HostView& host) {
  std::string text = "PE " + std::to_string(my_pe) + " stalled: block " +
                     std::to_string(report.block) + ", thread " + std::to_string(report.thread) +
                     " waited " + seconds(report.waited_ns) + " for " + waited_for(report.site) +
                     called_there(report.site);
  if (report.site == Site::lock) return text + lock_lines(report, my_pe, host);
  if (report.site == Site::message) return text + message_lines(report, host);
  return text + (concerns_queue(report.site) ? queue_lines(report) : word_lines(report, host));
}

}  // namespace gdakit
