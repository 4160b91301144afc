#include "backends/softnic/uverbs/context.h"

#include <cerrno>

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
