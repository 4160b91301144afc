// Which types the typed tests of this file are for.
//
// On a GPU one type of each size stands for all, and a thread for its warp and block where the code
// is the same: device code knows no more of T, and nvcc takes minutes for each. With the option
// GDAKIT_TEST_EVERY_TYPE there is a program for each type, the GDAKIT_TEST_TYPE-th of all.
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
template <class All, class>
using TypesHere = typename TypeAt<GDAKIT_TEST_TYPE, All>::type;
#else
inline constexpr bool kEveryScope = !ThisCompiler::runs_on_gpu;
template <class All, class OnGpu>
using TypesHere = std::conditional_t<kEveryScope, All, OnGpu>;
#endif

}  // namespace gdakit::test
