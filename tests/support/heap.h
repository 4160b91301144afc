// The host's view of a PE's symmetric heap, which may lie on a GPU: bytes are copied there and back
// and never read in place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/bits.h"
#include "core/host/context.h"
#include "core/host/memory/host_memory.h"

namespace gdakit::test {

// An error that names what a PE saw, for checks off the main thread.
inline Result<void> mismatch(const std::string& what) { return Error(Code::internal, what); }

template <class A, class B>
Result<void> same(const A& got, const B& expected, const std::string& what) {
  if (got == expected) return {};
  return mismatch(what + ": got " + std::to_string(got) + ", expected " + std::to_string(expected));
}

template <class T>
Result<void> upload(Context& c, T* objects, const std::vector<T>& from) {
  return c.upload(objects, from.data(), from.size());
}

template <class T>
Result<std::vector<T>> download(Context& c, const T* objects, std::size_t count) {
  std::vector<T> to(count);
  if (auto done = c.download(to.data(), objects, count); !done) return done.error();
  return to;
}

template <class T>
Result<T> download(Context& c, const T* object) {
  Result<std::vector<T>> one = download(c, object, 1);
  if (!one) return one.error();
  return one->front();
}

// Sets object i to value(i).
template <class T, class Value>
Result<void> fill(Context& c, T* objects, std::size_t count, Value value) {
  std::vector<T> from(count);
  for (std::size_t i = 0; i < count; ++i) from[i] = static_cast<T>(value(i));
  return upload(c, objects, from);
}

// ok if object i is expected(i), for all of them; `what` names them in the error.
template <class T, class Expected>
Result<void> all_are(Context& c, const T* objects, std::size_t count, const std::string& what,
                     Expected expected) {
  const Result<std::vector<T>> got = download(c, objects, count);
  if (!got) return got.error();
  for (std::size_t i = 0; i < count; ++i) {
    const T want = static_cast<T>(expected(i));
    if ((*got)[i] != want) return same((*got)[i], want, what + " " + std::to_string(i));
  }
  return {};
}

template <class T>
Result<void> is(Context& c, const T* object, std::type_identity_t<T> expected,
                const std::string& what) {
  const Result<T> got = download(c, object);
  if (!got) return got.error();
  return same(*got, expected, what);
}

// Memory of the kind that the PE's heap is of.
inline Result<std::unique_ptr<MemoryProvider>> device_memory(const Context& c) {
  if (c.on_gpu()) return c.gpu()->make_memory();
  return std::unique_ptr<MemoryProvider>(std::make_unique<HostMemoryProvider>());
}

// What lies on the device outside the heap: what a DeviceContext points to.
template <class T>
Result<T> peek(const Context& c, const T* object) {
  const auto memory = device_memory(c);
  if (!memory) return memory.error();
  T copy{};
  if (auto done = (*memory)->copy(&copy, object, sizeof(T)); !done) return done.error();
  return copy;
}

// Bytes in the first chunk of the heap: what the options ask for, rounded up as the memory needs.
inline Result<std::size_t> first_chunk_bytes(const Context& c) {
  const auto memory = device_memory(c);
  if (!memory) return memory.error();
  return static_cast<std::size_t>(round_up(c.options().symmetric_size, (*memory)->granularity()));
}

}  // namespace gdakit::test
