#include "tests/litmus/oracle.h"

#include <vector>

#include "tests/litmus/axioms.h"

namespace gdakit::sim::litmus {
namespace {

class Search {
 public:
  Search(const Program& program, const OracleLimits& limits)
      : program_(program), left_(limits.candidates), paths_(program.threads.size()) {
    for (const Thread& thread : program.threads) all_.push_back(paths_of(thread, limits.bound));
  }

  Allowed run() {
    choose_path(0);
    return std::move(allowed_);
  }

 private:
  void choose_path(std::size_t thread) {
    if (thread == all_.size()) {
      Candidate candidate(program_, paths_);
      choose_source(candidate, candidate.reads(), {});
      return;
    }
    for (const Path& path : all_[thread]) {
      paths_[thread] = &path;
      choose_path(thread + 1);
    }
  }

  struct Taken {
    std::uint32_t read = 0, source = 0;
  };

  void choose_source(Candidate& candidate, Events reads, const std::vector<Taken>& taken) {
    if (left_ == 0) {
      allowed_.complete = false;
      return;
    }
    if (reads == 0) {
      --left_;
      judge(candidate);
      return;
    }
    const auto read = static_cast<std::uint32_t>(std::countr_zero(reads));
    const auto take = [&](std::uint32_t source) {
      for (const Taken& before : taken) {
        if (before.source == source && candidate.exclusive(before.read, read, source)) return;
      }
      std::vector<Taken> more = taken;
      more.push_back({read, source});
      candidate.read_from(read, source);
      choose_source(candidate, reads & (reads - 1), more);
    };
    if (candidate.may_read_initial(read)) take(kInitial);
    for_each(candidate.sources(read), take);
  }

  void judge(Candidate& candidate) {
    if (!candidate.evaluate()) return;
    Outcome outcome;
    bool locations = false;
    for (const Observable& observable : program_.observables) {
      locations = locations || !observable.is_register;
      outcome.push_back(observable.is_register
                            ? candidate.register_value(observable.thread, observable.number)
                            : 0);
    }
    if (!locations && allowed_.without_buffering.count(outcome) != 0) return;
    for (const Candidate::Allowance& allowance : candidate.allowances()) {
      add_outcomes(outcome, 0, allowance);
    }
  }

  // The locations' values are independent of each other.
  void add_outcomes(Outcome& outcome, std::size_t from, const Candidate::Allowance& allowance) {
    for (std::size_t i = from; i < outcome.size(); ++i) {
      if (program_.observables[i].is_register) continue;
      for (const std::int64_t value : allowance.values[program_.observables[i].number]) {
        outcome[i] = value;
        add_outcomes(outcome, i + 1, allowance);
      }
      return;
    }
    allowed_.outcomes.insert(outcome);
    const auto [known, is_new] = allowed_.needs.try_emplace(outcome, allowance.needs);
    if (!is_new) known->second = known->second | allowance.needs;
    if (!known->second.buffering) allowed_.without_buffering.insert(outcome);
  }

  const Program& program_;
  std::uint64_t left_;
  std::vector<std::vector<Path>> all_;  // of each thread
  std::vector<const Path*> paths_;      // the combination looked at
  Allowed allowed_;
};

}  // namespace

Allowed allowed_outcomes(const Program& program, const OracleLimits& limits) {
  return Search(program, limits).run();
}

}  // namespace gdakit::sim::litmus
