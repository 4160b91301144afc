// The standard's type_identity_t, which is C++20's: programs' kernels may be C++17.
#pragma once

namespace gdakit {

template <class T>
struct TypeIdentity {
  using type = T;
};

// A parameter of this type takes no part in deducing T: what it is given converts to the T that the
// others have told.
template <class T>
using type_identity_t = typename TypeIdentity<T>::type;

}  // namespace gdakit
