#include "host_calls/enqueue.h"

namespace gdakit::detail {

template <class Kernel>
Result<void> enqueue_on_gpu(Context&, Stream, const Kernel&) {
  return Error(Code::unavailable, "this library was built without CUDA");
}

template Result<void> enqueue_on_gpu(Context&, Stream, const MoveBytes&);
template Result<void> enqueue_on_gpu(Context&, Stream, const ActOnWord&);
template Result<void> enqueue_on_gpu(Context&, Stream, const AskWords&);
template Result<void> enqueue_on_gpu(Context&, Stream, const MeetOthers&);
template Result<void> enqueue_on_gpu(Context&, Stream, const CombineElements&);

}  // namespace gdakit::detail
