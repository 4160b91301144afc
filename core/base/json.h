// JsonWriter: JSON onto a stream, value by value, always well formed.
//
//   JsonWriter json(std::cout);
//   json.begin_object();
//   json.member("name", "MP");
//   json.key("seen");
//   json.begin_array();
//   json.value(1);
//   json.end();  // the array
//   json.end();  // the object: {"name": "MP", "seen": [1]}
//
// Text is UTF-8; bytes that are not become U+FFFD. '<' and '>' are escaped, so that the result can
// stand in a script element of an HTML page. Numbers that JSON does not have (infinities, NaN)
// become null. Using it against JSON's grammar (a value without a key in an object) is a
// programmer's error.
#pragma once

#include <concepts>
#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

namespace gdakit {

class JsonWriter {
 public:
  // indent: blanks per level; 0 writes everything on one line.
  explicit JsonWriter(std::ostream& out, int indent = 2) : out_(&out), indent_(indent) {}

  void begin_object() { open('{', '}'); }
  void begin_array() { open('[', ']'); }
  // Closes the innermost object or array. After the outermost one a line ends.
  void end();

  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool yes) { raw(yes ? "true" : "false"); }
  void value(double number);
  void value(std::signed_integral auto number) { signed_value(number); }
  void value(std::unsigned_integral auto number) { unsigned_value(number); }
  void null() { raw("null"); }

  template <class T>
  void member(std::string_view name, const T& of) {
    key(name);
    value(of);
  }

 private:
  struct Level {
    char closes = 0;
    bool empty = true;
  };

  void open(char opens, char closes);
  void before_value();
  void separate();
  void new_line(std::size_t depth);
  void raw(std::string_view text);
  void quoted(std::string_view text);
  void signed_value(std::int64_t number);
  void unsigned_value(std::uint64_t number);

  std::ostream* out_;
  int indent_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace gdakit
