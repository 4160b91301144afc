// What the played libraries share.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/mlx5/played.h"

namespace gdakit::mlx5::calls {

// Whether the call succeeds; errno is set.
bool succeeds(const std::string& call);
int code_of(const std::string& call);
// Of a call that removes something.
bool removes(const std::string& call);

// One time in `odds`, where answers are spoilt.
bool happens(std::uint32_t odds);
// What a call answers becomes zeros, a few other bytes, or any bytes, now and then.
void spoil(std::span<std::uint8_t> answer);
template <class T>
void spoil(T& answer) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
  std::array<std::uint8_t, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &answer, sizeof answer);
  spoil(std::span<std::uint8_t>(bytes));
  std::memcpy(&answer, bytes.data(), sizeof answer);
}

// So many of an answer's bytes come: all, as many as the test says, or now and then fewer.
std::size_t arriving(const std::string& call, std::size_t bytes);
// Gives an answer, spoilt now and then, as far as it comes. Both have as many bytes.
void give(const std::string& call, std::span<std::uint8_t> to, std::vector<std::uint8_t> answer);
template <class T>
void give(const std::string& call, T& to, T answer) {
  spoil(answer);
  std::memcpy(&to, &answer, arriving(call, sizeof answer));
}

// An object of a kind, which the caller gives back to `gone`; null where the call fails.
template <class T>
T* made(const std::string& call, const char* kind, const T& object) {
  if (!succeeds(call)) return nullptr;
  ++played().live[kind];
  return new T(object);
}
template <class T>
int gone(const char* kind, T* object) {
  --played().live[kind];
  delete object;
  return 0;
}

// Doorbell pages lie where they did.
void put_pages_back();
// The part of the libraries that knows of firmware.
void add_firmware(Libraries& libraries);

}  // namespace gdakit::mlx5::calls
