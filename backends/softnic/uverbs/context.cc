#include "backends/softnic/uverbs/context.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/softnic/uverbs/dispatch.h"

namespace gdakit::softnic::uverbs {

// The object made last goes first, but none before those that use it. What the firmware still needs
// for another object (the set of counters of a queue pair that is older) goes in a later round.
bool Context::end_some() {
  bool any = false;
  Object* object = handles_.last_unused();
  while (object != nullptr) {
    const std::uint32_t handle = object->handle();
    if (object->lingers() || is_gone(object->end(*this))) {
      handles_.remove(*object);
      any = true;
    }
    object = handles_.last_unused(handle);
  }
  return any;
}

Context::~Context() {
  while (end_some()) continue;
  while (Object* const object = handles_.last_unused()) handles_.remove(*object);
  channels_.clear();
  device_.events().devx().forget_closed();
  if (!begun()) return;
  device_.give_back_uid(uid_);
  device_.remove_context();
}

int Context::begin(bool with_devx) {
  const auto uid = device_.take_uid();
  if (!uid) return ENOMEM;
  if (!device_.add_context()) {
    device_.give_back_uid(*uid);
    return EAGAIN;
  }
  uid_ = *uid;
  has_devx_ = with_devx;
  return 0;
}

int Context::call(std::uint64_t header) {
  Attributes attributes;
  if (const int error = attributes.open(header)) return error;
  const std::lock_guard lock(mutex_);
  return dispatch(*this, attributes);
}

void Context::add_channel(ChannelOf what, int file, std::shared_ptr<EventPipe> pipe) {
  if (channels_.size() >= most_channels_) {
    forget_closed_channels();
    most_channels_ = std::max<std::size_t>(16, 2 * channels_.size());
  }
  const std::uint64_t identity = pipe->identity();
  channels_[identity] = {what, file, std::move(pipe)};
}

void Context::forget_closed_channels() {
  std::erase_if(channels_, [](const auto& one) {
    const auto& [identity, channel] = one;
    return channel.pipe.use_count() == 1 && EventPipe::identity_of(channel.file) != identity;
  });
}

std::shared_ptr<EventPipe> Context::channel(ChannelOf what, int file) const {
  const auto at = channels_.find(EventPipe::identity_of(file));
  if (at == channels_.end() || at->second.what != what) return nullptr;
  return at->second.pipe;
}

int errno_of(const Error& error) {
  switch (error.code()) {
    case Code::invalid_argument: return EINVAL;
    case Code::not_found: return ENOENT;
    case Code::unavailable: return EOPNOTSUPP;
    case Code::exhausted: return ENOMEM;
    case Code::timed_out: return ETIMEDOUT;
    case Code::permission_denied: return EPERM;
    case Code::system: return error.system_code();
    case Code::aborted:
    case Code::peer_lost:
    case Code::internal: break;
  }
  return EIO;
}

int errno_of(const Result<void>& result) { return result ? 0 : errno_of(result.error()); }

}  // namespace gdakit::softnic::uverbs
