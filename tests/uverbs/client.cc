#include "tests/uverbs/client.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <thread>

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/transition_masks.h"
#include "backends/softnic/wire/udp_socket.h"
#include "core/format/cq_doorbell.h"

namespace gdakit::softnic::uverbs::test {

std::uint16_t free_port() {
  std::mt19937 random{std::random_device{}()};
  for (int tries = 0; tries < 100; ++tries) {
    const auto port = static_cast<std::uint16_t>(20000 + random() % 10000);
    if (UdpSocket::open(*UdpAddress::parse("127.0.0.1:" + std::to_string(port)))) return port;
  }
  throw std::runtime_error("no port is free");
}
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

void store_word(std::uint32_t& word, Be32 value) {
  __atomic_store_n(&word, value.raw(), __ATOMIC_RELEASE);
}

void expect(int error, const char* what) {
  if (error != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(error));
}

}  // namespace

UarMapping::UarMapping(Device& device, std::uint64_t offset, std::uint32_t length)
    : length_(length) {
  const UniqueFileDescriptor file(*device.pages().open_file());
  page_ = ::mmap(nullptr, length, PROT_WRITE, MAP_SHARED, file.get(), static_cast<off_t>(offset));
  if (page_ == MAP_FAILED) throw std::runtime_error("the client cannot map its doorbell page");
}

UarMapping::~UarMapping() { ::munmap(page_, length_); }

void UarMapping::store(std::uint32_t offset, std::uint64_t value) const {
  auto* const word = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(page_) + offset);
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

Client::Client(Device& of, bool with_devx) : device(of), context(std::make_unique<Context>(of)) {
  expect(get_context(*context, with_devx), "GET_CONTEXT");
}

void Client::make_all(bool with_channel) {
  pd = make_pd();
  mr = make_mr(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
               IB_UVERBS_ACCESS_REMOTE_READ);
  uar = make_uar();
  if (with_channel) channel = make_channel();
  make_cq(send_cq);
  make_cq(receive_cq, with_channel ? std::optional<int>(channel) : std::nullopt);
  qp = make_qp();
}

std::uint32_t Client::make_pd() {
  ib_uverbs_alloc_pd request{};
  ib_uverbs_alloc_pd_resp answer{};
  WriteCall call(IB_USER_VERBS_CMD_ALLOC_PD);
  expect(call.core_in(request).core_out(answer).make(*context), "ALLOC_PD");
  return answer.pd_handle;
}

std::uint32_t Client::make_mr(std::uint32_t flags) {
  ib_uverbs_reg_mr request{};
  request.start = request.hca_va = address(0);
  request.length = kPayloadBytes;
  request.pd_handle = pd;
  request.access_flags = flags;
  ib_uverbs_reg_mr_resp answer{};
  WriteCall call(IB_USER_VERBS_CMD_REG_MR);
  expect(call.core_in(request).core_out(answer).make(*context), "REG_MR");
  EXPECT_EQ(answer.lkey, answer.rkey);
  key = answer.lkey;
  return answer.mr_handle;
}

std::uint32_t Client::make_uar() {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  Call call(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
  call.number(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)
      .in(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, std::uint64_t{MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC})
      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset)
      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, length)
      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, uar_number);
  expect(call.make(*context), "UAR_OBJ_ALLOC");
  registers_ = std::make_unique<UarMapping>(device, offset, length);
  return call.given(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE);
}

int Client::make_channel() {
  ib_uverbs_create_comp_channel request{};
  ib_uverbs_create_comp_channel_resp answer{};
  WriteCall call(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL);
  expect(call.core_in(request).core_out(answer).make(*context), "CREATE_COMP_CHANNEL");
  channel_file_ = UniqueFileDescriptor(static_cast<int>(answer.fd));
  return channel_file_.get();
}

mlx5_ib_create_cq Client::cq_driver(const ClientCq& cq) const {
  mlx5_ib_create_cq driver{};
  driver.buf_addr = address_of(cq.memory->entries.data());
  driver.db_addr = address_of(cq.memory->record.data());
  driver.cqe_size = 64;
  driver.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX;
  driver.uar_page_index = static_cast<std::uint16_t>(uar_number);
  return driver;
}

Call Client::cq_call(ClientCq& cq, const mlx5_ib_create_cq& driver) const {
  cq.user_handle = address_of(&cq);
  Call call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
  call.number(UVERBS_ATTR_CREATE_CQ_HANDLE)
      .in(UVERBS_ATTR_CREATE_CQ_CQE, kQueue - 1)
      .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, cq.user_handle)
      .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
      .in(UVERBS_ATTR_UHW_IN, driver);
  return call;
}

void Client::make_cq(ClientCq& cq, std::optional<int> of_channel) {
  std::memset(static_cast<void*>(cq.memory->entries.data()), format::kInvalidCqeByte,
              sizeof cq.memory->entries);
  std::uint32_t entries_less_one = 0;
  mlx5_ib_create_cq_resp answer{};
  Call call = cq_call(cq, cq_driver(cq));
  call.out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries_less_one).out(UVERBS_ATTR_UHW_OUT, answer);
  if (of_channel) {
    call.number(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, static_cast<std::uint64_t>(*of_channel));
  }
  expect(call.make(*context), "CQ_CREATE");
  EXPECT_EQ(entries_less_one, kQueue - 1);
  cq.handle = call.given(UVERBS_ATTR_CREATE_CQ_HANDLE);
  cq.number = answer.cqn;
}

mlx5_ib_create_qp Client::qp_driver() const {
  mlx5_ib_create_qp driver{};
  driver.buf_addr = address_of(queues->receive.data());
  driver.db_addr = address_of(queues->record.data());
  driver.sq_wqe_count = kQueue;
  driver.rq_wqe_count = kQueue;
  driver.rq_wqe_shift = kReceiveShift;
  driver.flags = MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_SCATTER_CQE;
  driver.uidx = 0x123;
  driver.bfreg_index = uar_number;
  return driver;
}

Call Client::qp_call(const mlx5_ib_create_qp& driver) {
  ib_uverbs_qp_cap capacity{};
  capacity.max_send_wr = kQueue;
  capacity.max_recv_wr = kQueue - 1;  // the queue is of the next power of two
  capacity.max_send_sge = capacity.max_recv_sge = 1;
  capacity.max_inline_data = 28;
  Call call(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
  call.number(UVERBS_ATTR_CREATE_QP_HANDLE)
      .number(UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd)
      .number(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, send_cq.handle)
      .number(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, receive_cq.handle)
      .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, address_of(this))
      .in(UVERBS_ATTR_CREATE_QP_CAP, capacity)
      .in(UVERBS_ATTR_CREATE_QP_TYPE, type)
      .in(UVERBS_ATTR_UHW_IN, driver);
  return call;
}

std::uint32_t Client::make_qp(std::optional<std::uint32_t> of_srq) {
  ib_uverbs_qp_cap capacity{};
  mlx5_ib_create_qp driver = qp_driver();
  if (of_srq) {
    driver.buf_addr = address_of(queues->send.data());
    driver.rq_wqe_count = 0;
  }
  Call call = qp_call(driver);
  if (of_srq) call.number(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, *of_srq);
  call.out(UVERBS_ATTR_CREATE_QP_RESP_CAP, capacity).out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn);
  expect(call.make(*context), "QP_CREATE");
  EXPECT_EQ(capacity.max_inline_data, 28u);
  return call.given(UVERBS_ATTR_CREATE_QP_HANDLE);
}

int Client::destroy(std::uint16_t object, std::uint16_t method, std::uint16_t id,
                    std::uint32_t handle) {
  return Call(object, method).number(id, handle).make(*context);
}
int Client::destroy_pd(std::uint32_t handle) {
  return destroy(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE, handle);
}
int Client::destroy_mr(std::uint32_t handle) {
  return destroy(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, UVERBS_ATTR_DESTROY_MR_HANDLE, handle);
}
int Client::destroy_uar(std::uint32_t handle) {
  return destroy(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
                 MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle);
}
int Client::destroy_qp(std::uint32_t handle) {
  return destroy(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, UVERBS_ATTR_DESTROY_QP_HANDLE, handle);
}
int Client::destroy_cq(std::uint32_t handle, ib_uverbs_destroy_cq_resp* answer) {
  ib_uverbs_destroy_cq_resp unheard{};
  return Call(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY)
      .number(UVERBS_ATTR_DESTROY_CQ_HANDLE, handle)
      .out(UVERBS_ATTR_DESTROY_CQ_RESP, answer == nullptr ? unheard : *answer)
      .make(*context);
}

ib_uverbs_modify_qp Client::to_state(std::uint8_t state) const {
  ib_uverbs_modify_qp request{};
  request.qp_handle = qp;
  request.qp_state = state;
  request.attr_mask = attr::kState;
  return request;
}

ib_uverbs_modify_qp Client::to_init() const {
  ib_uverbs_modify_qp request = to_state(1);
  request.attr_mask |= attr::kPkeyIndex | attr::kPort;
  request.attr_mask |= type == IB_UVERBS_QPT_UD ? attr::kQkey : attr::kAccess;
  request.qkey = kQkey;
  request.port_num = 1;
  request.qp_access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ;
  return request;
}

ib_uverbs_modify_qp Client::to_rtr(std::uint32_t peers_qpn) const {
  ib_uverbs_modify_qp request = to_state(2);
  if (type == IB_UVERBS_QPT_UD) return request;
  request.attr_mask |= attr::kPath | attr::kPathMtu | attr::kRemoteQpn | attr::kReceivePsn;
  if (type == IB_UVERBS_QPT_RC || type == IB_UVERBS_QPT_XRC_TGT) {
    request.attr_mask |= attr::kMaxPeerReads | attr::kMinRnrTimer;
  }
  request.dest.is_global = 1;
  request.dest.sgid_index = gid_index;
  const Gid gid = device.identity().gid(gid_index);  // any NIC's leads to whose the QPN is
  std::copy(gid.begin(), gid.end(), request.dest.dgid);
  request.dest.hop_limit = 64;
  request.dest.traffic_class = 32;
  request.dest.port_num = 1;
  request.path_mtu = 3;
  request.dest_qp_num = peers_qpn;
  request.rq_psn = 0x000111;
  request.max_dest_rd_atomic = 4;
  request.min_rnr_timer = 12;
  return request;
}

ib_uverbs_modify_qp Client::to_rts() const {
  ib_uverbs_modify_qp request = to_state(3);
  request.attr_mask |= attr::kSendPsn;
  if (type == IB_UVERBS_QPT_XRC_TGT) request.attr_mask |= attr::kTimeout;
  if (type == IB_UVERBS_QPT_RC || type == IB_UVERBS_QPT_XRC_INI) {
    request.attr_mask |= attr::kTimeout | attr::kRetryCount | attr::kRnrRetry | attr::kMaxReads;
  }
  request.timeout = 14;
  request.retry_cnt = 7;
  request.rnr_retry = 7;
  request.sq_psn = 0x000111;
  request.max_rd_atomic = 2;
  return request;
}

int Client::modify(const ib_uverbs_modify_qp& request) {
  return WriteCall(IB_USER_VERBS_CMD_MODIFY_QP).core_in(request).make(*context);
}

ib_uverbs_query_qp_resp Client::query() {
  ib_uverbs_query_qp request{};
  request.qp_handle = qp;
  request.attr_mask = ~0u;
  ib_uverbs_query_qp_resp answer{};
  WriteCall call(IB_USER_VERBS_CMD_QUERY_QP);
  expect(call.core_in(request).core_out(answer).make(*context), "QUERY_QP");
  return answer;
}

void Client::connect(const Client& peer) {
  expect(modify(to_init()), "MODIFY_QP to INIT");
  ib_uverbs_modify_qp rtr = to_rtr(peer.qpn);
  const Gid gid = peer.device.identity().gid(peer.gid_index);
  std::copy(gid.begin(), gid.end(), rtr.dest.dgid);
  expect(modify(rtr), "MODIFY_QP to RTR");
  expect(modify(to_rts()), "MODIFY_QP to RTS");
}

void Client::post_receive(std::size_t at, std::uint32_t size) {
  queues->receive[received_ % kQueue] =
      format::to_segment(format::data(address(at), Be32{key}, size));
  ++received_;
  store_word(queues->record[0], format::doorbell_record_value(received_));
}

// Segments behind the ring's end lie at its beginning.
void Client::post(format::Opcode opcode, const std::vector<format::Segment>& rest, bool solicited) {
  const auto count = static_cast<std::uint32_t>(1 + rest.size());
  constexpr std::uint32_t kEach = format::kWqebbBytes / format::kSegmentBytes;
  const auto place = [this](std::uint32_t number) -> format::Segment& {
    return queues->send[(sent_ + number / kEach) % kQueue].segments[number % kEach];
  };
  place(0) = format::to_segment(format::control(
      opcode, 0, format::wire_index(sent_), qpn, count,
      format::fm_ce_se(format::FenceMode::none, format::Completion::always, solicited)));
  for (std::uint32_t i = 1; i < count; ++i) place(i) = rest[i - 1];
  sent_ += (count + kEach - 1) / kEach;
  store_word(queues->record[1], format::doorbell_record_value(sent_));
  registers_->store(format::kUarDoorbellBegin, format::doorbell_value(sent_, qpn));
}

void Client::post_send(std::size_t from, std::uint32_t size, bool solicited) {
  post(format::Opcode::send, {format::to_segment(format::data(address(from), Be32{key}, size))},
       solicited);
}

void Client::post_xrc_send(std::size_t from, std::uint32_t size, std::uint32_t srqn) {
  post(format::Opcode::send,
       {format::to_segment(format::XrcSegment{Be32{srqn}, {}}),
        format::to_segment(format::data(address(from), Be32{key}, size))},
       false);
}

void Client::post_write(std::size_t from, std::uint32_t size, std::uint64_t to,
                        std::uint32_t rkey) {
  post(format::Opcode::rdma_write,
       {format::to_segment(format::remote_address(to, Be32{rkey})),
        format::to_segment(format::data(address(from), Be32{key}, size))},
       false);
}

void Client::post_datagram(std::size_t from, std::uint32_t size, const format::AvSegment& to,
                           std::uint32_t to_qpn, std::uint32_t qkey) {
  format::AvSegment av = to;
  av.qkey = Be32{qkey};
  post_with(av, to_qpn, from, size);
}

void Client::post_to_target(std::size_t from, std::uint32_t size, const format::AvSegment& to,
                            std::uint32_t dctn, std::uint64_t dc_key) {
  format::AvSegment av = to;
  format::set_dc_key(av, dc_key);
  post_with(av, dctn, from, size);
}

void Client::post_with(format::AvSegment& av, std::uint32_t number, std::size_t from,
                       std::uint32_t size) {
  av.dqp_dct = Be32{format::kExtendedAv | number};
  std::vector<format::Segment> rest(sizeof av / sizeof(format::Segment));
  std::memcpy(static_cast<void*>(rest.data()), &av, sizeof av);
  rest.push_back(format::to_segment(format::data(address(from), Be32{key}, size)));
  post(format::Opcode::send, rest, false);
}

void Client::arm(ClientCq& cq, std::uint32_t arm_sn) {
  const Be32 word = format::cq_arm(arm_sn, false, cq.consumer);
  store_word(cq.memory->record[1], word);
  registers_->store(format::kUarCqArm, format::cq_arm_value(word, cq.number));
}

format::Cqe64 Client::next(ClientCq& cq) {
  const format::Cqe64& entry = cq.memory->entries[cq.consumer % kQueue];
  const auto* const words = reinterpret_cast<const std::uint64_t*>(&entry);
  const bool lap = (cq.consumer / kQueue) % 2 != 0;
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const format::CqeTail tail{__atomic_load_n(&words[7], __ATOMIC_ACQUIRE)};
    const bool ours = ((tail.op_own() & 1) != 0) == lap;
    if (ours && tail.opcode() != format::CqeOpcode::invalid) break;
    if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("no CQE comes");
    std::this_thread::yield();
  }
  const format::Cqe64 cqe = entry;
  ++cq.consumer;
  store_word(cq.memory->record[0], Be32{cq.consumer & format::kCqIndexMask});
  return cqe;
}

}  // namespace gdakit::softnic::uverbs::test
