// Expectations of a kernel: counted in the symmetric heap while it runs, judged by the host behind
// it.
//
//   struct Kernel {
//     test::Expect expect;
//     template <class Pe>
//     GDAKIT_DEVICE void operator()(Pe& pe) const { expect(pe, pe.quiet().ok()); }
//   };
//
//   Result<test::Checks> checks = test::Checks::make(context);
//   ...launch(Kernel{checks->expect()}, {.blocks = 2, .threads = 32})
//   return checks->all_held(64);  // each of the 64 threads has checked, and none was disappointed
#pragma once

#include "device/order.h"
#include "tests/support/heap.h"

namespace gdakit::test {

struct Findings {
  std::uint32_t held;
  std::uint32_t broken;
  std::uint32_t line;  // of the first one that was broken
};

// What a kernel takes. Any thread may call it at any time.
struct Expect {
  Findings* findings;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, bool holds, std::uint32_t line = __builtin_LINE()) const {
    auto& m = pe.machine();
    m.fetch_add(order::RelaxedGpu{}, holds ? &findings->held : &findings->broken, 1u);
    if (!holds) m.compare_exchange(order::RelaxedGpu{}, &findings->line, 0u, line);
  }
};

class Checks {
 public:
  // Collective, as all allocations of the heap.
  static Result<Checks> make(Context& c) {
    Result<Findings*> findings = c.allocate<Findings>(1);
    if (!findings) return findings.error();
    if (auto zeroed = test::upload(c, *findings, {Findings{}}); !zeroed) return zeroed.error();
    return Checks(c, *findings);
  }

  Expect expect() const { return {findings_}; }

  // ok if `count` expectations were checked and all of them held.
  Result<void> all_held(std::uint64_t count) const {
    const Result<Findings> found = download(*context_, findings_);
    if (!found) return found.error();
    if (found->broken != 0) {
      return mismatch(std::to_string(found->broken) + " expectations did not hold, the first in " +
                      "line " + std::to_string(found->line));
    }
    return same(std::uint64_t{found->held}, count, "expectations that were checked");
  }

 private:
  Checks(Context& c, Findings* findings) : context_(&c), findings_(findings) {}

  Context* context_;
  Findings* findings_;
};

}  // namespace gdakit::test
