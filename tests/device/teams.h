// What tests of teams expect of calls and of members.
#pragma once

#include "tests/support/job.h"

namespace gdakit::test {

inline Result<void> contains(const Result<void>& failed, const std::string& text) {
  if (failed) return mismatch("succeeded where \"" + text + "\" was expected");
  if (failed.error().message().find(text) != std::string::npos) return {};
  return mismatch("\"" + failed.error().message() + "\" does not say \"" + text + "\"");
}
template <class T>
Result<void> contains(const Result<T>& failed, const std::string& text) {
  return contains(failed ? Result<void>() : Result<void>(failed.error()), text);
}

// ok if the team has exactly the PEs of `members`, in their order, as host and kernels see it.
inline Result<void> has_members(Context& c, Team team, const std::vector<int>& members) {
  if (auto n = same(c.team_n_pes(team), static_cast<int>(members.size()), "n_pes"); !n) return n;
  for (int i = 0; i < static_cast<int>(members.size()); ++i) {
    const int pe = members[static_cast<std::size_t>(i)];
    if (auto is = same(c.team_translate_pe(team, i, kTeamWorld), pe, "world PE"); !is) return is;
    if (auto is = same(c.team_translate_pe(kTeamWorld, pe, team), i, "team PE"); !is) return is;
    if (pe != c.my_pe()) continue;
    if (auto is = same(c.team_my_pe(team), i, "my_pe"); !is) return is;
  }
  return {};
}

}  // namespace gdakit::test
