#include "tools/timeline_pe.h"

#include <algorithm>

#include "backends/softnic/wire/packet_name.h"
#include "core/format/cqe.h"
#include "core/host/stall.h"

namespace gdakit::tools {
namespace {

std::string kernel_name(const TraceRecord& record) {
  const TraceRecord::Name name = record.name();
  return {name.begin(), std::ranges::find(name, '\0')};
}

const char* how_it_ended(TraceEnd how) {
  switch (how) {
    case TraceEnd::silent: return "without a CQE";
    case TraceEnd::told: return "with a CQE";
    case TraceEnd::failed: return "with an error";
    case TraceEnd::flushed: return "flushed";
  }
  return "?";
}

std::string cqe_name(const TraceRecord& record) {
  switch (static_cast<format::CqeOpcode>(record.of.opcode)) {
    case format::CqeOpcode::requester: return "CQE";
    case format::CqeOpcode::requester_error:
    case format::CqeOpcode::responder_error: return "CQE with an error";
    default: return "CQE of a receive";
  }
}

bool is_of_sends(std::uint32_t cqe_opcode) {
  const auto opcode = static_cast<format::CqeOpcode>(cqe_opcode);
  return opcode == format::CqeOpcode::requester || opcode == format::CqeOpcode::requester_error;
}

std::string packet_text(std::uint32_t opcode) {
  const bool known = opcode < static_cast<std::uint32_t>(softnic::PacketOpcode::count);
  return known ? softnic::packet_name(static_cast<softnic::PacketOpcode>(opcode)) : "packet";
}

}  // namespace

TimelinePe::TimelinePe(TimelineEvents& events, int pe, std::int64_t moved_ns)
    : events_(events), pe_(pe), moved_ns_(moved_ns), kernels_(events, pe, "kernels", 0) {
  events_.add_process(pe, "PE " + std::to_string(pe));
}

void TimelinePe::add(const TraceRecord& record) {
  last_ns_ = std::max(last_ns_, time_of(record));
  switch (record.kind) {
    case TraceKind::lost: return add_lost(record);
    case TraceKind::kernel_begin: return begin_kernel(record);
    case TraceKind::kernel_end: return end_kernel(record);
    case TraceKind::block_begin: return begin_block(record);
    case TraceKind::block_end: return end_block(record);
    case TraceKind::queue_name:
      queue_names_[record.queue] = queue_name(static_cast<std::uint32_t>(record.index)) +
                                   " to PE " + std::to_string(record.of.peer);
      queue_orders_[record.queue] = queue_names_.size();
      return;
    case TraceKind::doorbell: return add_doorbell(record);
    case TraceKind::fetch: return add_fetch(record);
    case TraceKind::wqe_begin: return begin_wqe(record);
    case TraceKind::wqe_end: return end_wqe(record);
    case TraceKind::cqe: return add_cqe(record);
    case TraceKind::cqe_lost: return add_lost_cqe(record);
    case TraceKind::packet_out:
    case TraceKind::packet_in: return add_packet(record);
    case TraceKind::alive:
    case TraceKind::count: return;
  }
}

void TimelinePe::part_ends_early(bool is_nic) {
  (is_nic ? end_of_nic_ : end_of_host_) = "the part ends here";
  const std::string part = is_nic ? "the NIC's part" : "the host's part";
  events_.add_instant(nic(),
                      {part + " ends early: the disk was full, or failed", "lost", last_ns_});
}

void TimelinePe::end() {
  for (const auto& [number, open] : open_kernels_) show_kernel(open, last_ns_, end_of_host_);
  for (const auto& [key, open] : open_blocks_) show_block(key, open, last_ns_, end_of_host_);
  for (auto& [number, queue] : queues_) {
    for (const Open& open : queue.open) show_wqe(queue, open, last_ns_, end_of_nic_);
    queue.open.clear();
  }
  open_kernels_.clear();
  open_blocks_.clear();
}

Lane TimelinePe::one_of(std::optional<Lane>& lane, const char* name, std::uint64_t order) {
  if (!lane) lane = events_.add_lane(pe_, name, order);
  return *lane;
}

// A queue that the host's part does not name goes by its queue pair.
std::string TimelinePe::queue_text(std::uint32_t number) const {
  const auto name = queue_names_.find(number);
  return name != queue_names_.end() ? name->second : "QP " + std::to_string(number);
}

TimelinePe::Queue& TimelinePe::queue(std::uint32_t number) {
  const auto found = queues_.find(number);
  if (found != queues_.end()) return found->second;
  const auto named = queue_orders_.find(number);
  const std::uint64_t place = named != queue_orders_.end() ? named->second : 0;
  const std::string name = queue_text(number);
  TimelineRows rows(events_, pe_, name, kQueueOrder + 100'000 * place);
  return queues_.emplace(number, Queue{name, std::move(rows), {}, {}}).first->second;
}

void TimelinePe::add_lost(const TraceRecord& record) {
  lost_ += record.value;
  for (auto& [number, queue] : queues_) {
    // A later one may be missing: of that CQE, and of those that told of WQEs before.
    queue.cqe.reset();
    queue.has_lost_cqe = false;
    queue.untold.clear();
  }
  const std::string name = std::to_string(record.value) + " events lost before";
  events_.add_instant(nic(), {name, "lost", time_of(record)});
}

void TimelinePe::begin_kernel(const TraceRecord& record) {
  const std::uint64_t begin_ns = time_of(record);
  open_kernels_[record.value] = {kernels_.take(begin_ns), begin_ns, record};
}

void TimelinePe::end_kernel(const TraceRecord& record) {
  const auto open = open_kernels_.find(record.value);
  if (open == open_kernels_.end()) return;  // its beginning was lost
  show_kernel(open->second, time_of(record));
  open_kernels_.erase(open);
}

void TimelinePe::show_kernel(const Open& open, std::uint64_t end_ns, const char* end) {
  events_.add_span(kernels_.lane(open.row),
                   {kernel_name(open.record), "kernel", open.begin_ns, end_ns},
                   [&](JsonWriter& args) {
                     args.member("blocks", open.record.index);
                     args.member("threads", open.record.size);
                     if (end != nullptr) args.member("end", end);
                   });
  kernels_.give_back(open.row, end_ns);
}

void TimelinePe::begin_block(const TraceRecord& record) {
  const std::uint64_t index = record.index;
  const std::uint64_t begin_ns = time_of(record);
  const std::string name = "block " + std::to_string(index);
  TimelineRows rows(events_, pe_, name, kBlockOrder + 10 * index);
  TimelineRows& of_block = blocks_.emplace(index, std::move(rows)).first->second;
  open_blocks_[{record.value, index}] = {of_block.take(begin_ns), begin_ns, record};
}

void TimelinePe::end_block(const TraceRecord& record) {
  const auto open = open_blocks_.find({record.value, record.index});
  if (open == open_blocks_.end()) return;
  show_block(open->first, open->second, time_of(record));
  open_blocks_.erase(open);
}

void TimelinePe::show_block(const BlockKey& key, const Open& open, std::uint64_t end_ns,
                            const char* end) {
  TimelineRows& rows = blocks_.at(key.second);
  const std::string name = "block " + std::to_string(key.second);
  events_.add_span(rows.lane(open.row), {name, "block", open.begin_ns, end_ns},
                   [&](JsonWriter& args) {
                     args.member("launch", key.first);
                     if (end != nullptr) args.member("end", end);
                   });
  rows.give_back(open.row, end_ns);
}

void TimelinePe::begin_wqe(const TraceRecord& record) {
  Queue& to = queue(record.queue);
  const std::uint64_t begin_ns = time_of(record);
  to.open.push_back({to.rows.take(begin_ns), begin_ns, record});
}

// WQEs end in their order: what lies before this one ended, too, and that was lost. One that was
// flushed may never have begun: it is shown from where its CQE begins.
void TimelinePe::end_wqe(const TraceRecord& record) {
  Queue& to = queue(record.queue);
  const std::uint64_t end_ns = time_of(record);
  const auto how = static_cast<TraceEnd>(record.of.detail);
  const auto is_it = [&](const Open& open) { return open.record.index == record.index; };
  if (std::ranges::none_of(to.open, is_it)) {
    const bool has_cqe = how != TraceEnd::silent && to.cqe;
    const std::uint64_t begin_ns = has_cqe ? std::min(to.cqe->at_ns, end_ns) : end_ns;
    to.open.push_front({to.rows.take(begin_ns), begin_ns, record});
    to.open.front().record.size = 0;
  }
  while (!is_it(to.open.front())) {
    show_wqe(to, to.open.front(), end_ns, "lost");
    to.open.pop_front();
  }
  const Open open = to.open.front();
  to.open.pop_front();
  const bool is_told = how != TraceEnd::silent;
  show_wqe(to, open, end_ns, is_told && to.has_lost_cqe ? "its CQE was lost" : how_it_ended(how));
  to.untold.push_back({to.rows.lane(open.row), open.begin_ns});
  if (!is_told) return;
  if (to.cqe) {
    for (const TimelinePoint& begin : to.untold) events_.add_arrow("completion", begin, *to.cqe);
  }
  to.untold.clear();
}

// An arrow hangs at a span that lasts.
void TimelinePe::show_wqe(Queue& queue, const Open& open, std::uint64_t ended_ns, const char* how) {
  const std::uint64_t end_ns = std::max(ended_ns, open.begin_ns + 1);
  const std::string name = opcode_name(static_cast<std::uint8_t>(open.record.of.opcode));
  events_.add_span(queue.rows.lane(open.row), {name, "wqe", open.begin_ns, end_ns},
                   [&](JsonWriter& args) {
                     args.member("wqe", open.record.index);
                     args.member("bytes", open.record.size);
                     args.member("qp", open.record.queue);
                     args.member("end", how);
                   });
  queue.rows.give_back(open.row, end_ns);
}

void TimelinePe::add_cqe(const TraceRecord& record) {
  const std::uint64_t begin_ns = moved(record.value);
  const Lane in = nic();
  events_.add_span(in, {cqe_name(record), "cqe", begin_ns, time_of(record)}, [&](JsonWriter& args) {
    args.member("queue", queue_text(record.queue));
    args.member("wqe", record.index);
    if (record.of.detail == 0) return;
    const auto syndrome = static_cast<format::Syndrome>(record.of.detail);
    args.member("error", describe(syndrome));
  });
  if (!is_of_sends(record.of.opcode)) return;
  Queue& of = queue(record.queue);
  of.cqe = {in, begin_ns};
  of.has_lost_cqe = false;
}

void TimelinePe::add_lost_cqe(const TraceRecord& record) {
  events_.add_instant(nic(), {"CQE lost: CQ overrun", "nic", time_of(record)},
                      [&](JsonWriter& args) {
                        args.member("queue", queue_text(record.queue));
                        args.member("wqe", record.index);
                      });
  if (!is_of_sends(record.of.opcode)) return;
  Queue& of = queue(record.queue);
  of.cqe.reset();
  of.has_lost_cqe = true;
}

void TimelinePe::add_doorbell(const TraceRecord& record) {
  events_.add_instant(nic(), {"doorbell", "nic", time_of(record)}, [&](JsonWriter& args) {
    args.member("queue", queue_text(record.queue));
    args.member("producer", record.index);
  });
}

void TimelinePe::add_fetch(const TraceRecord& record) {
  events_.add_instant(nic(), {"fetch", "nic", time_of(record)}, [&](JsonWriter& args) {
    args.member("queue", queue_text(record.queue));
    args.member("wqe", record.index);
    args.member("wqebbs", record.size);
    args.member("took_ns", record.time_ns - std::min(record.value, record.time_ns));
  });
}

void TimelinePe::add_packet(const TraceRecord& record) {
  const bool goes_out = record.kind == TraceKind::packet_out;
  const std::string name = packet_text(record.of.opcode) + (goes_out ? " to PE " : " from PE ") +
                           std::to_string(record.of.peer);
  events_.add_instant(wire(), {name, goes_out ? "sent" : "received", time_of(record)},
                      [&](JsonWriter& args) {
                        args.member("psn", record.of.psn);
                        args.member("psns", record.of.detail);
                        args.member("bytes", record.size);
                        args.member("qp", record.queue);
                      });
}

}  // namespace gdakit::tools
