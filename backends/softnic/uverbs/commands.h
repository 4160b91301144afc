// The calls that there are. Each returns 0 or an errno value, reads its inputs from the attributes
// and writes its outputs there; one that fails has changed nothing.
//
// `core` of those that are called by INVOKE_WRITE are the uapi's structs in CORE_IN and CORE_OUT,
// without the header of the old write() interface.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "backends/softnic/uverbs/attributes.h"
#include "backends/softnic/uverbs/context.h"

namespace gdakit::softnic::uverbs {

using Command = int (*)(Context&, Attributes&);

// commands_device.cc
int get_context(Context& context, Attributes& call);
int query_context(Context& context, Attributes& call);
int query_port(Context& context, Attributes& call);
int query_gid_table(Context& context, Attributes& call);
int query_gid_entry(Context& context, Attributes& call);
int query_device(Context& context, Attributes& call);
int query_device_ex(Context& context, Attributes& call);
int alloc_async_events(Context& context, Attributes& call);

// commands_memory.cc
int alloc_pd(Context& context, Attributes& call);
int dealloc_pd(Context& context, Attributes& call);
int dealloc_pd_write(Context& context, Attributes& call);
int reg_mr(Context& context, Attributes& call);
int query_pd(Context& context, Attributes& call);
int rereg_mr(Context& context, Attributes& call);
int query_mr(Context& context, Attributes& call);
int dereg_mr(Context& context, Attributes& call);
int dereg_mr_write(Context& context, Attributes& call);
int alloc_uar(Context& context, Attributes& call);
int free_uar(Context& context, Attributes& call);

// commands_dma_buf.cc
int reg_dma_buf_mr(Context& context, Attributes& call);

// commands_advise.cc
int advise_mr(Context& context, Attributes& call);

// commands_dm.cc
int alloc_dm(Context& context, Attributes& call);
int free_dm(Context& context, Attributes& call);
int query_dm(Context& context, Attributes& call);
int map_dm_operation(Context& context, Attributes& call);
int reg_dm_mr(Context& context, Attributes& call);

// commands_mw.cc
int alloc_mw(Context& context, Attributes& call);
int dealloc_mw(Context& context, Attributes& call);
int dealloc_mw_write(Context& context, Attributes& call);

// commands_cq.cc
int create_channel(Context& context, Attributes& call);
int create_cq(Context& context, Attributes& call);
int resize_cq(Context& context, Attributes& call);
int modify_cq(Context& context, Attributes& call);
int destroy_cq(Context& context, Attributes& call);

// commands_srq.cc
int create_srq(Context& context, Attributes& call);
int modify_srq(Context& context, Attributes& call);
int query_srq(Context& context, Attributes& call);
int destroy_srq(Context& context, Attributes& call);

// commands_xrcd.cc
int open_xrcd(Context& context, Attributes& call);
int close_xrcd(Context& context, Attributes& call);
int close_xrcd_write(Context& context, Attributes& call);

// commands_qp.cc
int create_qp(Context& context, Attributes& call);
int open_qp(Context& context, Attributes& call);
int query_qp(Context& context, Attributes& call);
int destroy_qp(Context& context, Attributes& call);

// commands_modify_qp.cc
int modify_qp(Context& context, Attributes& call);
int modify_qp_ex(Context& context, Attributes& call);

// commands_multicast.cc
int attach_mcast(Context& context, Attributes& call);
int detach_mcast(Context& context, Attributes& call);

// commands_ah.cc
int create_ah(Context& context, Attributes& call);
int destroy_ah(Context& context, Attributes& call);

// commands_devx.cc
int devx_other(Context& context, Attributes& call);
int devx_query_uar(Context& context, Attributes& call);
int devx_query_eqn(Context& context, Attributes& call);
int devx_create(Context& context, Attributes& call);
int devx_destroy(Context& context, Attributes& call);
int devx_modify(Context& context, Attributes& call);
int devx_query(Context& context, Attributes& call);
int register_umem(Context& context, Attributes& call);
int deregister_umem(Context& context, Attributes& call);

// commands_devx_events.cc
int devx_alloc_events(Context& context, Attributes& call);
int devx_subscribe(Context& context, Attributes& call);
int devx_alloc_answers(Context& context, Attributes& call);
int devx_query_async(Context& context, Attributes& call);

// The object whose handle is this attribute. ENOENT: there is none.
template <class T>
int find_object(Context& context, const Attributes& call, std::uint16_t id, T*& to) {
  std::uint32_t handle = 0;
  if (const int error = call.number(id, handle)) return error;
  to = context.handles().template find<T>(handle);
  return to == nullptr ? ENOENT : 0;
}

// Takes the object of this handle away. EBUSY if others use it, or if the NIC still uses its memory
// after a while: the client keeps memory and handle then, and may try again.
template <class T>
int destroy(Context& context, std::uint32_t handle, EventCounts* told = nullptr) {
  T* const object = context.handles().template find<T>(handle);
  if (object == nullptr) return ENOENT;
  if (object->in_use()) return EBUSY;
  const Result<void> ended =
      object->lingers() ? context.nic().end_removals() : object->end(context);
  if (!ended && is_gone(ended)) {
    object->set_lingers();
    return EBUSY;
  }
  if (!ended) return errno_of(ended);
  if constexpr (requires { object->told; }) {
    if (told != nullptr) *told = object->told;
  }
  context.handles().remove(*object);
  return 0;
}

// The end of a call that has made an object: an object whose handle the client does not get to know
// goes again. Returns `error`.
template <class T>
int made(Context& context, std::uint32_t handle, int error) {
  if (error != 0) static_cast<void>(destroy<T>(context, handle));
  return error;
}

}  // namespace gdakit::softnic::uverbs
