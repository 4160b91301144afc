#include "backends/mlx5/atomics.h"

#include "backends/mlx5/capabilities.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

Result<Atomics> query_atomics(const Libraries& libraries, ibv_context* context) {
  prm::Mailbox<prm::QueryHcaCapOut> page;
  const auto asked = query_capability_page(libraries, context, prm::CapabilityPage::atomic_caps,
                                           "its atomics", page);
  if (!asked) return asked.error();
  const auto caps = view_page<prm::AtomicCaps>(page);
  const auto number = [&caps](auto field) { return static_cast<std::uint32_t>(caps.get(field)); };
  constexpr std::uint32_t kHostOrder = 1;
  return Atomics{number(prm::AtomicCaps::atomic_operations),
                 number(prm::AtomicCaps::atomic_size_qp), number(prm::AtomicCaps::atomic_size_dc),
                 number(prm::AtomicCaps::atomic_req_8B_endianness_mode) != kHostOrder};
}

}  // namespace gdakit::mlx5
