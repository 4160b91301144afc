// Mailboxes: the commands that firmware takes and its answers, as bytes with named bits.
//
//   prm::Mailbox<prm::CreateCqIn> in;                       // zeros
//   in.set(CreateCqIn::opcode, kCreateCq);
//   in.at(CreateCqIn::cqc).set(Cqc::log_cq_size, 7);
//   send(in.bytes());
//
//   const prm::View<prm::CreateCqOut> out(answer);          // of whoever owns the bytes
//   const std::uint64_t cqn = out.get(CreateCqOut::cqn);
//
// Bits are counted as the programmer's reference manual counts them: 0 is the highest one of the
// first byte. A layout is a struct of Fields, and of those of its base; tests compare all of them
// with tests/data/prm_fields.csv.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/assert.h"

namespace gdakit::format::prm {

// `kWidth` bits of a layout: up to 32 within a word of 32, or 64 that are two words.
template <class Layout, std::size_t kOffset, std::size_t kWidth>
struct Field {
  static_assert(kWidth >= 1 &&
                (kWidth <= 32 ? kOffset % 32 + kWidth <= 32 : kWidth == 64 && kOffset % 32 == 0));
};

// Another layout within one.
template <class Layout, class Inner, std::size_t kOffset>
struct Part {
  static_assert(kOffset % 8 == 0);
};

// Bytes within one, as of an address.
template <class Layout, std::size_t kOffset, std::size_t kCount>
struct Octets {
  static_assert(kOffset % 8 == 0);
};

namespace detail {

constexpr std::uint32_t load_word(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

constexpr void store_word(std::uint8_t* bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

constexpr std::uint32_t mask(std::size_t width) { return ~std::uint32_t{0} >> (32 - width); }

}  // namespace detail

// A field whose place is known at run time alone: up to 32 bits within a word. Asserts that the
// value fits.
constexpr void set_bits(std::uint8_t* bytes, std::size_t offset, std::size_t width,
                        std::uint64_t value) {
  GDAKIT_ASSERT(width >= 1 && offset % 32 + width <= 32 && value <= detail::mask(width));
  std::uint8_t* const word = bytes + offset / 32 * 4;
  const std::size_t shift = 32 - offset % 32 - width;
  const std::uint32_t others = detail::load_word(word) & ~(detail::mask(width) << shift);
  detail::store_word(word, others | static_cast<std::uint32_t>(value) << shift);
}

// The layout, at the begin of bytes that are somebody else's: `Byte` is std::uint8_t, or const.
template <class Layout, class Byte = const std::uint8_t>
class View {
 public:
  // At least Layout::kBytes.
  constexpr explicit View(std::span<Byte> bytes) : bytes_(bytes.data()) {
    GDAKIT_ASSERT(bytes.size() >= Layout::kBytes);
  }

  template <class Owner, std::size_t kOffset, std::size_t kWidth>
  requires std::derived_from<Layout, Owner>
  constexpr std::uint64_t get(Field<Owner, kOffset, kWidth>) const {
    const std::uint8_t* const word = bytes_ + kOffset / 32 * 4;
    if constexpr (kWidth == 64) {
      return std::uint64_t{detail::load_word(word)} << 32 | detail::load_word(word + 4);
    } else {
      return detail::load_word(word) >> (32 - kOffset % 32 - kWidth) & detail::mask(kWidth);
    }
  }

  // Asserts that the value fits.
  template <class Owner, std::size_t kOffset, std::size_t kWidth>
  requires std::derived_from<Layout, Owner>
  constexpr void set(Field<Owner, kOffset, kWidth>, std::uint64_t value) const {
    if constexpr (kWidth == 64) {
      std::uint8_t* const word = bytes_ + kOffset / 32 * 4;
      detail::store_word(word, static_cast<std::uint32_t>(value >> 32));
      detail::store_word(word + 4, static_cast<std::uint32_t>(value));
    } else {
      set_bits(bytes_, kOffset, kWidth, value);
    }
  }

  template <class Owner, class Inner, std::size_t kOffset>
  requires std::derived_from<Layout, Owner>
  constexpr View<Inner, Byte> at(Part<Owner, Inner, kOffset>) const {
    static_assert(kOffset / 8 + Inner::kBytes <= Layout::kBytes);
    return View<Inner, Byte>(std::span<Byte>(bytes_ + kOffset / 8, Inner::kBytes));
  }

  template <class Owner, std::size_t kOffset, std::size_t kCount>
  requires std::derived_from<Layout, Owner>
  constexpr std::span<Byte, kCount> at(Octets<Owner, kOffset, kCount>) const {
    static_assert(kOffset / 8 + kCount <= Layout::kBytes);
    return std::span<Byte, kCount>(bytes_ + kOffset / 8, kCount);
  }

  constexpr std::span<Byte> bytes() const { return {bytes_, Layout::kBytes}; }

 private:
  Byte* bytes_;
};

// One of its own.
template <class Layout>
class Mailbox {
 public:
  using Writer = View<Layout, std::uint8_t>;
  using Reader = View<Layout>;

  template <class Any>
  constexpr std::uint64_t get(Any field) const {
    return Reader(bytes_).get(field);
  }
  template <class Any>
  constexpr void set(Any field, std::uint64_t value) {
    Writer(bytes_).set(field, value);
  }
  template <class Any>
  constexpr auto at(Any part) {
    return Writer(bytes_).at(part);
  }
  template <class Any>
  constexpr auto at(Any part) const {
    return Reader(bytes_).at(part);
  }

  constexpr std::span<std::uint8_t> bytes() { return bytes_; }
  constexpr std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, Layout::kBytes> bytes_{};
};

}  // namespace gdakit::format::prm
