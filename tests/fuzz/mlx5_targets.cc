#include "tests/fuzz/mlx5_targets.h"

#include <array>
#include <chrono>

#include "backends/mlx5/mlx5_backend.h"
#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/memory/host_memory.h"
#include "tests/fuzz/mad_bootstrap.h"
#include "tests/mlx5/played.h"
#include "tests/mlx5/queue_block.h"
#include "tests/mlx5/random_answers.h"

namespace gdakit::fuzz {
namespace {

constexpr int kMostCards = 16;

void put_on_a_link(bool infiniband) {
  mlx5::played() = {};
  mlx5::played().ports = {mlx5::port_of(
      IBV_PORT_ACTIVE, infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET)};
  mlx5::played().gids = {
      mlx5::gid_of(infiniband ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2, 0xfe, 1)};
}

std::string connect(softnic::test::Input& input) {
  HostMemoryProvider memory;
  const auto bootstraps = make_local_bootstraps(1, std::chrono::seconds(1));
  const auto backend =
      mlx5::make_provider(mlx5::played_libraries())->open(Options(), *bootstraps->front(), memory);
  if (!backend) return "no backend: " + backend.error().message();
  std::array<mlx5::QueueBlock, 2> blocks;
  std::array<QueueResources, 2> queues;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    queues[i] = *(*backend)->create_queue(blocks[i].memory(i == 1));
  }
  for (int i = 0; i < kMostCards && !input.empty(); ++i) {
    const std::uint32_t which = input.below(2);
    const Bytes changed = changed_by(input, queues[1 - which].card);
    const Bytes card(changed.begin(), changed.end());  // which ends where its bytes do
    const auto connected = (*backend)->connect_queue(queues[which].number, card);
    if (!connected && connected.error().message().empty()) return "an error without a sentence";
  }
  return {};
}

// On InfiniBand or not; the queue; in which way a card is changed: one byte of it, at each place.
std::vector<Seed> card_seeds_of_mlx5() {
  std::vector<Seed> seeds = {Seed{1, 0, 0, 0, 0, 0, 1, 0, 0, 0}};
  for (std::uint8_t at = 0; at < 36; ++at) {
    seeds.push_back(Seed{static_cast<std::uint8_t>(at % 2), 0, 0, 0, 4, 0, at, 0, 0xff});
  }
  return seeds;
}

constexpr Target kTargets[] = {
    {"mlx5_cards", play_mlx5_cards, card_seeds_of_mlx5, 3'000},
    {"mlx5_answers", play_mlx5_answers, random_seeds, 2'000},
};

}  // namespace

std::string play_mlx5_cards(Input bytes) {
  softnic::test::Input input(bytes.data(), bytes.size());
  put_on_a_link(input.below(2) == 1);
  std::string wrong = connect(input);
  for (const std::string& kind : mlx5::played().held()) wrong += "; not given back: " + kind;
  return wrong;
}

std::string play_mlx5_answers(Input bytes) {
  softnic::test::Input input(bytes.data(), bytes.size());
  return mlx5::play_random_answers([&input](std::uint32_t limit) { return input.below(limit); })
      .wrong;
}

std::span<const Target> mlx5_targets() { return kTargets; }

}  // namespace gdakit::fuzz
