// What is particular to targets of DC among the queue pairs of verbs.
#pragma once

#include <cstdint>
#include <rdma/ib_user_verbs.h>

#include "backends/softnic/uverbs/context.h"
#include "backends/softnic/uverbs/objects.h"

namespace gdakit::softnic::uverbs {

// Brings the target to this state, which it may come to, with the attributes that are noted. In rtr
// it gets its number.
int modify_dct(Context& context, Qp& qp, QpState to);

// What is told of a target once it is there, if nothing else is asked for.
int query_dct(const Qp& qp, std::uint32_t mask, ib_uverbs_query_qp_resp& known);

}  // namespace gdakit::softnic::uverbs
