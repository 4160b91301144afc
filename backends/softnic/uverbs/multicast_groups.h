// Multicast groups of a fabric: a queue pair that is in one says so by a name (fabric_names.h).
//
//   g/<group>/<QPN>
//
// Who sends to the group looks for these names, and sends to each queue pair: so a group reaches
// the processes of this host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/uverbs/fabric_names.h"
#include "core/base/kept_file.h"

namespace gdakit::softnic::uverbs {

class MulticastGroups {
 public:
  // That somebody is a member, or is not any more, is known to all senders after so long.
  static constexpr std::uint64_t kDelayNs = 50'000'000;

  explicit MulticastGroups(const std::string& fabric) : prefix_(fabric_prefix(fabric) + "g/") {}

  // The queue pair is in the group for as long as the file is kept. None: the system gives none.
  std::optional<KeptFile> join(const Gid& group, QpNumber qpn) const;

  // From one thread at a time, whatever other calls there are.
  const std::vector<QpNumber>& members(const Gid& group, std::uint64_t now_ns);

 private:
  struct Known {
    std::uint64_t until_ns = 0;
    std::vector<QpNumber> members;
  };

  std::string begin_of(const Gid& group) const;

  const std::string prefix_;
  std::optional<SocketNames> names_;  // once somebody sends to a group
  std::map<Gid, Known> known_;
};

}  // namespace gdakit::softnic::uverbs
