#include "tests/fuzz/cm_calls.h"

#include <memory>

#include "tests/uverbs/caller.h"
#include "tests/uverbs/hostile_cm.h"

namespace gdakit::fuzz {
namespace {

namespace verbs = softnic::uverbs;
namespace cm = softnic::uverbs::cm;

// NICs of a fabric for all runs: their threads start once. Somebody is said to listen at the
// peer's.
struct Fabric {
  verbs::Spec spec = verbs::test::own_spec("fuzz-cm");
  std::unique_ptr<verbs::Device> own = verbs::test::open_device(spec, 0);
  std::unique_ptr<verbs::Device> peer = verbs::test::open_device(spec, 1);
  cm::PortNames ports{spec.fabric};
  std::optional<KeptFile> listener = ports.listen(
      cm::PortSpace::tcp, {cm::ip_of_nic(spec, 1), cm::test::kFirstPort}, peer->place());
};

}  // namespace

std::string play_cm_calls(Input input) {
  static Fabric fabric;
  if (!fabric.listener) return "a port that somebody has";
  {
    cm::Manager manager(fabric.spec,
                        [](int) -> Result<verbs::Device*> { return fabric.own.get(); });
    softnic::test::Input bytes(input.data(), input.size());
    cm::test::HostileCm client(manager, *fabric.own, *fabric.peer, bytes);
    while (!bytes.empty()) {
      std::string wrong = client.act();
      if (!wrong.empty()) return wrong;
    }
  }
  for (std::uint16_t port = 0; port < cm::test::kPorts; ++port) {
    const cm::IpPort address{cm::ip_of_nic(fabric.spec, 0),
                             static_cast<std::uint16_t>(cm::test::kFirstPort + port)};
    if (fabric.ports.find_listener(cm::PortSpace::tcp, address)) {
      return "a manager that has gone listens";
    }
  }
  return {};
}

}  // namespace gdakit::fuzz
