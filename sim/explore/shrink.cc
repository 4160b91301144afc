#include "sim/explore/shrink.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/explore/replay.h"

namespace gdakit::sim {
namespace {

using Vector = std::vector<std::uint32_t>;

// Replays each kind of choice from a list of its own, so that an agent's pick that is gone does not
// shift the reads behind it.
class ByKindStrategy final : public Strategy {
 public:
  ByKindStrategy(const Vector& picks, const std::vector<Choice>& kinds) {
    for (std::size_t i = 0; i < picks.size(); ++i) {
      lists_[static_cast<std::size_t>(kinds[i])].push_back(picks[i]);
    }
  }

  bool begin() override { return true; }
  std::uint32_t pick(Choice kind, std::uint32_t count) override {
    const auto index = static_cast<std::size_t>(kind);
    if (used_[index] == lists_[index].size()) return 0;
    return std::min(lists_[index][used_[index]++], count - 1);
  }
  std::uint32_t pick_agent(std::span<const Candidate> candidates) override {
    return pick(Choice::agent, static_cast<std::uint32_t>(candidates.size()));
  }

 private:
  std::array<Vector, kChoiceKinds> lists_;
  std::array<std::size_t, kChoiceKinds> used_{};
};

class Shrinker {
 public:
  Shrinker(Subject& subject, std::uint64_t max_executions)
      : subject_(&subject), max_executions_(max_executions) {}

  Shrunk run(const Picks& failing) {
    ReplayStrategy strategy(failing.picks);
    auto [result, picks] = execute(strategy);
    best_.picks = std::move(picks);
    best_.result = std::move(result);
    bool simpler = !best_.result.passed();
    while (simpler && !out_of_runs()) {
      simpler = drop_kinds();
      simpler = cut_end() || simpler;
      simpler = drop_chunks() || simpler;
      simpler = drop_pairs() || simpler;
      simpler = delete_few() || simpler;
      simpler = move_forward() || simpler;
      simpler = lower() || simpler;
    }
    best_.executions = executions_;
    best_.finished = !out_of_runs();
    return std::move(best_);
  }

 private:
  bool out_of_runs() const { return executions_ >= max_executions_; }

  std::pair<RunResult, Picks> execute(Strategy& strategy) {
    ++executions_;
    Chooser chooser(strategy);
    chooser.begin();
    RunResult result = subject_->run(chooser, nullptr);
    return {std::move(result), Picks::taken_by(chooser)};
  }

  static auto cost(const Vector& picks) {
    return std::tuple(std::count_if(picks.begin(), picks.end(), [](auto pick) { return pick > 0; }),
                      picks.size(), std::accumulate(picks.begin(), picks.end(), std::uint64_t{0}));
  }

  // Whether the candidate fails in the same way and is simpler; it is the best then.
  bool try_out(Strategy& strategy) {
    if (out_of_runs()) return false;
    auto [result, picks] = execute(strategy);
    if (result.finding != best_.result.finding) return false;
    if (cost(picks.picks) >= cost(best_.picks.picks)) return false;
    best_.picks = std::move(picks);
    best_.result = std::move(result);
    return true;
  }

  bool try_out(Vector candidate) {
    ReplayStrategy strategy(std::move(candidate));
    return try_out(strategy);
  }

  // The best with zeros at these positions.
  bool try_zeros(const std::vector<std::size_t>& positions) {
    Vector candidate = best_.picks.picks;
    for (const std::size_t position : positions) candidate[position] = 0;
    ByKindStrategy by_kind(candidate, best_.picks.kinds);
    return try_out(std::move(candidate)) || try_out(by_kind);
  }

  // The best without `count` picks from `position` on.
  bool try_without(std::size_t position, std::size_t count) {
    Vector candidate = best_.picks.picks;
    const auto at = [&](std::size_t i) {
      return candidate.begin() + static_cast<std::ptrdiff_t>(std::min(i, candidate.size()));
    };
    candidate.erase(at(position), at(position + count));
    return try_out(std::move(candidate));
  }

  // Positions of the picks that are not plain.
  std::vector<std::size_t> deviating() const {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < best_.picks.picks.size(); ++i) {
      if (best_.picks.picks[i] != 0) positions.push_back(i);
    }
    return positions;
  }

  // All of one kind at once: most failures need no fault, or no knob.
  bool drop_kinds() {
    bool simpler = false;
    for (std::size_t kind = kChoiceKinds; kind-- > 0;) {
      std::vector<std::size_t> positions = deviating();
      std::erase_if(positions, [&](std::size_t position) {
        return best_.picks.kinds[position] != static_cast<Choice>(kind);
      });
      simpler = (!positions.empty() && try_zeros(positions)) || simpler;
    }
    return simpler;
  }

  // The shortest beginning that still fails, by halving.
  bool cut_end() {
    bool simpler = false;
    std::size_t passes = 0;
    while (passes + 1 < best_.picks.picks.size()) {
      const std::size_t middle = passes + (best_.picks.picks.size() - passes) / 2;
      const auto begin = best_.picks.picks.begin();
      if (try_out(Vector(begin, begin + static_cast<std::ptrdiff_t>(middle)))) {
        simpler = true;
      } else {
        passes = middle;
      }
      if (out_of_runs()) break;
    }
    return simpler;
  }

  // Delta debugging over the deviating picks: zeros in ever smaller chunks, down to single ones,
  // from the end, since what comes late rarely matters for what comes early.
  bool drop_chunks() {
    bool simpler = false;
    for (std::size_t chunk = std::max<std::size_t>(deviating().size() / 2, 1);; chunk /= 2) {
      std::vector<std::size_t> positions = deviating();
      for (std::size_t kept = 0; kept < positions.size() && !out_of_runs();) {
        const auto end = positions.end() - static_cast<std::ptrdiff_t>(kept);
        const std::size_t size = std::min(chunk, positions.size() - kept);
        if (try_zeros({end - static_cast<std::ptrdiff_t>(size), end})) {
          simpler = true;
          positions = deviating();
        } else {
          kept += chunk;
        }
      }
      if (chunk == 1) return simpler;
    }
  }

  // Two at once, where few are left: leaving an agent and coming back to it.
  bool drop_pairs() {
    const std::vector<std::size_t> positions = deviating();
    if (positions.size() > 12) return false;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      for (std::size_t j = i + 1; j < positions.size(); ++j) {
        if (try_zeros({positions[i], positions[j]})) return true;
        if (try_without(positions[i], positions[j] - positions[i] + 1)) return true;
      }
    }
    return false;
  }

  // Deviations, and a few of the picks behind them, that would not be asked for without them.
  bool delete_few() {
    bool simpler = false;
    const std::vector<std::size_t> positions = deviating();
    for (std::size_t i = positions.size(); i-- > 0 && !out_of_runs();) {
      for (const std::size_t count : {1, 2, 3, 4, 6, 8}) {
        if (positions[i] >= best_.picks.picks.size() || !try_without(positions[i], count)) continue;
        simpler = true;
        break;
      }
    }
    return simpler;
  }

  // Takes plain picks before a deviation out, so that it comes earlier: a loop's first turn, where
  // there is less to read, shows what its seventh shows.
  bool move_forward() {
    bool simpler = false;
    const std::vector<std::size_t> positions = deviating();
    for (std::size_t i = positions.size(); i-- > 0 && !out_of_runs();) {
      const std::size_t from = i == 0 ? 0 : positions[i - 1] + 1;
      for (const std::size_t left : shorter_gaps(positions[i] - from)) {
        if (!try_without(from, positions[i] - from - left)) continue;
        simpler = true;
        break;
      }
    }
    return simpler;
  }

  // The shortest first, then halves, then a little less than `gap`.
  static std::vector<std::size_t> shorter_gaps(std::size_t gap) {
    std::vector<std::size_t> gaps;
    for (std::size_t left = 0; left < std::min<std::size_t>(gap, 6); ++left) gaps.push_back(left);
    for (std::size_t less = gap / 2; less > 0; less /= 2) {
      if (gap - less >= 6) gaps.push_back(gap - less);
    }
    return gaps;
  }

  // Smaller values of the single picks.
  bool lower() {
    bool simpler = false;
    for (const std::size_t position : deviating()) {
      for (;;) {
        if (position >= best_.picks.picks.size()) break;
        const std::uint32_t pick = best_.picks.picks[position];
        bool lowered = false;
        for (const std::uint32_t smaller : {1u, pick / 2, pick - 1}) {
          if (pick < 2 || smaller >= pick || smaller == 0 || lowered) continue;
          Vector candidate = best_.picks.picks;
          candidate[position] = smaller;
          lowered = try_out(candidate);
        }
        if (!lowered) break;
        simpler = true;
      }
    }
    return simpler;
  }

  Subject* subject_;
  std::uint64_t max_executions_;
  std::uint64_t executions_ = 0;
  Shrunk best_;
};

}  // namespace

Picks Picks::taken_by(const Chooser& chooser) {
  Picks taken{chooser.taken(), chooser.taken_kinds()};
  while (!taken.picks.empty() && taken.picks.back() == 0) taken.picks.pop_back();
  taken.kinds.resize(taken.picks.size());
  return taken;
}

std::uint32_t Picks::deviations(Choice kind) const {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < picks.size(); ++i) count += kinds[i] == kind && picks[i] != 0;
  return count;
}

namespace {

std::string plural(std::string name) {
  if (name.ends_with('y')) return name.replace(name.size() - 1, 1, "ies");
  return name + (name.ends_with('s') ? "es" : "s");
}

}  // namespace

std::string Picks::deviations_text() const {
  std::string text;
  for (std::size_t kind = 0; kind < kChoiceKinds; ++kind) {
    const std::uint32_t count = deviations(static_cast<Choice>(kind));
    if (count == 0) continue;
    const char* const name = choice_name(static_cast<Choice>(kind));
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
            (count == 1 ? std::string(name) : plural(name));
  }
  return text.empty() ? "none" : text;
}

Shrunk shrink(Subject& subject, const Picks& failing, std::uint64_t max_executions) {
  return Shrinker(subject, max_executions).run(failing);
}

}  // namespace gdakit::sim
