#include "core/host/launch_info.h"

#include <cerrno>
#include <charconv>
#include <sys/random.h>

namespace gdakit {
namespace {

// One function for each kind of launcher: nothing if that launcher did not start this process.

Result<std::optional<LaunchInfo>> from_gdakit_run(const Options& options) {
  if (!options.rank && !options.size) return std::optional<LaunchInfo>();
  LaunchInfo info;
  info.rank = static_cast<int>(*options.rank);
  info.size = static_cast<int>(*options.size);
  info.timeout = options.timeout;
  if (info.size == 1) return std::optional(info);
  for (const auto& [name, value] :
       {std::pair("GDAKIT_ROOT", &options.root), std::pair("GDAKIT_SECRET", &options.secret)}) {
    if (!value->empty()) continue;
    return Error(Code::invalid_argument, std::string(name) + " is not set, and a job of " +
                                             std::to_string(info.size) +
                                             " PEs needs it; set it, or use gdakit run");
  }
  Result<JobSecret> secret = parse_job_secret(options.secret);
  if (!secret) return secret.error();
  info.secret = *secret;

  const std::size_t colon = options.root.rfind(':');
  info.root_host = options.root.substr(0, colon);
  if (info.root_host.starts_with('[') && info.root_host.ends_with(']')) {
    info.root_host = info.root_host.substr(1, info.root_host.size() - 2);  // an IPv6 address
  }
  const char* const end = options.root.data() + options.root.size();
  std::from_chars(options.root.data() + colon + 1, end, info.root_port);
  if (info.rank == 0 && options.listen_fd) info.listen_fd = static_cast<int>(*options.listen_fd);
  return std::optional(info);
}

int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

Result<JobSecret> make_job_secret() {
  JobSecret secret;
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
    return Error::from_errno("getrandom for the job's secret", errno);
  }
  return secret;
}

std::string job_secret_text(const JobSecret& secret) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : secret) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<JobSecret> parse_job_secret(std::string_view text) {
  JobSecret secret{};
  bool good = text.size() == 2 * secret.size();
  for (std::size_t i = 0; good && i < secret.size(); ++i) {
    const int high = digit_value(text[2 * i]);
    const int low = digit_value(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    secret[i] = static_cast<std::uint8_t>(16 * high + low);
  }
  if (good) return secret;
  return Error(Code::invalid_argument,
               "the job's secret (GDAKIT_SECRET) must be 32 hexadecimal digits");
}

Result<LaunchInfo> find_launch_info(const Options& options) {
  if (Result<void> valid = options.validate(); !valid) return valid.error();
  Result<std::optional<LaunchInfo>> ours = from_gdakit_run(options);
  if (!ours) return ours.error();
  if (ours->has_value()) return **ours;
  LaunchInfo alone;
  alone.timeout = options.timeout;
  return alone;
}

}  // namespace gdakit
