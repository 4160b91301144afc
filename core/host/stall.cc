#include "core/host/stall.h"

#include <cstdio>

namespace gdakit {
namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", static_cast<double>(ns) * 1e-9);
  return text;
}

bool concerns_queue(Site site) {
  return site == Site::queue_room || site == Site::queue_completion || site == Site::fetch_slot;
}

// Which side did not do its part, judged from how far each index has come.
std::string blame(const StallReport& report) {
  const format::CqeTail tail{report.cqe_tail};
  if (tail.opcode() == format::CqeOpcode::requester_error) {
    return "the NIC reported an error at WQE " + std::to_string(tail.wqe_counter()) + " (" +
           opcode_name(tail.send_opcode()) + ")";
  }
  if (report.completed >= report.posted && report.ready > report.posted) {
    return "this PE: WQEs are ready that no doorbell has announced; is a batch left open "
           "(Batch::more)?";
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
  return "\n  queue " + std::to_string(report.queue) + " to PE " + std::to_string(report.peer) +
         ": waiting for index " + std::to_string(report.target) + "; reserved " +
         std::to_string(report.reserved) + ", ready " + std::to_string(report.ready) + ", posted " +
         std::to_string(report.posted) + ", doorbell record " +
         std::to_string(report.doorbell_record) + ", completed " +
         std::to_string(report.completed) + ", last CQE " + hex(report.cqe_tail) +
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

std::string word_lines(const StallReport& report) {
  std::string text = "\n  word at " + hex(report.address) + " holds " +
                     std::to_string(report.value) + "; waiting for " + relation(report.compare) +
                     std::to_string(report.target);
  if (report.peer >= 0) {
    return text + "\n  to blame: PE " + std::to_string(report.peer) +
           ", which did not come, or the NIC between";
  }
  return text + "\n  to blame: the PE that should write this word, or the NIC between";
}

std::string lock_lines(const StallReport& report, int my_pe) {
  const std::string text = "\n  lock at " + hex(report.address);
  if (report.peer == my_pe) {
    return text + ": ticket " + std::to_string(report.target) + " waits for ticket " +
           std::to_string(report.value) +
           " of this PE\n  to blame: the thread of this PE that has the lock, or waits for it at "
           "another PE";
  }
  if (report.peer >= 0) {
    return text + ": waiting for PE " + std::to_string(report.peer) +
           ", which stands before this PE in the queue\n  to blame: PE " +
           std::to_string(report.peer) + ", which did not hand the lock over, or the NIC between";
  }
  return text +
         ": waiting to be told which PE stands behind this one\n  to blame: the PE that came next, "
         "or the NIC between";
}

std::string fault_sentence(const FaultReport& report) {
  const std::string pe = "PE " + std::to_string(report.peer);
  const std::string memory =
      std::to_string(report.bytes) + " bytes at address " + hex(report.address);
  switch (report.what) {
    case Fault::none: break;
    case Fault::no_pe: return "there is no " + pe;
    case Fault::no_queue:
      return "there is no queue of that number to " + pe +
             "; GDAKIT_QUEUES_PER_PEER says how many there are, with those of add_queues";
    case Fault::wrong_sharing:
      return "the queue to " + pe +
             " is of the other sharing; exclusively_on takes what add_queues made exclusive, and "
             "everything else the other queues";
    case Fault::foreign_post:
      return "somebody else has posted to the exclusive queue to " + pe +
             " meanwhile, and its WQEs may be void; one handle at a time may post there";
    case Fault::heap_memory: return memory + " are not in the symmetric heap";
    case Fault::local_memory:
      return memory +
             " of this PE are neither in the symmetric heap nor registered; allocate them there, "
             "or give them to register_buffer";
    case Fault::heap_elements:
      return "not all of the elements of " + memory + " and on are in the symmetric heap";
    case Fault::local_elements:
      return "not all of this PE's elements of " + memory +
             " and on are in the symmetric heap or registered; allocate them there, or give them "
             "to register_buffer";
    case Fault::alignment: return "the word of " + memory + " is not aligned to its size";
    case Fault::stride:
      return "a destination of several elements needs a stride other than 0, and alltoalls "
             "positive ones";
    case Fault::count:
      return "a heap cannot hold so many elements as were to go to address " + hex(report.address);
    case Fault::operation:
      return "its type does not have that reduction; floating-point numbers have no and, or and "
             "xor";
    case Fault::root: return "the root is none of the team's members";
    case Fault::not_a_member: return "this PE is in no such team";
    case Fault::ticket: return "the ticket names no queue of this job";
    case Fault::lock_not_held: return "this PE does not hold the lock at " + hex(report.address);
  }
  return "an unknown one";
}

}  // namespace

const char* waited_for(Site site) {
  switch (site) {
    case Site::queue_room: return "room in the send queue";
    case Site::queue_completion: return "a completion";
    case Site::fetch_slot: return "a slot of the fetch ring";
    case Site::signal: return "a word that another PE writes";
    case Site::team: return "another PE of its team to come to a collective operation";
    case Site::lock: return "a lock";
    case Site::user: return "something of its own";
    case Site::count: break;
  }
  return "something unknown";
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
  return "unknown syndrome " + hex(static_cast<std::uint8_t>(syndrome));
}

std::string opcode_name(std::uint8_t opcode) {
  using format::Opcode;
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::nop: return "NOP";
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
  }
  return "opcode " + hex(opcode);
}

std::string describe(const QueueError& error, int peer) {
  const std::string queue = "the queue to PE " + std::to_string(peer) + " is broken: ";
  if (error.is_abandoned()) return queue + "a thread gave up waiting on it";
  return queue + describe(error.syndrome()) + " (vendor syndrome " + hex(error.vendor_syndrome()) +
         ") at WQE " + std::to_string(error.wqe_index()) + ", " + opcode_name(error.opcode());
}

std::string describe(const Status& status) {
  const std::string where = status.peer < 0 ? "" : ", PE " + std::to_string(status.peer);
  switch (status.code) {
    case StatusCode::ok: return "ok";
    case StatusCode::queue_error: return describe(status.syndrome) + where;
    case StatusCode::stalled: return "stalled: a wait exceeded GDAKIT_WATCHDOG" + where;
    case StatusCode::invalid_address:
      return "an address that is neither in the symmetric heap nor registered" + where;
    case StatusCode::invalid_argument:
      return "an argument that is not allowed (Context::check_device says which)" + where;
  }
  return "unknown status";
}

std::string describe(const StallReport& report, int my_pe) {
  std::string text = "PE " + std::to_string(my_pe) + " stalled: block " +
                     std::to_string(report.block) + ", thread " + std::to_string(report.thread) +
                     " waited " + seconds(report.waited_ns) + " for " + waited_for(report.site);
  if (report.site == Site::lock) return text + lock_lines(report, my_pe);
  return text + (concerns_queue(report.site) ? queue_lines(report) : word_lines(report));
}

std::string describe(const FaultReport& report, int my_pe) {
  return "PE " + std::to_string(my_pe) +
         " called an operation with a bad argument: " + fault_sentence(report) +
         (report.what == Fault::foreign_post ? "" : "; the operation was not posted");
}

}  // namespace gdakit
