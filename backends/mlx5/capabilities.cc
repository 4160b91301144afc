#include "backends/mlx5/capabilities.h"

#include <string>

#include "backends/mlx5/firmware_answer.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

Result<CapabilityBytes> query_capabilities(const Libraries& libraries, ibv_context* context,
                                           prm::CapabilityPage page, const char* what) {
  constexpr std::uint64_t kAsItIs = 1;  // and not the most that the device could be set to
  prm::Mailbox<prm::QueryHcaCapIn> in;
  CapabilityBytes out;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(prm::Opcode::query_hca_cap));
  in.set(prm::MboxIn::op_mod, static_cast<std::uint64_t>(page) << 1 | kAsItIs);
  const auto question = in.bytes();
  const auto answer = out.bytes();
  const int code = libraries.general_cmd(context, question.data(), question.size(), answer.data(),
                                         answer.size());
  if (code == 0) return out;
  const Error error = Error::from_errno(std::string("QUERY_HCA_CAP of ") + what, code);
  return Error(error.code(), error.message() + firmware_answer(answer), code);
}

}  // namespace gdakit::mlx5
