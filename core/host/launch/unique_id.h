// UniqueId: what the PEs of a job must share to find each other, when they can send it to each
// other by a channel of their own: a file, a pipe, MPI_Bcast. No launcher is asked then.
//
//   rank 0: Result<UniqueId> id = make_unique_id(options);   it listens from now on
//   all:    init(options, *id, rank, n_pes);                 gdakit.h
//
// Its bytes are its value: copy them as they are. It contains the job's secret, so whoever reads it
// can join the job in place of a PE.
#pragma once

#include <array>
#include <type_traits>

#include "core/base/endian.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/launch/launch.h"

namespace gdakit {

struct UniqueId {
  Be32 version;
  Be16 port;
  Be16 reserved;
  JobSecret secret;
  std::array<char, 104> host;  // ends with a zero
};
static_assert(sizeof(UniqueId) == 128 && std::is_trivially_copyable_v<UniqueId>);

// On rank 0, in the process that calls init() with it. The process listens for the others from now
// on, until init() has used the id. There may be several at a time. options.root (GDAKIT_ROOT), if
// it is set, says under which name and port; else the port is free, and the name is this host's.
// options.secret is used if it is set.
Result<UniqueId> make_unique_id(const Options& options);

// PE `rank` of `n_pes`. Uses the id up on rank 0.
Result<Launch> start_launch(const Options& options, const UniqueId& id, int rank, int n_pes);

}  // namespace gdakit
