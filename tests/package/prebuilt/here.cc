#include <boost/context/fiber.hpp>

// A number from another stack, so that Boost.Context is really linked.
int number_here() {
  int number = 0;
  boost::context::fiber([&number](boost::context::fiber&& caller) {
    number = 42;
    return std::move(caller);
  }).resume();
  return number;
}
