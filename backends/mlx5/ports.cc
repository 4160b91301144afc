#include "backends/mlx5/ports.h"

#include <cstring>

namespace gdakit::mlx5 {
namespace {

template <class Enumeration>
std::uint32_t number_of(const Enumeration& value) {
  std::uint32_t number = 0;
  static_assert(sizeof value == sizeof number);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

const char* state_name(std::uint32_t state) {
  switch (state) {
    case IBV_PORT_DOWN: return "DOWN (`ip link` or `ibstat` shows the cable's state)";
    case IBV_PORT_INIT: return "INIT: no subnet manager has set it up (`sminfo` looks for one)";
    case IBV_PORT_ARMED: return "ARMED: the subnet manager has not activated it yet";
    default: return "in an unknown state, as ibv_query_port has it";
  }
}

}  // namespace

Result<ibv_port_attr> query_port(ibv_context* context, std::uint8_t number) {
  verbs_context* const verbs = verbs_get_ctx_op(context, query_port);
  if (verbs == nullptr) {
    return Error(Code::unavailable, "ibv_query_port: libibverbs is older than rdma-core 35");
  }
  ibv_port_attr attributes{};
  const int code = verbs->query_port(context, number, &attributes, sizeof attributes);
  if (code != 0) return Error::from_errno("ibv_query_port", code);
  return attributes;
}

std::uint32_t state_of(const ibv_port_attr& port) { return number_of(port.state); }

unsigned bytes_of(const ibv_mtu& mtu) {
  const std::uint32_t number = number_of(mtu);
  return number < IBV_MTU_256 || number > IBV_MTU_4096 ? 0 : 128u << number;
}

std::string why_unusable(const ibv_port_attr& port) {
  const std::uint32_t state = state_of(port);
  if (state != IBV_PORT_ACTIVE) return std::string("is ") + state_name(state);
  if (port.link_layer != IBV_LINK_LAYER_ETHERNET && port.link_layer != IBV_LINK_LAYER_INFINIBAND) {
    return "is of an unknown link layer, as ibv_query_port has it";
  }
  if (bytes_of(port.active_mtu) == 0) {
    return "has an MTU that is none (" + std::to_string(number_of(port.active_mtu)) + ')';
  }
  return {};
}

}  // namespace gdakit::mlx5
