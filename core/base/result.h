// Errors of the control path: a value, or an Error that says what failed, on what, and what to do.
//
//   Result<Socket> socket = connect(address);
//   if (!socket) return socket.error();
//   use(*socket);
//
// The data path has no Result: a queue breaks once and wait and quiet return a Status
// (device/status.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/base/annotate.h"
#include "core/base/assert.h"

namespace gdakit {

enum class Code {
  invalid_argument,   // the caller's input; the message names it and what is allowed
  not_found,          // a name, a key or a file that is not there
  unavailable,        // this machine or build cannot do it; the message says what is missing
  exhausted,          // no room left: memory, queue numbers, heap
  timed_out,          // a peer or a device did not answer in time
  permission_denied,  // the system or a peer refused
  aborted,            // the job is ending because of another failure
  peer_lost,          // it takes all PEs, and one is gone; the job goes on (GDAKIT_PEER_LOSS)
  system,             // a system call failed; system_code() is its errno
  internal,           // gdakit's own defect
};

// The code's name as it stands in this file.
const char* code_name(Code code);

// What failed, in a sentence that names the call, the object and the remedy.
class GDAKIT_NODISCARD Error {
 public:
  Error(Code code, std::string message, int system_code = 0)
      : code_(code), system_code_(system_code), message_(std::move(message)) {}

  // An error of a system call: appends the text of `system_code`, an errno.
  static Error from_errno(std::string message, int system_code);

  Code code() const { return code_; }
  int system_code() const { return system_code_; }
  const std::string& message() const { return message_; }

  // The same error seen from further up: "context: message".
  Error within(const std::string& context) const {
    return Error(code_, context + ": " + message_, system_code_);
  }

 private:
  Code code_;
  int system_code_;
  std::string message_;
};

template <class T = void>
class GDAKIT_NODISCARD Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T& value() {
    GDAKIT_ASSERT(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    GDAKIT_ASSERT(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const Error& error() const {
    GDAKIT_ASSERT(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class GDAKIT_NODISCARD Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const {
    GDAKIT_ASSERT(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace gdakit
