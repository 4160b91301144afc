// Who has subscribed to which events by DEVX: beside what verbs tell of (events.h), to any file of
// events, once or more often.
//
// Safe from any thread; the NIC's calls tell() between its steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backends/softnic/objects/events.h"
#include "backends/softnic/uverbs/devx_mailboxes.h"
#include "backends/softnic/uverbs/event_pipe.h"
#include "core/base/kept_file.h"

namespace gdakit::softnic::uverbs {

// The header of a record, mlx5_ib_uapi_devx_async_event_hdr, without and with the entry of the
// event queue behind it.
inline constexpr std::size_t kCookieBytes = 8;
inline constexpr std::size_t kEventQueueEntryBytes = 64;

struct Subscription {
  EventKind kind = EventKind::completion;
  std::uint64_t cookie = 0;
  std::weak_ptr<EventPipe> pipe;  // its records are of one of both sizes; it ends with its file
  std::shared_ptr<const KeptFile> counter;  // an eventfd that is told instead, if there is one
  // Without data one record of it waits at a time: a client that has not read it is told no more.
  bool once = false;
  std::uint64_t put = 0;  // its file had so many records with its last one
};

class DevxEvents {
 public:
  // To events of an object; of none: of the port.
  void subscribe(std::optional<DevxName> object, Subscription subscription);
  // The object is no more.
  void unsubscribe(DevxName object);
  // Whether so many have come that it is time to look for those whose file is closed.
  bool is_full() const;
  // Subscriptions whose file is closed go.
  void forget_closed();

  void tell(const Event& event);

 private:
  using Key = std::pair<int, std::uint32_t>;  // the object's kind, or that of the port; number
  static Key key_of(std::optional<DevxName> object);

  static constexpr std::size_t kFewSubscriptions = 64;

  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  std::multimap<Key, Subscription> subscriptions_;
  std::size_t most_ = kFewSubscriptions;
};

inline constexpr std::size_t kMostEventsOfACall = 16;

// Whether events of this number (EventKind) are those of objects, or of the port.
bool is_object_event(std::uint16_t number);
bool is_port_event(std::uint16_t number);

}  // namespace gdakit::softnic::uverbs
