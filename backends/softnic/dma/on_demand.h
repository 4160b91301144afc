// Memory of this process whose pages need not be there: of regions that are registered for
// on-demand paging, named by addresses with kOnDemandBit.
//
// The engine reaches it by these functions, and by no DMA port. The system copies: it makes pages
// as it does for the process itself, and says where there is no memory, or not the right to it,
// which would end a process that touches it. Each is done when it returns; it has no order with
// operations of a port that are not done.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/softnic/dma/atomics.h"
#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic {

// Whether the system copies for this process: some containers forbid it.
bool has_on_demand_memory();

// False: some of the range is not there, or may not be read or written; what lies before that may
// have been moved.
bool read_on_demand(void* to, DmaAddress from, std::size_t size);
// The last word, of up to eight bytes, becomes visible last.
bool write_on_demand(DmaAddress to, const void* from, std::size_t size);
// A read-modify-write of a naturally aligned word, which is one among those that are made by the
// same thread, and not among loads and stores of others. `old` receives the word as it was. False:
// nothing has changed.
bool atomic_on_demand(DmaAddress at, const AtomicRequest& request, std::uint64_t* old);

}  // namespace gdakit::softnic
