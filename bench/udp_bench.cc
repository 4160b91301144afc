// How fast is the soft NIC's wire between hosts, held against UDP itself?
//
// Two processes of this host, whose NICs meet over UDP on the loopback interface, and two plain
// sockets there that move datagrams of the same size by the same system calls. They take turns, run
// by run, since other programs disturb both; each ratio is the median of the ratios of the runs.
// "at best" is the ratio of the best runs of each, which were disturbed least.
//
//   64 KiB puts     kept in flight; bound: 80 % of the plain pair's bytes
//   8-byte puts     kept in flight; bound: 60 % of the plain pair's datagrams
//   put and quiet   one at a time; bound: 1.5 times the ping-pong of a plain pair
//   ICRC            of 4 KiB packets, beside memcpy of the same bytes
//
// The plain pair lets the system cut its datagrams out of long ones and join them, as the NIC does;
// what it does without is shown beside it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/softnic/wire/roce_icrc.h"
#include "bench/plain_udp.h"
#include "bench/program.h"
#include "bench/statistics.h"
#include "bench/two_pes.h"
#include "core/base/wait_clock.h"

namespace gdakit::bench {
namespace {

constexpr std::size_t kLarge = 64 << 10;
constexpr std::size_t kBuffer = 1 << 20;                   // of source and of target
constexpr std::uint32_t kLongDatagram = 12 + 4096 + 4;     // BTH, payload, ICRC
constexpr std::uint32_t kShortDatagram = 12 + 16 + 8 + 4;  // with RETH
constexpr int kBatch = 16;

struct Size {
  std::uint64_t runs;
  std::uint64_t large;  // puts of one run
  std::uint64_t small;
  std::uint64_t trips;
  std::uint64_t icrc_packets;
};

// Runs `kernel` on PE 0. Returns the seconds that it took there.
template <class Kernel>
Result<double> timed(TwoPes& pes, const Kernel& kernel) {
  double seconds = 0;
  Status status;
  const Result<void> ran = pes.launch([&](auto& pe) {
    const std::uint64_t begin = pe.machine().clock_ns();
    kernel(pe);
    status = pe.quiet();
    seconds = static_cast<double>(pe.machine().clock_ns() - begin) * 1e-9;
  });
  if (!ran) return ran.error();
  if (!status) return Error(Code::internal, "a put of the bench failed");
  return seconds;
}

Result<double> put_large(TwoPes& pes, std::uint64_t count) {
  return timed(pes, [&pes, count](auto& pe) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t at = i * kLarge % kBuffer;
      pe.put_nbi(pes.target() + at, pes.source() + at, kLarge, 1,
                 (i + 1) % kBatch == 0 || i + 1 == count ? Batch::last : Batch::more);
    }
  });
}

Result<double> put_small(TwoPes& pes, std::uint64_t count) {
  return timed(pes, [&pes, count](auto& pe) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t at = i * 8 % kBuffer;
      pe.put_nbi(pes.target() + at, pes.source() + at, 8, 1,
                 (i + 1) % kBatch == 0 || i + 1 == count ? Batch::last : Batch::more);
    }
  });
}

Result<double> put_and_quiet(TwoPes& pes, std::uint64_t count) {
  return timed(pes, [&pes, count](auto& pe) {
    for (std::uint64_t i = 0; i < count; ++i) {
      pe.put_nbi(pes.target(), pes.source(), 8, 1);
      pe.quiet();
    }
  });
}

// Fills the source anew for a run, and afterwards looks at what lies at PE 1.
class Bytes {
 public:
  explicit Bytes(TwoPes& pes) : pes_(pes) {}

  void renew(std::size_t size) {
    size_ = size;
    for (std::size_t i = 0; i < size; ++i) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      pes_.source()[i] = static_cast<char>(state_ >> 56);
    }
  }
  Result<void> check() {
    std::memset(pes_.target(), 0, size_);
    const Result<void> ran = pes_.launch([this](auto& pe) {
      pe.get_nbi(pes_.target(), pes_.target(), size_, 1);
      pe.quiet();
    });
    if (!ran) return ran;
    if (std::memcmp(pes_.target(), pes_.source(), size_) == 0) return {};
    return Error(Code::internal, "the bytes that were put over UDP are not those that arrived");
  }

 private:
  TwoPes& pes_;
  std::size_t size_ = 0;
  std::uint64_t state_ = 1;
};

double best(const std::vector<double>& rates) {
  return *std::max_element(rates.begin(), rates.end());
}

// Figures of one run by turns: what each yardstick and the NIC do.
struct Turns {
  std::vector<double> plain, cut, nic, ratio;
};

// `put(count)` moves `count` messages of `datagrams` packets each; figures are `each` per message.
template <class Put>
Result<Turns> stream_by_turns(TwoPes& pes, const Size& size, std::uint32_t datagram_bytes,
                              std::size_t bytes, std::uint64_t count, std::uint64_t datagrams,
                              double each, const Put& put) {
  auto plain = PlainUdp::open({datagram_bytes, /*segments=*/false});
  if (!plain) return plain.error();
  auto cut = PlainUdp::open({datagram_bytes, /*segments=*/true});
  if (!cut) return cut.error();
  Bytes contents(pes);
  Turns turns;
  const double all = each * static_cast<double>(count);
  for (std::uint64_t run = 0; run <= size.runs; ++run) {
    contents.renew(bytes);
    const Result<double> plain_s = (*plain)->stream(count * datagrams);
    if (!plain_s) return plain_s.error();
    const Result<double> cut_s = (*cut)->stream(count * datagrams);
    if (!cut_s) return cut_s.error();
    const Result<double> nic_s = put(pes, count);
    if (!nic_s) return nic_s.error();
    if (const Result<void> right = contents.check(); !right) return right.error();
    if (run == 0) continue;  // which warms up
    turns.plain.push_back(all / *plain_s);
    turns.cut.push_back(all / *cut_s);
    turns.nic.push_back(all / *nic_s);
    turns.ratio.push_back(*cut_s / *nic_s);
  }
  return turns;
}

Result<void> measure_streams(TwoPes& pes, const Size& size, Report& report) {
  Table& table = report.add_table("a stream of puts, and of plain datagrams of the same size",
                                  {{"put", ""},
                                   {"unit", ""},
                                   {"plain", ""},
                                   {"plain, cut and joined", ""},
                                   {"NIC", ""},
                                   {"NIC of cut", ""},
                                   {"at best", ""},
                                   {"bound", ""}},
                                  "stream");
  const std::size_t large_bytes = std::min<std::size_t>(size.large * kLarge, kBuffer);
  const auto large = stream_by_turns(pes, size, kLongDatagram, large_bytes, size.large,
                                     kLarge / 4096, double{kLarge} * 1e-9, put_large);
  if (!large) return large.error();
  table.add_row({"64 KiB", "GB/s", median(large->plain), median(large->cut), median(large->nic),
                 median(large->ratio), best(large->nic) / best(large->cut), 0.8});
  const std::size_t small_bytes = std::min<std::size_t>(size.small * 8, kBuffer);
  const auto small =
      stream_by_turns(pes, size, kShortDatagram, small_bytes, size.small, 1, 1e-6, put_small);
  if (!small) return small.error();
  table.add_row({"8 bytes", "M/s", median(small->plain), median(small->cut), median(small->nic),
                 median(small->ratio), best(small->nic) / best(small->cut), 0.6});
  return {};
}

Result<void> measure_latency(TwoPes& pes, const Size& size, Report& report) {
  auto plain = PlainUdp::open({kShortDatagram, /*segments=*/false});
  if (!plain) return plain.error();
  Bytes contents(pes);
  std::vector<double> plain_us, nic_us, ratio;
  for (std::uint64_t run = 0; run <= size.runs; ++run) {
    contents.renew(8);
    const Result<double> plain_s = (*plain)->ping_pong(size.trips);
    if (!plain_s) return plain_s.error();
    const Result<double> nic_s = put_and_quiet(pes, size.trips);
    if (!nic_s) return nic_s.error();
    if (const Result<void> right = contents.check(); !right) return right.error();
    if (run == 0) continue;
    plain_us.push_back(*plain_s * 1e6 / static_cast<double>(size.trips));
    nic_us.push_back(*nic_s * 1e6 / static_cast<double>(size.trips));
    ratio.push_back(*nic_s / *plain_s);
  }
  Table& table = report.add_table("one at a time",
                                  {{"plain ping-pong", "us"},
                                   {"8-byte put and quiet", "us"},
                                   {"NIC of plain", ""},
                                   {"at best", ""},
                                   {"bound", ""}},
                                  "latency");
  const auto least = [](const std::vector<double>& us) {
    return *std::min_element(us.begin(), us.end());
  };
  table.add_row(
      {median(plain_us), median(nic_us), median(ratio), least(nic_us) / least(plain_us), 1.5});
  return {};
}

// Returns what nobody needs, so that it is computed.
std::uint32_t measure_icrc(const Size& size, Report& report) {
  constexpr std::size_t kPacket = 4096;
  std::vector<std::uint8_t> from(kBuffer, 1), to(kBuffer);
  std::vector<double> crc, copy, ratio;
  std::uint32_t sum = 0;
  for (std::uint64_t run = 0; run <= size.runs; ++run) {
    const std::uint64_t begin = steady_ns();
    for (std::uint64_t i = 0; i < size.icrc_packets; ++i) {
      softnic::roce::Icrc icrc({}, kLongDatagram);
      icrc.add(from.data() + i * kPacket % kBuffer, kPacket);
      sum ^= icrc.value();
    }
    const std::uint64_t middle = steady_ns();
    for (std::uint64_t i = 0; i < size.icrc_packets; ++i) {
      std::memcpy(to.data() + i * kPacket % kBuffer, from.data() + i * kPacket % kBuffer, kPacket);
      sum ^= to[i];
    }
    const std::uint64_t end = steady_ns();
    if (run == 0) continue;
    const double bytes = static_cast<double>(size.icrc_packets) * kPacket;
    crc.push_back(bytes / static_cast<double>(middle - begin));
    copy.push_back(bytes / static_cast<double>(end - middle));
    ratio.push_back(static_cast<double>(end - middle) / static_cast<double>(middle - begin));
  }
  Table& table =
      report.add_table("4 KiB packets of a buffer of 1 MiB",
                       {{"ICRC", "GB/s"}, {"memcpy", "GB/s"}, {"ICRC of memcpy", ""}}, "icrc");
  table.add_row({median(crc), median(copy), median(ratio)});
  return sum;
}

Result<void> run(TwoPes& pes, const Size& size, Report& report) {
  if (const Result<void> ran = measure_streams(pes, size, report); !ran) return ran;
  if (const Result<void> ran = measure_latency(pes, size, report); !ran) return ran;
  static_cast<void>(measure_icrc(size, report));
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit;
  using namespace gdakit::bench;
  Size size{9, 4096, 200'000, 10'000, 50'000};
  Program program("udp_bench", "How fast is the soft NIC's wire between hosts?", Needs::nothing);
  program.add_number("--runs", &size.runs, "Runs by turns, of which the median counts");
  program.add_number("--large", &size.large, "64 KiB puts of one run");
  program.add_number("--small", &size.small, "8-byte puts of one run");
  program.add_number("--trips", &size.trips, "Puts one at a time of one run");
  return program.main(argc, argv, [&](Report& report) -> Result<void> {
    if (program.quick()) size = {1, 32, 500, 50, 100};
    // The child is made first, while this process has one thread.
    auto pes = TwoPes::as_processes(kBuffer, {.nic_address = "127.0.0.0/8"});
    if (!pes) return pes.error();
    return run(**pes, size, report);
  });
}
