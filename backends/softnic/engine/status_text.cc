#include "backends/softnic/engine/status_text.h"

#include <string_view>

#include "backends/softnic/objects/transitions.h"

namespace gdakit::softnic {
namespace {

void fill_in(std::string& sentence, std::string_view place, const std::string& text) {
  const std::size_t at = sentence.find(place);
  if (at != std::string::npos) sentence.replace(at, place.size(), text);
}

std::string states_text(std::uint64_t detail) {
  return std::string("from ") + qp_state_name(from_state(detail)) + " to " +
         qp_state_name(to_state(detail));
}

Code code_of(CommandStatus status) {
  switch (status) {
    case CommandStatus::bad_res: return Code::not_found;
    case CommandStatus::lim_err:
    case CommandStatus::no_res: return Code::exhausted;
    default: return Code::invalid_argument;
  }
}

}  // namespace

std::string status_text(const Status& status) {
  std::string sentence = syndrome_row(status.syndrome).sentence;
  fill_in(sentence, "{object}", std::to_string(status.object));
  fill_in(sentence, "{detail}", std::to_string(status.detail));
  fill_in(sentence, "{states}", states_text(status.detail));
  fill_in(sentence, "{field}", field_name(status.detail));
  return sentence;
}

Error status_error(const char* call, const Status& status) {
  return Error(code_of(status.status), std::string(call) + ": " + status_text(status));
}

}  // namespace gdakit::softnic
