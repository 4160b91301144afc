// The transport map of one PE: which peers it reaches by loads, stores and atomics of its own, at
// which addresses, and why not the others. Gathered with the job, the same conclusions on all PEs.
//
//   GDAKIT_TRANSPORT   nic: the NIC for all peers. direct: loads and stores wherever possible.
//                      auto: direct with a real NIC; with the soft one, which is there to have its
//                      protocol tested, the NIC
//   PEs of a process   use each other's addresses; on GPUs, where one GPU can reach the other
//   PEs of a host      map each other's heaps (memory_sharing.h), all of them or none
//   else               the NIC
//
// Atomics on the heap of a PE go directly only if every PE of the job reaches it so: what a NIC and
// what a processor do to one word is not atomic with each other.
//
// If a device does not order what the NIC writes (BackendLimits::needs_cst), all PEs reach each
// other by atomics or all use the NIC: a word that it loads from a direct peer may tell of data
// that the NIC has written to it, and no flush stands between the two.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/backend.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/sharing/memory_sharing.h"
#include "device/views.h"

namespace gdakit {

// How far one PE reaches into the heap of another.
enum class Reach : std::uint8_t { none, loads_and_stores, atomics };

// What follows from who reaches whom, for PE `me`. reach[pe][other] is what `pe` said of `other`.
struct DirectPeers {
  std::vector<bool> direct;   // [pe] by loads and stores
  std::vector<bool> atomics;  // [pe] by atomics and signals, too
  // The PEs who reach the same PEs as this one: an equivalence, so that all of them come to the
  // same team.
  std::vector<bool> alike;
  bool mixed = false;  // some PE is direct, but not for atomics
};
DirectPeers direct_peers(const std::vector<std::vector<Reach>>& reach, int me);

class TransportMap {
 public:
  // Collective. `heap` is this PE's range, which need not have memory yet; what is given outlives
  // the map. Errors: PEs with different GDAKIT_TRANSPORT (invalid_argument); the bootstrap's own.
  static Result<std::unique_ptr<TransportMap>> create(const Options& options, Bootstrap& bootstrap,
                                                      const Backend& backend,
                                                      MemoryProvider& memory,
                                                      const AddressRange& heap);

  // Collective. Lets direct peers reach what was committed to the heap since the last call. The
  // first call decides who is one: if memory cannot be shared then, nobody is. Later calls fail on
  // all PEs if they fail on one.
  Result<void> share(AddressRange& heap);

  // Puts the addresses into what kernels take.
  void show(HeapView& view) const;

  // Where this PE's threads find the heap of a direct peer, else 0.
  std::uint64_t direct_base(int pe) const {
    return is_direct(pe) ? bases_[static_cast<std::size_t>(pe)] : 0;
  }
  bool is_direct(int pe) const { return peers_.direct[static_cast<std::size_t>(pe)]; }
  bool has_direct_atomics(int pe) const { return peers_.atomics[static_cast<std::size_t>(pe)]; }
  // By PE: the members of the team of PEs that load from and store to each other's heaps. This PE
  // is one in any case.
  const std::vector<bool>& reachable() const { return peers_.alike; }
  // "loads, stores and atomics", or why it is the NIC.
  std::string describe(int pe) const;
  // All peers in one line for each sentence of describe(): "PEs 0, 1: loads, stores and atomics".
  std::string summary() const;

 private:
  struct Card;

  TransportMap(Bootstrap& bootstrap, MemoryProvider& memory);

  Result<void> choose(const Options& options, const Backend& backend, const AddressRange& heap);
  Result<void> choose_way(const Options& options, const std::vector<Card>& cards);
  Reach reach_of(const Card& mine, const Card& other, int pe);
  void refuse_without_order(std::vector<std::vector<Reach>>& reach);
  void all_by_nic(const std::string& why);
  void find_addresses();
  Result<void> conclude();
  Result<void> write_tables();

  Bootstrap& bootstrap_;
  MemoryProvider& memory_;
  bool concluded_ = false;
  int without_order_ = -1;            // the first PE whose device needs a flush, or -1
  std::vector<Reach> reach_;          // by PE: as far as this PE knows
  std::vector<std::uint64_t> bases_;  // by PE: where this PE reaches that heap, or 0
  std::vector<std::string> why_not_;  // by PE
  DirectPeers peers_;
  std::unique_ptr<MemorySharing> sharing_;  // null within a process
  std::unique_ptr<MemoryBlock> table_;      // uint64[2][size]; null: the NIC serves all
};

}  // namespace gdakit
