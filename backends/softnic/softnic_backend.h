// The soft ConnectX as a Backend: translates what a PE asks for into the NIC's control path.
#pragma once

#include <memory>

#include "core/host/backend.h"

namespace gdakit::softnic {

// For PEs that are threads of one process: one fabric, payload by reference. The provider must
// outlive no backend; each holds the fabric. With GDAKIT_NIC_ADDRESS the PEs of either provider
// meet over UDP instead (udp_fabric.h).
std::unique_ptr<BackendProvider> make_loopback_provider();

// For PEs that are processes of one host: a wire in shared memory that PE 0 makes and the others
// open.
std::unique_ptr<BackendProvider> make_processes_provider();

}  // namespace gdakit::softnic
