// A PE's part of something that all PEs make together, or why it has none: as one blob of the
// bootstrap, so that each PE can say what stopped one of them, whose own words may be lost.
//
//   const Result<Bytes> mine = make_part();
//   const auto blobs = bootstrap.allgather(blob_of_part(mine));
//   ...
//   const Result<Bytes> part = part_of_blob((*blobs)[1], 1, "its part of the queues");
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit {

Bytes blob_of_part(const Result<Bytes>& part);

// What `pe` gave of `what`. Errors: it has made none (exhausted), "PE 1 could not make its part of
// the queues: " and its error; bytes that blob_of_part never gives (invalid_argument).
Result<Bytes> part_of_blob(const Bytes& blob, std::size_t pe, const std::string& what);

}  // namespace gdakit
