#include "core/host/bootstrap/host_name.h"

#include <fstream>
#include <random>
#include <string>
#include <unistd.h>

namespace gdakit {

HostName this_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 128> name{};
  ::gethostname(name.data(), name.size() - 1);
  HostName host;
  (boot + " " + name.data()).copy(host.text.data(), host.text.size() - 1);
  return host;
}

ProcessToken this_process() {
  static const ProcessToken kToken = [] {
    std::random_device device;
    ProcessToken token{};
    for (std::uint64_t& word : token) word = std::uint64_t{device()} << 32 | device();
    return token;
  }();
  ProcessToken token = kToken;
  token[0] ^= static_cast<std::uint64_t>(::getpid());  // a fork has its parent's variables
  return token;
}

}  // namespace gdakit
