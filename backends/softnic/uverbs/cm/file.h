// An open /dev/infiniband/rdma_cm: where the events of its identifiers wait until they are fetched.
//
// The program's descriptor is the read end of a pipe, which has something in it for as long as
// there are events, so that it can be polled. Nobody reads it but this. Who waits for an event does
// it by a read of an eventfd: a signal whose handler asks for it (SA_RESTART) does not interrupt
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/softnic/uverbs/cm/connection.h"
#include "backends/softnic/uverbs/event_pipe.h"
#include "core/base/kept_file.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs::cm {

struct Id;

// A multicast group that an identifier has joined.
struct Group {
  std::uint32_t handle = 0;
  std::uint64_t uid = 0;  // as the program has named it
  std::uint32_t events_reported = 0;
};

struct Event {
  EventKind kind{};
  int status = 0;                          // a reason of the peer's, or a negative errno
  std::shared_ptr<Id> id = nullptr;        // whose event it is: of a request the listening one
  std::shared_ptr<Id> asked = nullptr;     // of a request: the new one
  std::shared_ptr<Group> group = nullptr;  // of multicast, which `uid` and `handle` name then
  std::uint64_t uid = 0;                   // of `id`, as the program has named it
  std::uint32_t handle = 0;                // of `id`, or of a request the new one's
  // What the peer has said, if anything.
  bool is_datagram = false;
  QpSide qp = {};
  Ece ece = {};
  Way way = {};
  int nic = 0;
  std::vector<std::uint8_t> private_data = {};
};

// Calls come one at a time, but for wait(), before which comes will_wait():
//
//   while (!(event = file.pop())) {
//     file.will_wait();
//     if (file.wait() != 0) file.has_not_waited();
//   }
class File {
 public:
  static Result<std::shared_ptr<File>> open();

  // The program's descriptor, which is its own from then on. Once.
  int take_client_end() { return pipe_->take_client_end(); }

  void push(Event event);
  std::optional<Event> pop();
  // Takes out those of an identifier that nobody has fetched.
  std::vector<Event> take_events(const Id& id);
  // Drops those of a group.
  void drop_events(const Group& group);

  void will_wait() { ++waiters_; }
  // Until there has been an event, which may be another one's by now. 0, or EINTR.
  int wait() const;
  void has_not_waited();

 private:
  File(std::shared_ptr<EventPipe> pipe, KeptFile woken)
      : pipe_(std::move(pipe)), woken_(std::move(woken)) {}
  // The pipe says whether there are events.
  void say();

  const std::shared_ptr<EventPipe> pipe_;
  const KeptFile woken_;       // has a token for each that is to wait no longer
  std::uint64_t waiters_ = 0;  // those that have none yet
  std::deque<Event> events_;
  bool said_ = false;
};

}  // namespace gdakit::softnic::uverbs::cm
