#include "backends/softnic/engine/nic.h"

#include <chrono>
#include <string>
#include <thread>

#include "backends/softnic/engine/status_text.h"
#include "core/base/seconds_text.h"

namespace gdakit::softnic {
namespace {

using Clock = std::chrono::steady_clock;

// Calls `done` until it is true or the limit has passed.
template <class Done>
void wait_for(Clock::time_point limit, Done done) {
  while (!done() && Clock::now() <= limit) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

// Finds what was rung at any page of doorbells.
struct AllPages {
  UarPages& pages;
  Engine& engine;
  void operator()() const { pages.poll_all(engine); }
};

}  // namespace

Nic::Nic(const NicOptions& options, std::unique_ptr<DmaPort> port, std::unique_ptr<Wire> wire)
    : port_(std::move(port)),
      wire_(std::move(wire)),
      engine_(std::make_unique<Engine>(options.engine, *port_, *wire_)),
      pages_(options.doorbell_pages),
      thread_(std::make_unique<NicThread>(options.thread, *engine_, pages_)),
      removal_limit_(options.removal_limit) {}

Result<std::unique_ptr<Nic>> Nic::open(const NicOptions& options, std::unique_ptr<DmaPort> port,
                                       std::unique_ptr<Wire> wire) {
  if (port == nullptr || wire == nullptr) {
    return Error(Code::invalid_argument, "Nic::open: a NIC needs a DMA port and a wire; give both");
  }
  if (!is_power_of_two(options.engine.window) || options.engine.queues_per_step == 0 ||
      options.engine.packets_per_step == 0) {
    return Error(Code::invalid_argument,
                 "Nic::open: window must be a power of two, and the budgets of a step above 0");
  }
  return std::unique_ptr<Nic>(new Nic(options, std::move(port), std::move(wire)));
}

Nic::~Nic() = default;

template <class Call>
auto Nic::locked(const char* name, const Call& call) const {
  return to_result(name, thread_->locked(call));
}

void Nic::begin_end() { ending_ = true; }

void Nic::between_steps(const std::function<void()>& call) { thread_->locked(call); }

template <class Ended>
std::chrono::milliseconds Nic::wait_until(const Ended& ended) {
  thread_->wake();
  const std::chrono::milliseconds limit{waited_in_vain_ ? 0 : removal_limit_.count()};
  wait_for(Clock::now() + limit, [&] { return thread_->locked(ended); });
  return limit;
}

// Behind all doorbells that were rung before, as on hardware, where stores to the doorbell page and
// commands arrive in order. For a command that concerns one queue pair or CQ it is enough to look
// at its own page: a look at all of them for each of a thousand queues takes longer than all else.
template <class Look, class Call>
RemovalNumber Nic::behind_doorbells(const Look& look, const Call& call) {
  bool starts = false;
  const RemovalNumber number = thread_->locked([&]() -> RemovalNumber {
    look();
    const RemovalNumber before = engine_->last_removal();
    starts = !engine_->started();
    call();
    starts = starts && engine_->started();
    return engine_->last_removal() == before ? 0 : engine_->last_removal();
  });
  if (starts) thread_->wake();
  return number;
}

template <class Look, class Remove>
Result<> Nic::remove_and_wait(const char* call, const Look& look, const Remove& remove) {
  Result<> removed;
  const RemovalNumber number = behind_doorbells(look, [&] { removed = to_result(call, remove()); });
  return number == 0 ? removed : wait_for_removal(call, number);
}

// What was posted before a queue pair goes, hardware has sent by then.
Result<> Nic::command(const std::function<void(Engine&)>& call) {
  thread_->catch_up();
  const RemovalNumber number =
      behind_doorbells(AllPages{pages_, *engine_}, [&] { call(*engine_); });
  thread_->wake();
  return number == 0 ? Result<>() : wait_for_removal("command", number);
}

Result<> Nic::wait_for_removal(const char* call, RemovalNumber number) {
  const auto limit = wait_until([&] { return engine_->removed(number); });
  // In one look: what still uses the memory, if anything does.
  bool peers = false;
  const bool ended = thread_->locked([&] {
    const bool removed_by_now = engine_->removed(number);
    peers = engine_->left_to_peers(number);
    return removed_by_now;
  });
  if (ended) return {};
  if (ending_) waited_in_vain_ = true;
  return Error(Code::timed_out, std::string(call) + ": " + (peers ? "a peer" : "this NIC's DMA") +
                                    " still uses the memory after " + seconds_text(limit) +
                                    "; let a stopped process or NIC go on, and keep the memory");
}

Result<> Nic::end_removals() {
  const auto limit = wait_until([&] { return engine_->drained(); });
  if (thread_->locked([&] { return engine_->drained(); })) return {};
  return Error(Code::timed_out, "end_removals: memory of removed objects is still used after " +
                                    seconds_text(limit) + "; keep it, and let others go on");
}

Result<PdNumber> Nic::alloc_pd(Uid uid) {
  return locked("alloc_pd", [&] { return engine_->alloc_pd(uid); });
}

Result<> Nic::dealloc_pd(PdNumber pd, Uid uid) {
  return locked("dealloc_pd", [&] { return engine_->dealloc_pd(pd, uid); });
}

Result<Uar> Nic::alloc_uar(UarType type, Uid uid) {
  return thread_->locked([&]() -> Result<Uar> {
    const Result<UarNumber> number = to_result("alloc_uar", engine_->alloc_uar(type, uid));
    if (!number) return number.error();
    const Result<void*> page = pages_.add(*number, type);
    if (!page) {
      static_cast<void>(engine_->free_uar(*number, uid));
      return page.error();
    }
    return Uar{*number, *page};
  });
}

Result<> Nic::free_uar(UarNumber uar, Uid uid) {
  return locked("free_uar", [&] {
    const Outcome<> freed = engine_->free_uar(uar, uid);
    if (freed) pages_.remove(uar);
    return freed;
  });
}

Result<MemoryKey> Nic::reg_mr(const MrAttributes& attributes, Uid uid) {
  return locked("reg_mr", [&] { return engine_->reg_mr(attributes, uid); });
}

Result<> Nic::rereg_mr(MemoryKey key, const MrAttributes& attributes, Uid uid) {
  return remove_and_wait("rereg_mr", AllPages{pages_, *engine_},
                         [&] { return engine_->rereg_mr(key, attributes, uid); });
}

Result<> Nic::dereg_mr(MemoryKey key, Uid uid) {
  return remove_and_wait("dereg_mr", AllPages{pages_, *engine_},
                         [&] { return engine_->dereg_mr(key, uid); });
}

Result<MemoryKey> Nic::alloc_mw(PdNumber pd, WindowType type, Uid uid) {
  return locked("alloc_mw", [&] { return engine_->alloc_mw(pd, type, uid); });
}

Result<> Nic::dealloc_mw(MemoryKey window, Uid uid) {
  return remove_and_wait("dealloc_mw", AllPages{pages_, *engine_},
                         [&] { return engine_->dealloc_mw(window, uid); });
}

Result<CqNumber> Nic::create_cq(const CqAttributes& attributes, Uid uid) {
  return locked("create_cq", [&] { return engine_->create_cq(attributes, uid); });
}

Result<CqInfo> Nic::query_cq(CqNumber cq, Uid uid) const {
  return locked("query_cq", [&] { return engine_->query_cq(cq, uid); });
}

Result<> Nic::resize_cq(CqNumber cq, const CqResize& to, Uid uid) {
  thread_->catch_up();
  RemovalNumber number = 0;
  Result<bool> moved = false;
  wait_for(Clock::now() + removal_limit_, [&] {
    moved = locked("resize_cq", [&] {
      pages_.poll_all(*engine_);
      const Outcome<bool> outcome = engine_->resize_cq(cq, to, uid);
      number = engine_->last_removal();
      return outcome;
    });
    thread_->wake();
    return !moved || *moved;
  });
  if (!moved) return moved.error();
  if (!*moved) {
    return Error(Code::timed_out, "resize_cq: this NIC stands still; let it go on, and try again");
  }
  return wait_for_removal("resize_cq", number);
}

Result<> Nic::destroy_cq(CqNumber cq, Uid uid) {
  return remove_and_wait(
      "destroy_cq", [&] { pages_.poll_page(*engine_, engine_->uar_of_cq(cq)); },
      [&] { return engine_->destroy_cq(cq, uid); });
}

Result<SrqNumber> Nic::create_srq(const SrqAttributes& attributes, Uid uid) {
  return locked("create_srq", [&] { return engine_->create_srq(attributes, uid); });
}

Result<> Nic::arm_srq(SrqNumber srq, std::uint32_t limit, Uid uid) {
  const Result<> armed = locked("arm_srq", [&] { return engine_->arm_srq(srq, limit, uid); });
  thread_->wake();
  return armed;
}

Result<SrqInfo> Nic::query_srq(SrqNumber srq, Uid uid) const {
  return locked("query_srq", [&] { return engine_->query_srq(srq, uid); });
}

Result<> Nic::destroy_srq(SrqNumber srq, Uid uid) {
  return remove_and_wait("destroy_srq", AllPages{pages_, *engine_},
                         [&] { return engine_->destroy_srq(srq, uid); });
}

Result<DctNumber> Nic::create_dct(const DctAttributes& attributes, Uid uid) {
  const auto created = locked("create_dct", [&] { return engine_->create_dct(attributes, uid); });
  thread_->wake();
  return created;
}

Result<QpNumber> Nic::create_qp(const QpAttributes& attributes, Uid uid) {
  return locked("create_qp", [&] { return engine_->create_qp(attributes, uid); });
}

Result<> Nic::modify_qp(QpNumber qpn, const QpModify& modify, Uid uid) {
  return remove_and_wait(
      "modify_qp", [&] { pages_.poll_page(*engine_, engine_->uar_of_qp(qpn)); },
      [&] { return engine_->modify_qp(qpn, modify, uid); });
}

Result<QpInfo> Nic::query_qp(QpNumber qpn, Uid uid) const {
  return locked("query_qp", [&] { return engine_->query_qp(qpn, uid); });
}

std::vector<QpNumber> Nic::broken_qps() const {
  return thread_->locked([&] { return engine_->broken_qps(); });
}

std::vector<QpNumber> Nic::recordless_qps() const {
  return thread_->locked([&] { return engine_->recordless_qps(); });
}

Result<> Nic::destroy_qp(QpNumber qpn, Uid uid) {
  return remove_and_wait(
      "destroy_qp", [&] { pages_.poll_page(*engine_, engine_->uar_of_qp(qpn)); },
      [&] { return engine_->destroy_qp(qpn, uid); });
}

NicCounters Nic::counters() const {
  return thread_->locked([&] { return engine_->counters(); });
}

NicCount Nic::count() const {
  return thread_->locked([&] { return engine_->count(); });
}

}  // namespace gdakit::softnic
