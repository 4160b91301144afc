#include "host_calls/enqueue_gpu.cuh"

template gdakit::Result<void> gdakit::detail::enqueue_on_gpu(Context&, Stream, const AskWords&);
