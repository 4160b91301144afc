#include "backends/softnic/uverbs/context.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/softnic/uverbs/dispatch.h"

namespace gdakit::softnic::uverbs {

Context::~Context() {
  while (Object* const object = handles_.last()) {
    static_cast<void>(object->end(device_));
    handles_.remove(*object);
  }
}

int Context::call(std::uint64_t header) {
  Attributes attributes;
  if (const int error = attributes.open(header)) return error;
  const std::lock_guard lock(mutex_);
  return dispatch(*this, attributes);
}

void Context::add_channel(int file, std::shared_ptr<EventPipe> pipe) {
  if (channels_.size() >= most_channels_) {
    std::erase_if(channels_, [](const auto& one) {
      const auto& [identity, channel] = one;
      return channel.pipe.use_count() == 1 && EventPipe::identity_of(channel.file) != identity;
    });
    most_channels_ = std::max<std::size_t>(16, 2 * channels_.size());
  }
  const std::uint64_t identity = pipe->identity();
  channels_[identity] = {file, std::move(pipe)};
}

std::shared_ptr<EventPipe> Context::channel(int file) const {
  const auto at = channels_.find(EventPipe::identity_of(file));
  return at == channels_.end() ? nullptr : at->second.pipe;
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
