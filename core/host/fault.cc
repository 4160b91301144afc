// Operations with bad arguments, in words.
#include <optional>

#include "core/host/stall.h"
#include "core/host/symmetric_heap.h"

namespace gdakit {
namespace {

const char* operation_text(Operation operation) {
  switch (operation) {
    case Operation::none: break;
    case Operation::put: return "put";
    case Operation::get: return "get";
    case Operation::put_signal: return "put_signal";
    case Operation::atomic: return "an atomic or a signal";
    case Operation::await: return "wait or test, of a ticket,";
    case Operation::word: return "wait_until, or another call that looks at words,";
    case Operation::collective: return "a collective";
    case Operation::lock: return "an operation on a lock";
    case Operation::send: return "send, put or put_with_immediate, on a channel,";
    case Operation::receive: return "post_receive or wait_receive, on a channel,";
  }
  return "an operation";
}

// Whether the report's PE is another end, rather than the one that called.
bool has_peer(const FaultReport& report) {
  return report.peer >= 0 && report.operation != Operation::collective &&
         report.operation != Operation::lock && report.operation != Operation::word;
}

// Memory that is not in the heap may begin there.
std::string outside_text(const FaultReport& report, const SymmetricHeap* heap) {
  const auto* const at = reinterpret_cast<const char*>(report.address);
  if (heap != nullptr && heap->reserves(at)) {
    const auto offset = static_cast<std::uint64_t>(at - heap->base());
    const std::optional<Allocation> object = heap->allocations().nearest(offset);
    if (object && offset < object->end()) {
      return " are not all in the symmetric heap: the object ends after " +
             std::to_string(object->end() - offset) + " of them";
    }
  }
  return " are not in the symmetric heap";
}

bool is_checked(const SymmetricHeap* heap) { return heap != nullptr && heap->is_checked(); }

// Of memory of a heap that is checked: why no object has it all.
std::optional<std::string> problem_of(const FaultReport& report, const SymmetricHeap* heap) {
  const auto* const at = reinterpret_cast<const char*>(report.address);
  if (!is_checked(heap) || !heap->reserves(at)) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(at - heap->base());
  const auto problem = heap->allocations().problem(offset, report.bytes);
  if (!problem) return std::nullopt;
  const std::string whose = report.what == Fault::local_memory ? " of this PE" : "";
  return std::to_string(report.bytes) + " bytes" + whose + " at " +
         place_text(report.address, nullptr) + " " + *problem;
}

std::string fault_sentence(const FaultReport& report, const SymmetricHeap* heap) {
  const std::string pe = "PE " + std::to_string(report.peer);
  const std::string place = place_text(report.address, heap);
  const char* const where =
      is_checked(heap) ? "one object of the symmetric heap" : "the symmetric heap";
  const std::string memory = std::to_string(report.bytes) + " bytes at " + place;
  switch (report.what) {
    case Fault::none: break;
    case Fault::no_pe: return "there is no " + pe;
    case Fault::no_queue:
      return "there is no queue of that number to " + pe +
             "; GDAKIT_QUEUES_PER_PEER says how many there are, with those of add_queues";
    case Fault::not_connected:
      return "this PE has no queue to " + pe +
             "; GDAKIT_CONNECT says to which PEs there are queues from the start, and "
             "Context::connect adds them for kernels that are launched later";
    case Fault::wrong_sharing:
      return "the queue to " + pe +
             " is of the other sharing; exclusively_on takes what add_queues made exclusive, and "
             "everything else the other queues";
    case Fault::foreign_post:
      return "somebody else has posted to the exclusive queue to " + pe +
             " meanwhile, and its WQEs may be void; one handle at a time may post there";
    case Fault::heap_memory:
      return problem_of(report, heap).value_or(memory + outside_text(report, heap));
    case Fault::local_memory:
      if (const auto problem = problem_of(report, heap)) return *problem;
      return memory +
             " of this PE are neither in the symmetric heap nor registered; allocate them there, "
             "or give them to register_buffer";
    case Fault::heap_elements:
      return "not all of the elements of " + memory + " and on are in " + where;
    case Fault::local_elements:
      return "not all of this PE's elements of " + memory + " and on are in " + where +
             " or registered; allocate them there, or give them to "
             "register_buffer";
    case Fault::alignment: return "the word of " + memory + " is not aligned to its size";
    case Fault::stride:
      return "a destination of several elements needs a stride other than 0, and alltoalls "
             "positive ones";
    case Fault::count: return "a heap cannot hold so many elements as were to go to " + place;
    case Fault::operation:
      return "its type does not have that reduction; floating-point numbers have no and, or and "
             "xor";
    case Fault::root: return "the root is none of the team's members";
    case Fault::not_a_member: return "this PE is in no such team";
    case Fault::ticket: return "the ticket names no queue of this job";
    case Fault::lock_not_held: return "this PE does not hold the lock at " + place;
    case Fault::no_channel:
      return "there is no channel of that number to " + pe +
             "; add_channels says how many there are";
    case Fault::long_message:
      return "a message of " + memory +
             " is longer than the NIC takes at once, or lies in too many pieces of registered "
             "memory (GDAKIT_HEAP_CHUNK)";
    case Fault::receive_room:
      return "as many receives from " + pe +
             " are posted as the channel's queue is deep; wait_receive takes one out, and "
             "ChannelOptions::receive_depth says how many there may be";
    case Fault::no_receive:
      return "it would wait for ever for a message from " + pe +
             ", as no receive is posted; call post_receive before";
  }
  return "an unknown one";
}

}  // namespace

std::string describe(const FaultReport& report, int my_pe, const SymmetricHeap* heap) {
  const std::string peer = has_peer(report) ? ", peer PE " + std::to_string(report.peer) : "";
  return "PE " + std::to_string(my_pe) + " called " + operation_text(report.operation) +
         " with a bad argument (block " + std::to_string(report.block) + ", thread " +
         std::to_string(report.thread) + peer + "): " + fault_sentence(report, heap) +
         (report.what == Fault::foreign_post ? "" : "; the operation was not posted");
}

}  // namespace gdakit
