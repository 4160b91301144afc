// `GDAKIT_TAIL_CALL return f(x);`, in a function with GDAKIT_WITH_TAIL_CALLS: f takes the place of
// its caller, as if the caller's caller had called it.
#pragma once

#if defined(__clang__)
#define GDAKIT_WITH_TAIL_CALLS
#define GDAKIT_TAIL_CALL [[clang::musttail]]
#else
#define GDAKIT_WITH_TAIL_CALLS __attribute__((optimize("O2")))
#define GDAKIT_TAIL_CALL
#endif
