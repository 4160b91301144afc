// A wire that writes what its NIC sends and receives to a capture, as packets of RoCEv2.
//
//   engine --send()----> CaptureWire --send()----> any wire
//          <-receive()--      |      <-receive()--
//                             v
//                        CaptureFile, which Wireshark reads
//
// A packet is captured as outbound when the inner wire has taken it, and as inbound when the inner
// wire hands it out; one that the inner wire loses is in the sender's capture alone. What travels
// by reference is shown as the packets that it would be by value (packet_parts.h), with the payload
// that lies in memory at that moment. Payload that cannot be read there, as a GPU's, is not in the
// frame, whose captured length is then shorter than its original one.
//
// The comment of a packet says its PEs and, on the side that sends it, the queue pair and a
// request's WQE: "PE 0 -> PE 1, QP 0x000123, WQE 7".
//
// A packet that has no form in RoCEv2 (longer than IP carries, or nonsense from a broken peer) is
// counted as dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/softnic/wire/capture_file.h"
#include "backends/softnic/wire/udp_address.h"
#include "backends/softnic/wire/wrapped_wire.h"

namespace gdakit::softnic {

// Where a NIC would be reached whose wire has no IP addresses: endpoint n at 10.x.y.z, of which the
// lower three bytes are n + 1, at RoCEv2's port. So endpoint 0 is 10.0.0.1, endpoint 255 10.0.1.0.
UdpAddress capture_address(Endpoint endpoint);

// Copies what the fragment names to `out`; false if this process cannot read it.
using ReadFragment = std::function<bool(const Fragment& fragment, std::uint8_t* out)>;
// All memory but a GPU's: both sides of a wire name memory as this process's own DMA port does.
bool read_host_memory(const Fragment& fragment, std::uint8_t* out);

// Where endpoints are, as the capture is to show it.
using AddressOf = std::function<UdpAddress(Endpoint)>;

class CaptureWire final : public WrappedWire {
 public:
  CaptureWire(std::unique_ptr<Wire> inner, std::unique_ptr<CaptureFile> file,
              AddressOf address = capture_address, ReadFragment read = read_host_memory);

  bool send(const Packet& packet) override;
  const Packet* receive() override;

  const CaptureFile& file() const { return *file_; }

 private:
  // The ends of a packet's way.
  struct Ends {
    Endpoint source;
    Endpoint destination;
    bool outbound;
  };

  void capture(const Packet& packet, const Ends& ends);
  void capture_part(Packet part, const Ends& ends, std::uint64_t time_ns);
  std::uint32_t read_payload(Packet& part);
  std::string comment_of(const Packet& part, const Ends& ends) const;

  std::unique_ptr<CaptureFile> file_;
  AddressOf address_;
  ReadFragment read_;
  std::vector<std::uint8_t> payload_;  // of the packet that is being captured
  std::vector<std::uint8_t> encoded_;
};

}  // namespace gdakit::softnic
