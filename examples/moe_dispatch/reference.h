// The sequential reference: what the output of a word must be, computed by a plain loop on the
// host. It shares with the kernels the definition of the network (model.h) and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "examples/moe_dispatch/shape.h"

namespace moe {

// `shape.hidden` values.
std::vector<float> reference_output(std::string_view word, const Shape& shape);

// Compares the outputs of `words`, which stand one after the other, with the reference, bit for
// bit. The error names the first value that differs and says how many do. `first` is the number of
// the first word in the text.
gdakit::Result<void> verify(std::span<const std::string> words, std::uint64_t first,
                            std::span<const float> outputs, const Shape& shape);

}  // namespace moe
