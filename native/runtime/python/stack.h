// How much of a thread's stack is left: recursion that native code takes part in ends with an error, whatever the stack's size
// and Python's limit are.
#pragma once

namespace nj {

// Below this address too little is left for anything but an error; null until it is known.
extern __thread const char* stack_end;
const char* find_stack_end();

inline bool stack_is_low() {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  return here < (stack_end ? stack_end : find_stack_end());
}

// False with RecursionError set where the stack is low; `what` names what went too deep.
bool require_stack(const char* what);

}  // namespace nj
