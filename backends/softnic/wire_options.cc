#include "backends/softnic/wire_options.h"

#include <string>
#include <utility>

#include "backends/softnic/wire/capture_wire.h"
#include "backends/softnic/wire/faulty_wire.h"
#include "backends/softnic/wire/trace_wire.h"
#include "core/base/log.h"
#include "core/host/trace/trace_file.h"

namespace gdakit::softnic {
namespace {

Result<std::unique_ptr<Wire>> with_faults(std::unique_ptr<Wire> wire, const std::string& text) {
  const Result<Faults> faults = parse_faults(text);
  if (!faults) return faults.error().within("GDAKIT_NIC_FAULTS");
  return std::unique_ptr<Wire>(make_faulty(std::move(wire), *faults));
}

Result<std::unique_ptr<Wire>> with_capture(std::unique_ptr<Wire> wire, const Options& options,
                                           const WireContext& context) {
  const std::string name =
      context.name.empty() ? "pe" + std::to_string(wire->endpoint()) : context.name;
  CaptureFileOptions file_options;
  file_options.interface_name = name;
  file_options.log = Log(options.log, static_cast<int>(wire->endpoint()));
  auto file = CaptureFile::create(options.capture + "/" + name + ".pcapng", file_options);
  if (!file) return file.error().within("GDAKIT_CAPTURE");
  return std::unique_ptr<Wire>(std::make_unique<CaptureWire>(
      std::move(wire), std::move(*file), context.address ? context.address : capture_address));
}

}  // namespace

Result<std::unique_ptr<Wire>> wrap_wire(std::unique_ptr<Wire> wire, const Options& options,
                                        const WireContext& context) {
  Result<std::unique_ptr<Wire>> wrapped = std::move(wire);
  if (!options.nic_faults.empty()) {
    wrapped = with_faults(std::move(*wrapped), options.nic_faults);
    if (!wrapped) return wrapped;
  }
  if (!options.capture.empty()) {
    wrapped = with_capture(std::move(*wrapped), options, context);
    if (!wrapped) return wrapped;
  }
  if (context.trace == nullptr) return wrapped;
  return std::unique_ptr<Wire>(std::make_unique<TraceWire>(std::move(*wrapped), *context.trace));
}

Result<std::unique_ptr<NicTrace>> open_trace(const Options& options, Endpoint endpoint) {
  if (options.trace.empty()) return std::unique_ptr<NicTrace>();
  const int pe = static_cast<int>(endpoint);
  auto file = TraceFile::create(options.trace, pe, "nic", Log(options.log, pe));
  if (!file) return file.error().within("GDAKIT_TRACE");
  return std::make_unique<NicTrace>(std::move(*file));
}

}  // namespace gdakit::softnic
