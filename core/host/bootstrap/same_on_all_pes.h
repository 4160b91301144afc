// What all PEs must give alike.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit {

inline constexpr const char* kGiveTheSame = "all PEs must give the same";

// `all` is every PE's value, by rank. An error if one is another than PE 0's: who gave what, and
// `remedy`. text(value) is a value in words, by which they are compared.
template <class T, class Text>
Result<void> check_same(const std::string& what, const std::vector<T>& all, const Text& text,
                        const char* remedy = kGiveTheSame) {
  const std::string first = text(all.front());
  for (std::size_t pe = 1; pe < all.size(); ++pe) {
    const std::string other = text(all[pe]);
    if (other == first) continue;
    return Error(Code::invalid_argument, what + ": PE " + std::to_string(pe) + " gave " + other +
                                             " where PE 0 gave " + first + "; " + remedy);
  }
  return {};
}

// Collective. The same for what this PE gives; every PE gets the same error.
template <class T, class Text>
Result<void> agree_on(Bootstrap& bootstrap, const std::string& what, const T& mine,
                      const Text& text, const char* remedy = kGiveTheSame) {
  const Result<std::vector<T>> all = allgather_value(bootstrap, mine);
  if (!all) return all.error();  // which has nothing to do with `what`
  return check_same(what, *all, text, remedy);
}

// Collective. The error of the lowest PE that has one; every PE gets the same.
Result<void> all_succeed(Bootstrap& bootstrap, const Result<void>& mine);

}  // namespace gdakit
