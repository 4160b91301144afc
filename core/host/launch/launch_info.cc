#include "core/host/launch/launch_info.h"

#include <cerrno>
#include <charconv>
#include <sys/random.h>

#include "core/base/hex.h"

namespace gdakit {
namespace {

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

std::string job_secret_text(const JobSecret& secret) { return hex_digits(secret); }

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

JobSecret derive_job_secret(std::string_view shared) {
  // FNV-1a, once for each half, from two starts. What goes in can be guessed, so a hash that cannot
  // be turned round would hide nothing.
  constexpr std::uint64_t kPrime = 0x100000001b3;
  std::uint64_t halves[] = {0xcbf29ce484222325, 0x9ae16a3b2f90404f};
  JobSecret secret;
  for (std::size_t half = 0; half < 2; ++half) {
    for (const char c : shared) {
      halves[half] = (halves[half] ^ static_cast<unsigned char>(c)) * kPrime;
    }
    for (std::size_t i = 0; i < 8; ++i) {
      secret[8 * half + i] = static_cast<std::uint8_t>(halves[half] >> (8 * i));
    }
  }
  return secret;
}

void set_root(LaunchInfo& info, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  info.root_host = host;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), info.root_port);
}

std::string root_text(const LaunchInfo& info) {
  const bool v6 = info.root_host.find(':') != std::string::npos;
  return (v6 ? "[" + info.root_host + "]" : info.root_host) + ":" + std::to_string(info.root_port);
}

}  // namespace gdakit
