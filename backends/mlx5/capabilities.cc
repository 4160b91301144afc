#include "backends/mlx5/capabilities.h"

#include "backends/mlx5/firmware_answer.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

Result<void> send_query(const Libraries& libraries, ibv_context* context, const std::string& call,
                        std::span<const std::uint8_t> question, std::span<std::uint8_t> answer) {
  mark_end(answer);
  const int code = libraries.general_cmd(context, question.data(), question.size(), answer.data(),
                                         answer.size());
  if (code != 0) {
    const Error error = Error::from_errno(call, code);
    return Error(error.code(), error.message() + firmware_answer(answer), code);
  }
  const std::string wrong = wrong_with_answer(answer);
  if (wrong.empty()) return {};
  return Error(Code::unavailable, call + " answered " + wrong);
}

Result<void> query_capability_page(const Libraries& libraries, ibv_context* context,
                                   prm::CapabilityPage page, const char* name,
                                   prm::Mailbox<prm::QueryHcaCapOut>& out) {
  constexpr std::uint64_t kNow = 1;  // bit 0 of op_mod: as it is, not as it could be
  prm::Mailbox<prm::QueryHcaCapIn> in;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(prm::Opcode::query_hca_cap));
  in.set(prm::MboxIn::op_mod, static_cast<std::uint64_t>(page) << 1 | kNow);
  return send_query(libraries, context, std::string("QUERY_HCA_CAP of ") + name, in.bytes(),
                    out.bytes());
}

}  // namespace gdakit::mlx5
