// What the PEs of a job agree on before they make queues: what one of them cannot do, none does.
#pragma once

#include <string>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::mlx5 {

// Collective. Whether the threads of every PE's device ring the NIC themselves: `mine` says whether
// this PE's can. Where one cannot, all leave it to host threads, and PE 0 logs which PE and why.
// Errors: the bootstrap's own.
Result<bool> agree_on_doorbells(Bootstrap& bootstrap, const Result<void>& mine, const Log& log);

}  // namespace gdakit::mlx5
