// What the PEs of `gdakit run` ask for by nvshmem_global_exit: the launcher's end of the pipe that
// core/host/launch/exit_pipe.h writes to. A PE opens it by its path in /proc, so that it is there
// behind wrappers that close what they inherit, and no descriptor's number can come to mean another
// file.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "core/host/launch/exit_pipe.h"

namespace gdakit::tools {

class ExitRequests {
 public:
  static Result<ExitRequests> open();

  // For GDAKIT_EXIT_PIPE; good while this process lives.
  std::string path() const;
  // Readable when there is a request.
  int descriptor() const { return read_end_.get(); }
  // The first request of those that have come since the last call. Never waits.
  std::optional<ExitRequest> take() const;

 private:
  ExitRequests(UniqueFileDescriptor read_end, UniqueFileDescriptor write_end)
      : read_end_(std::move(read_end)), write_end_(std::move(write_end)) {}

  UniqueFileDescriptor read_end_;
  UniqueFileDescriptor write_end_;  // stays open, so that there is no end of file
};

}  // namespace gdakit::tools
