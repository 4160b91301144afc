// A program that reaches targets of DC by libmlx5's calls, and compares every byte.
//
//   verbs_dc operations | switching | many | wrong_key | destroy
#include <arpa/inet.h>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "tests/verbs/dc/ends.h"

namespace dc {
namespace {

constexpr std::uint64_t kKey = 0x5623ceaf00c0ffee;
constexpr std::size_t kHalf = std::size_t{4} << 20;

void fill(Device& device) {
  for (std::size_t i = 0; i < kHalf; ++i) {
    device.memory[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
  }
}

void same(Device& device, std::size_t one, std::size_t other, std::size_t bytes) {
  check(std::memcmp(device.at(one), device.at(other), bytes) == 0, "bytes differ");
}

void expect(ibv_wc_status found, ibv_wc_status wanted, const char* what) {
  check(found == wanted,
        std::string(what) + ": " + ibv_wc_status_str(found) + ", not " + ibv_wc_status_str(wanted));
}

std::uint64_t word(Device& device, std::size_t at) {
  std::uint64_t value;
  std::memcpy(&value, device.at(at), sizeof value);
  return value;
}

void operations() {
  Device device(2 * kHalf);
  fill(device);
  Target target(device, kKey);
  Initiator initiator(device);
  for (const std::uint32_t bytes : {1u, 100u, 1024u, 5000u, 1u << 20}) {
    initiator.write(target, kKey, 3, kHalf + 5, bytes);
    expect(initiator.wait(), IBV_WC_SUCCESS, "write");
    same(device, 3, kHalf + 5, bytes);
    initiator.read(target, kKey, 2 << 20, kHalf + 5, bytes);
    expect(initiator.wait(), IBV_WC_SUCCESS, "read");
    same(device, 2 << 20, kHalf + 5, bytes);
    std::memset(device.at(kHalf), 0, bytes + 64);
    target.post_receive(kHalf, bytes, bytes);
    initiator.send(target, kKey, 7, bytes, bytes + 1);
    expect(initiator.wait(), IBV_WC_SUCCESS, "send");
    const ibv_wc wc = target.wait();
    expect(wc.status, IBV_WC_SUCCESS, "receive");
    check(wc.wr_id == bytes && wc.byte_len == bytes, "the receive is another one");
    check(ntohl(wc.imm_data) == bytes + 1, "the immediate is another one");
    check(wc.qp_num == target.number(), "the receive is another target's");
    same(device, 7, kHalf, bytes);
  }
  std::memset(device.at(kHalf), 0, 8);
  for (int i = 0; i < 10; ++i) {
    initiator.fetch_add(target, kKey, 64, kHalf, 3);
    expect(initiator.wait(), IBV_WC_SUCCESS, "fetch_add");
    check(word(device, 64) == 3u * static_cast<unsigned>(i), "what fetch_add found is wrong");
  }
  check(word(device, kHalf) == 30, "the sum is wrong");
}

void switching() {
  Device device(2 * kHalf);
  fill(device);
  std::deque<Target> targets;
  for (int i = 0; i < 3; ++i) targets.emplace_back(device, kKey + static_cast<unsigned>(i));
  Initiator initiator(device);
  constexpr std::size_t kBytes = 3000;
  for (std::size_t round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 30; ++i) {
      const std::size_t at = i * kBytes;
      initiator.write(targets[i % 3], kKey + i % 3, at, kHalf + at, kBytes);
    }
    for (std::size_t i = 0; i < 30; ++i) expect(initiator.wait(), IBV_WC_SUCCESS, "write");
    same(device, 0, kHalf, 30 * kBytes);
    std::memset(device.at(kHalf), 0, 30 * kBytes);
  }
}

// More initiators than the NIC has responders (GDAKIT_DC_RESPONDERS).
void many() {
  constexpr std::size_t kInitiators = 64, kRounds = 40, kBytes = 2000, kRoom = 4096;
  Device device(2 * kHalf);
  fill(device);
  Target target(device, kKey);
  std::deque<Initiator> initiators;
  std::vector<std::size_t> posted(kInitiators), done(kInitiators);
  for (std::size_t i = 0; i < kInitiators; ++i) initiators.emplace_back(device);
  constexpr std::size_t kSum = kHalf + kInitiators * kRoom;
  const auto post = [&](std::size_t i) {
    if (posted[i] % 2 == 0) {
      initiators[i].write(target, kKey, i * kRoom, kHalf + i * kRoom, kBytes);
    } else {
      initiators[i].fetch_add(target, kKey, (3 << 20) + 8 * i, kSum, 1);
    }
    ++posted[i];
  };
  for (std::size_t n = 0; n < 4; ++n) {
    for (std::size_t i = 0; i < kInitiators; ++i) post(i);
  }
  for (std::size_t all = 0; all < kInitiators * kRounds;) {
    for (std::size_t i = 0; i < kInitiators; ++i) {
      ibv_wc_status error = IBV_WC_SUCCESS;
      const int more = initiators[i].poll(error);
      expect(error, IBV_WC_SUCCESS, "one of many");
      done[i] += static_cast<std::size_t>(more);
      all += static_cast<std::size_t>(more);
      for (int n = 0; n < more && posted[i] < kRounds; ++n) post(i);
    }
    std::this_thread::yield();
  }
  for (std::size_t i = 0; i < kInitiators; ++i) {
    same(device, i * kRoom, kHalf + i * kRoom, kBytes);
  }
  check(word(device, kSum) == kInitiators * kRounds / 2, "the sum is wrong");
}

void wrong_key() {
  Device device(2 * kHalf);
  fill(device);
  Target target(device, kKey);
  Initiator right(device), wrong(device);
  wrong.write(target, kKey ^ 1, 0, kHalf, 8);
  expect(wrong.wait(), IBV_WC_REM_ACCESS_ERR, "a wrong key");
  wrong.write(target, kKey, 0, kHalf, 8);
  expect(wrong.wait(), IBV_WC_WR_FLUSH_ERR, "behind a wrong key");
  check(word(device, kHalf) == 0, "a wrong key has written");
  right.write(target, kKey, 0, kHalf, 8);
  expect(right.wait(), IBV_WC_SUCCESS, "the right key");
}

void destroy() {
  constexpr std::uint32_t kBytes = 100'000;
  Device device(2 * kHalf);
  fill(device);
  Target stays(device, kKey);
  for (int round = 0; round < 20; ++round) {
    Target goes(device, kKey);
    Initiator one(device), other(device);
    for (std::size_t i = 0; i < 16; ++i) {
      one.write(goes, kKey, 0, kHalf, kBytes);
      other.write(stays, kKey, 0, kHalf + (2 << 20), kBytes);
    }
    if (round % 2 == 1) expect(one.wait(), IBV_WC_SUCCESS, "the first write");
    goes.destroy();
    for (std::size_t i = 0; i < 16; ++i) {
      expect(other.wait(), IBV_WC_SUCCESS, "a target that stays");
    }
    ibv_wc_status last = IBV_WC_SUCCESS;
    for (int i = round % 2; i < 16 && last == IBV_WC_SUCCESS; ++i) last = one.wait();
    check(last == IBV_WC_SUCCESS || last == IBV_WC_RETRY_EXC_ERR,
          std::string("a target that goes: ") + ibv_wc_status_str(last));
    same(device, 0, kHalf + (2 << 20), kBytes);
  }
}

int run(const std::string& what) {
  const std::map<std::string, std::function<void()>> all = {{"operations", operations},
                                                            {"switching", switching},
                                                            {"many", many},
                                                            {"wrong_key", wrong_key},
                                                            {"destroy", destroy}};
  const auto found = all.find(what);
  check(found != all.end(), "there is no such test: " + what);
  found->second();
  std::printf("%s: all as it should be\n", what.c_str());
  return 0;
}

}  // namespace
}  // namespace dc

int main(int argc, char** argv) {
  try {
    dc::check(argc == 2, "say which test");
    return dc::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verbs_dc: %s\n", error.what());
    return 1;
  }
}
