// What happens around os.fork(): see fork.cpp.
#pragma once

namespace nj {

// The queue's part (queue.cpp). Before: no job begins any more; one that runs may end, for a bounded time. All need the GIL.
void queue_park();
void queue_unpark();
void queue_adopt();

}  // namespace nj
