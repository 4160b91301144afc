// A client that gives firmware commands, beside what it does by verbs.
//
//   DevxClient client(device);
//   client.make_all();                        // by verbs
//   prm::Mailbox<prm::CreateQpIn> in = client.qp_request(umem);
//   const DevxMade qp = client.create(prm::Opcode::create_qp, in);
//   EXPECT_EQ(client.modify(qp.handle, prm::Opcode::rst2init_qp, init), 0);
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/firmware_call.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/rmp.h"
#include "tests/uverbs/client.h"

namespace gdakit::softnic::uverbs::test {

struct DevxMade {
  int error = 0;
  std::uint32_t handle = 0;
  std::uint32_t number = 0;
  CommandStatus status = CommandStatus::ok;
};

class DevxClient : public Client {
 public:
  explicit DevxClient(Device& of) : Client(of, /*with_devx=*/true) {}

  // Each is one call, and returns its errno value.
  int general(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
    return Call(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER)
        .in_bytes(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, in.data(), in.size())
        .at(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, address_of(out.data()), out.size())
        .make(*context);
  }
  template <class Layout>
  DevxMade create(prm::Opcode opcode, prm::Mailbox<Layout> in) {
    prm::Mailbox<ObjectOut> out;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    Call call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE);
    call.number(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)
        .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, in.bytes().data(), in.bytes().size())
        .at(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, address_of(out.bytes().data()),
            out.bytes().size());
    DevxMade made;
    made.error = call.make(*context);
    made.handle = call.given(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
    made.number = static_cast<std::uint32_t>(out.get(ObjectOut::number));
    made.status = static_cast<CommandStatus>(out.get(prm::MboxOut::status));
    return made;
  }
  int destroy_devx(std::uint32_t handle) {
    return Call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY)
        .number(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, handle)
        .make(*context);
  }
  template <class Layout>
  int modify(std::uint32_t handle, prm::Opcode opcode, prm::Mailbox<Layout> in) {
    prm::Mailbox<prm::MboxOut> out;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    return Call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY)
        .number(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, handle)
        .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, in.bytes().data(), in.bytes().size())
        .at(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, address_of(out.bytes().data()),
            out.bytes().size())
        .make(*context);
  }
  using Client::modify;
  template <class Answer>
  int query(std::uint32_t handle, prm::Opcode opcode, std::uint32_t number,
            prm::Mailbox<Answer>& out) {
    prm::Mailbox<ObjectIn> in = question(opcode, number);
    return Call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY)
        .number(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, handle)
        .in_bytes(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, in.bytes().data(), in.bytes().size())
        .at(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, address_of(out.bytes().data()), out.bytes().size())
        .make(*context);
  }
  using Client::query;
  static prm::Mailbox<ObjectIn> question(prm::Opcode opcode, std::uint32_t number) {
    prm::Mailbox<ObjectIn> in;
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    in.set(ObjectIn::number, number);
    return in;
  }

  struct Umem {
    int error = 0;
    std::uint32_t handle = 0;
    std::uint32_t number = 0;
  };
  Umem make_umem(const void* memory, std::uint64_t bytes,
                 std::uint32_t access = IB_UVERBS_ACCESS_LOCAL_WRITE) {
    Umem umem;
    Call call(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
    call.number(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE)
        .in(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, address_of(memory))
        .in(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, bytes)
        .in(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, access)
        .out(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, umem.number);
    umem.error = call.make(*context);
    umem.handle = call.given(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
    return umem;
  }
  int destroy_umem(std::uint32_t handle) {
    return Call(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG)
        .number(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, handle)
        .make(*context);
  }
  std::uint32_t pd_number() {
    std::uint32_t number = 0;
    EXPECT_EQ(Call(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY)
                  .number(MLX5_IB_ATTR_QUERY_PD_HANDLE, pd)
                  .out(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, number)
                  .make(*context),
              0);
    return number;
  }

  // A queue pair in `queues`, which is this umem, on the PD, the CQs and the page of verbs. No
  // valid bit is set, as UCX does not.
  prm::Mailbox<prm::CreateQpIn> qp_request(std::uint32_t umem) {
    using prm::Qpc;
    prm::Mailbox<prm::CreateQpIn> in;
    const auto to = in.at(prm::CreateQpIn::qpc);
    to.set(Qpc::pm_state, prm::kPathMigrated);
    to.set(Qpc::pd, pd_number());
    to.set(Qpc::cqn_snd, send_cq.number);
    to.set(Qpc::cqn_rcv, receive_cq.number);
    to.set(Qpc::log_rq_size, 4);
    to.set(Qpc::log_rq_stride, 0);
    to.set(Qpc::log_sq_size, 4);
    to.set(Qpc::uar_page, uar_number);
    to.set(Qpc::user_index, 0xffffff);
    to.set(Qpc::dbr_umem_id, umem);
    to.set(Qpc::dbr_addr, offsetof(QueueMemory, record));
    in.set(prm::CreateQpIn::wq_umem_id, umem);
    static_assert(offsetof(QueueMemory, receive) == 0 && kQueue == 16);
    return in;
  }
  // Its contexts on the way to RTS, towards a queue pair of this host.
  prm::Mailbox<prm::Rst2initQpIn> request(std::uint32_t of_qp) const {
    prm::Mailbox<prm::Rst2initQpIn> in;
    in.set(prm::Rst2initQpIn::qpn, of_qp);
    in.at(prm::Rst2initQpIn::qpc).set(prm::Qpc::pm_state, prm::kPathMigrated);
    return in;
  }
  prm::Mailbox<prm::Rst2initQpIn> rtr_request(std::uint32_t of_qp, std::uint32_t peer) const {
    using prm::Qpc;
    prm::Mailbox<prm::Rst2initQpIn> in = request(of_qp);
    const auto to = in.at(prm::Rst2initQpIn::qpc);
    const Gid gid = device.identity().gid(gid_index);
    to.set(Qpc::mtu, 3);
    to.set(Qpc::log_msg_max, 30);
    to.set(Qpc::remote_qpn, peer);
    to.set(Qpc::next_rcv_psn, 0x111);
    to.set(Qpc::min_rnr_nak, 12);
    std::ranges::copy(gid, to.at(Qpc::primary_address_path).at(prm::Ads::rgid_rip).begin());
    return in;
  }
  prm::Mailbox<prm::Rst2initQpIn> rts_request(std::uint32_t of_qp) const {
    prm::Mailbox<prm::Rst2initQpIn> in = request(of_qp);
    const auto to = in.at(prm::Rst2initQpIn::qpc);
    to.set(prm::Qpc::next_send_psn, 0x111);
    to.set(prm::Qpc::retry_count, 7);
    to.set(prm::Qpc::rnr_retry, 7);
    return in;
  }
};

}  // namespace gdakit::softnic::uverbs::test
