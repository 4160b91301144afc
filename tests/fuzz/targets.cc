#include <algorithm>
#include <random>

#include "tests/fuzz/cm_calls.h"
#include "tests/fuzz/exchanges.h"
#include "tests/fuzz/meetings.h"
#include "tests/fuzz/mlx5_targets.h"
#include "tests/fuzz/packets.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/texts.h"
#include "tests/fuzz/timelines.h"
#include "tests/fuzz/verbs_calls.h"

namespace gdakit::fuzz {
namespace {

constexpr Target kTargets[] = {
    {"roce_packet", play_roce_packet, roce_packet_seeds, 20'000},
    {"udp_engine", play_udp_engine, udp_engine_seeds, 300},
    {"bootstrap_wire", play_bootstrap_wire, bootstrap_wire_seeds, 20'000},
    {"bootstrap_round", play_bootstrap_round, bootstrap_round_seeds, 5'000},
    {"bootstrap_hub", play_bootstrap_hub, bootstrap_hub_seeds, 100},
    {"bootstrap_member", play_bootstrap_member, bootstrap_member_seeds, 100},
    {"options", play_options, options_seeds, 3'000},
    {"network_texts", play_network_texts, network_text_seeds, 3'000},
    {"launch_variables", play_launch_variables, launch_variable_seeds, 1'000},
    {"tokens", play_tokens, token_seeds, 3'000},
    {"json", play_json, json_seeds, 3'000},
    {"timeline", play_timeline, timeline_seeds, 300},
    {"unique_id", play_unique_id, unique_id_seeds, 2'000},
    {"cards", play_cards, card_seeds, 50},
    {"handles", play_handles, handle_seeds, 100},
    {"verbs_calls", play_verbs_calls, random_seeds, 2'000},
    {"cm_calls", play_cm_calls, random_seeds, 100},
};

}  // namespace

std::span<const Target> targets() {
  static const std::vector<Target> kAll = [] {
    std::vector<Target> all(std::begin(kTargets), std::end(kTargets));
    all.insert(all.end(), mlx5_targets().begin(), mlx5_targets().end());
    return all;
  }();
  return kAll;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  return found == targets().end() ? nullptr : &*found;
}

std::vector<Seed> random_seeds() {
  std::vector<Seed> seeds;
  for (unsigned number = 1; number <= 8; ++number) {
    std::mt19937 random(number);
    Seed& seed = seeds.emplace_back(512 * number);
    for (std::uint8_t& byte : seed) byte = static_cast<std::uint8_t>(random());
  }
  return seeds;
}

}  // namespace gdakit::fuzz
