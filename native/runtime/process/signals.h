// Signal handlers of Python, which machine code lets run.
#pragma once

namespace nj {

// With the GIL, after machine code has ended: 0, or -1 with the error set that a signal handler raised meanwhile.
int raise_kept_error();

}  // namespace nj
