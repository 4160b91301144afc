// One PE's part of bench/collectives_bench.cc: rounds, medians, and a look at the data.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "bench/collectives.h"
#include "bench/statistics.h"
#include "host_calls/host_calls.h"

namespace gdakit::bench {

struct Settings {
  std::vector<std::uint64_t> pes;
  std::vector<std::string> algorithms;  // empty: the environment's
  std::vector<std::string> transports;
  std::vector<std::string> collectives;  // empty: all
  std::vector<std::string> scopes;
  std::uint64_t min_bytes;
  std::uint64_t max_bytes;
  std::uint64_t factor;
  std::uint64_t threads;  // of a block
  std::uint64_t rounds;   // at most, in one run
  std::uint64_t run_us;   // of a run, where that takes fewer rounds
  std::uint64_t call_us;  // beyond it a scope gets no larger sizes
  std::uint64_t runs;
};

inline bool is_wanted(const std::vector<std::string>& names, const char* name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

// By scope; negative where there is none.
using Latencies = std::array<double, kScopeNames.size()>;

// One PE of a job. All PEs come to the same decisions: `slowest` has a place for each, and they
// meet between writing and reading.
class PeBench {
 public:
  PeBench(Context& context, const Settings& settings, std::vector<double>& slowest)
      : context_(context), settings_(settings), slowest_(slowest) {}

  // `add` gets PE 0's rows.
  template <class Add>
  Result<void> run(Add&& add) {
    if (auto made = prepare(); !made) return made;
    for (std::uint32_t i = 0; i < std::size(kCollectiveNames); ++i) {
      if (!is_wanted(settings_.collectives, kCollectiveNames[i])) continue;
      const auto collective = static_cast<Collective>(i);
      std::array<bool, kScopeNames.size()> too_slow{};
      std::uint64_t bytes = settings_.min_bytes;
      do {
        Latencies us;
        if (auto ran = row(collective, bytes, too_slow, us); !ran) {
          const std::string size = std::to_string(has_data(collective) ? bytes : 0);
          return ran.error().within(std::string(kCollectiveNames[i]) + " of " + size + " bytes");
        }
        if (me() == 0) add(collective, has_data(collective) ? bytes : 0, us);
        bytes *= settings_.factor;
      } while (has_data(collective) && bytes <= settings_.max_bytes);
    }
    return context_.barrier();  // no PE's heap goes while another still looks at it
  }

 private:
  std::uint64_t me() const { return static_cast<std::uint64_t>(context_.my_pe()); }
  std::uint64_t n() const { return static_cast<std::uint64_t>(context_.n_pes()); }

  Result<void> prepare() {
    const std::uint64_t elements = n() * settings_.max_bytes / sizeof(Element);
    Element* memory[3];
    for (Element*& place : memory) {
      const std::uint64_t stride = &place == memory ? 1 : kDestStride;
      Result<Element*> made = context_.allocate<Element>(stride * elements);
      if (!made) return made.error();
      place = *made;
    }
    call_ = {Collective::sync, 0, memory[0], {memory[1], memory[2]}, n()};
    Result<std::uint64_t*> ns = context_.allocate<std::uint64_t>(1);
    if (!ns) return ns.error();
    ns_ = *ns;
    std::vector<Element> source(elements);
    for (std::uint64_t i = 0; i < elements; ++i) source[i] = source_element(me(), i);
    if (auto done = context_.upload(memory[0], source.data(), elements); !done) return done;
    // A kernel's first launch may wait until no kernel runs: so not while one waits for this PE's.
    for (std::uint32_t scope = 0; scope < kScopeNames.size(); ++scope) {
      Result<double> ran = run_once(static_cast<Scope>(scope), 0, 0);
      if (!ran) return ran.error();
    }
    return context_.barrier();
  }

  Result<void> row(Collective collective, std::uint64_t bytes,
                   std::array<bool, kScopeNames.size()>& too_slow, Latencies& us) {
    call_.collective = collective;
    call_.count = bytes / sizeof(Element);
    us.fill(-1);
    for (std::uint32_t scope = 0; scope < kScopeNames.size(); ++scope) {
      if (too_slow[scope] || !is_wanted(settings_.scopes, kScopeNames[scope])) continue;
      Result<double> latency = measure(static_cast<Scope>(scope));
      if (!latency) return latency.error().within(std::string("by a ") + kScopeNames[scope]);
      us[scope] = *latency;
      too_slow[scope] = us[scope] > static_cast<double>(settings_.call_us);
    }
    return {};
  }

  Result<double> measure(Scope scope) {
    if (auto done = poison(); !done) return done.error();
    // As many rounds as write every place of the destinations.
    Result<double> first = round_us(scope, n() + 1, 4);
    if (!first) return first;
    const double fitting = static_cast<double>(settings_.run_us) / std::max(*first, 1e-3);
    const double most = static_cast<double>(settings_.rounds);
    const auto rounds = static_cast<std::uint64_t>(std::clamp(fitting, 2.0, std::max(most, 2.0)));
    std::vector<double> samples;
    for (std::uint64_t i = 0; i < settings_.runs; ++i) {
      Result<double> sample = round_us(scope, 2, rounds);
      if (!sample) return sample;
      samples.push_back(*sample);
    }
    if (auto right = verify(); !right) return right.error();
    return median(samples);
  }

  // Of the slowest PE; the same on all.
  Result<double> round_us(Scope scope, std::uint64_t untimed, std::uint64_t timed) {
    if (auto met = context_.barrier(); !met) return met.error();
    Result<double> mine = run_once(scope, untimed, timed);
    if (!mine) return mine;
    slowest_[me()] = *mine / static_cast<double>(timed) / 1000;
    if (auto met = context_.barrier(); !met) return met.error();
    const double slowest = *std::ranges::max_element(slowest_);
    if (auto met = context_.barrier(); !met) return met.error();
    return slowest;
  }

  // In nanoseconds, on this PE.
  Result<double> run_once(Scope scope, std::uint64_t untimed, std::uint64_t timed) {
    if (scope == Scope::host) return run_on_host(HostCalls::blocking(context_), untimed, timed);
    if (scope == Scope::stream) {
      return run_on_host(HostCalls::on_stream(context_, context_.stream()), untimed, timed);
    }
    const auto launch = [&]<Scope kScope>(std::uint32_t threads) {
      return context_.launch(Rounds<kScope>{call_, untimed, timed, ns_}, {1, threads});
    };
    Result<void> ran;
    switch (scope) {
      case Scope::thread: ran = launch.template operator()<Scope::thread>(1); break;
      case Scope::warp: ran = launch.template operator()<Scope::warp>(kWarpSize); break;
      default:
        ran =
            launch.template operator()<Scope::block>(static_cast<std::uint32_t>(settings_.threads));
    }
    if (!ran) return ran.error();
    std::uint64_t ns = 0;
    if (auto got = context_.download(&ns, ns_, 1); !got) return got.error();
    return static_cast<double>(ns);
  }

  // On a stream the timed calls stand one behind the other; they end with the last one's end.
  Result<double> run_on_host(const HostCalls& calls, std::uint64_t untimed, std::uint64_t timed) {
    if (auto done = host_rounds(calls, 0, untimed); !done) return done.error();
    const auto begin = std::chrono::steady_clock::now();
    if (auto done = host_rounds(calls, untimed, untimed + timed); !done) return done.error();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
        .count();
  }

  Result<void> host_rounds(const HostCalls& calls, std::uint64_t first, std::uint64_t end) {
    const HostTeamCalls team = calls.team(kTeamWorld);
    for (std::uint64_t round = first; round < end; ++round) {
      if (auto done = call_.act(team, round, ReduceOp::sum); !done) return done;
    }
    return context_.synchronize(context_.stream());
  }

  std::uint64_t written() const { return elements_written(call_.collective, n(), call_.count); }

  // All destinations, before anybody writes there.
  Result<void> poison() {
    const std::vector<Element> words(written(), kPoison);
    for (Element* const dest : call_.dests) {
      if (auto done = context_.upload(dest, words.data(), words.size()); !done) return done;
    }
    return context_.barrier();
  }

  Result<void> verify() {
    const std::vector<Element> right = expected(call_.collective, me(), n(), call_.count);
    std::vector<Element> got(right.size());
    for (const Element* const dest : call_.dests) {
      if (call_.collective == Collective::broadcast && dest != call_.dests[0]) continue;
      if (auto done = context_.download(got.data(), dest, got.size()); !done) return done;
      const auto wrong = std::ranges::mismatch(got, right);
      if (wrong.in1 == got.end()) continue;
      return Error(Code::internal, "element " + std::to_string(wrong.in1 - got.begin()) +
                                       " came as " + std::to_string(*wrong.in1) + ", not as " +
                                       std::to_string(*wrong.in2));
    }
    return {};
  }

  Context& context_;
  const Settings& settings_;
  std::vector<double>& slowest_;
  Call call_{};
  std::uint64_t* ns_ = nullptr;
};

}  // namespace gdakit::bench
