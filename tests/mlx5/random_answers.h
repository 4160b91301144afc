// A PE's use of backend mlx5 where libraries and firmware answer at random, and where answers end
// early. What that means, by call (backends/mlx5/libraries.h):
//
//   general_cmd, obj_create, obj_modify, obj_query
//       the begin of an answer's mailbox, or nothing of it, though the call succeeds. The backend
//       tells (firmware_answer.h): it is an error, or what was asked about is taken for absent.
//   get_device_list   fewer devices than are told of, or fewer told of than there are: an error.
//   get_device_name   no name, or one without an end: no NIC, or a name of 64 bytes.
//   open_device       a table without query_port: an error. Others of its functions nobody calls.
//   query_device      its last field, the number of ports, is 0: an error, as for a NIC without
//       any.
//   query_port        of the context, not of the library: link layer 0, and before it a state of 0:
//       an error. A lack of the flags behind it cannot be told: none is set on most ports.
//   query_gid_table   an entry without a type: an error. A lack of the network interface behind the
//       last one's type cannot be told: InfiniBand has none.
//   query_gid         no GID, or none with a type: it is looked for in the whole table.
//   init_obj          no PD's number, no address vector, or a MAC address of zeros: an error. Of a
//       MAC address a part cannot be told from another one.
//   query_eqn         no number: an error.
//   alloc_uar         a page without addresses: an error. A page's number may be 0.
//   reg_mr, reg_dmabuf_mr, umem_reg   numbers of 0, which cannot be told: all values may be. A key
//       that other memory has is an error.
//   create_event_channel   no file: firmware is asked instead.
//   get_event         fewer bytes than a record, or none: firmware is asked from then on.
//
// There is no such thing for free_device_list, close_device, alloc_pd, dealloc_pd, dereg_mr,
// create_ah, destroy_ah, is_supported, free_uar, umem_dereg, obj_destroy, destroy_event_channel and
// subscribe_event: they answer by their result alone, or not at all, and what alloc_pd and
// create_ah give is a handle that only the libraries look into. Numbers of partition keys are asked
// for as a part of query_port, and none of the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace gdakit::mlx5 {

struct RandomRun {
  std::string wrong;  // in sentences; empty: nothing
  // How far it came.
  bool opened = false;
  std::size_t created = 0;
  std::size_t connected = 0;
  std::size_t initiators = 0;  // of DC
  std::size_t addressed = 0;   // targets
  std::set<std::string> cut;  // calls of which an answer ended early, as Played::arrives names them
};

// Each call of the backend succeeds or says by which call of the libraries it failed, and all that
// was made is given back. `draw` gives a number below its argument.
RandomRun play_random_answers(std::function<std::uint32_t(std::uint32_t)> draw);

}  // namespace gdakit::mlx5
