// The names of the options' choices, as the table of options spells them.
#include "core/base/options.h"

namespace gdakit {

const char* backend_choice_name(BackendChoice choice) {
  switch (choice) {
    case BackendChoice::automatic: return "auto";
    case BackendChoice::softnic: return "softnic";
    case BackendChoice::mlx5: return "mlx5";
    case BackendChoice::mlx5_emulated: return "mlx5-emulated";
  }
  return "unknown";
}

const char* nic_handler_name(NicHandler handler) {
  switch (handler) {
    case NicHandler::automatic: return "auto";
    case NicHandler::gpu: return "gpu";
    case NicHandler::proxy: return "proxy";
    case NicHandler::commands: return "commands";
  }
  return "unknown";
}

const char* device_choice_name(DeviceChoice choice) {
  switch (choice) {
    case DeviceChoice::automatic: return "auto";
    case DeviceChoice::cpu: return "cpu";
    case DeviceChoice::gpu: return "gpu";
  }
  return "unknown";
}

const char* dma_choice_name(DmaChoice choice) {
  switch (choice) {
    case DmaChoice::automatic: return "auto";
    case DmaChoice::copy_engine: return "copy-engine";
    case DmaChoice::kernels: return "kernels";
    case DmaChoice::gdrcopy: return "gdrcopy";
  }
  return "unknown";
}

const char* queue_type_name(QueueType type) {
  switch (type) {
    case QueueType::rc: return "rc";
    case QueueType::dc: return "dc";
  }
  return "unknown";
}

const char* queue_place_name(QueuePlace place) {
  switch (place) {
    case QueuePlace::automatic: return "auto";
    case QueuePlace::device: return "device";
    case QueuePlace::host: return "host";
  }
  return "unknown";
}

const char* payload_path_name(PayloadPath path) {
  switch (path) {
    case PayloadPath::direct: return "direct";
    case PayloadPath::host: return "host";
  }
  return "unknown";
}

const char* near_wire_name(NearWire wire) {
  switch (wire) {
    case NearWire::automatic: return "auto";
    case NearWire::memory: return "memory";
    case NearWire::udp: return "udp";
  }
  return "unknown";
}

const char* transport_choice_name(TransportChoice choice) {
  switch (choice) {
    case TransportChoice::automatic: return "auto";
    case TransportChoice::nic: return "nic";
    case TransportChoice::direct: return "direct";
  }
  return "unknown";
}

const char* placement_name(Placement placement) {
  switch (placement) {
    case Placement::in_order: return "in-order";
    case Placement::any: return "any";
  }
  return "unknown";
}

const char* collective_choice_name(CollectiveChoice choice) {
  switch (choice) {
    case CollectiveChoice::automatic: return "auto";
    case CollectiveChoice::linear: return "linear";
    case CollectiveChoice::logarithmic: return "logarithmic";
    case CollectiveChoice::ring: return "ring";
  }
  return "unknown";
}

const char* peer_loss_name(PeerLoss loss) {
  switch (loss) {
    case PeerLoss::end: return "end";
    case PeerLoss::go_on: return "go-on";
  }
  return "unknown";
}

const char* launch_order_name(LaunchOrder order) {
  switch (order) {
    case LaunchOrder::side_by_side: return "side-by-side";
    case LaunchOrder::in_turn: return "in-turn";
  }
  return "unknown";
}

const char* launcher_choice_name(LauncherChoice launcher) {
  switch (launcher) {
    case LauncherChoice::automatic: return "auto";
    case LauncherChoice::gdakit: return "gdakit";
    case LauncherChoice::pmix: return "pmix";
    case LauncherChoice::torchrun: return "torchrun";
    case LauncherChoice::slurm: return "slurm";
    case LauncherChoice::none: return "none";
  }
  return "unknown";
}

const char* switch_name(bool on) { return on ? "on" : "off"; }

const char* option_source_name(OptionSource source) {
  switch (source) {
    case OptionSource::fallback: return "default";
    case OptionSource::environment: return "environment";
    case OptionSource::program: return "program";
  }
  return "unknown";
}

}  // namespace gdakit
