// SignalLine: a line for stderr, made without a call that a signal handler may not make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unistd.h>

namespace gdakit::sim {

class SignalLine {
 public:
  // What there is no more room for is left out.
  SignalLine& operator<<(std::string_view part) {
    for (const char letter : part) {
      if (size_ < sizeof text_) text_[size_++] = letter;
    }
    return *this;
  }
  SignalLine& operator<<(std::uint64_t number) { return digits(number, 10); }
  SignalLine& hex(std::uint64_t number) {
    *this << "0x";
    return digits(number, 16);
  }
  // Nothing can be done about a line that cannot be written.
  void write() const { static_cast<void>(!::write(STDERR_FILENO, text_, size_)); }

 private:
  SignalLine& digits(std::uint64_t number, std::uint64_t base) {
    char reversed[20];
    std::size_t count = 0;
    do {
      reversed[count++] = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    while (count != 0) *this << std::string_view(&reversed[--count], 1);
    return *this;
  }

  char text_[1024];
  std::size_t size_ = 0;
};

}  // namespace gdakit::sim
