#include "tests/fuzz/mlx5_targets.h"

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

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

struct Pe {
  HostMemoryProvider memory;
  std::vector<std::unique_ptr<Bootstrap>> bootstraps =
      *make_local_bootstraps(1, std::chrono::seconds(1));
  std::array<mlx5::QueueBlock, 2> blocks;
  std::unique_ptr<Backend> backend;
  std::array<QueueResources, 2> queues;
  Bytes target;  // of DC
};

// Queue 2 is the target of DC.
std::string use_card(Pe& pe, softnic::test::Input& input) {
  const std::uint32_t which = input.below(3);
  const bool is_dc = which == 2;
  const Bytes changed = changed_by(input, is_dc ? pe.target : pe.queues[1 - which].card);
  const Bytes card(changed.begin(), changed.end());  // which ends where its bytes do
  std::string why;
  if (is_dc) {
    const auto address = pe.backend->dc_address(card);
    if (address) return {};
    why = address.error().message();
  } else {
    const auto connected = pe.backend->connect_queue(pe.queues[which].number, card);
    if (connected) return {};
    why = connected.error().message();
  }
  return why.empty() ? "an error without a sentence" : "";
}

std::string use_cards(softnic::test::Input& input) {
  Pe pe;
  auto opened = mlx5::make_provider(mlx5::played_libraries())
                    ->open(Options(), *pe.bootstraps.front(), pe.memory);
  if (!opened) return "no backend: " + opened.error().message();
  pe.backend = std::move(*opened);
  for (std::size_t i = 0; i < pe.queues.size(); ++i) {
    pe.queues[i] = *pe.backend->create_queue(pe.blocks[i].memory(i == 1));
  }
  pe.target = *pe.backend->dc_target();
  std::string wrong;
  for (int i = 0; i < kMostCards && !input.empty() && wrong.empty(); ++i) {
    wrong = use_card(pe, input);
  }
  return wrong;
}

// On InfiniBand or not; the queue; in which way a card is changed: one byte of it, at each place.
std::vector<Seed> card_seeds_of_mlx5() {
  std::vector<Seed> seeds = {Seed{1, 0, 0, 0, 0, 0, 1, 0, 0, 0}};
  for (std::uint8_t at = 0; at < 36; ++at) {
    seeds.push_back(Seed{static_cast<std::uint8_t>(at % 2), 0, 0, 0, 4, 0, at, 0, 0xff});
  }
  for (std::uint8_t at = 0; at < 40; ++at) {
    seeds.push_back(Seed{static_cast<std::uint8_t>(at % 2), 0, 2, 0, 4, 0, at, 0, 0xff});
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
  std::string wrong = use_cards(input);
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
