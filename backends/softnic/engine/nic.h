// The soft ConnectX as a backend sees it: one NIC with its engine, its thread and its doorbell
// pages.
//
//   auto fabric = LoopbackFabric::create();
//   auto nic = Nic::open({}, std::make_unique<HostDma>(), *fabric->attach());
//   PdNumber pd = *(*nic)->alloc_pd();
//
// Contract. Every function may be called from any thread; each takes effect between two steps of
// the engine. destroy_qp, destroy_cq, destroy_srq, dereg_mr, rereg_mr, resize_cq and modify_qp to
// reset return when nothing reads or writes the memory that the object named any more, here or at a
// peer, so that the caller may free it. Errors are sentences; a call that fails has changed
// nothing, but for one of these seven that ends with timed_out: the object is gone, or of other
// memory, and its old memory must stay. Objects still alive when the Nic is destroyed go with it.
//
// Events go to NicOptions::engine.events, which outlives the Nic. Who runs the step calls it, the
// NIC's own thread or one that waits for the NIC, one at a time and while calls of other threads
// wait: the sink notes the event, wakes up who waits for it, and calls nothing of the Nic. The CQE
// of a `completion` is visible by then. After destroy_cq, destroy_srq or destroy_qp no event names
// the object.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/engine/engine.h"
#include "backends/softnic/engine/nic_thread.h"
#include "backends/softnic/engine/uar.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/progress_engine.h"
#include "core/base/result.h"
#include "core/host/backend.h"

namespace gdakit::softnic {

struct NicOptions {
  EngineOptions engine;
  NicThreadOptions thread;
  std::shared_ptr<HostPages> doorbell_pages;      // null: memory of this process alone
  std::chrono::milliseconds removal_limit{5000};  // for whoever still uses what is removed
};

// A doorbell page: threads store doorbells into its registers (UarType). 4 KiB, page-aligned host
// memory.
struct Uar {
  UarNumber number = 0;
  void* page = nullptr;
};

class Nic final : public ProgressEngine {
 public:
  // Starts the NIC's thread.
  static Result<std::unique_ptr<Nic>> open(const NicOptions& options, std::unique_ptr<DmaPort> port,
                                           std::unique_ptr<Wire> wire);
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;
  ~Nic();

  // This NIC's address on its wire: what a peer puts in QpModify::path.endpoint.
  Endpoint endpoint() const { return wire_->endpoint(); }

  Result<PdNumber> alloc_pd(Uid uid = kNicUid);
  Result<> dealloc_pd(PdNumber pd, Uid uid = kNicUid);

  // The page lives until free_uar or the Nic's end; it is zero at first.
  Result<Uar> alloc_uar(UarType type, Uid uid = kNicUid);
  Result<> free_uar(UarNumber uar, Uid uid = kNicUid);

  // lkey and rkey are the same value, as on hardware.
  Result<MemoryKey> reg_mr(const MrAttributes& attributes, Uid uid = kNicUid);
  // The key keeps its number, and is of these attributes from now on: what comes by it is looked up
  // anew, and what was under way ends in the memory it began with.
  Result<> rereg_mr(MemoryKey key, const MrAttributes& attributes, Uid uid = kNicUid);
  Result<> dereg_mr(MemoryKey key, Uid uid = kNicUid);
  // A memory window: a key that grants remote rights to a part of a region, once a UMR WQE binds it
  // there, until it is invalidated, or either is gone. Of `window` the index alone counts. When
  // dealloc_mw returns, nothing is read or written by it any more.
  Result<MemoryKey> alloc_mw(PdNumber pd, WindowType type, Uid uid = kNicUid);
  Result<> dealloc_mw(MemoryKey window, Uid uid = kNicUid);

  // The caller fills the entries with format::kInvalidCqeByte first; the NIC never reads them.
  Result<CqNumber> create_cq(const CqAttributes& attributes, Uid uid = kNicUid);
  Result<CqInfo> query_cq(CqNumber cq, Uid uid = kNicUid) const;
  // Moves the CQ to other entries (Engine::resize_cq): when it returns, all CQEs of before and the
  // marker behind them are visible in the old ones, which are the caller's again. The caller fills
  // the new ones as for create_cq, and polls neither until it has copied what it had not consumed.
  // With timed_out and the NIC paused it has not moved. invalid_argument: it does not fit.
  Result<> resize_cq(CqNumber cq, const CqResize& to, Uid uid = kNicUid);
  Result<> destroy_cq(CqNumber cq, Uid uid = kNicUid);

  // The record's counter is zero at first, or less than what is posted: all that it says is taken.
  Result<SrqNumber> create_srq(const SrqAttributes& attributes, Uid uid = kNicUid);
  // One srq_limit event, once fewer WQEs are left than `limit`; 0: none. Another call takes the
  // place of one before.
  Result<> arm_srq(SrqNumber srq, std::uint32_t limit, Uid uid = kNicUid);
  Result<SrqInfo> query_srq(SrqNumber srq, Uid uid = kNicUid) const;
  Result<> destroy_srq(SrqNumber srq, Uid uid = kNicUid);

  // A target of DC; it stays until the Nic's end.
  Result<DctNumber> create_dct(const DctAttributes& attributes, Uid uid = kNicUid);

  Result<QpNumber> create_qp(const QpAttributes& attributes, Uid uid = kNicUid);
  Result<> modify_qp(QpNumber qpn, const QpModify& modify, Uid uid = kNicUid);
  Result<QpInfo> query_qp(QpNumber qpn, Uid uid = kNicUid) const;
  std::vector<QpNumber> broken_qps() const;
  std::vector<QpNumber> recordless_qps() const;
  Result<> destroy_qp(QpNumber qpn, Uid uid = kNicUid);

  // Waits, as long as one removal does, for all those that have timed out.
  Result<> end_removals();

  // The owner ends. From now on a removal waits for nobody, once one has waited in vain.
  void begin_end();

  NicCounters counters() const;
  NicCount count() const;

  // Runs the call between two steps: what it changes of the wire, the next step finds. It calls
  // nothing of the Nic.
  void between_steps(const std::function<void()>& call);
  // The same for a command to the engine, behind all doorbells that were rung before. Returns, as
  // destroy_qp does, when the memory of what it has removed is unused.
  Result<> command(const std::function<void(Engine&)>& call);

  // A step of the engine, on the calling thread; for threads that wait for what the NIC does. Does
  // nothing while the NIC is paused.
  bool progress() override { return thread_->help(); }

  // What the NIC's own thread does without work, from now on.
  void set_pace(const NicThreadPace& pace) { thread_->set_pace(pace); }

  // A stalled NIC, for tests: between the two calls no doorbell, packet or timer has any effect.
  // Control-path calls still work, but those that wait for peers or DMA may time out.
  void pause() { thread_->pause(); }
  void resume() { thread_->resume(); }

 private:
  Nic(const NicOptions& options, std::unique_ptr<DmaPort> port, std::unique_ptr<Wire> wire);
  // Runs the control-path call of this name between two steps.
  template <class Call>
  auto locked(const char* name, const Call& call) const;
  // Runs the call behind the doorbells that `look` finds. Returns the number of the removal that it
  // has begun, if it has begun one, or 0.
  template <class Look, class Call>
  RemovalNumber behind_doorbells(const Look& look, const Call& call);
  // Runs `remove`, which may remove something, and waits until its memory is unused.
  template <class Look, class Remove>
  Result<> remove_and_wait(const char* call, const Look& look, const Remove& remove);
  // Until the engine says so, or too long. Returns how long that is.
  template <class Ended>
  std::chrono::milliseconds wait_until(const Ended& ended);
  Result<> wait_for_removal(const char* call, RemovalNumber number);

  std::unique_ptr<DmaPort> port_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Engine> engine_;
  UarPages pages_;
  std::unique_ptr<NicThread> thread_;
  const std::chrono::milliseconds removal_limit_;
  std::atomic<bool> ending_{false};
  std::atomic<bool> waited_in_vain_{false};  // since ending_
};

}  // namespace gdakit::softnic
