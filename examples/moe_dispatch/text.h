// The tokens: the words of a text file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "examples/moe_dispatch/model.h"

namespace moe {

using Words = std::vector<std::string>;

// The words of a text in lower case, without punctuation. The first `limit` of them; 0 is no limit.
Words split_words(std::string_view text, std::uint64_t limit);

// The words of a file. Errors: it cannot be read, is longer than 64 MiB, or has no word.
gdakit::Result<Words> read_words(const std::string& path, std::uint64_t limit);

Token token_of(std::string_view word);

// The contiguous share of a PE; shares differ by one word at most.
std::span<const std::string> share_of(std::span<const std::string> words, int pe, int pes);

}  // namespace moe
