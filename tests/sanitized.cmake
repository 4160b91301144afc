# Which tests run under which sanitizer, and why: a row for each folder and, of tests/device, for
# each program and each way in which it is run again. The thread sanitizer is for what has threads;
# the address sanitizer (with that of undefined behaviour) for what parses, allocates and maps. What
# has no row is built and run without a sanitizer only; -DGDAKIT_SANITIZE_EVERYTHING=ON builds and
# runs all of it.
#
# Columns: folder or program, sanitizers, reason.
set(gdakit_sanitized
  "base         address         parses options and numbers"
  "host         address,thread  parses other processes' messages, maps memory; the hub's threads"
  "softnic      address,thread  decodes WQEs and packets that may be garbage; the NIC's threads"
  "uverbs       address,thread  believes no pointer, length or handle of a client; calls at once"
  "mlx5         address         opens devices, and closes them in each case"
  "check        address         parses files of the system, and other PEs' reports"
  "roce         address         parses what strangers send"
  "fuzz         address         what all others say: packets, meetings, texts, cards"
  "sim          address,thread  gives fibers stacks; runs blocks on several cores"
  "job          address,thread  parses arguments, shares memory; relays, guards and PEs of a job"
  "host_calls   thread          PEs as threads that use their contexts at once"
  "nvshmem      thread          modules and an end that threads may come to at once"
  "weak         address         keeps histories that grow and are cut"
  "explore      address         parses tokens and scripts"
  "litmus       address         parses files that users write, and fuzzed ones"
  "device       address,thread  the programs below"
  "device_batches_test             thread          queues that others close"
  "device_checked_memory_test      address         guards, and memory that was freed"
  "device_collectives_rounds_test  address         scratch memory that members share"
  "device_commands_test            thread          a host thread that makes the WQEs"
  "device_crowd_test               thread          thousands of posters on one queue"
  "device_fault_reports_test       address         addresses that are wrong on purpose"
  "device_groups_test              thread          warps and blocks that agree"
  "device_handles_test             address         remembers addresses, and where they end"
  "device_lock_test                thread          PEs and threads that wait for each other"
  "device_proxied_queue_test       address,thread  the host thread's side of a queue"
  "device_publication_test         address         ready words by index"
  "device_queues_test              address,thread  handles of several queues, of both sharings"
  "device_rma_test                 address,thread  cuts transfers where memory ends"
  "device_send_queue_test          address,thread  slots and ready words by index; a stand-in NIC"
  "device_signal_test              thread          waits that others end"
  "device_soak_test                thread          random operations of all kinds"
  "device_stalls_test              thread          waits that give up, and who is told of them"
  "device_strided_test             address         computes addresses from strides"
  "device_teams_test               thread          teams made and left side by side"
  "device_values_test              address         values across the borders of chunks"
  "device_watchdog_test            thread          what the host tells threads that wait"
  "device_words_test               thread          words that others write"
  "checked.rma        address  objects as the ranges that operations may touch"
  "checked.strided    address  the same, and strides that leave them"
  "commands.batches   thread   a host thread that makes the WQEs of many posters"
  "commands.rma       address  commands of which WQEs are made"
  "commands.signal    thread   the host thread between two that wait for each other"
  "dc.batches         thread   posts in cells of two slots, by queues that PEs share"
  "dc.rma             address  the same, and addresses by PE"
  "dc.signal          thread   the same"
  "recordless.batches thread   one fence less before the doorbell"
  "recordless.rma     address  queues without records"
)

option(GDAKIT_SANITIZE_EVERYTHING "Build and run all tests under the sanitizer" OFF)

# gdakit_is_sanitized(NAME OUT): whether the folder, program or repetition NAME has its tests in
# this build.
function(gdakit_is_sanitized name out)
  set(${out} YES PARENT_SCOPE)
  if(NOT GDAKIT_SANITIZER OR GDAKIT_SANITIZE_EVERYTHING)
    return()
  endif()
  string(REGEX MATCH "^[a-z]+" kind ${GDAKIT_SANITIZER})
  foreach(row IN LISTS gdakit_sanitized)
    if(row MATCHES "^${name} +([a-z,]*,)?${kind}[, ]")
      return()
    endif()
  endforeach()
  set(${out} NO PARENT_SCOPE)
endfunction()
