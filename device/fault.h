// What is wrong with the arguments of an operation that is refused, as reports name it.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"
#include "device/status.h"

namespace gdakit {

enum class Fault : std::uint8_t {
  none,
  no_pe,           // a PE that the job does not have
  no_queue,        // a queue that there is not to each PE
  not_connected,   // a PE to which this one has no queue
  wrong_sharing,   // an exclusive queue used as a shared one, or the other way round
  foreign_post,    // somebody else has posted to an exclusive queue
  heap_memory,     // memory that should lie in the symmetric heap
  local_memory,    // memory that should lie there or be registered
  heap_elements,   // some of many elements that should lie in the symmetric heap
  local_elements,  // some of many that should lie there or be registered
  alignment,       // a word that is not aligned to its size
  stride,          // that of a destination is 0, or one of alltoalls below 1
  count,           // more elements than a heap can hold
  operation,       // a reduction that its type does not have
  root,            // a member that the team does not have
  not_a_member,    // a team that this PE is not in
  ticket,          // one of no queue of the job
  lock_not_held,   // a lock that this PE does not hold
  no_channel,      // a channel that there is not to each PE
  long_message,    // longer than one message can be, or in too many pieces of registered memory
  receive_room,    // more receives than the channel's queue is deep
  no_receive,      // a wait for a message where no receive is posted
};

// Which operation a thread called, as reports name it.
enum class Operation : std::uint8_t {
  none,  // not known
  put,
  get,
  put_signal,
  atomic,      // or a signal alone
  await,       // wait or test, of a ticket
  word,        // wait_until, or another call that looks at words
  collective,  // on a team
  lock,
  send,     // or put_with_immediate, on a channel
  receive,  // post_receive, wait_receive
};

GDAKIT_HOST_DEVICE constexpr StatusCode code_of(Fault fault) {
  switch (fault) {
    case Fault::heap_memory:
    case Fault::local_memory:
    case Fault::heap_elements:
    case Fault::local_elements: return StatusCode::invalid_address;
    default: return StatusCode::invalid_argument;
  }
}

}  // namespace gdakit
