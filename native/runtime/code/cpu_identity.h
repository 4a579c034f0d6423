// Which processor this is: two of one identity run the same machine code.
#pragma once
#include <string>

namespace nj {

// Model and features as text; the same in every process and on every core of a machine.
std::string cpu_identity();

}  // namespace nj
