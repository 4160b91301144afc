#include "backends/softnic/dma/host_dma.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/annotate.h"

namespace gdakit::softnic {
namespace {

std::byte* pointer(DmaAddress address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address.value));
}

template <class Word>
bool aligned(const void* place) {
  return reinterpret_cast<std::uintptr_t>(place) % sizeof(Word) == 0;
}

// One atomic store of a word whose bytes lie, possibly unaligned, at `from`; false if `to` is
// unaligned.
template <class Word>
bool store_word(std::byte* to, const void* from) {
  if (!aligned<Word>(to)) return false;
  Word word;
  if (aligned<Word>(from)) {
    word = __atomic_load_n(static_cast<const Word*>(from), __ATOMIC_ACQUIRE);
  } else {
    std::memcpy(&word, from, sizeof word);
  }
  __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELEASE);
  return true;
}

// By the largest aligned words that fit, from the first byte to the last. Each is a release, so
// that whoever sees it by an acquire has seen the bytes before it.
void move_ascending(std::byte* to, const std::byte* from, std::size_t size) {
  while (size != 0) {
    std::size_t word = std::min<std::size_t>(std::bit_floor(size), sizeof(std::uint64_t));
    while (reinterpret_cast<std::uintptr_t>(to) % word != 0) word /= 2;
    switch (word) {
      case 8: store_word<std::uint64_t>(to, from); break;
      case 4: store_word<std::uint32_t>(to, from); break;
      case 2: store_word<std::uint16_t>(to, from); break;
      default: store_word<std::uint8_t>(to, from); break;
    }
    to += word;
    from += word;
    size -= word;
  }
}

// The last byte becomes visible last: clients poll it to learn that a message is there.
void move_in_order(std::byte* to, const std::byte* from, std::size_t size) {
  const std::size_t into_word = (reinterpret_cast<std::uintptr_t>(to) + size - 1) % 8;
  const std::size_t tail = std::min(size, into_word + 1);
  std::memmove(to, from, size - tail);
  move_ascending(to + size - tail, from + size - tail, tail);
}

void move_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  switch (size) {
    case 0: return;
    case 1:
      if (store_word<std::uint8_t>(to, from)) return;
      break;
    case 2:
      if (store_word<std::uint16_t>(to, from)) return;
      break;
    case 4:
      if (store_word<std::uint32_t>(to, from)) return;
      break;
    case 8:
      if (store_word<std::uint64_t>(to, from)) return;
      break;
    default: break;
  }
  if constexpr (kThreadSanitizer) {
    move_ascending(to, from, size);  // words that it knows to be atomic, since threads poll them
  } else {
    move_in_order(to, from, size);
  }
}

template <class Word>
bool load_word(void* to, const std::byte* from) {
  if (!aligned<Word>(from)) return false;
  const Word word = __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_ACQUIRE);
  std::memcpy(to, &word, sizeof word);
  return true;
}

template <class Word>
std::uint64_t modify(std::byte* at, const AtomicRequest& request) {
  auto* word = reinterpret_cast<Word*>(at);
  if (request.kind == AtomicKind::fetch_add && request.boundary == 0) {
    return __atomic_fetch_add(word, static_cast<Word>(request.swap_add), __ATOMIC_ACQ_REL);
  }
  Word old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(word, &old, static_cast<Word>(atomic_result(request, old)),
                                      /*weak=*/true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}

}  // namespace

DmaOp HostDma::read(void* to, DmaAddress from, std::size_t size) {
  const std::byte* place = pointer(from);
  switch (size) {
    case 0: return {};
    case 1:
      if (load_word<std::uint8_t>(to, place)) return {};
      break;
    case 2:
      if (load_word<std::uint16_t>(to, place)) return {};
      break;
    case 4:
      if (load_word<std::uint32_t>(to, place)) return {};
      break;
    case 8:
      if (load_word<std::uint64_t>(to, place)) return {};
      break;
    default: break;
  }
  if constexpr (kThreadSanitizer) {
    move_ascending(static_cast<std::byte*>(to), place, size);
  } else {
    std::memcpy(to, place, size);
  }
  return {};
}

DmaOp HostDma::write(DmaAddress to, const void* from, std::size_t size) {
  move_bytes(pointer(to), static_cast<const std::byte*>(from), size);
  return {};
}

DmaOp HostDma::copy(DmaAddress to, DmaAddress from, std::size_t size) {
  move_bytes(pointer(to), pointer(from), size);
  return {};
}

DmaOp HostDma::atomic(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) {
  *old = request.size == 4 ? modify<std::uint32_t>(pointer(at), request)
                           : modify<std::uint64_t>(pointer(at), request);
  return {};
}

DmaOp HostDma::write_cqe(DmaAddress to, const format::Cqe64& cqe) {
  std::uint64_t words[sizeof cqe / sizeof(std::uint64_t)];
  std::memcpy(words, &cqe, sizeof cqe);
  auto* place = reinterpret_cast<std::uint64_t*>(pointer(to));
  constexpr std::size_t kTail = format::kCqeTailOffset / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < kTail; ++i) __atomic_store_n(place + i, words[i], __ATOMIC_RELAXED);
  // Release: whoever sees the tail sees the rest of the CQE and all that the NIC wrote before it.
  __atomic_store_n(place + kTail, words[kTail], __ATOMIC_RELEASE);
  return {};
}

}  // namespace gdakit::softnic
