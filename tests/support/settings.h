// What a tester sets by environment variables, for tests alone.
//
//   GDAKIT_TEST_SMALL=1     fewer threads and operations, and more patience: for tools under which
//                           a program is a hundred times slower, as compute-sanitizer
//   GDAKIT_TEST_SECONDS=60  how long a soak test runs
//   GDAKIT_TEST_LAUNCHER=mpirun   what starts the jobs of tests/job/traffic_test.cc, in place of
//                           `gdakit run`: a name of tests/job/launchers.h
//   GDAKIT_TEST_SEEDS=1000000   how many seeds a random model runs
//   GDAKIT_TEST_SEED=77205  ... and from which one on, that one alone if it is not said how many:
//                           what a failure prints to replay it
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace gdakit::test {

inline bool small() {
  const char* const value = std::getenv("GDAKIT_TEST_SMALL");
  return value != nullptr && std::string_view(value) != "0";
}

// A size of this run: what is usual, or what is enough in a small one.
template <class T>
T sized(T usual, T small_one) {
  return small() ? small_one : usual;
}

// A time limit: what is enough in a usual run, or more.
inline std::chrono::milliseconds patience(std::chrono::milliseconds usual) {
  return small() ? 20 * usual : usual;
}

inline std::string launcher() {
  const char* const value = std::getenv("GDAKIT_TEST_LAUNCHER");
  return value == nullptr ? "gdakit" : value;
}

inline std::chrono::duration<double> soak_time(std::chrono::duration<double> usual) {
  const char* const value = std::getenv("GDAKIT_TEST_SECONDS");
  return value == nullptr ? usual : std::chrono::duration<double>(std::strtod(value, nullptr));
}

// The seeds of a random model, from `first` on.
struct Seeds {
  std::uint64_t first;
  std::uint64_t count;
};
inline Seeds seeds(std::uint64_t usual) {
  const auto number = [](const char* name, std::uint64_t otherwise) {
    const char* const value = std::getenv(name);
    return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
  };
  const bool replays = std::getenv("GDAKIT_TEST_SEED") != nullptr;
  return {number("GDAKIT_TEST_SEED", 1), number("GDAKIT_TEST_SEEDS", replays ? 1 : usual)};
}

}  // namespace gdakit::test
