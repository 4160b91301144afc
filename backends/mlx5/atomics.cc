#include "backends/mlx5/atomics.h"

#include <span>

#include "backends/mlx5/firmware_answer.h"
#include "core/format/prm/caps.h"
#include "core/format/prm/query.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

Result<Atomics> query_atomics(const Libraries& libraries, ibv_context* context) {
  constexpr std::uint64_t kAtomicCapsNow = 3 << 1 | 1;  // op_mod: page 3, as it is
  prm::Mailbox<prm::QueryHcaCapIn> in;
  prm::Mailbox<prm::QueryHcaCapOut> out;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(prm::Opcode::query_hca_cap));
  in.set(prm::MboxIn::op_mod, kAtomicCapsNow);
  const auto question = in.bytes();
  const auto answer = out.bytes();
  const int code = libraries.general_cmd(context, question.data(), question.size(), answer.data(),
                                         answer.size());
  if (code != 0) {
    const Error error = Error::from_errno("QUERY_HCA_CAP of its atomics", code);
    return Error(error.code(), error.message() + firmware_answer(answer), code);
  }
  const auto bytes = out.at(prm::QueryHcaCapOut::capability);
  const prm::View<prm::AtomicCaps> caps{std::span<const std::uint8_t>(bytes)};
  return Atomics{static_cast<std::uint32_t>(caps.get(prm::AtomicCaps::atomic_operations)),
                 static_cast<std::uint32_t>(caps.get(prm::AtomicCaps::atomic_size_qp))};
}

}  // namespace gdakit::mlx5
