// What a run of the model draws its choices from, and what it remembers of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gdakit::softnic::test::model {

// Random numbers by a seed, the same on every machine (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15) {}

  std::uint32_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<std::uint32_t>(z >> 32);
  }
  std::uint64_t next64() { return (std::uint64_t{next()} << 32) | next(); }
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>((std::uint64_t{next()} * count) >> 32);
  }
  // Both ends included.
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
  bool percent(std::uint32_t chance) { return below(100) < chance; }
  template <class T, std::size_t Count>
  T pick(const T (&from)[Count]) {
    return from[below(Count)];
  }
  void fill(std::uint8_t* to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::uint8_t>(next());
  }

 private:
  std::uint64_t state_;
};

// The last things that happened, and the first thing that was wrong.
class Journal {
 public:
  using Values = std::array<std::uint64_t, 4>;

  void note(const char* what, const Values& values = {}) {
    events_[count_++ % kKept] = {what, values, now_ns};
  }
  void fail(const std::string& what) {
    if (!failed()) wrong_ = what;
  }
  bool failed() const { return !wrong_.empty(); }
  const std::string& wrong() const { return wrong_; }

  // The tail of the history, an event a line: time, what, and its numbers.
  std::string tail() const {
    std::string text;
    for (std::size_t i = count_ > kKept ? count_ - kKept : 0; i < count_; ++i) {
      const Event& event = events_[i % kKept];
      text += "  " + std::to_string(event.now_ns) + " " + event.what;
      for (const std::uint64_t value : event.values) text += " " + std::to_string(value);
      text += "\n";
    }
    return text;
  }

  std::uint64_t now_ns = 0;

 private:
  static constexpr std::size_t kKept = 60;
  struct Event {
    const char* what;
    Values values;
    std::uint64_t now_ns;
  };

  std::array<Event, kKept> events_;
  std::size_t count_ = 0;
  std::string wrong_;
};

}  // namespace gdakit::softnic::test::model
