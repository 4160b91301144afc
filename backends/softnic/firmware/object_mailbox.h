// What all commands begin with that name an object, and all answers of those that make one: layouts
// of core/format/prm have the number under the name of its kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/format/prm/command.h"

namespace gdakit::softnic {

struct ObjectIn : format::prm::MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr format::prm::Field<ObjectIn, 72, 24> number{};
};
struct ObjectOut : format::prm::MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr format::prm::Field<ObjectOut, 72, 24> number{};
};

inline std::uint32_t object_of(std::span<const std::uint8_t> in) {
  return static_cast<std::uint32_t>(format::prm::View<ObjectIn>(in).get(ObjectIn::number));
}

}  // namespace gdakit::softnic
