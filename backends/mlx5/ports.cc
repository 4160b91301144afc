#include "backends/mlx5/ports.h"

namespace gdakit::mlx5 {

Result<ibv_port_attr> query_port(ibv_context* context, std::uint8_t number) {
  verbs_context* const verbs = verbs_get_ctx_op(context, query_port);
  if (verbs == nullptr) {
    return Error(Code::unavailable, "ibv_query_port: libibverbs is older than rdma-core 34");
  }
  ibv_port_attr attributes{};
  const int code = verbs->query_port(context, number, &attributes, sizeof attributes);
  if (code != 0) return Error::from_errno("ibv_query_port", code);
  return attributes;
}

}  // namespace gdakit::mlx5
