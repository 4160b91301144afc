// Who is told of a NIC's events: for each CQ, SRQ and QP of the device's clients, the pipes they
// read.
//
//   engine --Event--> EventBook --record--> EventPipe --> the client's read()
//
// Safe from any thread; the NIC's calls it between its steps.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/events.h"
#include "backends/softnic/uverbs/devx_events.h"
#include "backends/softnic/uverbs/event_pipe.h"

namespace gdakit::softnic::uverbs {

// The client's name of one, and where it reads of it. Pipes may be null.
struct Listener {
  std::uint64_t element = 0;
  std::shared_ptr<EventPipe> completions;
  std::shared_ptr<EventPipe> errors;
};

// How many events the client has read, or will have.
struct EventCounts {
  std::uint32_t completions = 0;
  std::uint32_t errors = 0;
};

class EventBook final : public EventSink {
 public:
  void add_cq(CqNumber cq, Listener listener) { add(cqs_, cq, std::move(listener)); }
  void add_srq(SrqNumber srq, Listener listener) { add(srqs_, srq, std::move(listener)); }
  void add_qp(QpNumber qp, Listener listener) { add(qps_, qp, std::move(listener)); }

  // No event names it any more; those that were not read are taken back.
  EventCounts remove_cq(CqNumber cq);
  EventCounts remove_srq(SrqNumber srq);
  // ... that this listener has, who was added: a queue pair may have several.
  EventCounts remove_qp(QpNumber qp, const Listener& listener);

  // Who has subscribed to more, or to those of objects that are not verbs'.
  DevxEvents& devx() { return devx_; }

  void event(const Event& event) override;

  // Who is told of the port, for as long as it lives.
  void add_port_listener(const std::shared_ptr<EventPipe>& errors);
  // The port with this number goes up or down.
  void port_changes(unsigned port, bool up);
  // The first port's table of GIDs is another one.
  void gids_change();

 private:
  struct Entry {
    Listener listener;
    EventCounts put;
  };
  using Entries = std::unordered_multimap<std::uint32_t, Entry>;

  void add(Entries& to, std::uint32_t number, Listener listener);
  EventCounts remove(Entries& from, Entries::iterator at);
  EventCounts remove(Entries& from, std::uint32_t number);
  void tell_port_listeners(unsigned port, std::uint32_t event);
  Entries& entries_of(EventKind kind);
  static void tell(Entry& entry, EventKind kind);

  std::mutex mutex_;
  Entries cqs_;
  Entries srqs_;
  Entries qps_;
  std::vector<std::weak_ptr<EventPipe>> port_listeners_;
  DevxEvents devx_;
};

}  // namespace gdakit::softnic::uverbs
