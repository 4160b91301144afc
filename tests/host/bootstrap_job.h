// Jobs whose PEs are threads of the test, over either bootstrap.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/bootstrap/tcp_bootstrap.h"
#include "core/host/launch/launch_info.h"
#include "core/host/launch/tcp_listener.h"

namespace gdakit::testing_bootstrap {

using namespace std::chrono_literals;

enum class Wire { local, tcp };

inline Bytes bytes_of(std::string_view text) { return to_bytes(text.data(), text.size()); }
inline std::string text_of(const Bytes& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += static_cast<char>(byte);
  return text;
}

// A TCP job on a free port of this host.
struct TcpJob {
  explicit TcpJob(int job_size, std::chrono::milliseconds job_timeout = 20s)
      : size(job_size), timeout(job_timeout) {
    Result<UniqueFileDescriptor> opened = open_listener("127.0.0.1", 0);
    EXPECT_TRUE(opened) << opened.error().message();
    listener = std::move(*opened);
    address = *listener_address(listener.get());
    secret = *make_job_secret();
  }

  LaunchInfo info(int rank) const {
    LaunchInfo launch;
    launch.rank = rank;
    launch.size = size;
    launch.root_host = address.host;
    launch.root_port = address.port;
    launch.secret = secret;
    launch.timeout = timeout;
    if (rank == 0) launch.listen_fd = listener.get();
    return launch;
  }

  int size;
  std::chrono::milliseconds timeout;
  UniqueFileDescriptor listener;
  ListenerAddress address;
  JobSecret secret{};
};

using Body = std::function<void(std::unique_ptr<Bootstrap>)>;

// Runs `body` once for each PE, in a thread of its own.
inline void run_members(int size, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

inline void run_job(Wire wire, int size, std::chrono::milliseconds timeout, const Body& body) {
  if (wire == Wire::local) {
    auto members = make_local_bootstraps(size, timeout);
    ASSERT_TRUE(members) << members.error().message();
    run_members(size,
                [&](int rank) { body(std::move((*members)[static_cast<std::size_t>(rank)])); });
    return;
  }
  const TcpJob job(size, timeout);
  run_members(size, [&](int rank) {
    auto member = open_tcp_bootstrap(job.info(rank), Log(LogLevel::error));
    ASSERT_TRUE(member) << member.error().message();
    body(std::move(*member));
  });
}

// The message of the error in `result`.
template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().message();
}

}  // namespace gdakit::testing_bootstrap
