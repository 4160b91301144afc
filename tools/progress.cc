#include "tools/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace gdakit::tools {
namespace {

constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kUsualColumns = 80;

std::string bar(double done) {
  const auto full = static_cast<std::size_t>(std::clamp(done, 0.0, 1.0) * kBarWidth);
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "]";
}

std::string time_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::min(seconds, 1e9)));
  char text[48];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  }
  return text;
}

}  // namespace

std::string progress_text(const std::string& name, const sim::Progress& progress,
                          std::uint64_t schedules, std::size_t columns) {
  const double done = std::min(progress.done, 1.0);
  std::string bar_part, percent, executions, rate, outcomes, left;
  if (done > 0) {
    bar_part = "  " + bar(done);
    percent = "  " + std::to_string(static_cast<int>(done * 100)) + "%";
    left = "  " + time_text(progress.seconds * (1 - done) / done) + " left";
  }
  executions = "  " + std::to_string(progress.executions);
  if (schedules > 0) executions += " of " + std::to_string(schedules);
  if (progress.seconds > 0) {
    const double per_second = static_cast<double>(progress.executions) / progress.seconds;
    rate = "  " + std::to_string(std::llround(per_second)) + "/s";
  }
  outcomes = "  " + std::to_string(progress.outcomes) +
             (progress.outcomes == 1 ? " outcome" : " outcomes");
  const auto text = [&] { return name + bar_part + percent + executions + rate + outcomes + left; };
  // What tells least goes first where not all has room.
  for (std::string* part : {&outcomes, &rate, &bar_part, &executions}) {
    if (text().size() > columns) part->clear();
  }
  return text().substr(0, columns);
}

void ProgressLine::show(const std::string& text) {
  if (!shown()) return;
  clear();
  *out_ << text << std::flush;
  dirty_ = true;
}

void ProgressLine::clear() {
  if (!dirty_) return;
  *out_ << "\r\x1b[K" << std::flush;
  dirty_ = false;
}

std::size_t terminal_columns(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return kUsualColumns - 1;
  return size.ws_col - 1u;  // a full line would wrap
}

}  // namespace gdakit::tools
