// What libsodium asks of a program before all other calls.
#pragma once

namespace gdakit {

// Before the first call of libsodium; again, and from any thread, does no harm.
void begin_sodium();

}  // namespace gdakit
