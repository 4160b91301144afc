// Which types the typed tests of this file are for.
//
// One type of each size stands for all: the library knows no more of T. On a GPU a thread stands
// for its warp and block, too, where the code is the same: nvcc takes minutes for each. With the
// option GDAKIT_TEST_EVERY_TYPE the tests of the CPU are for all types, and on a GPU there is a
// program for each, the GDAKIT_TEST_TYPE-th of all.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include <gtest/gtest.h>

#include "gdakit.h"

namespace gdakit::test {

#ifdef GDAKIT_TEST_TYPE
inline constexpr bool kEveryScope = true;
template <std::size_t n, class All>
struct TypeAt;
template <std::size_t n, class... Ts>
struct TypeAt<n, testing::Types<Ts...>> {
  using type = testing::Types<std::tuple_element_t<n, std::tuple<Ts...>>>;
};
template <class All, class OfEachSize>
using TypesHere = typename TypeAt<GDAKIT_TEST_TYPE, All>::type;
#else
inline constexpr bool kEveryScope = !ThisCompiler::runs_on_gpu;
template <class All, class OfEachSize>
#ifdef GDAKIT_TEST_EVERY_TYPE
using TypesHere = std::conditional_t<kEveryScope, All, OfEachSize>;
#else
using TypesHere = OfEachSize;
#endif
#endif

}  // namespace gdakit::test
