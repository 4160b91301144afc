// What the PEs of a job agree on before they make queues: what one of them cannot do, none does.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::mlx5 {

// Collective. Ok if every PE has so many NICs; else which PE has what, the same for all PEs.
Result<void> agree_on_nics(Bootstrap& bootstrap, std::uint32_t mine);

// Collective. Ok if the threads of every PE's device can ring the NIC themselves: `mine` says
// whether this PE's can. Errors: which PE's cannot, and why (unavailable), the same for all PEs;
// the bootstrap's own.
Result<void> agree_on_doorbells(Bootstrap& bootstrap, const Result<void>& mine);

// Collective. Ok if the NICs of every PE take queues in its device's memory. Errors: likewise.
Result<void> agree_on_queue_memory(Bootstrap& bootstrap, const Result<void>& mine);

// Collective. The least MTU of all PEs' ports, each an ibv_mtu.
Result<std::uint8_t> agree_on_mtu(Bootstrap& bootstrap, std::uint8_t mine);

}  // namespace gdakit::mlx5
