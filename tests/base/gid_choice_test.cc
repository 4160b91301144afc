#include "core/base/gid_choice.h"

#include <gtest/gtest.h>

namespace gdakit {
namespace {

using Gid = GidChoice::Gid;

Gid ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}
const Gid kLinkLocal{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
const Gid kPrivate{0xfd, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};

GidChoice parse(std::string_view text) {
  const auto choice = GidChoice::parse(text);
  EXPECT_TRUE(choice) << text;
  return choice.value_or(GidChoice());
}

TEST(GidChoice, TheEmptyOneAllowsEverything) {
  const GidChoice choice = parse("");
  EXPECT_FALSE(choice.index());
  EXPECT_TRUE(choice.allows(kLinkLocal, 1));
  EXPECT_TRUE(choice.allows(ipv4(10, 0, 0, 1), 2));
}

TEST(GidChoice, ANumberIsAnIndex) {
  EXPECT_EQ(parse("3").index(), 3);
  EXPECT_EQ(parse("255").index(), 255);
  EXPECT_FALSE(GidChoice::parse("256"));
  EXPECT_FALSE(GidChoice::parse("3,v2"));
}

TEST(GidChoice, EachWordNarrowsIt) {
  EXPECT_TRUE(parse("v2").allows(kLinkLocal, 2));
  EXPECT_FALSE(parse("v2").allows(kLinkLocal, 1));
  EXPECT_FALSE(parse("v1").allows(kLinkLocal, 2));
  EXPECT_TRUE(parse("ipv4").allows(ipv4(10, 0, 0, 1), 1));
  EXPECT_FALSE(parse("ipv4").allows(kPrivate, 2));
  EXPECT_TRUE(parse("ipv6").allows(kPrivate, 2));
  EXPECT_FALSE(parse("v2,ipv6").allows(ipv4(10, 0, 0, 1), 2));
}

TEST(GidChoice, ANetworkIsCutAtItsBits) {
  const GidChoice choice = parse("v2,10.16.0.0/12");
  EXPECT_TRUE(choice.allows(ipv4(10, 16, 1, 2), 2));
  EXPECT_TRUE(choice.allows(ipv4(10, 31, 255, 255), 2));
  EXPECT_FALSE(choice.allows(ipv4(10, 32, 0, 0), 2));
  EXPECT_FALSE(choice.allows(ipv4(10, 16, 1, 2), 1));
  EXPECT_TRUE(parse("fd00::/8").allows(kPrivate, 2));
  EXPECT_FALSE(parse("fd00::/8").allows(kLinkLocal, 2));
  EXPECT_TRUE(parse("0.0.0.0/0").allows(ipv4(1, 2, 3, 4), 2));
  EXPECT_FALSE(parse("0.0.0.0/0").allows(kPrivate, 2));
}

TEST(GidChoice, WhatCannotBeIsRefused) {
  for (const char* text :
       {"v3", "v1,v2", "v2,v2", "ipv4,ipv6", ",v2", "v2,", "10.0.0.0", "10.0.0/8", "10.0.0.0/33",
        "10.0.0.0/", "fd00::/129", "ipv6,10.0.0.0/8", "10.0.0.0/8,11.0.0.0/8", "-1", "3 "}) {
    EXPECT_FALSE(GidChoice::parse(text)) << text;
  }
}

TEST(GidChoice, KeepsItsText) { EXPECT_EQ(parse("v2,10.0.0.0/8").text(), "v2,10.0.0.0/8"); }

}  // namespace
}  // namespace gdakit
