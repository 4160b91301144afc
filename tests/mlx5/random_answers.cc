#include "tests/mlx5/random_answers.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/mlx5/check_look.h"
#include "backends/mlx5/mlx5_backend.h"
#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/memory/host_memory.h"
#include "tests/mlx5/played.h"
#include "tests/mlx5/played_gpu.h"
#include "tests/mlx5/queue_block.h"

namespace gdakit::mlx5 {
namespace {

Options quiet() {
  Options options;
  options.log = LogLevel::error;
  return options;
}

class Run {
 public:
  explicit Run(std::function<std::uint32_t(std::uint32_t)> draw) : draw_(std::move(draw)) {
    played() = {};
    const bool infiniband = draw_(2) == 1;
    const std::uint8_t layer = infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    played().devices = 1 + static_cast<int>(draw_(2));
    played().ports.assign(1 + draw_(2), port_of(IBV_PORT_ACTIVE, layer));
    played().recordless = draw_(2) == 1;
    played().lag_ports = static_cast<std::uint8_t>(2 * draw_(2));
    played().tells_first_error = draw_(2) == 1;
    played().gids.assign(1 + draw_(3),
                         gid_of(infiniband ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2, 0xfe, 1));
    played().draw = draw_;
    if (draw_(16) == 1) played().devices_told = static_cast<int>(draw_(4)) - 1;
  }
  ~Run() { played().draw = {}; }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RandomRun play() {
    HostMemoryProvider host;
    PlayedGpu gpu;
    MemoryProvider& memory = draw_(4) == 1 ? static_cast<MemoryProvider&>(gpu) : host;
    const auto bootstraps = make_local_bootstraps(1, std::chrono::seconds(1));
    const auto backend =
        make_provider(played_libraries())->open(quiet(), *bootstraps->front(), memory);
    if (!backend) {
      check(backend.error());
    } else {
      run_.opened = true;
      use(**backend);
    }
    look_at_nic(played_libraries(), played_device(), HcaList());
    run_.cut = played().cut;
    return run_;
  }

 private:
  void check(const Error& error) {
    // Each of the libraries' calls by its name, and each command by its own; what they answered.
    static constexpr const char* kNames[] = {
        "ibv_",     "mlx5dv_",      "CREATE_", "2INIT_QP",    "2RTR_QP",     "2RTS_QP", "QUERY_",
        "DESTROY_", "is destroyed", "GID",     "no RDMA NIC", "ibv_devices", "of DC"};
    const auto is_in = [&error](const char* name) {
      return error.message().find(name) != std::string::npos;
    };
    if (std::ranges::none_of(kNames, is_in))
      run_.wrong += "no call is named: " + error.message() + '\n';
  }
  template <class T>
  bool succeeds(const Result<T>& result) {
    if (!result) check(result.error());
    return static_cast<bool>(result);
  }

  void use(Backend& backend) {
    std::vector<MemoryKeys> keys;
    for (std::uint32_t i = draw_(4); i != 0; --i) {
      const auto made = backend.register_memory(blocks_[0].data(), 64, MemoryUse::symmetric);
      if (succeeds(made)) keys.push_back(*made);
    }
    for (QueueBlock& block : blocks_) {
      std::memset(block.cqe(), static_cast<int>(draw_(2) == 1 ? draw_(256) : 0xff), 64);
      QueueMemory memory = block.memory(draw_(2) == 1);
      memory.recordless = backend.limits().has_recordless && draw_(2) == 1;
      const auto made = backend.create_queue(memory);
      if (!succeeds(made)) continue;
      if (made->doorbell == nullptr) run_.wrong += "a queue without a doorbell\n";
      queues_.push_back(*made);
    }
    run_.created = queues_.size();
    use_dc(backend);
    for (const QueueResources& queue : queues_) {
      const std::uint32_t peer = draw_(static_cast<std::uint32_t>(queues_.size()));
      if (succeeds(backend.connect_queue(queue.number, queues_[peer].card))) ++run_.connected;
      if (backend.describe_queue(queue.number).empty()) run_.wrong += "a queue without a word\n";
      look(backend);
    }
    played().removals_fail = draw_(2) == 1;
    for (const MemoryKeys& key : keys) succeeds(backend.deregister_memory(key));
    for (std::size_t left = queues_.size(); left-- != 0;) remove(backend, queues_[left].number);
    played().removals_fail = false;
  }

  // A target, and an initiator that lasts as long as the backend.
  void use_dc(Backend& backend) {
    const auto card = backend.dc_target();
    if (succeeds(card) && succeeds(backend.dc_address(*card))) ++run_.addressed;
    QueueMemory memory = initiator_.memory(/*receives=*/false);
    memory.type = QueueType::dc;
    const auto made = backend.create_queue(memory);
    if (!succeeds(made)) return;
    ++run_.initiators;
    if (!made->card.empty()) run_.wrong += "an initiator with a card\n";
    if (backend.describe_queue(made->number).empty()) run_.wrong += "a queue without a word\n";
  }

  // One that could not be removed is still there, and can be asked about.
  void remove(Backend& backend, QueueNumber number) {
    if (draw_(4) == 1) return;
    if (succeeds(backend.destroy_queue(number))) return;
    if (backend.describe_queue(number).empty()) run_.wrong += "a queue without a word\n";
    succeeds(backend.connect_queue(number, queues_.front().card));
    look(backend);
  }

  void look(Backend& backend) {
    static_cast<void>(backend.counters());
    for (const BrokenQueue& broken : backend.broken_queues()) {
      if (broken.why.empty()) run_.wrong += "a broken queue without a reason\n";
    }
  }

  std::function<std::uint32_t(std::uint32_t)> draw_;
  std::vector<QueueBlock> blocks_ = std::vector<QueueBlock>(4);
  QueueBlock initiator_;
  std::vector<QueueResources> queues_;
  RandomRun run_;
};

}  // namespace

RandomRun play_random_answers(std::function<std::uint32_t(std::uint32_t)> draw) {
  RandomRun run = Run(std::move(draw)).play();
  if (played().last_gid > 255) run.wrong += "GIDs are asked for that no command can name\n";
  for (const std::string& kind : played().held()) run.wrong += "not given back: " + kind + '\n';
  return run;
}

}  // namespace gdakit::mlx5
