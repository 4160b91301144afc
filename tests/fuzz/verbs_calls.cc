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
    softnic::uverbs::Context context(*device);
    if (verbs::get_context(context, /*with_devx=*/true) != 0)
      return "a device that cannot be opened";
    verbs::HostileClient client(context, {input.data(), input.size()});
    while (!client.empty()) {
      std::string wrong = client.call();
      if (!wrong.empty()) return wrong;
    }
  }
  return device->nic().count().queues.empty() ? "" : "a client that has gone left a queue pair";
}

}  // namespace gdakit::fuzz
