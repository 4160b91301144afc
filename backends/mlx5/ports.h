// What libibverbs says of a port.
#pragma once

#include <cstdint>
#include <string>

#include <infiniband/verbs.h>

#include "core/base/result.h"

namespace gdakit::mlx5 {

// As the inline function ibv_query_port, which would link against the library.
Result<ibv_port_attr> query_port(ibv_context* context, std::uint8_t number);

// What the kernel answered may be no value of the enumerations: the number of ibv_port_state, and
// the bytes of an ibv_mtu; 0 if it is none.
std::uint32_t state_of(const ibv_port_attr& port);
unsigned bytes_of(const ibv_mtu& mtu);

// Why gdakit cannot use the port, as "is DOWN"; empty: it can.
std::string why_unusable(const ibv_port_attr& port);

}  // namespace gdakit::mlx5
