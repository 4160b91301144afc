#include "backends/mlx5/queue_events.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string>

namespace gdakit::mlx5 {
namespace {

// By the PRM's number of the event.
struct Kind {
  std::uint16_t number;
  const char* what;
};
constexpr std::array kKinds{
    Kind{0x05, "the NIC has failed in what a peer asked for, or of itself (event 0x5)"},
    Kind{0x10, "a peer asked for what the queue pair does not do (event 0x10)"},
    Kind{0x11, "a peer asked for memory that it may not touch (event 0x11)"},
};
// Of a cookie, above the queue's name.
constexpr int kNumberShift = 48;

}  // namespace

// Records have the cookie alone: those with the event's data the kernel may have to drop for want
// of memory.
Result<std::unique_ptr<QueueEvents>> QueueEvents::open(const OpenNic& nic) {
  mlx5dv_devx_event_channel* const channel = nic.libraries().create_event_channel(
      nic.context(), MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
  if (channel == nullptr) return nic.failure("mlx5dv_devx_create_event_channel", errno);
  std::unique_ptr<QueueEvents> events(new QueueEvents(nic, channel));
  const int flags = ::fcntl(channel->fd, F_GETFL);
  if (flags < 0 || ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return nic.failure("fcntl of a channel of mlx5dv_devx events", errno);
  }
  return events;
}

QueueEvents::~QueueEvents() { nic_.libraries().destroy_event_channel(channel_); }

Result<void> QueueEvents::subscribe(const DevxObject& queue_pair, std::uint64_t name) {
  for (const Kind& kind : kKinds) {
    std::uint16_t number = kind.number;
    const std::uint64_t cookie = std::uint64_t{kind.number} << kNumberShift | name;
    const int code = nic_.libraries().subscribe_event(channel_, queue_pair.get(), sizeof number,
                                                      &number, cookie);
    if (code != 0) return nic_.failure("mlx5dv_devx_subscribe_devx_event", code);
  }
  return {};
}

Result<std::optional<QueueEvents::Told>> QueueEvents::next() {
  constexpr const char* kCall = "mlx5dv_devx_get_event";
  mlx5dv_devx_async_event_hdr record{};
  const ssize_t size = nic_.libraries().get_event(channel_, &record, sizeof record);
  if (size < 0) {
    if (errno == EAGAIN || errno == EINTR) return std::optional<Told>();
    return nic_.failure(kCall, errno);
  }
  if (size < static_cast<ssize_t>(sizeof record.cookie)) {
    return nic_.wrong_answer(kCall, "a record of " + std::to_string(size) + " bytes");
  }
  const auto kind = std::ranges::find(kKinds, record.cookie >> kNumberShift, &Kind::number);
  const char* const what = kind == kKinds.end() ? "an event of no known kind" : kind->what;
  return std::optional(Told{record.cookie & ((std::uint64_t{1} << kNumberShift) - 1), what});
}

}  // namespace gdakit::mlx5
