// The verbs objects of one end, connected with the other's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <infiniband/verbs.h>

#include "tests/verbs/verify/area.h"
#include "tests/verbs/verify/meeting.h"
#include "tests/verbs/verify/plan.h"

namespace gdakit::verify {

template <auto destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    if (destroy(object) != 0) give_up("an object could not be destroyed");
  }
};
template <typename T, auto destroy>
using Owned = std::unique_ptr<T, Destroyer<destroy>>;

// Libibverbs has its own in each translation unit.
inline int close_xrcd(ibv_xrcd* domain) { return ibv_close_xrcd(domain); }

struct RemoteMemory {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

class End {
 public:
  End(const Options& options, const Meeting& meeting);

  const Options& options() const { return options_; }
  std::size_t messages() const { return messages_; }  // of a round, each way
  ibv_qp* queue(std::size_t index) const { return queues_[index].get(); }
  ibv_srq* shared() const { return shared_.get(); }
  ibv_ah* address_handle() const { return address_handle_.get(); }
  std::uint32_t remote_number(std::size_t index) const { return remote_numbers_[index]; }
  std::size_t index_of(std::uint32_t queue_number) const;         // gives up if there is none
  std::uint32_t remote_shared() const { return remote_shared_; }  // of XRC
  std::uint32_t most_inline() const { return most_inline_; }

  // What this end posts, what the other reaches, what it receives into, and the word that counts.
  const Area& mine() const { return *mine_; }
  const Area& theirs() const { return *theirs_; }
  const Area& received() const { return *received_; }
  const Area& counter() const { return *counter_; }
  const RemoteMemory& remote_theirs() const { return remote_theirs_; }
  const RemoteMemory& remote_counter() const { return remote_counter_; }

  // Calls `take` with each completion there is. Where there is none, waits for some; gives up if
  // none comes for long.
  template <typename Take>
  void complete(Take take) {
    std::array<ibv_wc, 16> found;
    while (true) {
      int count = 0;
      for (const auto& cq : completions_) {
        const int here = ibv_poll_cq(cq.get(), found.size(), found.data());
        if (here < 0) give_up("ibv_poll_cq failed");
        for (int i = 0; i < here; ++i) take(found[static_cast<std::size_t>(i)]);
        count += here;
      }
      if (count > 0) return;
      wait_for_completions();
    }
  }
  void moved();  // that something has come: patience begins anew

 private:
  void open();
  void make_memory();
  void make_completions();
  void make_shared();
  void make_queues();
  void make_targets();
  void connect();
  ibv_ah_attr path_to(const ibv_gid& gid, std::uint16_t lid) const;
  void bring_up(ibv_qp* queue, const ibv_ah_attr& path, std::uint32_t remote) const;
  void arm();
  void wait_for_completions();

  const Meeting& meeting_;
  Options options_;
  std::size_t messages_;
  Owned<ibv_context, ibv_close_device> context_;
  Owned<ibv_pd, ibv_dealloc_pd> domain_;
  Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  std::vector<Owned<ibv_cq, ibv_destroy_cq>> completions_;
  std::optional<Area> mine_, theirs_, received_, counter_;
  Owned<ibv_xrcd, close_xrcd> receive_domain_;
  Owned<ibv_srq, ibv_destroy_srq> shared_;
  Owned<ibv_ah, ibv_destroy_ah> address_handle_;
  std::vector<Owned<ibv_qp, ibv_destroy_qp>> queues_;
  std::vector<Owned<ibv_qp, ibv_destroy_qp>> targets_;  // of XRC, one for each queue
  std::vector<std::uint32_t> remote_numbers_;
  std::unordered_map<std::uint32_t, std::size_t> indices_;
  RemoteMemory remote_theirs_, remote_counter_;
  ibv_port_attr port_{};
  std::uint32_t remote_shared_ = 0;
  std::uint32_t most_inline_ = 0;
  std::int64_t limit_ms_ = 0;
};

}  // namespace gdakit::verify
