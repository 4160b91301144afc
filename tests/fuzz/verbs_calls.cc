#include "tests/fuzz/verbs_calls.h"

#include <memory>

#include "tests/uverbs/hostile_calls.h"

namespace gdakit::fuzz {

namespace verbs = softnic::uverbs::test;

std::string play_verbs_calls(Input input) {
  // One for all runs: its NIC's thread starts once.
  static const std::unique_ptr<softnic::uverbs::Device> device =
      verbs::open_device(verbs::own_spec("fuzz"));
  {
    softnic::uverbs::Context one(*device), other(*device);
    if (verbs::get_context(one, /*with_devx=*/true) != 0 ||
        verbs::get_context(other, /*with_devx=*/true) != 0) {
      return "a device that cannot be opened";
    }
    softnic::test::Input bytes(input.data(), input.size());
    verbs::HostileClient client(one, bytes), stranger(other, bytes);
    stranger.set_other(client);
    while (!bytes.empty()) {
      std::string wrong = bytes.below(4) == 0 ? stranger.call() : client.call();
      if (!wrong.empty()) return wrong;
    }
  }
  return device->nic().count().queues.empty() ? "" : "a client that has gone left a queue pair";
}

}  // namespace gdakit::fuzz
