#include "core/host/launch/launch_source.h"

#include <arpa/inet.h>
#include <charconv>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include "core/host/launch/tcp_listener.h"

namespace gdakit {
namespace {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// An IP address as such, which means the same on all hosts; a name may not.
bool is_number(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool resolves(const std::string& host) {
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

// The first IPv4 address of this host that is not the loopback's; empty if there is none.
std::string first_address() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(entry->ifa_addr, sizeof(sockaddr_in), text, sizeof(text), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      return text;
    }
  }
  return "";
}

}  // namespace

std::string_view launcher_value(const Options& options, std::string_view name) {
  const auto found = options.set_by_launcher.find(name);
  return found == options.set_by_launcher.end() ? std::string_view() : found->second;
}

Result<std::optional<int>> launcher_number(const Options& options, std::string_view name, int least,
                                           int most) {
  const std::string_view text = launcher_value(options, name);
  if (text.empty()) return std::optional<int>();
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && stop == text.data() + text.size() && value >= least &&
      value <= most) {
    return std::optional(value);
  }
  return Error(Code::invalid_argument, std::string(name) + ": \"" + std::string(text) +
                                           "\" is not an integer from " + std::to_string(least) +
                                           " to " + std::to_string(most));
}

Result<LaunchInfo> launcher_place(const Options& options, LauncherChoice launcher,
                                  std::string_view rank, std::string_view size) {
  const Result<std::optional<int>> pes = launcher_number(options, size, 1, kMostPes);
  if (!pes) return pes.error();
  const Result<std::optional<int>> pe = launcher_number(options, rank, 0, **pes - 1);
  if (!pe) return pe.error().within(std::string(size) + "=" + std::to_string(**pes));
  LaunchInfo info;
  info.launcher = launcher;
  info.rank = **pe;
  info.size = **pes;
  info.timeout = options.timeout;
  return info;
}

Result<std::optional<int>> local_rank_of(const Options& options,
                                         std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    const Result<std::optional<int>> rank = launcher_number(options, name, 0, kMostPes - 1);
    if (!rank || *rank) return rank;
  }
  return std::optional<int>();
}

Result<void> set_rendezvous(const Options& options, const std::string& host, int port,
                            std::string_view shared, LaunchInfo& info) {
  info.root_host = host;
  info.root_port = static_cast<std::uint16_t>(port);
  if (!options.root.empty()) set_root(info, options.root);
  info.secret_is_derived = options.secret.empty();
  if (info.secret_is_derived) {
    info.secret = derive_job_secret(shared);
    return {};
  }
  Result<JobSecret> secret = parse_job_secret(options.secret);
  if (!secret) return secret.error();
  info.secret = *secret;
  return {};
}

Result<Launch> listen_at_root(const LaunchInfo& info) {
  Launch launch{info, {}, {}};
  if (info.rank != 0 || info.size == 1) return launch;
  Result<UniqueFileDescriptor> listener = open_root_listener(info.root_host, info.root_port);
  if (!listener) {
    return listener.error().within(
        "PE 0 cannot listen for the others at " + root_text(info) +
        "; set GDAKIT_ROOT=host:port, on every PE the same, to another port of PE 0's host");
  }
  launch.listener = std::move(*listener);
  launch.info.listen_fd = launch.listener.get();
  return launch;
}

Result<UniqueFileDescriptor> open_root_listener(const std::string& host, std::uint16_t port) {
  if (!is_loopback(host) && !is_number(host)) return open_listener("", port);
  Result<UniqueFileDescriptor> there = open_listener(host, port);
  const bool is_elsewhere = !there && there.error().system_code() == EADDRNOTAVAIL;
  return is_elsewhere ? open_listener("", port) : std::move(there);
}

std::string own_host() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) == 0 && resolves(name)) return name;
  const std::string address = first_address();
  return address.empty() ? "127.0.0.1" : address;
}

}  // namespace gdakit
