#include "tests/uverbs/hostile_calls.h"

#include <algorithm>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "core/format/doorbell.h"

namespace gdakit::softnic::uverbs::test {
namespace {

constexpr int kMostErrno = 133;

std::byte* map_hostile_memory() {
  const std::size_t all = 3 * kHostileBytes;
  void* const pages = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const begin = static_cast<std::byte*>(pages) + kHostileBytes;
  ::mprotect(begin, kHostileBytes, PROT_READ | PROT_WRITE);
  // Half of it zeroes, half of it anything.
  std::mt19937 random(1);
  for (std::size_t i = kHostileBytes / 2; i < kHostileBytes; ++i) {
    begin[i] = static_cast<std::byte>(random());
  }
  return begin;
}

struct Destruction {
  std::uint16_t object, method, id;
  std::uint16_t answer_id = 0xffff;
};

constexpr Destruction kDestructions[] = {
    {UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE},
    {UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, UVERBS_ATTR_DESTROY_MR_HANDLE},
    {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, UVERBS_ATTR_DESTROY_CQ_HANDLE,
     UVERBS_ATTR_DESTROY_CQ_RESP},
    {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, UVERBS_ATTR_DESTROY_QP_HANDLE,
     UVERBS_ATTR_DESTROY_QP_RESP},
    {UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, UVERBS_ATTR_DESTROY_AH_HANDLE},
    {MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE},
    {UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, UVERBS_ATTR_FREE_DM_HANDLE},
    {MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY,
     MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE},
    {MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE},
    {UVERBS_OBJECT_XRCD, UVERBS_METHOD_XRCD_DESTROY, UVERBS_ATTR_DESTROY_XRCD_HANDLE},
    {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, UVERBS_ATTR_DESTROY_SRQ_HANDLE,
     UVERBS_ATTR_DESTROY_SRQ_RESP},
};

}  // namespace

std::byte* hostile_memory() {
  static std::byte* const memory = map_hostile_memory();
  return memory;
}

std::uint64_t HostileClient::number() {
  switch (input_.below(5)) {
    case 0: return 0;
    case 1: return input_.below(64);
    case 2: {
      // Not those where a sanitizer keeps its own memory, which NICs could write to.
      const std::uint32_t bit = input_.below(64);
      return std::uint64_t{1} << (bit >= 31 && bit <= 44 ? bit + 14 : bit);
    }
    case 3: return address();
    default: return input_.take<std::uint64_t>();
  }
}

// In the memory, or near its ends.
std::uint64_t HostileClient::address() {
  const std::uint64_t begin = address_of(hostile_memory());
  switch (input_.below(8)) {
    case 0: return kNowhere;
    case 1: return begin + kHostileBytes - input_.below(128);
    case 2: return begin - input_.below(128);
    default: return begin + input_.take<std::uint16_t>() % (kHostileBytes / 2);
  }
}

// Mostly where so many bytes are.
std::uint64_t HostileClient::place(std::size_t bytes, std::size_t alignment) {
  if (rarely(16)) return address();
  const auto places = static_cast<std::uint32_t>((kHostileBytes - bytes) / alignment);
  return address_of(hostile_memory()) + input_.below(places) * alignment;
}

std::uint64_t HostileClient::handle(Kind kind) {
  if (rarely(24)) return number();
  const auto& known = handles_[static_cast<std::size_t>(kind)];
  return known[input_.below(kRemembered)];
}

void HostileClient::remember(Kind kind, std::uint32_t handle) {
  auto& known = handles_[static_cast<std::size_t>(kind)];
  known[input_.below(kRemembered)] = handle;
}

void HostileClient::change(void* bytes, std::size_t size) {
  const std::uint64_t value = number();
  const std::size_t at = input_.below(static_cast<std::uint32_t>(size));
  auto* const begin = static_cast<std::byte*>(bytes);
  std::memcpy(begin + at, &value, std::min(sizeof value, size - at));
  // Half of a number may have made an address of a sanitizer's own, too.
  for (std::size_t word = 0; word + sizeof value <= size; word += sizeof value) {
    std::uint64_t changed = 0;
    std::memcpy(&changed, begin + word, sizeof changed);
    if (changed >> 31 == 0 || changed >> 45 != 0) continue;
    changed &= 0x7fffffff;
    std::memcpy(begin + word, &changed, sizeof changed);
  }
}

void HostileClient::add(Call& call, std::uint16_t id, const void* from, std::size_t size) {
  switch (input_.below(64)) {
    case 0: return;
    case 1: call.in_bytes(id, from, input_.below(static_cast<std::uint32_t>(size))); return;
    case 2: call.at(id, number(), input_.take<std::uint16_t>()); return;
    case 3: call.at(id, address(), size); return;
    case 4: call.number(id, number()); return;
    case 5: {
      std::vector<std::byte> longer(size + 1 + input_.below(64));
      std::memcpy(longer.data(), from, size);
      longer.back() = static_cast<std::byte>(input_.below(2));
      call.in_bytes(id, longer.data(), longer.size());
      return;
    }
    default: call.in_bytes(id, from, size);
  }
}

void HostileClient::add_handle(Call& call, std::uint16_t id, Kind kind) {
  switch (input_.below(64)) {
    case 0: return;
    case 1: call.at(id, number(), input_.below(16)); return;
    case 2: call.number(id, handle(static_cast<Kind>(input_.below(handles_.size())))); return;
    default: call.number(id, handle(kind));
  }
}

void HostileClient::add_out(Call& call, std::uint16_t id, std::size_t size) {
  switch (input_.below(32)) {
    case 0: return;
    case 1: call.at(id, number(), size); return;
    case 2: call.at(id, address(), input_.below(512)); return;
    default: call.at(id, place(size, 8), size);
  }
}

// Attributes that the call may not know, and some twice.
void HostileClient::add_more(Call& call) {
  if (!rarely(32)) return;
  for (std::uint32_t more = input_.below(300); more != 0; --more) {
    call.number(static_cast<std::uint16_t>(more % 2 == 0 ? more : 0x1000 + more), number());
  }
}

std::string HostileClient::make(Call& call) {
  add_more(call);
  if (rarely(64)) call.extra_length = static_cast<int>(input_.below(64)) - 32;
  if (rarely(64)) call.header.reserved1 = number();
  if (rarely(64)) call.header.driver_id = static_cast<std::uint32_t>(number());
  last_error_ = call.make(context_);
  const auto opcode = static_cast<format::prm::Opcode>(std::exchange(last_opcode_, 0));
  if (last_error_ == 0 && opcode != format::prm::Opcode{}) carried_out_.insert(opcode);
  if (last_error_ >= 0 && last_error_ <= kMostErrno) return {};
  return "an answer that is no errno value: " + std::to_string(last_error_);
}

std::string HostileClient::make(Call& call, std::uint16_t id, Kind kind) {
  if (!rarely(64)) call.number(id);
  std::string wrong = make(call);
  last_handle_ = last_error_ == 0 ? call.given(id) : 0;
  if (last_error_ == 0) remember(kind, last_handle_);
  return wrong;
}

std::string HostileClient::make_pd() {
  WriteCall call(IB_USER_VERBS_CMD_ALLOC_PD);
  ib_uverbs_alloc_pd_resp answer{};
  add(call, UVERBS_ATTR_CORE_IN, ib_uverbs_alloc_pd{});
  call.core_out(answer);
  add_out(call, UVERBS_ATTR_UHW_OUT, sizeof(mlx5_ib_alloc_pd_resp));
  std::string wrong = make(call);
  if (last_error_ == 0) remember(Kind::pd, answer.pd_handle);
  return wrong;
}

std::string HostileClient::make_mr() {
  ib_uverbs_reg_mr request{};
  request.length = 1 + input_.below(8192);
  request.start = place(request.length, 8);
  request.hca_va = request.start + 4096 * std::uint64_t{input_.below(4)};
  request.pd_handle = static_cast<std::uint32_t>(handle(Kind::pd));
  request.access_flags = 1 | input_.below(16);
  if (rarely(4)) request.access_flags |= IB_UVERBS_ACCESS_ON_DEMAND;
  WriteCall call(IB_USER_VERBS_CMD_REG_MR);
  ib_uverbs_reg_mr_resp answer{};
  add(call, UVERBS_ATTR_CORE_IN, request);
  call.core_out(answer);
  std::string wrong = make(call);
  if (last_error_ == 0) remember(Kind::mr, answer.mr_handle);
  return wrong;
}

std::string HostileClient::make_dm() {
  Call call(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
  add(call, UVERBS_ATTR_ALLOC_DM_LENGTH, std::uint64_t{1 + input_.below(20000)});
  add(call, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, input_.below(14));
  add_out(call, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, 2);
  add_out(call, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, 8);
  return make(call, UVERBS_ATTR_ALLOC_DM_HANDLE, Kind::dm);
}

std::string HostileClient::make_dm_mr() {
  Call call(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
  add(call, UVERBS_ATTR_REG_DM_MR_OFFSET, std::uint64_t{input_.below(64)});
  add(call, UVERBS_ATTR_REG_DM_MR_LENGTH, std::uint64_t{input_.below(64)});
  add(call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS,
      std::uint64_t{IB_UVERBS_ACCESS_ZERO_BASED | 1 | input_.below(16)});
  add_handle(call, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, Kind::pd);
  add_handle(call, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, Kind::dm);
  add_out(call, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, 4);
  add_out(call, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, 4);
  return make(call, UVERBS_ATTR_REG_DM_MR_HANDLE, Kind::mr);
}

std::string HostileClient::make_uar() {
  Call call(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
  std::uint32_t page = uar_number_, length = 0;
  std::uint64_t offset = 0;
  add(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, std::uint64_t{input_.below(2)});
  call.out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset)
      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, length)
      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, page);
  std::string wrong = make(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, Kind::uar);
  if (last_error_ != 0) return wrong;
  uar_number_ = page;
  registers_ = std::make_unique<UarMapping>(context_.device(), offset, length);
  return wrong;
}

// A doorbell, or an arm, for what there is or is not.
std::string HostileClient::ring() {
  if (!registers_) return make_uar();
  const std::uint32_t qpn = rarely(4) ? input_.take<std::uint32_t>() : qpn_;
  const std::uint64_t value = format::doorbell_value(input_.take<std::uint16_t>(), qpn & 0xffffff);
  if (rarely(8)) {
    registers_->store(8 * input_.below(format::kUarPageBytes / 8), number());
  } else {
    registers_->store(format::kUarDoorbellBegin + format::kUarHalfBytes * input_.below(4), value);
  }
  return {};
}

std::string HostileClient::make_channel() {
  WriteCall call(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL);
  ib_uverbs_create_comp_channel_resp answer{};
  add(call, UVERBS_ATTR_CORE_IN, ib_uverbs_create_comp_channel{});
  if (rarely(16)) {
    call.at(UVERBS_ATTR_CORE_OUT, kNowhere, sizeof answer);
  } else {
    call.core_out(answer);
  }
  std::string wrong = make(call);
  if (last_error_ != 0) return wrong;
  remember(Kind::channel, answer.fd);
  ::close(static_cast<int>(answer.fd));
  return wrong;
}

std::string HostileClient::make_errors() {
  Call call(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
  call.number(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, number());
  std::string wrong = make(call);
  if (last_error_ == 0) {
    ::close(static_cast<int>(call.given(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)));
  }
  return wrong;
}

std::string HostileClient::make_cq() {
  const std::uint32_t entries = 2u << input_.below(6);
  mlx5_ib_create_cq driver{};
  driver.cqe_size = rarely(4) ? 128 : 64;
  driver.buf_addr = place(std::size_t{entries} * driver.cqe_size, 64);
  driver.db_addr = place(8, 8);
  driver.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
  driver.uar_page_index = static_cast<std::uint16_t>(uar_number_);
  Call call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
  add(call, UVERBS_ATTR_CREATE_CQ_CQE, entries - 1);
  add(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, number());
  add(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0});
  if (rarely(8)) add_handle(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, Kind::channel);
  if (rarely(4)) add(call, UVERBS_ATTR_CREATE_CQ_FLAGS, std::uint32_t{2});
  add(call, UVERBS_ATTR_UHW_IN, driver);
  add_out(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4);
  mlx5_ib_create_cq_resp answer{};
  call.out(UVERBS_ATTR_UHW_OUT, answer);
  std::string wrong = make(call, UVERBS_ATTR_CREATE_CQ_HANDLE, Kind::cq);
  know({{DevxKind::cq, answer.cqn}, last_handle_});
  return wrong;
}

std::string HostileClient::make_ah() {
  ib_uverbs_create_ah request{};
  request.pd_handle = static_cast<std::uint32_t>(handle(Kind::pd));
  request.attr.port_num = 1;
  request.attr.is_global = 1;
  WriteCall call(IB_USER_VERBS_CMD_CREATE_AH);
  ib_uverbs_create_ah_resp answer{};
  add(call, UVERBS_ATTR_CORE_IN, request);
  call.core_out(answer);
  add_out(call, UVERBS_ATTR_UHW_OUT, sizeof(mlx5_ib_create_ah_resp));
  std::string wrong = make(call);
  if (last_error_ == 0) remember(Kind::ah, answer.ah_handle);
  return wrong;
}

std::string HostileClient::resize_cq() {
  ib_uverbs_resize_cq request{};
  request.cq_handle = static_cast<std::uint32_t>(handle(Kind::cq));
  request.cqe = rarely(8) ? 1u << 22 : input_.below(128);
  mlx5_ib_resize_cq driver{};
  driver.cqe_size = rarely(2) ? 128 : 64;
  driver.buf_addr = place(std::size_t{128} * driver.cqe_size, 64);
  WriteCall call(IB_USER_VERBS_CMD_RESIZE_CQ);
  add(call, UVERBS_ATTR_CORE_IN, request);
  add_out(call, UVERBS_ATTR_CORE_OUT, sizeof(ib_uverbs_resize_cq_resp));
  add(call, UVERBS_ATTR_UHW_IN, driver);
  return make(call);
}

std::string HostileClient::alloc_mw() {
  ib_uverbs_alloc_mw request{};
  request.pd_handle = static_cast<std::uint32_t>(handle(Kind::pd));
  request.mw_type = static_cast<std::uint8_t>(rarely(8) ? number() : 1 + input_.below(2));
  WriteCall call(IB_USER_VERBS_CMD_ALLOC_MW);
  add(call, UVERBS_ATTR_CORE_IN, request);
  add_out(call, UVERBS_ATTR_CORE_OUT, sizeof(ib_uverbs_alloc_mw_resp));
  return make(call);
}

// It is in few groups at once, of a few. Who leaves one waits until all senders know.
std::string HostileClient::change_group() {
  ib_uverbs_attach_mcast request{};
  request.qp_handle = static_cast<std::uint32_t>(handle(Kind::qp));
  request.gid[0] = rarely(16) ? 0 : 0xff;
  request.gid[15] = static_cast<std::uint8_t>(input_.below(4));
  const bool leaves = rarely(16);
  WriteCall call(leaves ? IB_USER_VERBS_CMD_DETACH_MCAST : IB_USER_VERBS_CMD_ATTACH_MCAST);
  add(call, UVERBS_ATTR_CORE_IN, request);
  std::string wrong = make(call);
  if (last_error_ == 0 && !leaves) has_joined_ = true;
  return wrong;
}

std::string HostileClient::destroy() {
  const std::uint32_t kind = input_.below(std::size(kDestructions));
  const Destruction& one = kDestructions[kind];
  Call call(one.object, one.method);
  add_handle(call, one.id, static_cast<Kind>(kind));
  if (one.answer_id != 0xffff) add_out(call, one.answer_id, 8);
  return make(call);
}

std::string HostileClient::query() {
  Call call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
  if (rarely(2)) {
    add(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, std::uint64_t{sizeof(ib_uverbs_gid_entry)});
    add(call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, std::uint32_t{0});
    add_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, input_.below(8192));
    add_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8);
    return make(call);
  }
  call.header.method_id = UVERBS_METHOD_QUERY_GID_ENTRY;
  add(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, std::uint32_t{1});
  add(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, std::uint32_t{input_.below(8)});
  add(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, std::uint32_t{0});
  add_out(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, sizeof(ib_uverbs_gid_entry));
  return make(call);
}

// Whatever there may be. Those that give files have a call of their own.
std::string HostileClient::any_method() {
  const std::uint32_t object = input_.below(24);
  Call call(static_cast<std::uint16_t>(rarely(2) ? object : 0x1000 + object),
            static_cast<std::uint16_t>(rarely(2) ? input_.below(8) : 0x1000 + input_.below(8)));
  constexpr std::uint16_t kGiveFiles[] = {UVERBS_OBJECT_ASYNC_EVENT,
                                          MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD,
                                          MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD};
  if (std::ranges::find(kGiveFiles, call.header.object_id) != std::end(kGiveFiles)) {
    return make(call);
  }
  for (std::uint32_t id = 0; id < 12; ++id) {
    const auto number_of_it = static_cast<std::uint16_t>(rarely(4) ? 0x1000 + id : id);
    if (rarely(2)) add(call, number_of_it, number());
    if (rarely(4)) add_out(call, number_of_it, input_.below(256));
  }
  return make(call);
}

std::string HostileClient::any_write() {
  const std::uint32_t command = input_.below(64);
  if (command == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL) return make_channel();
  WriteCall call(rarely(3) ? command | kExtendedCommand : command);
  std::vector<std::byte> request(input_.below(512));
  for (std::size_t at = 0; at + 8 <= request.size(); at += 8) {
    const std::uint64_t value = number();
    std::memcpy(request.data() + at, &value, sizeof value);
  }
  call.in_bytes(UVERBS_ATTR_CORE_IN, request.data(), request.size());
  add_out(call, UVERBS_ATTR_CORE_OUT, 4 + input_.below(512));
  if (rarely(2)) add(call, UVERBS_ATTR_UHW_IN, number());
  if (rarely(2)) add_out(call, UVERBS_ATTR_UHW_OUT, input_.below(128));
  return make(call);
}

std::string HostileClient::call() {
  using Make = std::string (HostileClient::*)();
  constexpr Make kCalls[] = {
      &HostileClient::make_pd,      &HostileClient::make_mr,     &HostileClient::make_uar,
      &HostileClient::make_channel, &HostileClient::make_errors, &HostileClient::make_cq,
      &HostileClient::make_cq,      &HostileClient::make_qp,     &HostileClient::make_qp,
      &HostileClient::make_dm,      &HostileClient::make_dm_mr,  &HostileClient::make_ah,
      &HostileClient::modify_qp,    &HostileClient::modify_qp,   &HostileClient::modify_qp,
      &HostileClient::query_qp,     &HostileClient::destroy,     &HostileClient::destroy,
      &HostileClient::query,        &HostileClient::any_method,  &HostileClient::ring,
      &HostileClient::ring,         &HostileClient::any_write,   &HostileClient::resize_cq,
      &HostileClient::alloc_mw,     &HostileClient::make_umem,   &HostileClient::make_devx,
      &HostileClient::make_devx,    &HostileClient::change_devx, &HostileClient::change_devx,
      &HostileClient::ask_devx,     &HostileClient::ask_device,  &HostileClient::subscribe,
      &HostileClient::make_xrcd,    &HostileClient::make_srq,    &HostileClient::make_target,
      &HostileClient::make_dc_end,  &HostileClient::change_devx, &HostileClient::ask_devx,
      &HostileClient::ask_device,   &HostileClient::change_group};
  return (this->*kCalls[input_.below(std::size(kCalls))])();
}

}  // namespace gdakit::softnic::uverbs::test
