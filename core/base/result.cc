#include "core/base/result.h"

#include <cstring>

namespace gdakit {

const char* code_name(Code code) {
  switch (code) {
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::unavailable: return "unavailable";
    case Code::exhausted: return "exhausted";
    case Code::timed_out: return "timed_out";
    case Code::permission_denied: return "permission_denied";
    case Code::aborted: return "aborted";
    case Code::peer_lost: return "peer_lost";
    case Code::system: return "system";
    case Code::internal: return "internal";
  }
  return "unknown";
}

Error Error::from_errno(std::string message, int system_code) {
  return Error(Code::system, std::move(message) + ": " + std::strerror(system_code), system_code);
}

}  // namespace gdakit
