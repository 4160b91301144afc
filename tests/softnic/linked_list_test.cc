#include "backends/softnic/queues/linked_list.h"

#include <vector>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

struct Item {
  int value = 0;
  Link<Item> link;
};
using Items = LinkedList<Item, &Item::link>;

std::vector<int> values(const Items& items) {
  std::vector<int> all;
  for (const Item* at = items.first(); at != nullptr; at = at->link.after) all.push_back(at->value);
  std::vector<int> backwards;
  for (const Item* at = items.last(); at != nullptr; at = at->link.before) {
    backwards.insert(backwards.begin(), at->value);
  }
  EXPECT_EQ(all, backwards);
  return all;
}

TEST(LinkedList, KeepsTheOrderOfWhatIsAddedAndRemovedAnywhere) {
  Item a{1, {}}, b{2, {}}, c{3, {}};
  Items items;
  EXPECT_TRUE(items.empty());
  for (Item* item : {&a, &b, &c}) items.push_back(*item);
  EXPECT_EQ(values(items), (std::vector{1, 2, 3}));
  items.remove(b);
  EXPECT_FALSE(Items::holds(b));
  EXPECT_EQ(values(items), (std::vector{1, 3}));
  items.push_back(b);
  items.remove(a);
  EXPECT_EQ(values(items), (std::vector{3, 2}));
  items.remove(b);
  EXPECT_EQ(values(items), (std::vector{3}));
  items.remove(c);
  EXPECT_TRUE(items.empty());
  items.push_back(a);
  EXPECT_EQ(values(items), (std::vector{1}));
}

}  // namespace
}  // namespace gdakit::softnic
