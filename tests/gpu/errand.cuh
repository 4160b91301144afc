// A kernel that needs the NIC to get on: it puts, gets, counts, and waits for each of them. As an
// ordinary __global__ function, which makes its Pe itself.
#pragma once

#include "device/cuda_machine.cuh"
#include "device/pe.h"
#include "tests/gpu/streams.cuh"
#include "tests/support/job.h"

namespace gdakit::test {

// What thread `me` of PE `pe` puts to its right neighbour in round `round`.
GDAKIT_HOST_DEVICE constexpr std::uint64_t errand_value(int pe, std::uint64_t me,
                                                        std::uint64_t round) {
  return static_cast<std::uint64_t>(pe + 1) << 56 | round << 32 | me;
}

struct Errand {
  std::uint64_t* words;    // one of each thread
  std::uint64_t* sum;      // each warp adds 1 in each round
  std::uint64_t* arrived;  // where blocks meet between the rounds, or null
  std::uint32_t rounds;
  Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void run(Pe& pe) const {
    auto& m = pe.machine();
    const int right = (pe.my_pe() + 1) % pe.n_pes();
    const std::uint64_t me = m.block_index() * m.block_threads() + m.thread_index();
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      const std::uint64_t value = errand_value(pe.my_pe(), me, round);
      bool right_so_far = pe.put_value(words + me, value, right).ok();
      if (m.lane() == 0) {
        right_so_far = right_so_far && pe.get_value(words + me, right) == value;
        right_so_far = right_so_far && pe.atomic_add(sum, 1, right).ok();
      }
      right_so_far = pe.block().quiet().ok() && right_so_far;
      expect(pe, right_so_far);
      meet_all_blocks(pe, round);
    }
  }

  // No block goes on, or ends, before all have come.
  template <class Pe>
  GDAKIT_DEVICE void meet_all_blocks(Pe& pe, std::uint64_t round) const {
    if (arrived == nullptr) return;
    auto& m = pe.machine();
    m.sync_block();
    if (m.thread_index() == 0) {
      m.fetch_add(order::AcqRel<Scope::gpu>{}, arrived, std::uint64_t{1});
      const std::uint64_t all = round * m.grid_blocks();
      while (m.load(order::Acquire<Scope::gpu>{}, arrived) < all) m.spin(Site::user);
    }
    m.sync_block();
  }
};

__global__ void __launch_bounds__(1024) run_errand(const __grid_constant__ DeviceContext context,
                                                   const __grid_constant__ Errand errand) {
  CudaMachine machine(context);
  Pe<CudaMachine> pe(machine, context);
  errand.run(pe);
}

// An errand's memory, its launches, and what it must have left behind.
class Errands {
 public:
  // Collective. `meeting`: the blocks meet between the rounds, so all must be resident.
  static Result<Errands> make(Context& c, LaunchShape shape, std::uint32_t rounds, bool meeting) {
    const std::size_t threads = std::size_t{shape.blocks} * shape.threads;
    auto words = c.allocate<std::uint64_t>(threads);
    auto sum = c.allocate<std::uint64_t>(1);
    auto arrived = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!words || !sum || !arrived || !checks) return mismatch("allocate").error();
    if (auto current = c.gpu()->make_current(); !current) return current.error();
    const Errand errand{*words, *sum, meeting ? *arrived : nullptr, rounds, checks->expect()};
    return Errands(c, shape, errand, *checks);
  }

  // Enqueues one launch.
  Result<void> launch(cudaStream_t stream, std::size_t shared_bytes = 0) {
    run_errand<<<shape_.blocks, shape_.threads, shared_bytes, stream>>>(context_->device_context(),
                                                                        errand_);
    ++launches_;
    return cuda_ok(cudaGetLastError(), "launch of the errand");
  }
  // For who launches it otherwise, and says how often.
  const Errand& errand() const { return errand_; }
  void count_launches(std::uint64_t count) { launches_ += count; }

  // Collective, behind the kernels of all PEs: every round was right, and so is what the left
  // neighbour has left here by its launches.
  Result<void> verify() const { return verify(launches_); }
  Result<void> verify(std::uint64_t left_launches) const {
    Context& c = *context_;
    if (auto met = c.barrier(); !met) return met;
    if (auto healthy = c.check_device(); !healthy) return healthy;
    const std::uint64_t threads = std::uint64_t{shape_.blocks} * shape_.threads;
    if (auto ok = checks_.all_held(threads * errand_.rounds * launches_); !ok) return ok;
    const std::uint64_t adds = threads / kWarpSize * errand_.rounds * left_launches;
    if (auto ok = is(c, errand_.sum, adds, "sum"); !ok) return ok;
    const int left = (c.my_pe() + c.n_pes() - 1) % c.n_pes();
    return all_are(c, errand_.words, threads, "word of thread", [&](std::size_t i) {
      return left_launches == 0 ? 0 : errand_value(left, i, errand_.rounds);
    });
  }

 private:
  Errands(Context& c, LaunchShape shape, const Errand& errand, const Checks& checks)
      : context_(&c), shape_(shape), errand_(errand), checks_(checks) {}

  Context* context_;
  LaunchShape shape_;
  Errand errand_;
  Checks checks_;
  std::uint64_t launches_ = 0;
};

}  // namespace gdakit::test
