// Transfers of every type and kind against a sequential model: PEs run programs of random steps,
// and the host says what memory they must leave behind.
//
// A step is a launch of its own, and is complete when the next one begins. Every PE has two arrays
// of T: `own`, the local side of its steps, and `shared`, on which the steps of all PEs work, each
// in a window of its own. So the order between PEs makes no difference, and the model may take them
// one after the other.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/device/by.h"
#include "tests/device/types_here.h"
#include "tests/support/job.h"

namespace gdakit::test {

// 16-bit floating-point types as the NIC knows them, and the widest sized type.
struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};
struct Bits128 {
  std::uint64_t low, high;
};

template <class T>
struct TypeName;
template <>
struct TypeName<float> {
  static constexpr char text[] = "float";
};
template <>
struct TypeName<double> {
  static constexpr char text[] = "double";
};
template <>
struct TypeName<Half> {
  static constexpr char text[] = "half";
};
template <>
struct TypeName<Bfloat16> {
  static constexpr char text[] = "bfloat16";
};
template <>
struct TypeName<char> {
  static constexpr char text[] = "char";
};
template <>
struct TypeName<signed char> {
  static constexpr char text[] = "schar";
};
template <>
struct TypeName<short> {
  static constexpr char text[] = "short";
};
template <>
struct TypeName<int> {
  static constexpr char text[] = "int";
};
template <>
struct TypeName<long> {
  static constexpr char text[] = "long";
};
template <>
struct TypeName<long long> {
  static constexpr char text[] = "longlong";
};
template <>
struct TypeName<unsigned char> {
  static constexpr char text[] = "uchar";
};
template <>
struct TypeName<unsigned short> {
  static constexpr char text[] = "ushort";
};
template <>
struct TypeName<unsigned> {
  static constexpr char text[] = "uint";
};
template <>
struct TypeName<unsigned long> {
  static constexpr char text[] = "ulong";
};
template <>
struct TypeName<unsigned long long> {
  static constexpr char text[] = "ulonglong";
};
template <>
struct TypeName<Bits128> {
  static constexpr char text[] = "128 bits";
};

struct TypeNames {
  template <class T>
  static std::string GetName(int) {
    std::string name = TypeName<T>::text;
    for (char& c : name) c = c == ' ' ? '_' : c;
    return name;
  }
};

template <class T>
T random_value(std::mt19937_64& random) {
  T value;
  std::uint64_t words[2] = {random(), random()};
  static_assert(sizeof(T) <= sizeof(words));
  std::memcpy(&value, words, sizeof(T));
  return value;
}

template <class T>
bool same_bytes(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

enum class How { blocking, nbi, ticket };
enum class Do {
  put,
  get,
  iput,
  iget,
  put_signal,
  put_value,
  get_value,
  put_bytes,
  get_bytes,
  put_signal_bytes,
  count
};

// One call. Places are indices of elements: `remote` in the caller's window of `shared` at `pe`,
// `local` in `own`. Strides are 1 unless the call takes them.
struct Step {
  Do what;
  How how;
  int pe;
  int remote, local;
  int remote_stride, local_stride;
  int count;
  SignalOp op;
  std::uint64_t signal;
};

inline constexpr int kWindow = 96;  // elements

inline std::string describe(const Step& step, int by_pe, std::size_t number) {
  constexpr const char* kDo[] = {
      "put",       "get",       "iput",      "iget",      "put_signal",
      "put_value", "get_value", "put_bytes", "get_bytes", "put_signal_bytes"};
  constexpr const char* kHow[] = {"blocking", "nbi", "async"};
  return "step " + std::to_string(number) + " of PE " + std::to_string(by_pe) + ": " +
         kDo[static_cast<int>(step.what)] + " (" + kHow[static_cast<int>(step.how)] + ") of " +
         std::to_string(step.count) + ", PE " + std::to_string(step.pe) + ", remote " +
         std::to_string(step.remote) + " by " + std::to_string(step.remote_stride) + ", local " +
         std::to_string(step.local) + " by " + std::to_string(step.local_stride);
}

// A place for `count` elements at `stride`, inside the window; `count` is cut to fit.
inline int place(std::mt19937_64& random, int stride, int* count) {
  const int step = stride < 0 ? -stride : stride;
  const int most = step == 0 ? kWindow : (kWindow - 1) / step + 1;
  if (*count > most) *count = most;
  const int reach = *count > 0 ? (*count - 1) * step : 0;
  const int low = static_cast<int>(random() % static_cast<std::uint64_t>(kWindow - reach));
  return stride < 0 ? low + reach : low;
}

template <class T>
Step random_step(std::mt19937_64& random, int n_pes) {
  Step step{};
  do {
    step.what = static_cast<Do>(random() % static_cast<std::uint64_t>(Do::count));
  } while (!is_one_word<T> && (step.what == Do::put_value || step.what == Do::get_value));
  step.how = static_cast<How>(random() % 3);
  step.pe = static_cast<int>(random() % static_cast<std::uint64_t>(n_pes));
  step.remote_stride = step.local_stride = 1;
  step.count = static_cast<int>(random() % 50);
  if (step.what == Do::iput || step.what == Do::iget) {
    int& to = step.what == Do::iput ? step.remote_stride : step.local_stride;
    int& from = step.what == Do::iput ? step.local_stride : step.remote_stride;
    to = static_cast<int>(random() % 3) + 1;
    if (random() % 2 == 0) to = -to;
    from = static_cast<int>(random() % 7) - 3;
  }
  if (step.what == Do::put_value || step.what == Do::get_value) step.count = 1;
  place(random, step.remote_stride, &step.count);
  step.local = place(random, step.local_stride, &step.count);
  step.remote = place(random, step.remote_stride, &step.count);
  step.op = random() % 2 == 0 ? SignalOp::set : SignalOp::add;
  step.signal = random() % 1000 + 1;
  return step;
}

template <class T>
std::vector<Step> random_program(std::uint64_t seed, int by_pe, int n_pes, std::size_t length) {
  std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(by_pe));
  std::vector<Step> steps;
  while (steps.size() < length) steps.push_back(random_step<T>(random, n_pes));
  return steps;
}

// What a job's PEs hold, and which step last wrote it.
template <class T>
struct Memory {
  std::vector<T> own, shared;  // kWindow; kWindow for each PE
  std::vector<std::uint64_t> signals;
  std::vector<std::string> own_by, shared_by;
};

template <class T>
std::vector<Memory<T>> first_memory(std::uint64_t seed, int n_pes) {
  std::mt19937_64 random(seed);
  const auto all = static_cast<std::size_t>(n_pes * kWindow);
  std::vector<Memory<T>> memory(static_cast<std::size_t>(n_pes));
  for (Memory<T>& m : memory) {
    for (int i = 0; i < kWindow; ++i) m.own.push_back(random_value<T>(random));
    for (std::size_t i = 0; i < all; ++i) m.shared.push_back(random_value<T>(random));
    m.signals.assign(static_cast<std::size_t>(n_pes), 0);
    m.own_by.assign(kWindow, "nobody");
    m.shared_by.assign(all, "nobody");
  }
  return memory;
}

// What a step does, sequentially.
template <class T>
void apply(std::vector<Memory<T>>& memory, const Step& step, int by_pe, std::size_t number) {
  Memory<T>& here = memory[static_cast<std::size_t>(by_pe)];
  Memory<T>& there = memory[static_cast<std::size_t>(step.pe)];
  const bool inbound = step.what == Do::get || step.what == Do::iget ||
                       step.what == Do::get_value || step.what == Do::get_bytes;
  for (int i = 0; i < step.count; ++i) {
    const auto local = static_cast<std::size_t>(step.local + i * step.local_stride);
    const auto remote =
        static_cast<std::size_t>(by_pe * kWindow + step.remote + i * step.remote_stride);
    if (inbound) {
      here.own[local] = there.shared[remote];
      here.own_by[local] = describe(step, by_pe, number);
    } else {
      there.shared[remote] = here.own[local];
      there.shared_by[remote] = describe(step, by_pe, number);
    }
  }
  if (step.what != Do::put_signal && step.what != Do::put_signal_bytes) return;
  std::uint64_t& word = there.signals[static_cast<std::size_t>(by_pe)];
  word = step.op == SignalOp::set ? step.signal : word + step.signal;
}

template <class T>
struct Arrays {
  T* own;
  T* shared;
  std::uint64_t* signals;
};

// One kind of call, in each of its forms: blocking, completed by quiet, or waited for by ticket.
// Kernels are small and many, by template arguments: nvcc takes ten times as long for a kernel of
// six transfers as for six kernels of one. On a GPU each group has one of the forms.
template <class T, By kBy, Do kDo>
struct RunStep {
  Arrays<T> arrays;
  Step s;
  std::uint32_t number;
  Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kBy>(pe)) return;
    auto group = group_of<kBy>(pe);
    if constexpr (ThisCompiler::runs_on_gpu) {
      constexpr How kHow = static_cast<How>(kBy);
      expect(pe, run<kHow>(pe, group).ok(), 1000 + number);
    } else {
      switch (s.how) {
        case How::blocking: expect(pe, run<How::blocking>(pe, group).ok(), 1000 + number); break;
        case How::nbi: expect(pe, run<How::nbi>(pe, group).ok(), 1000 + number); break;
        case How::ticket: expect(pe, run<How::ticket>(pe, group).ok(), 1000 + number); break;
      }
    }
  }

 private:
  template <How kHow, class Pe, class Group>
  GDAKIT_DEVICE Status run(Pe& pe, Group& g) const {
    T* const remote = arrays.shared + pe.my_pe() * kWindow + s.remote;
    T* const local = arrays.own + s.local;
    const auto count = static_cast<std::size_t>(s.count);
    if constexpr (kDo == Do::put) {
      if constexpr (kHow == How::blocking) return g.put(remote, local, count, s.pe);
      if constexpr (kHow == How::nbi) return after(g, g.put_nbi(remote, local, count, s.pe));
      return g.wait(g.put_async(remote, local, count, s.pe));
    } else if constexpr (kDo == Do::get) {
      if constexpr (kHow == How::blocking) return g.get(local, remote, count, s.pe);
      if constexpr (kHow == How::nbi) return after(g, g.get_nbi(local, remote, count, s.pe));
      return g.wait(g.get_async(local, remote, count, s.pe));
    } else if constexpr (kDo == Do::iput || kDo == Do::iget) {
      return run_strided<kHow>(g, remote, local, count);
    } else if constexpr (kDo == Do::put_value || kDo == Do::get_value) {
      return run_value(pe, g, remote, local);
    } else if constexpr (kDo == Do::put_signal) {
      return run_signal<kHow>(g, remote, local, count, arrays.signals + pe.my_pe());
    } else {
      return run_bytes<kHow>(g, remote, local, count * sizeof(T), arrays.signals + pe.my_pe());
    }
  }

  template <How kHow, class Group>
  GDAKIT_DEVICE Status run_strided(Group& g, T* remote, T* local, std::size_t count) const {
    const std::ptrdiff_t there = s.remote_stride;
    const std::ptrdiff_t here = s.local_stride;
    if constexpr (kDo == Do::iput) {
      if constexpr (kHow == How::blocking) return g.iput(remote, local, there, here, count, s.pe);
      if constexpr (kHow == How::nbi) {
        return after(g, g.iput_nbi(remote, local, there, here, count, s.pe));
      }
      return g.wait(g.iput_async(remote, local, there, here, count, s.pe));
    } else {
      if constexpr (kHow == How::blocking) return g.iget(local, remote, here, there, count, s.pe);
      if constexpr (kHow == How::nbi) {
        return after(g, g.iget_nbi(local, remote, here, there, count, s.pe));
      }
      return g.wait(g.iget_async(local, remote, here, there, count, s.pe));
    }
  }

  template <How kHow, class Group>
  GDAKIT_DEVICE Status run_signal(Group& g, T* remote, T* local, std::size_t count,
                                  std::uint64_t* word) const {
    if constexpr (kHow == How::blocking) {
      return g.put_signal(remote, local, count, word, s.signal, s.op, s.pe);
    } else if constexpr (kHow == How::nbi) {
      return after(g, g.put_signal_nbi(remote, local, count, word, s.signal, s.op, s.pe));
    } else {
      return g.wait(g.put_signal_async(remote, local, count, word, s.signal, s.op, s.pe));
    }
  }

  template <How kHow, class Group>
  GDAKIT_DEVICE Status run_bytes(Group& g, void* remote, void* local, std::size_t bytes,
                                 std::uint64_t* word) const {
    if constexpr (kDo == Do::put_bytes) {
      if constexpr (kHow == How::blocking) return g.put_bytes(remote, local, bytes, s.pe);
      if constexpr (kHow == How::nbi) return after(g, g.put_bytes_nbi(remote, local, bytes, s.pe));
      return g.wait(g.put_bytes_async(remote, local, bytes, s.pe));
    } else if constexpr (kDo == Do::get_bytes) {
      if constexpr (kHow == How::blocking) return g.get_bytes(local, remote, bytes, s.pe);
      if constexpr (kHow == How::nbi) return after(g, g.get_bytes_nbi(local, remote, bytes, s.pe));
      return g.wait(g.get_bytes_async(local, remote, bytes, s.pe));
    } else {
      if constexpr (kHow == How::blocking) {
        return g.put_signal_bytes(remote, local, bytes, word, s.signal, s.op, s.pe);
      } else if constexpr (kHow == How::nbi) {
        return after(g, g.put_signal_bytes_nbi(remote, local, bytes, word, s.signal, s.op, s.pe));
      } else {
        return g.wait(g.put_signal_bytes_async(remote, local, bytes, word, s.signal, s.op, s.pe));
      }
    }
  }

  // By the first thread of the group, for all.
  template <class Pe, class Group>
  GDAKIT_DEVICE Status run_value(Pe& pe, Group& g, T* remote, T* local) const {
    Status status;
    if constexpr (is_one_word<T>) {
      if (pe.machine().thread_index() == 0) {
        if constexpr (kDo == Do::put_value) {
          status = g.put_value(remote, *local, s.pe);
        } else {
          *local = g.get_value(remote, s.pe, &status);
        }
      }
    }
    return after(g, status);
  }

  template <class Group>
  GDAKIT_DEVICE static Status after(Group& g, Status posted) {
    const Status quieted = g.quiet();
    return posted.ok() ? quieted : posted;
  }
};

template <class T>
Result<void> compare(const std::vector<T>& got, const std::vector<T>& wanted,
                     const std::vector<std::string>& by, const std::string& what) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!same_bytes(got[i], wanted[i])) {
      return mismatch(what + " " + std::to_string(i) + " is not as the model has it; written by " +
                      by[i]);
    }
  }
  return {};
}

// A job's memory, on its PE.
template <class T>
struct Job {
  Context& c;
  T* own;
  T* shared;
  std::uint64_t* signals;
  std::size_t length;  // of a program

  static Result<Job> make(Context& c, std::size_t length) {
    const auto n = static_cast<std::size_t>(c.n_pes());
    auto own = c.allocate<T>(kWindow);
    auto shared = c.allocate<T>(n * kWindow);
    auto signals = c.allocate<std::uint64_t>(n);
    if (!own || !shared || !signals) return Error(Code::internal, "allocate");
    return Job{c, *own, *shared, *signals, length};
  }

  // Every PE runs its program by one kind of group, and finds what the model says.
  template <By kBy>
  Result<void> run(std::uint64_t seed) const {
    const std::string who = std::string(TypeName<T>::text) + " by " + name_of(kBy) + ", " +
                            std::to_string(c.n_pes()) + " PEs, seed " + std::to_string(seed) +
                            ", PE " + std::to_string(c.my_pe()) + ": ";
    std::vector<Memory<T>> memory = first_memory<T>(seed, c.n_pes());
    const Memory<T>& mine = memory[static_cast<std::size_t>(c.my_pe())];
    if (auto ok = upload(c, own, mine.own); !ok) return ok;
    if (auto ok = upload(c, shared, mine.shared); !ok) return ok;
    if (auto ok = upload(c, signals, mine.signals); !ok) return ok;
    std::vector<Step> program;
    for (int pe = 0; pe < c.n_pes(); ++pe) {
      const std::vector<Step> steps = random_program<T>(seed, pe, c.n_pes(), length);
      if (pe == c.my_pe()) program = steps;
      for (std::size_t i = 0; i < length; ++i) apply(memory, steps[i], pe, i);
    }
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto met = c.barrier(); !met) return met;
    for (std::uint32_t i = 0; i < length; ++i) {
      if (auto ran = launch<kBy>(program[i], i, *checks); !ran) {
        return mismatch(who + ran.error().message());
      }
    }
    if (auto ok = checks->all_held(length * actors(kBy, kThreads)); !ok) {
      return mismatch(who + ok.error().message() + " (line 1000 + i: step i)");
    }
    if (auto met = c.barrier(); !met) return met;
    return judge(mine, who);
  }

 private:
  static constexpr unsigned kThreads = 40;

  template <By kBy>
  Result<void> launch(const Step& step, std::uint32_t number, const Checks& checks) const {
    constexpr auto kAll = std::make_index_sequence<static_cast<std::size_t>(Do::count)>{};
    return launch_one_of<kBy>(step, number, checks, kAll);
  }
  template <By kBy, std::size_t... kDo>
  Result<void> launch_one_of(const Step& step, std::uint32_t number, const Checks& checks,
                             std::index_sequence<kDo...>) const {
    using Launch = Result<void> (Job::*)(const Step&, std::uint32_t, const Checks&) const;
    constexpr Launch kLaunches[] = {&Job::launch_step<kBy, static_cast<Do>(kDo)>...};
    return (this->*kLaunches[static_cast<std::size_t>(step.what)])(step, number, checks);
  }
  template <By kBy, Do kDo>
  Result<void> launch_step(const Step& step, std::uint32_t number, const Checks& checks) const {
    const RunStep<T, kBy, kDo> kernel{{own, shared, signals}, step, number, checks.expect()};
    return c.launch(kernel, {1, kThreads});
  }

  Result<void> judge(const Memory<T>& mine, const std::string& who) const {
    auto has_own = download(c, own, mine.own.size());
    auto has_shared = download(c, shared, mine.shared.size());
    if (!has_own || !has_shared) return mismatch(who + "download");
    if (auto ok = compare(*has_own, mine.own, mine.own_by, who + "own"); !ok) return ok;
    if (auto ok = compare(*has_shared, mine.shared, mine.shared_by, who + "shared"); !ok) return ok;
    return all_are(c, signals, mine.signals.size(), who + "signal",
                   [&](std::size_t i) { return mine.signals[i]; });
  }
};

}  // namespace gdakit::test
