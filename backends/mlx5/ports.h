// What libibverbs says of a port.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "core/base/result.h"

namespace gdakit::mlx5 {

// As the inline function ibv_query_port, which would link against the library.
Result<ibv_port_attr> query_port(ibv_context* context, std::uint8_t number);

}  // namespace gdakit::mlx5
