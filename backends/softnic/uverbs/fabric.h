// Where processes of one host and user meet that know nothing of each other: a fabric, by its name.
//
// A fabric is a segment of shared memory (wire/shm_wire.h) with a place for each NIC. It has no
// file: its members keep it, each under a name in the system's list of abstract sockets, which goes
// with the process however that ends. Whoever comes finds it there, or makes it. Numbers of queue
// pairs say whose they are:
//
//   QPN   place[23:18] number[17:0]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/uverbs/fabric_names.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/kept_file.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

inline constexpr std::uint32_t kPlaces = 64;
inline constexpr std::uint32_t kQpnsOfAPlace = (1u << 24) / kPlaces;

constexpr Endpoint place_of(QpNumber qpn) { return qpn / kQpnsOfAPlace; }
constexpr QpNumber first_qpn(Endpoint place) { return place * kQpnsOfAPlace; }

struct Membership {
  std::unique_ptr<Wire> wire;  // its endpoint is the place
  // By whose name those who come later find the fabric: a socket that listens, SOCK_SEQPACKET,
  // and does not block.
  KeptFile listed;
};

// A place of its own for a NIC of this process. Errors: no place is free; the fabric is of another
// version of gdakit.
Result<Membership> join_fabric(const std::string& name);

// A NIC of a fabric, as it is listed. Who lists what is not so is found out by those who use it.
struct Member {
  int pid = 0;
  int segment = 0;  // the process's descriptor of the fabric's memory
  Endpoint place = 0;
  std::string name;  // of its socket
};

// By place.
std::vector<Member> fabric_members(const std::string& fabric);
std::vector<Member> fabric_members(const std::string& fabric, SocketNames& names);

// Counts those of all fabrics of all users of this host, as far as their sockets are seen here.
// From one thread at a time.
class MemberCounter {
 public:
  unsigned count();

 private:
  SocketNames names_;
};

}  // namespace gdakit::softnic::uverbs
