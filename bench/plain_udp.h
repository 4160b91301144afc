// UDP by itself, as the yardstick of the soft NIC's wire: two sockets of the loopback interface, a
// thread at each, and nothing but system calls between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "backends/softnic/wire/udp_socket.h"
#include "core/base/result.h"

namespace gdakit::bench {

struct PlainUdpShape {
  std::uint32_t datagram_bytes = 0;
  // The system cuts datagrams out of longer ones, and joins them (UDP_SEGMENT, UDP_GRO).
  bool segments = false;
};

class PlainUdp {
 public:
  // The far end is a thread, which ends with this object.
  static Result<std::unique_ptr<PlainUdp>> open(const PlainUdpShape& shape);
  ~PlainUdp();
  PlainUdp(const PlainUdp&) = delete;
  PlainUdp& operator=(const PlainUdp&) = delete;

  // Sends so many datagrams by sendmmsg, no more at a time than the far end's buffer holds. Returns
  // the seconds until recvmmsg has fetched them all.
  Result<double> stream(std::uint64_t datagrams);
  // So many datagrams, each of which is answered by one before the next. Returns the seconds.
  Result<double> ping_pong(std::uint64_t trips);

 private:
  enum class Work : std::uint32_t { fetch, answer, end };

  PlainUdp(const PlainUdpShape& shape, softnic::UdpSocket near, softnic::UdpSocket far);

  std::uint32_t per_message() const;
  void begin(Work work);
  void serve();
  void fetch();
  void answer();

  const PlainUdpShape shape_;
  softnic::UdpSocket near_;
  softnic::UdpSocket far_;
  std::vector<std::uint8_t> sent_;
  std::vector<std::uint8_t> got_;
  std::atomic<Work> work_{Work::fetch};
  std::atomic<Work> at_work_{Work::fetch};  // what the far end is at
  std::atomic<std::uint64_t> fetched_{0};   // datagrams
  std::thread server_;
};

}  // namespace gdakit::bench
