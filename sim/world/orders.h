// The named orders of device/order.h, for whoever goes through all of them.
#pragma once

#include <span>
#include <string_view>

#include "device/order.h"

namespace gdakit::sim {

// A type's own name, without its namespace.
template <class Order>
constexpr std::string_view type_name() {
  // "... [with Order = gdakit::order::PassBaton; ...]", or "... [Order = ...]".
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("Order = ") + 8);
  text = text.substr(0, text.find_first_of(";]"));
  const std::size_t scope = text.rfind("::");
  return scope == text.npos ? text : text.substr(scope + 2);
}
static_assert(type_name<order::PassBaton>() == "PassBaton");

struct NamedOrder {
  std::string_view name;
  std::string_view breaks;  // the scenario that fails without it
  Kind kind;
  Scope scope;
};

// All of them, in the order of the header.
std::span<const NamedOrder> named_orders();

}  // namespace gdakit::sim
