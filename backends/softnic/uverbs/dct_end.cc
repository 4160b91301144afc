#include "backends/softnic/uverbs/dct_end.h"

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "backends/softnic/uverbs/firmware_call.h"
#include "core/format/prm/dct.h"

namespace gdakit::softnic::uverbs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLimit = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::microseconds(20);

Result<bool> is_drained(Context& context, DctNumber dct) {
  prm::Mailbox<prm::QueryDctIn> in;
  prm::Mailbox<prm::QueryDctOut> out;
  in.set(prm::QueryDctIn::dctn, dct);
  const Result<void> asked = run_command(context, prm::Opcode::query_dct, in, out);
  if (!asked) return asked.error();
  const auto state =
      std::as_const(out).at(prm::QueryDctOut::dct_context_entry).get(prm::Dctc::state);
  return state == static_cast<std::uint64_t>(DctState::drained);
}

}  // namespace

Result<void> end_dct(Context& context, DctNumber dct) {
  if (Result<void> begun = run_command_of(context, prm::Opcode::drain_dct, dct); !begun) {
    return begun;
  }
  for (const Clock::time_point limit = Clock::now() + kLimit;;) {
    const Result<bool> drained = is_drained(context, dct);
    if (!drained) return drained.error();
    if (*drained) return run_command_of(context, prm::Opcode::destroy_dct, dct);
    if (Clock::now() > limit) {
      // It is there yet, and may be destroyed later.
      return Error::from_errno(
          "the DC target " + std::to_string(dct) + " is not drained; let its NIC go on", EBUSY);
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace gdakit::softnic::uverbs
