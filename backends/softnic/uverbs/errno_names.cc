#include "backends/softnic/uverbs/errno_names.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace gdakit::softnic::uverbs {
namespace {

// Those that the kernel's part of RDMA, and what it calls, returns.
constexpr std::array kNames = {
    std::pair{std::string_view("EPERM"), EPERM},
    std::pair{std::string_view("ENOENT"), ENOENT},
    std::pair{std::string_view("EINTR"), EINTR},
    std::pair{std::string_view("EIO"), EIO},
    std::pair{std::string_view("ENXIO"), ENXIO},
    std::pair{std::string_view("EBADF"), EBADF},
    std::pair{std::string_view("EAGAIN"), EAGAIN},
    std::pair{std::string_view("ENOMEM"), ENOMEM},
    std::pair{std::string_view("EACCES"), EACCES},
    std::pair{std::string_view("EFAULT"), EFAULT},
    std::pair{std::string_view("EBUSY"), EBUSY},
    std::pair{std::string_view("EEXIST"), EEXIST},
    std::pair{std::string_view("ENODEV"), ENODEV},
    std::pair{std::string_view("EINVAL"), EINVAL},
    std::pair{std::string_view("ENOTTY"), ENOTTY},
    std::pair{std::string_view("ENOSPC"), ENOSPC},
    std::pair{std::string_view("ERANGE"), ERANGE},
    std::pair{std::string_view("ENOSYS"), ENOSYS},
    std::pair{std::string_view("ENODATA"), ENODATA},
    std::pair{std::string_view("EREMOTEIO"), EREMOTEIO},
    std::pair{std::string_view("EPROTO"), EPROTO},
    std::pair{std::string_view("EOVERFLOW"), EOVERFLOW},
    std::pair{std::string_view("EMSGSIZE"), EMSGSIZE},
    std::pair{std::string_view("EPROTONOSUPPORT"), EPROTONOSUPPORT},
    std::pair{std::string_view("EOPNOTSUPP"), EOPNOTSUPP},
    std::pair{std::string_view("EADDRNOTAVAIL"), EADDRNOTAVAIL},
    std::pair{std::string_view("ENETDOWN"), ENETDOWN},
    std::pair{std::string_view("ENETUNREACH"), ENETUNREACH},
    std::pair{std::string_view("ECONNRESET"), ECONNRESET},
    std::pair{std::string_view("ENOBUFS"), ENOBUFS},
    std::pair{std::string_view("ETIMEDOUT"), ETIMEDOUT},
    std::pair{std::string_view("ECONNREFUSED"), ECONNREFUSED},
    std::pair{std::string_view("EHOSTUNREACH"), EHOSTUNREACH},
};

}  // namespace

std::optional<int> errno_by_name(std::string_view name) {
  const auto at = std::ranges::find(kNames, name,
                                    [](const auto& one) -> std::string_view { return one.first; });
  if (at != kNames.end()) return at->second;
  constexpr int kMostErrno = 133;
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_one = error == std::errc() && end == name.data() + name.size();
  return is_one && number > 0 && number <= kMostErrno ? std::optional(number) : std::nullopt;
}

}  // namespace gdakit::softnic::uverbs
