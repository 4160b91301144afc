#include "tools/file_output.h"

#include <cerrno>
#include <string_view>
#include <unistd.h>

namespace gdakit::tools {
namespace {

constexpr std::size_t kPending = std::size_t{1} << 20;

}  // namespace

int FileOutput::finish() {
  std::string_view left = pending_;
  while (error_ == 0 && !left.empty()) {
    if (interrupted_) {
      error_ = EINTR;
      break;
    }
    const ssize_t count = ::write(fd_.get(), left.data(), left.size());
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) error_ = errno;
  }
  pending_.clear();
  return error_;
}

std::streamsize FileOutput::xsputn(const char* text, std::streamsize count) {
  pending_.append(text, static_cast<std::size_t>(count));
  return pending_.size() < kPending || finish() == 0 ? count : 0;
}

FileOutput::int_type FileOutput::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof()))
    return traits_type::not_eof(character);
  const char one = traits_type::to_char_type(character);
  return xsputn(&one, 1) == 1 ? character : traits_type::eof();
}

}  // namespace gdakit::tools
