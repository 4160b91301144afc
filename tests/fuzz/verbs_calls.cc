#include "tests/fuzz/verbs_calls.h"

#include <memory>
#include <random>

#include "tests/uverbs/hostile_calls.h"

namespace gdakit::fuzz {

namespace verbs = softnic::uverbs::test;

std::string play_verbs_calls(Input input) {
  // One for all runs: its NIC's thread starts once.
  static const std::unique_ptr<softnic::uverbs::Device> device =
      verbs::open_device(verbs::own_spec("fuzz"));
  {
    softnic::uverbs::Context context(*device);
    if (verbs::get_context(context) != 0) return "a device that cannot be opened";
    verbs::HostileClient client(context, {input.data(), input.size()});
    while (!client.empty()) {
      std::string wrong = client.call();
      if (!wrong.empty()) return wrong;
    }
  }
  return device->nic().count().queues.empty() ? "" : "a client that has gone left a queue pair";
}

// Most calls of any bytes are nearly right.
std::vector<Seed> verbs_calls_seeds() {
  std::vector<Seed> seeds;
  for (unsigned number = 1; number <= 8; ++number) {
    std::mt19937 random(number);
    Seed& seed = seeds.emplace_back(512 * number);
    for (std::uint8_t& byte : seed) byte = static_cast<std::uint8_t>(random());
  }
  return seeds;
}

}  // namespace gdakit::fuzz
