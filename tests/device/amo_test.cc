// Every atomic on every type that OpenSHMEM lists, without a result, with one, and with one that
// quiet completes, from one to three PEs, against a sequential model.
#include "tests/device/one_sided.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::acts;
using test::By;
using test::Checks;
using test::group_of;
using test::mismatch;

enum class Amo {
  add,
  inc,
  set,
  bit_and,
  bit_or,
  bit_xor,
  fetch,
  fetch_add,
  fetch_inc,
  swap,
  compare_swap,
  fetch_and,
  fetch_or,
  fetch_xor,
  count
};

// One call, on word `word` of the caller's words at PE `pe`.
template <class T>
struct AmoStep {
  Amo what;
  bool nbi;  // for those with a result
  int pe;
  int word;
  T value;
  T expected;
  T result;  // as the model has it; T{} for those without
};

constexpr int kWords = 4;                           // of each PE, at each PE
constexpr int kSteps = kThreadSanitizer ? 10 : 80;  // a launch each

GDAKIT_HOST_DEVICE constexpr bool has_result(Amo what) { return what >= Amo::fetch; }
constexpr bool is_for_all_numbers(Amo what) {
  return what == Amo::set || what == Amo::fetch || what == Amo::swap;
}

template <class T>
T after_integers(const AmoStep<T>& s, T old) {
  using U = std::make_unsigned_t<T>;
  const auto a = static_cast<U>(old);
  const auto b = static_cast<U>(s.value);
  switch (s.what) {
    case Amo::add:
    case Amo::fetch_add: return static_cast<T>(a + b);
    case Amo::inc:
    case Amo::fetch_inc: return static_cast<T>(a + 1);
    case Amo::bit_and:
    case Amo::fetch_and: return static_cast<T>(a & b);
    case Amo::bit_or:
    case Amo::fetch_or: return static_cast<T>(a | b);
    case Amo::bit_xor:
    case Amo::fetch_xor: return static_cast<T>(a ^ b);
    case Amo::compare_swap: return old == s.expected ? s.value : old;
    default: return old;
  }
}

// What a word holds after the step.
template <class T>
T after(const AmoStep<T>& s, T old) {
  if (s.what == Amo::set || s.what == Amo::swap) return s.value;
  if constexpr (std::is_integral_v<T>) return after_integers(s, old);
  return old;
}

template <class T>
AmoStep<T> random_amo(std::mt19937_64& random, int n_pes) {
  AmoStep<T> s{};
  do {
    s.what = static_cast<Amo>(random() % static_cast<std::uint64_t>(Amo::count));
  } while (!std::is_integral_v<T> && !is_for_all_numbers(s.what));
  s.nbi = random() % 2 == 0;
  s.pe = static_cast<int>(random() % static_cast<std::uint64_t>(n_pes));
  s.word = static_cast<int>(random() % kWords);
  if constexpr (std::is_integral_v<T>) {
    s.value = static_cast<T>(random());
    s.expected = static_cast<T>(random());
  } else {
    s.value = static_cast<T>(static_cast<std::int64_t>(random())) / 7;
  }
  return s;
}

// The words of all PEs after all programs, and the programs with their results. Word w of PE p at
// PE q is words[q][p * kWords + w].
template <class T>
struct AmoModel {
  std::vector<std::vector<AmoStep<T>>> programs;
  std::vector<std::vector<T>> words;

  AmoModel(std::uint64_t seed, int n_pes)
      : words(static_cast<std::size_t>(n_pes),
              std::vector<T>(static_cast<std::size_t>(n_pes * kWords))) {
    std::mt19937_64 random(seed);
    for (int pe = 0; pe < n_pes; ++pe) {
      programs.emplace_back();
      for (int i = 0; i < kSteps; ++i) {
        AmoStep<T> step = random_amo<T>(random, n_pes);
        T& word = words[static_cast<std::size_t>(step.pe)]
                       [static_cast<std::size_t>(pe * kWords + step.word)];
        if (step.what == Amo::compare_swap && random() % 2 == 0) step.expected = word;
        if (has_result(step.what)) step.result = word;
        word = after(step, word);
        programs.back().push_back(step);
      }
    }
  }
};

// One step, by the first thread of the group; its result goes to `to`. A kernel for each atomic, as
// nvcc takes long for large ones.
template <class T, By kBy, Amo kAmo>
struct RunAmo {
  T* words;
  T* to;
  AmoStep<T> s;
  std::uint32_t number;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kBy>(pe)) return;
    auto group = group_of<kBy>(pe);
    if (pe.machine().thread_index() == 0) {
      T* const word = words + pe.my_pe() * kWords + s.word;
      expect(pe, run(group, word).ok(), 1000 + number);
    }
    expect(pe, group.quiet().ok(), 1000 + number);
  }

 private:
  template <class Group>
  GDAKIT_DEVICE Status run(Group& g, T* word) const {
    if constexpr (!has_result(kAmo)) {
      return run_plain(g, word);
    } else {
      if (s.nbi) return run_nbi(g, word);
      Status status;
      *to = run_fetching(g, word, &status);
      return status;
    }
  }

  template <class Group>
  GDAKIT_DEVICE Status run_plain(Group& g, T* word) const {
    if constexpr (kAmo == Amo::set) return g.atomic_set(word, s.value, s.pe);
    if constexpr (kAmo == Amo::add) return g.atomic_add(word, s.value, s.pe);
    if constexpr (kAmo == Amo::inc) return g.atomic_inc(word, s.pe);
    if constexpr (kAmo == Amo::bit_and) return g.atomic_and(word, s.value, s.pe);
    if constexpr (kAmo == Amo::bit_or) return g.atomic_or(word, s.value, s.pe);
    if constexpr (kAmo == Amo::bit_xor) return g.atomic_xor(word, s.value, s.pe);
  }

  template <class Group>
  GDAKIT_DEVICE T run_fetching(Group& g, T* w, Status* status) const {
    if constexpr (kAmo == Amo::fetch) return g.atomic_fetch(w, s.pe, status);
    if constexpr (kAmo == Amo::swap) return g.atomic_swap(w, s.value, s.pe, status);
    if constexpr (kAmo == Amo::fetch_add) return g.atomic_fetch_add(w, s.value, s.pe, status);
    if constexpr (kAmo == Amo::fetch_inc) return g.atomic_fetch_inc(w, s.pe, status);
    if constexpr (kAmo == Amo::compare_swap) {
      return g.atomic_compare_swap(w, s.expected, s.value, s.pe, status);
    }
    if constexpr (kAmo == Amo::fetch_and) return g.atomic_fetch_and(w, s.value, s.pe, status);
    if constexpr (kAmo == Amo::fetch_or) return g.atomic_fetch_or(w, s.value, s.pe, status);
    if constexpr (kAmo == Amo::fetch_xor) return g.atomic_fetch_xor(w, s.value, s.pe, status);
  }

  template <class Group>
  GDAKIT_DEVICE Status run_nbi(Group& g, T* w) const {
    if constexpr (kAmo == Amo::fetch) return g.atomic_fetch_nbi(to, w, s.pe);
    if constexpr (kAmo == Amo::swap) return g.atomic_swap_nbi(to, w, s.value, s.pe);
    if constexpr (kAmo == Amo::fetch_add) return g.atomic_fetch_add_nbi(to, w, s.value, s.pe);
    if constexpr (kAmo == Amo::fetch_inc) return g.atomic_fetch_inc_nbi(to, w, s.pe);
    if constexpr (kAmo == Amo::compare_swap) {
      return g.atomic_compare_swap_nbi(to, w, s.expected, s.value, s.pe);
    }
    if constexpr (kAmo == Amo::fetch_and) return g.atomic_fetch_and_nbi(to, w, s.value, s.pe);
    if constexpr (kAmo == Amo::fetch_or) return g.atomic_fetch_or_nbi(to, w, s.value, s.pe);
    if constexpr (kAmo == Amo::fetch_xor) return g.atomic_fetch_xor_nbi(to, w, s.value, s.pe);
  }
};

template <class T>
std::string describe(const AmoStep<T>& s) {
  constexpr const char* kNames[] = {"add",          "inc",       "set",       "and",       "or",
                                    "xor",          "fetch",     "fetch_add", "fetch_inc", "swap",
                                    "compare_swap", "fetch_and", "fetch_or",  "fetch_xor"};
  return std::string("atomic_") + kNames[static_cast<int>(s.what)] + (s.nbi ? "_nbi" : "") +
         " on " + test::TypeName<T>::text + ", word " + std::to_string(s.word) + " of PE " +
         std::to_string(s.pe);
}

constexpr unsigned kThreads = 40;

// A step as a launch of its own.
template <class T, By kBy, std::size_t kAmo>
Result<void> launch_amo(Context& c, T* words, T* to, const AmoStep<T>& step, std::uint32_t number,
                        const Checks& checks) {
  constexpr Amo kWhat = static_cast<Amo>(kAmo);
  if constexpr (std::is_integral_v<T> || is_for_all_numbers(kWhat)) {
    const RunAmo<T, kBy, kWhat> kernel{words, to, step, number, checks.expect()};
    return c.launch(kernel, {1, kThreads});
  } else {
    return mismatch("no such atomic of this type");
  }
}

template <class T, By kBy, std::size_t... kAmos>
Result<void> launch_all(Context& c, T* words, T* fetched, const std::vector<AmoStep<T>>& program,
                        const Checks& checks, std::index_sequence<kAmos...>) {
  using Launch =
      Result<void> (*)(Context&, T*, T*, const AmoStep<T>&, std::uint32_t, const Checks&);
  constexpr Launch kLaunches[] = {&launch_amo<T, kBy, kAmos>...};
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    const AmoStep<T>& step = program[i];
    const Launch launch = kLaunches[static_cast<std::size_t>(step.what)];
    if (auto ran = launch(c, words, fetched + i, step, i, checks); !ran) return ran;
  }
  return {};
}

template <class T, By kBy>
Result<void> run_amos(Context& c, std::uint64_t seed) {
  const auto me = static_cast<std::size_t>(c.my_pe());
  const AmoModel<T> model(seed, c.n_pes());
  const std::vector<AmoStep<T>>& program = model.programs[me];
  auto words = c.allocate<T>(model.words[me].size());
  auto fetched = c.allocate<T>(kSteps);
  auto checks = Checks::make(c);
  if (!words || !fetched || !checks) return mismatch("allocate");
  if (auto met = c.barrier(); !met) return met;
  constexpr auto kAll = std::make_index_sequence<static_cast<std::size_t>(Amo::count)>{};
  if (auto ran = launch_all<T, kBy>(c, *words, *fetched, program, *checks, kAll); !ran) return ran;
  if (auto met = c.barrier(); !met) return met;
  const std::string who = "PE " + std::to_string(me) + " of " + std::to_string(c.n_pes()) + " by " +
                          test::name_of(kBy) + ", seed " + std::to_string(seed) + ": ";
  if (auto ok = checks->all_held(kSteps * (1 + test::actors(kBy, kThreads))); !ok) {
    return mismatch(who + ok.error().message() + " (line 1000 + i: step i)");
  }
  auto got = test::download(c, *fetched, kSteps);
  auto left = test::download(c, *words, model.words[me].size());
  if (!got || !left) return mismatch("download");
  for (std::size_t i = 0; i < kSteps; ++i) {
    if (!test::same_bytes((*got)[i], program[i].result)) {
      return mismatch(who + "step " + std::to_string(i) + ", " + describe(program[i]) +
                      ", brought another value than the model's");
    }
  }
  for (std::size_t i = 0; i < left->size(); ++i) {
    if (!test::same_bytes((*left)[i], model.words[me][i])) {
      return mismatch(who + test::TypeName<T>::text + " word " + std::to_string(i) +
                      " is not as the model has it");
    }
  }
  return {};
}

// int32_t, size_t, ptrdiff_t and the like are names for some of these.
using All = testing::Types<int, long, long long, unsigned, unsigned long, unsigned long long, float,
                           double>;
using OfEachSize = testing::Types<int, unsigned long, double>;

template <class T>
class Amos : public testing::Test {};
using Types = test::TypesHere<All, OfEachSize>;
TYPED_TEST_SUITE(Amos, Types, test::TypeNames);

TYPED_TEST(Amos, LeaveAndBringWhatTheModelSays) {
  using T = TypeParam;
  for (int n_pes = 1; n_pes <= 3; ++n_pes) {
    test::expect_job(n_pes, test::in_turn(test::job_options()), [](Context& c) -> Result<void> {
      const auto seed = static_cast<std::uint64_t>(100 * c.n_pes());
      if constexpr (test::kEveryScope) {
        if (auto ok = run_amos<T, By::warp>(c, seed + 2); !ok) return ok;
        if (auto ok = run_amos<T, By::block>(c, seed + 3); !ok) return ok;
      }
      return run_amos<T, By::thread>(c, seed + 1);
    });
    if (testing::Test::IsSkipped()) return;
  }
}

struct NbiToNowhere {
  std::uint64_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    std::uint64_t local = 7;
    expect(pe, pe.atomic_fetch_inc_nbi(&local, word, 0).code == StatusCode::invalid_address);
    expect(pe, pe.quiet().ok() && local == 7);
  }
};

TEST(AmosNbi, RefuseAResultInMemoryThatIsNotRegistered) {
  test::expect_job(1, test::job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    if (c.launch(NbiToNowhere{*word, checks->expect()}, {1, 1})) return mismatch("no error");
    if (auto ok = checks->all_held(2); !ok) return ok;
    return test::is(c, *word, 0, "word");
  });
}

// On devices that do not order inbound writes, quiet makes the results visible.
TEST(AmosNbi, AreVisibleAfterQuietOfEachSizesThatAskForAFlush) {
  BackendLimits limits;
  limits.needs_cst = true;
  test::LimitedProvider provider(limits);
  test::expect_job(2, test::in_turn(test::job_options()), provider, [](Context& c) -> Result<void> {
    return run_amos<std::uint64_t, By::thread>(c, 7);
  });
}

}  // namespace
}  // namespace gdakit
