// Handles of objects, and who uses whom.
#include "backends/softnic/uverbs/handles.h"

#include <gtest/gtest.h>

#include "backends/softnic/uverbs/objects.h"

namespace gdakit::softnic::uverbs {
namespace {

TEST(UverbsHandles, FindOnlyWhatIsOfTheType) {
  Handles handles;
  const std::uint32_t pd = handles.add(std::make_unique<Pd>());
  const std::uint32_t cq = handles.add(std::make_unique<Cq>());
  EXPECT_NE(pd, cq);
  ASSERT_NE(handles.find<Pd>(pd), nullptr);
  EXPECT_EQ(handles.find<Pd>(pd)->handle(), pd);
  EXPECT_EQ(handles.find<Cq>(pd), nullptr);
  EXPECT_EQ(handles.find<Pd>(cq), nullptr);
  EXPECT_EQ(handles.find<Pd>(0), nullptr);
  EXPECT_EQ(handles.find<Pd>(cq + 1), nullptr);
}

TEST(UverbsHandles, AreNotGivenAgain) {
  Handles handles;
  const std::uint32_t first = handles.add(std::make_unique<Pd>());
  handles.remove(*handles.find<Pd>(first));
  EXPECT_EQ(handles.find<Pd>(first), nullptr);
  EXPECT_NE(handles.add(std::make_unique<Pd>()), first);
}

TEST(UverbsHandles, TheLastIsTheOneMadeLast) {
  Handles handles;
  EXPECT_EQ(handles.last_unused(), nullptr);
  handles.add(std::make_unique<Pd>());
  const std::uint32_t mr = handles.add(std::make_unique<Mr>());
  EXPECT_EQ(handles.last_unused()->handle(), mr);
  handles.remove(*handles.last_unused());
  EXPECT_EQ(handles.last_unused()->type(), ObjectType::pd);
  handles.remove(*handles.last_unused());
  EXPECT_EQ(handles.last_unused(), nullptr);
}

TEST(UverbsUse, LastsAsLongAsTheUserDoes) {
  Pd pd;
  EXPECT_FALSE(pd.in_use());
  {
    Use<Pd> first(&pd);
    Use<Pd> moved(std::move(first));
    EXPECT_EQ(first.get(), nullptr);
    EXPECT_EQ(moved.get(), &pd);
    EXPECT_TRUE(pd.in_use());
    {
      const Use<Pd> second(&pd);
      EXPECT_TRUE(pd.in_use());
    }
    EXPECT_TRUE(pd.in_use());
  }
  EXPECT_FALSE(pd.in_use());
}

TEST(UverbsUse, AssignmentGivesUpTheOldOne) {
  Pd one, other;
  Use<Pd> use(&one);
  use = Use<Pd>(&other);
  EXPECT_FALSE(one.in_use());
  EXPECT_TRUE(other.in_use());
  use = Use<Pd>();
  EXPECT_FALSE(other.in_use());
}

TEST(UverbsUse, MayBeOfNone) {
  const Use<Pd> none(nullptr);
  EXPECT_EQ(none.get(), nullptr);
}

}  // namespace
}  // namespace gdakit::softnic::uverbs
