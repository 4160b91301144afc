// A launch as a span of a timeline. Part of what programs include, hence C++17.
#pragma once

#include <cstdint>
#include <string_view>

namespace gdakit {

class HostTrace;

// What the compiler calls a type.
template <class Type>
constexpr std::string_view type_text() {
  // "... type_text() [with Type = Ring; ...]", or "... [Type = Ring]".
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("Type = ") + 7;
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

// Begins where it is made and ends where it goes. Without a trace (null) it does nothing.
class KernelSpan {
 public:
  KernelSpan(HostTrace* trace, std::string_view name, std::uint32_t blocks, std::uint32_t threads)
      : trace_(trace), number_(trace == nullptr ? 0 : begin(trace, name, blocks, threads)) {}
  ~KernelSpan() {
    if (trace_ != nullptr) end();
  }
  KernelSpan(const KernelSpan&) = delete;
  KernelSpan& operator=(const KernelSpan&) = delete;

  bool is_traced() const { return trace_ != nullptr; }
  // Where blocks can be seen, as on the emulator; from any thread, of a span that is traced.
  void begin_block(std::uint32_t block) const;
  void end_block(std::uint32_t block) const;

 private:
  static std::uint64_t begin(HostTrace* trace, std::string_view name, std::uint32_t blocks,
                             std::uint32_t threads);
  void end() const;

  HostTrace* trace_;
  std::uint64_t number_;
};

}  // namespace gdakit
