#include "core/base/json.h"

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

template <class T>
std::string written(const T& value) {
  std::ostringstream out;
  JsonWriter json(out, 0);
  json.begin_array();
  json.value(value);
  json.end();
  const std::string text = out.str();
  return text.substr(1, text.size() - 3);
}

TEST(Json, NestsAndSeparates) {
  std::ostringstream out;
  JsonWriter json(out, 0);
  json.begin_object();
  json.member("name", "MP");
  json.key("runs");
  json.begin_array();
  json.value(1);
  json.value(2u);
  json.begin_object();
  json.end();
  json.end();
  json.member("ok", true);
  json.key("none");
  json.null();
  json.end();
  EXPECT_EQ(out.str(), R"({"name":"MP","runs":[1,2,{}],"ok":true,"none":null})"
                       "\n");
}

TEST(Json, IndentsForPeople) {
  std::ostringstream out;
  JsonWriter json(out);
  json.begin_object();
  json.key("a");
  json.begin_array();
  json.value(1);
  json.end();
  json.key("b");
  json.begin_array();
  json.end();
  json.end();
  EXPECT_EQ(out.str(), "{\n  \"a\": [\n    1\n  ],\n  \"b\": []\n}\n");
}

TEST(Json, EscapesText) {
  EXPECT_EQ(written("a\"b\\c\n\r\t"), R"("a\"b\\c\n\r\t")");
  EXPECT_EQ(written(std::string("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(written("</script>"), R"("\u003c/script\u003e")");
}

TEST(Json, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(written("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
  const std::string replaced = "\xef\xbf\xbd";
  EXPECT_EQ(written("\xff"), "\"" + replaced + "\"");
  EXPECT_EQ(written("\xc3"), "\"" + replaced + "\"");
  EXPECT_EQ(written("\xc0\x80"), "\"" + replaced + replaced + "\"") << "overlong";
  EXPECT_EQ(written("\xed\xa0\x80"), "\"" + replaced + replaced + replaced + "\"") << "surrogate";
  EXPECT_EQ(written("\xf4\x90\x80\x80"), "\"" + replaced + replaced + replaced + replaced + "\"")
      << "too large";
  EXPECT_EQ(written("\xe2\x82z"), "\"" + replaced + replaced + "z\"") << "cut off";
}

TEST(Json, WritesNumbersExactly) {
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::uint8_t{65}), "65") << "not a letter";
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1e300), "1e+300");
  EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
}

TEST(JsonDeathTest, AValueInAnObjectNeedsAKey) {
  std::ostringstream out;
  JsonWriter json(out);
  json.begin_object();
  EXPECT_DEATH(json.value(1), "assertion failed");
  EXPECT_DEATH(JsonWriter(out).key("a"), "assertion failed");
  EXPECT_DEATH(JsonWriter(out).end(), "assertion failed");
}

}  // namespace
}  // namespace gdakit
