#include "tests/verbs/verify/end.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string_view>

namespace gdakit::verify {
namespace {

constexpr std::size_t kMostCompletionQueues = 4;
constexpr std::uint8_t kPort = 1;
constexpr std::uint32_t kQkey = 0x2345;
constexpr std::uint32_t kPsn = 0xfffff0;  // wraps soon
constexpr std::uint32_t kWantedInline = 100;
constexpr std::int64_t kPatienceMs = 100000;
constexpr std::int64_t kUnwatchedMs =
    1000;  // of polling, before each look whether the other end is there
constexpr int kQueueRights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

ibv_mtu mtu_of(std::uint32_t bytes) {
  int value = IBV_MTU_256;
  while (value < IBV_MTU_4096 && (128u << (value + 1)) <= bytes) ++value;
  return static_cast<ibv_mtu>(value);
}

struct Greeting {
  ibv_gid gid;
  std::uint16_t lid;
  RemoteMemory theirs, counter;
};

void expect(bool done, const char* call) {
  if (!done) give_up("%s failed", call);
}

}  // namespace

End::End(const Options& options, const Meeting& meeting)
    : meeting_(meeting),
      options_(options),
      messages_(static_cast<std::size_t>(options.queues) *
                static_cast<std::size_t>(options.depth)) {
  open();
  make_memory();
  make_completions();
  if (options_.shared) make_shared();
  make_queues();
  if (receive_domain_ != nullptr) make_targets();
  connect();
  if (channel_ != nullptr) arm();
}

void End::open() {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  expect(devices != nullptr && count > 0, "ibv_get_device_list");
  for (int i = 0; i < count && context_ == nullptr; ++i) {
    if (options_.device.empty() || options_.device == ibv_get_device_name(devices[i])) {
      context_.reset(ibv_open_device(devices[i]));
    }
  }
  ibv_free_device_list(devices);
  expect(context_ != nullptr, "ibv_open_device");
  expect(ibv_query_port(context_.get(), kPort, &port_) == 0, "ibv_query_port");
  domain_.reset(ibv_alloc_pd(context_.get()));
  expect(domain_ != nullptr, "ibv_alloc_pd");
}

void End::make_memory() {
  mine_.emplace(domain_.get(), "of the sender", messages_, slot_bytes(options_));
  theirs_.emplace(domain_.get(), "of the target", messages_, slot_bytes(options_));
  received_.emplace(domain_.get(), "received", messages_, slot_bytes(options_));
  counter_.emplace(domain_.get(), "the counter", 1, 64);
  counter_->put_word(0, 0, 0);
}

void End::make_completions() {
  if (options_.events) {
    channel_.reset(ibv_create_comp_channel(context_.get()));
    expect(channel_ != nullptr, "ibv_create_comp_channel");
  }
  const auto queues = static_cast<std::size_t>(options_.queues);
  for (std::size_t i = 0; i < std::min(queues, kMostCompletionQueues); ++i) {
    const int entries = static_cast<int>(2 * messages_);
    completions_.emplace_back(ibv_create_cq(context_.get(), entries, nullptr, channel_.get(), 0));
    expect(completions_.back() != nullptr, "ibv_create_cq");
  }
}

void End::make_shared() {
  ibv_srq_init_attr_ex wanted{};
  wanted.attr.max_wr = static_cast<std::uint32_t>(messages_);
  wanted.attr.max_sge = kMostPieces;
  wanted.pd = domain_.get();
  wanted.comp_mask = IBV_SRQ_INIT_ATTR_PD;
  if (options_.transport == "xrc") {
    ibv_xrcd_init_attr alone{};
    alone.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    alone.fd = -1;
    alone.oflags = O_CREAT;
    receive_domain_.reset(ibv_open_xrcd(context_.get(), &alone));
    expect(receive_domain_ != nullptr, "ibv_open_xrcd");
    wanted.srq_type = IBV_SRQT_XRC;
    wanted.xrcd = receive_domain_.get();
    wanted.cq = completions_[0].get();
    wanted.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  }
  shared_.reset(ibv_create_srq_ex(context_.get(), &wanted));
  expect(shared_ != nullptr, "ibv_create_srq_ex");
}

void End::make_queues() {
  const std::size_t cqs = completions_.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(options_.queues); ++i) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = completions_[i % cqs].get();
    wanted.recv_cq = completions_[(i + 1) % cqs].get();
    if (receive_domain_ == nullptr) wanted.srq = shared_.get();
    wanted.qp_type = type_of(options_);
    const auto depth = static_cast<std::uint32_t>(options_.depth);
    wanted.cap = {depth, options_.shared ? 0 : depth, kMostPieces, kMostPieces, kWantedInline};
    queues_.emplace_back(ibv_create_qp(domain_.get(), &wanted));
    expect(queues_.back() != nullptr, "ibv_create_qp");
    most_inline_ = std::min(wanted.cap.max_inline_data, kWantedInline);
    indices_[queues_.back()->qp_num] = i;
  }
}

// Messages come to these, and go to the shared receive queue.
void End::make_targets() {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    ibv_qp_init_attr_ex wanted{};
    wanted.qp_type = IBV_QPT_XRC_RECV;
    wanted.xrcd = receive_domain_.get();
    wanted.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    targets_.emplace_back(ibv_create_qp_ex(context_.get(), &wanted));
    expect(targets_.back() != nullptr, "ibv_create_qp_ex");
    indices_[targets_.back()->qp_num] = i;
  }
}

ibv_ah_attr End::path_to(const ibv_gid& gid, std::uint16_t lid) const {
  ibv_ah_attr path{};
  path.port_num = kPort;
  path.dlid = lid;
  if (port_.link_layer == IBV_LINK_LAYER_ETHERNET) {
    path.is_global = 1;
    path.grh.dgid = gid;
    path.grh.sgid_index = static_cast<std::uint8_t>(options_.gid);
    path.grh.hop_limit = 64;
  }
  return path;
}

void End::connect() {
  Greeting own{};
  const bool ethernet = port_.link_layer == IBV_LINK_LAYER_ETHERNET;
  expect(ibv_query_gid(context_.get(), kPort, ethernet ? options_.gid : 0, &own.gid) == 0,
         "ibv_query_gid");
  own.lid = port_.lid;
  own.theirs = {theirs_->address(0), theirs_->region().rkey};
  own.counter = {counter_->address(0), counter_->region().rkey};
  const Greeting other = meeting_.swap(own);
  remote_theirs_ = other.theirs;
  remote_counter_ = other.counter;
  ibv_ah_attr path = path_to(other.gid, other.lid);
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const std::uint32_t number = meeting_.swap(queues_[i]->qp_num);
    remote_numbers_.push_back(targets_.empty() ? number : meeting_.swap(targets_[i]->qp_num));
    bring_up(queues_[i].get(), path, remote_numbers_.back());
    if (!targets_.empty()) bring_up(targets_[i].get(), path, number);
  }
  if (!targets_.empty()) {
    std::uint32_t number = 0;
    expect(ibv_get_srq_num(shared_.get(), &number) == 0, "ibv_get_srq_num");
    remote_shared_ = meeting_.swap(number);
  }
  if (options_.transport == "ud") {
    address_handle_.reset(ibv_create_ah(domain_.get(), &path));
    expect(address_handle_ != nullptr, "ibv_create_ah");
  }
  meeting_.wait();
}

void End::bring_up(ibv_qp* queue, const ibv_ah_attr& path, std::uint32_t remote) const {
  const bool reliable = options_.transport == "rc" || options_.transport == "xrc";
  const bool datagrams = options_.transport == "ud";
  ibv_qp_attr wanted{};
  wanted.qp_state = IBV_QPS_INIT;
  wanted.port_num = kPort;
  wanted.qkey = kQkey;
  wanted.qp_access_flags = reliable ? kQueueRights : IBV_ACCESS_REMOTE_WRITE;
  const int third = datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  expect(ibv_modify_qp(queue, &wanted, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | third) == 0,
         "ibv_modify_qp to INIT");
  wanted.qp_state = IBV_QPS_RTR;
  wanted.ah_attr = path;
  wanted.path_mtu = mtu_of(options_.path_mtu);
  wanted.dest_qp_num = remote;
  wanted.rq_psn = wanted.sq_psn = kPsn;
  wanted.max_dest_rd_atomic = wanted.max_rd_atomic = 4;
  wanted.min_rnr_timer = 1;
  int mask = IBV_QP_STATE;
  if (!datagrams) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  expect(ibv_modify_qp(queue, &wanted, mask) == 0, "ibv_modify_qp to RTR");
  wanted.qp_state = IBV_QPS_RTS;
  wanted.timeout = 18;
  wanted.retry_cnt = wanted.rnr_retry = 7;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (reliable) {
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  expect(ibv_modify_qp(queue, &wanted, mask) == 0, "ibv_modify_qp to RTS");
}

std::size_t End::index_of(std::uint32_t queue_number) const {
  const auto at = indices_.find(queue_number);
  if (at == indices_.end()) give_up("a completion of queue pair 0x%x, which is none", queue_number);
  return at->second;
}

void End::moved() { limit_ms_ = now_ms() + kPatienceMs; }

void End::arm() {
  for (const auto& cq : completions_) {
    expect(ibv_req_notify_cq(cq.get(), 0) == 0, "ibv_req_notify_cq");
  }
}

// With events, one of each queue is asked for at any time: what came before the next one was asked
// for is found by polling once more.
void End::wait_for_completions() {
  if (channel_ == nullptr) {
    if (now_ms() < limit_ms_ - kPatienceMs + kUnwatchedMs) {
      ::sched_yield();
      return;
    }
  }
  const pollfd events{channel_ == nullptr ? -1 : channel_->fd, POLLIN, 0};
  std::array<pollfd, 2> waiting{events, pollfd{meeting_.socket(), 0, 0}};
  const auto left = static_cast<int>(limit_ms_ - now_ms());
  const int wait_ms = channel_ == nullptr ? 1 : std::max(left, 0);
  const int found = ::poll(waiting.data(), waiting.size(), wait_ms);
  if (left <= 0) give_up("no completion for %ld s", static_cast<long>(kPatienceMs / 1000));
  if ((waiting[1].revents & POLLHUP) != 0) give_up("the other end is gone");
  if (found < 1 || channel_ == nullptr) return;
  ibv_cq* cq = nullptr;
  void* unused = nullptr;
  expect(ibv_get_cq_event(channel_.get(), &cq, &unused) == 0, "ibv_get_cq_event");
  ibv_ack_cq_events(cq, 1);
  expect(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
}

}  // namespace gdakit::verify
