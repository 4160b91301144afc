// The commands of /dev/infiniband/rdma_cm (<rdma/rdma_user_cm.h>): what a program writes there, as
// librdmacm does.
//
//   header (command, size of what follows, room for the answer), then the command's own struct,
//   which says where the answer goes
//
// GET_OPTION is unknown, as to a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/softnic/uverbs/cm/file.h"
#include "backends/softnic/uverbs/cm/manager.h"

namespace gdakit::softnic::uverbs::cm {

struct Caller {
  Manager& manager;
  std::shared_ptr<File> file;
  bool may_block = true;  // as its descriptor says
  // What another of the program's descriptors is; null for what is no rdma_cm.
  std::function<std::shared_ptr<File>(int descriptor)> file_of;
};

// What write(descriptor, bytes, size) is to do. 0, or an errno value: EAGAIN where there is no
// event and the caller may not block, EINTR where a signal has come.
int write_command(const Caller& caller, std::uint64_t bytes, std::size_t size);

}  // namespace gdakit::softnic::uverbs::cm
