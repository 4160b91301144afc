// Files from which clients read of events that they have subscribed to by DEVX, and of commands
// that they need not wait for.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "backends/softnic/uverbs/commands.h"
#include "backends/softnic/uverbs/devx_call.h"
#include "backends/softnic/uverbs/own_files.h"

namespace gdakit::softnic::uverbs {
namespace {

using ChannelOf = Context::ChannelOf;

int open_channel(Context& context, Attributes& call, std::uint16_t id, ChannelOf what,
                 std::size_t record_bytes) {
  if (!context.has_devx() || !call.has(id)) return EINVAL;
  Result<std::shared_ptr<EventPipe>> pipe = EventPipe::open(record_bytes, EventPipe::Reads::of_one);
  if (!pipe) return errno_of(pipe.error());
  const int file = (*pipe)->take_client_end();
  if (const int error = call.give_number(id, static_cast<std::uint32_t>(file))) {
    ::close(file);
    return error;
  }
  context.add_channel(what, file, std::move(*pipe));
  return 0;
}

int find_channel(const Context& context, const Attributes& call, std::uint16_t id, ChannelOf what,
                 std::shared_ptr<EventPipe>& to) {
  std::uint32_t file = 0;
  if (const int error = call.number(id, file)) return error;
  to = context.channel(what, static_cast<int>(file));
  return to == nullptr ? EBADF : 0;
}

bool is_eventfd(int file) {
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  char target[64];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  return std::string_view(target, size < 0 ? 0 : static_cast<std::size_t>(size)) ==
         "anon_inode:[eventfd]";
}

// The client's own eventfd, which it may close: a copy of it is kept.
int keep_counter(const Attributes& call, std::shared_ptr<const KeptFile>& to) {
  constexpr std::uint16_t kFile = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM;
  if (!call.has(kFile)) return 0;
  std::uint32_t number = 0;
  if (call.has(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE)) return EINVAL;  // it would be nowhere
  if (const int error = call.read(kFile, number)) return error;
  const int file = static_cast<int>(number);
  if (is_own_file(number) || !is_eventfd(file)) return EINVAL;
  const OpeningOwnFiles opening;
  UniqueFileDescriptor copy(::fcntl(file, F_DUPFD_CLOEXEC, 0));
  if (!copy) return errno;
  to = std::make_shared<const KeptFile>(keep_file(std::move(copy)));
  return 0;
}

// What is subscribed to: of an object, or of the port.
int read_events(const Context& context, const Attributes& call, std::optional<DevxName>& object,
                std::vector<std::uint16_t>& events) {
  if (const int error = call.array(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, events)) {
    return error;
  }
  if (call.has(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE)) {
    DevxName name;
    if (const int error =
            read_devx_name(context, call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, name)) {
      return error;
    }
    if (!has_events(name.kind)) return EINVAL;
    object = name;
  }
  if (events.size() > kMostEventsOfACall) return EINVAL;
  return std::ranges::all_of(events, object ? is_object_event : is_port_event) ? 0 : EINVAL;
}

}  // namespace

int devx_alloc_events(Context& context, Attributes& call) {
  std::uint32_t flags = 0;
  if (const int error = call.flags(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS,
                                   MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA, flags)) {
    return error;
  }
  const std::size_t record_bytes = flags != 0 ? kCookieBytes : kCookieBytes + kEventQueueEntryBytes;
  return open_channel(context, call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE,
                      ChannelOf::devx_events, record_bytes);
}

int devx_subscribe(Context& context, Attributes& call) {
  std::shared_ptr<EventPipe> pipe;
  std::optional<DevxName> object;
  std::vector<std::uint16_t> events;
  std::uint64_t cookie = 0;
  if (!context.has_devx()) return EINVAL;
  if (const int error = find_channel(context, call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE,
                                     ChannelOf::devx_events, pipe)) {
    return error;
  }
  if (const int error = read_events(context, call, object, events)) return error;
  if (const int error = call.read_known(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, cookie)) {
    return error;
  }
  std::shared_ptr<const KeptFile> counter;
  if (const int error = keep_counter(call, counter)) return error;
  DevxEvents& subscriptions = context.device().events().devx();
  if (subscriptions.is_full()) {
    context.forget_closed_channels();
    subscriptions.forget_closed();
  }
  for (const std::uint16_t event : events) {
    subscriptions.subscribe(object, {.kind = static_cast<EventKind>(event),
                                     .cookie = cookie,
                                     .pipe = pipe,
                                     .counter = counter,
                                     .once = pipe->record_bytes() == kCookieBytes});
  }
  return 0;
}

int devx_alloc_answers(Context& context, Attributes& call) {
  return open_channel(context, call, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE,
                      ChannelOf::devx_answers, EventPipe::kMostBytes);
}

// It is answered at once: nobody can tell. The record is mlx5_ib_uapi_devx_async_cmd_hdr.
int devx_query_async(Context& context, Attributes& call) {
  std::shared_ptr<EventPipe> pipe;
  std::uint64_t request = 0, out_bytes = 0;
  DevxCall command;
  if (const int error = command.read(context, call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN)) {
    return error;
  }
  if (const int error =
          command.check_object(context, call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, asked_by)) {
    return error;
  }
  if (const int error = find_channel(context, call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD,
                                     ChannelOf::devx_answers, pipe)) {
    return error;
  }
  if (const int error = call.read(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, request)) return error;
  if (const int error = call.read(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, out_bytes)) {
    return error;
  }
  if (out_bytes > EventPipe::kMostBytes - sizeof request) return EINVAL;
  const int error = command.execute(context, out_bytes);
  if (error != 0 && error != EREMOTEIO) return error;
  std::vector<std::uint8_t> record(sizeof request + out_bytes);
  std::memcpy(record.data(), &request, sizeof request);
  std::ranges::copy(command.out(), record.begin() + sizeof request);
  return pipe->put(record.data(), record.size()) ? 0 : EAGAIN;
}

}  // namespace gdakit::softnic::uverbs
