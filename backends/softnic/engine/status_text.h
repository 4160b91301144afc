// What users read of a refused call: a sentence that names the call, the object and the remedy.
#pragma once

#include <string>
#include <type_traits>

#include "backends/softnic/objects/status.h"
#include "core/base/result.h"

namespace gdakit::softnic {

// "there is no queue pair 7; it was never created or is gone"
std::string status_text(const Status& status);

// "destroy_qp: there is no queue pair 7; ..."
Error status_error(const char* call, const Status& status);

// The outcome of the call of this name.
template <class T>
Result<T> to_result(const char* call, const Outcome<T>& outcome) {
  if (!outcome) return status_error(call, outcome.status());
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *outcome;
  }
}

}  // namespace gdakit::softnic
