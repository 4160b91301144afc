// Names of a fabric in the system's list of abstract sockets: gdakit-verbs/<user>/<processes>/
// <fabric>/... A name is one process's at a time, and goes with it however that ends.
//
//   member/<pid>/<descriptor>/<place>   a NIC (fabric.h)
//   lock                                who looks for the fabric, or makes it
//   p/..., l/...                        of rdma_cm (cm/port_names.h)
//   g/...                               of multicast groups (multicast_groups.h)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/kept_file.h"

namespace gdakit::softnic::uverbs {

// What all names of all fabrics begin with.
inline constexpr const char* kFabricNames = "gdakit-verbs/";

// Of names of this fabric. Names are of a network's name space, and numbers of processes of one of
// their own, which several containers of a network may have each: those who cannot see each other's
// processes do not meet.
std::string fabric_prefix(const std::string& fabric);

// A socket of this name, which nobody else has; nothing if somebody does.
std::optional<KeptFile> take_name(const std::string& name);

// The list, from one thread at a time. It opens its file once: a descriptor that comes and goes
// would take a number that the program counts on.
class SocketNames {
 public:
  SocketNames();
  // Those that begin so, each once, in order.
  std::vector<std::string> beginning_with(const std::string& begin);

 private:
  std::string read_once();

  KeptFile list_;
};

}  // namespace gdakit::softnic::uverbs
