#include "backends/softnic/uverbs/failing_calls.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace gdakit::softnic::uverbs {
namespace {

bool makes_object(std::string_view call) {
  constexpr std::array<std::string_view, 6> kBegins = {"alloc_",    "create_",     "reg_",
                                                       "register_", "devx_create", "open_"};
  return std::ranges::any_of(kBegins,
                             [call](std::string_view begin) { return call.starts_with(begin); });
}

}  // namespace

int refused(Context& context, std::string_view call) {
  const NicFailures& failures = context.device().failures();
  if (const int error = failures.of_call(call)) return error;
  const bool has_room = !failures.objects || context.handles().count() < *failures.objects;
  return has_room || !makes_object(call) ? 0 : EAGAIN;
}

}  // namespace gdakit::softnic::uverbs
