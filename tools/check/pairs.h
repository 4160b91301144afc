// Step pairs: every NIC of a job writes to every other one.
//
//   round s, NICs of the job numbered from 0 to n - 1:   NIC g  --put-->  NIC (g + s) mod n
//
// So each NIC sends to one and receives from one at a time, has two queue pairs whatever the job's
// size, and a put that fails names one pair. A NIC of a host that several PEs see is driven by one
// of them; where a host has fewer NICs than PEs, each PE drives one.
#pragma once

#include <string>
#include <vector>

#include "core/host/bootstrap/bootstrap.h"
#include "tools/check/step.h"
#include "tools/check/surroundings.h"

namespace gdakit::tools::check {

// What a PE tells the others before.
struct PePorts {
  std::string host;                         // the same for PEs of one host alone
  std::vector<std::string> ports;           // names of its usable ports
  std::vector<std::string> addresses = {};  // ... and where they are
};

// One NIC's port in the job.
struct JobPort {
  int pe = 0;
  std::size_t index = 0;  // in the PE's list of usable ports
  std::string name;       // "PE 3's mlx5_2 port 1"
  std::string address;
};

// Which PE drives which port: the same on all PEs.
std::vector<JobPort> share_out(const std::vector<PePorts>& pes);

// Collective. Errors are the bootstrap's.
Result<StepReport> look_at_pairs(const Surroundings& surroundings, Bootstrap& bootstrap);

}  // namespace gdakit::tools::check
