// What `gdakit check` asks of RDMA NICs: every call by itself, with what the system answered, so
// that one that fails hides no other.
//
// Nothing here names a type of libibverbs: a build without its headers has the same functions,
// which say so.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/counters.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::mlx5 {

// What became of a call.
struct Answer {
  bool asked = false;
  int code = 0;      // the system's, where it failed
  std::string said;  // the call and the system's words, where it failed
  bool ok() const { return asked && code == 0; }
  bool failed() const { return asked && code != 0; }
};

struct GidLook {
  unsigned index = 0;
  std::array<std::uint8_t, 16> raw{};
  std::string text;
  bool is_v2 = false;
  bool is_v1 = false;  // of RoCE
  bool is_link_local = false;
  bool is_ipv4 = false;
};

struct PortLook {
  unsigned number = 0;
  Answer query;
  std::string state;  // "ACTIVE"
  bool is_active = false;
  bool is_ethernet = false;
  bool is_infiniband = false;
  unsigned mtu = 0;  // bytes
  unsigned max_mtu = 0;
  unsigned lid = 0;
  bool needs_grh = false;
  unsigned pkeys = 0;              // places in its table of partition keys
  std::vector<GidLook> gids = {};  // those that there are
  Answer gids_read = {};           // of its table
};

struct NicLook {
  std::string name;
  std::string node;  // "uverbs0"
  bool is_connectx = false;
  bool is_allowed = true;  // by GDAKIT_HCA_LIST, at least one port
  Answer open;             // with DEVX
  Answer attributes;
  std::string firmware = {};
  unsigned part = 0;  // the vendor's number of the device
  std::uint32_t most_queue_pairs = 0;
  // Pages of doorbell registers, by kind.
  Answer dedicated_page = {};
  Answer uncached_page = {};
  Answer blueflame_page = {};
  Answer atomics = {};
  std::uint32_t atomic_operations = 0;  // as QUERY_HCA_CAP has them
  std::uint32_t atomic_sizes = 0;
  bool swaps_fetched = false;  // what atomics fetch of 8 bytes comes back big-endian
  // Whether it has all that signals and counters use: compare-and-swap, fetch-and-add, both of them
  // masked, of 4 and 8 bytes.
  bool has_atomics() const {
    return (atomic_operations & 0xf) == 0xf && (atomic_sizes & 0xc) == 0xc;
  }
  std::string lacks_dc = {};    // in a sentence, for queues of DC; empty: nothing
  bool has_recordless = false;  // queue pairs without doorbell records
  std::vector<PortLook> ports = {};
};

struct LibrariesLook {
  std::string verbs_file;
  std::string mlx5_file;
  bool has_data_direct = false;  // mlx5dv_reg_dmabuf_mr
};

// Errors (unavailable): no headers in this build; a library that is absent or unfit.
Result<LibrariesLook> look_at_libraries();
// Each device that libibverbs lists. Errors: as above; the kernel does not answer. No device is an
// empty list.
Result<std::vector<NicLook>> look_at_nics(const std::string& hca_list);

// How memory of a GPU becomes the NIC's.
struct GpuMemoryTrial {
  Answer region_by_peer_memory = {};
  Answer region_by_dma_buf = {};
  Answer object_by_peer_memory = {};  // a umem, for queues and CQEs
  Answer object_by_dma_buf = {};
};

// A page of a NIC's doorbell registers for threads of a GPU.
struct GpuDoorbellTrial {
  Result<void> page;    // the kernel gives one out, to whomever
  Result<void> mapped;  // and the GPU can be given it; not tried without one
};

// What became of a put.
struct PutOutcome {
  enum class Kind : std::uint8_t {
    arrived,
    failed,     // the NIC says so, by a CQE
    silent,     // neither completion nor error within the limit
    not_asked,  // the other side was not there
  };
  Kind kind = Kind::not_asked;
  unsigned status = 0;         // the CQE's syndrome
  unsigned vendor_status = 0;  // ... and the vendor's
  std::string said = {};
  std::chrono::microseconds took{0};
};

// A NIC that is open for puts, with memory for them. A queue pair connects it with one peer at a
// time, which may be itself.
class PutEnd {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

  virtual ~PutEnd() = default;
  PutEnd(const PutEnd&) = delete;
  PutEnd& operator=(const PutEnd&) = delete;

  // A new queue pair, in the place of the last one, or an initiator of DC, beside which there is a
  // target; what the peer's connect() takes, whose queue is of this type, too.
  virtual Result<Bytes> make_queue(QueueType type) = 0;
  virtual Result<void> connect(const Bytes& card) = 0;
  // Fills what peers write to, so that no byte is right by chance.
  virtual void prepare(std::uint64_t bytes, std::uint8_t seed) = 0;
  // Writes so many bytes, made of the seed, to the peer's memory, by a WQE and a doorbell that this
  // thread writes.
  virtual PutOutcome put(std::uint64_t bytes, std::uint8_t seed,
                         std::chrono::milliseconds limit) = 0;
  // How many bytes are not what the peer wrote.
  virtual std::uint64_t count_wrong(std::uint64_t bytes, std::uint8_t seed) const = 0;
  // `base` is a GPU's memory, of this provider.
  virtual GpuMemoryTrial try_gpu_memory(MemoryProvider& memory, void* base,
                                        std::uint64_t bytes) = 0;
  // What the NIC has counted for this end's queue pairs, as Counts::together has it; nothing: it
  // does not.
  virtual std::optional<NicCounters> counters() = 0;
  virtual GpuDoorbellTrial try_gpu_doorbell(MemoryProvider& memory) = 0;

 protected:
  PutEnd() = default;
};

// GID, partition, service level and traffic class are those of the options. Errors: what failed, by
// the name of its call, with the system's code.
Result<std::unique_ptr<PutEnd>> open_put_end(const std::string& nic, unsigned port,
                                             const Options& options);

}  // namespace gdakit::mlx5
