// The functions that XLA's FFI C API (version 0.3) gives to handlers: errors, states, numbers of types, a pool of one thread.
// Handlers call them from any thread and at any time: after the interpreter has ended, and while a signal waits whose handler
// would raise. So there is no Python in here; and no lock, which a forked child could find held.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/registry.h"

namespace nj {

namespace {

// As XLA numbers them.
enum Code : int32_t { kInvalidArgument = 3, kNotFound = 5, kResourceExhausted = 8, kUnimplemented = 12 };

// ------------------------------------------------------------------------------------------------ arguments of the functions

struct Head {
  size_t size;
  void* extension;
};

// What XLA_FFI_Error* points to; c_api.py reads it.
struct Error {
  int32_t code;
  const char* message;
};

struct ErrorCreate : Head {
  const char* message;
  int32_t code;
};

struct ErrorGetMessage : Head {
  const Error* error;
  const char* message;
};

struct ErrorDestroy : Head {
  Error* error;
};

struct TypeRegister : Head {
  const char* name;
  size_t length;
  int64_t* type_id;
};

// For reading and writing. The context is a table of states by stage, which c_api.py makes.
struct State : Head {
  void** context;
  int32_t stage;
  int64_t* type_id;
  void* state;
};

struct Schedule : Head {
  void* context;
  void (*task)(void*);
  void* data;
};

struct NumThreads : Head {
  void* context;
  int64_t* count;
};

struct RunId : Head {
  void* context;
  int64_t run_id;
};

struct DeviceOrdinal : Head {
  void* context;
  int32_t ordinal;
};

// ------------------------------------------------------------------------------------------------ errors

Error no_memory{kResourceExhausted, "no memory for the message of an error"};

Error* make_error(int32_t code, const char* message) {
  const size_t bytes = std::strlen(message) + 1;
  void* memory = std::malloc(sizeof(Error) + bytes);
  if (!memory) return &no_memory;
  char* text = static_cast<char*>(memory) + sizeof(Error);
  std::memcpy(text, message, bytes);
  return new (memory) Error{code, text};
}

Error* error_create(ErrorCreate* args) { return make_error(args->code, args->message ? args->message : ""); }

Error* error_message(ErrorGetMessage* args) {
  args->message = args->error->message;
  return nullptr;
}

Error* error_destroy(ErrorDestroy* args) {
  if (args->error != &no_memory) std::free(args->error);
  return nullptr;
}

// ------------------------------------------------------------------------------------------------ types and states

// A list that only grows.
struct Type {
  const Type* before;
  int64_t number;
  size_t length;
  const char* name;
};

std::atomic<const Type*> last_type{nullptr};

int64_t number_of(const Type* type, const char* name, size_t length) {
  for (; type; type = type->before) {
    if (type->length == length && std::memcmp(type->name, name, length) == 0) return type->number;
  }
  return 0;
}

Type* make_type(const char* name, size_t length) {
  void* memory = std::malloc(sizeof(Type) + length);
  if (!memory) return nullptr;
  char* text = static_cast<char*>(memory) + sizeof(Type);
  std::memcpy(text, name, length);
  return new (memory) Type{nullptr, 0, length, text};
}

// The number of the type of that name, from 1 on; 0 without memory.
int64_t type_number(const char* name, size_t length) {
  const Type* before = last_type.load(std::memory_order_acquire);
  if (const int64_t found = number_of(before, name, length)) return found;
  Type* made = make_type(name, length);
  if (!made) return 0;
  do {
    if (const int64_t found = number_of(before, name, length)) {
      std::free(made);
      return found;
    }
    made->before = before;
    made->number = before ? before->number + 1 : 1;
  } while (!last_type.compare_exchange_weak(before, made, std::memory_order_acq_rel, std::memory_order_acquire));
  return made->number;
}

Error* type_register(TypeRegister* args) {
  if (*args->type_id == 0) *args->type_id = type_number(args->name, args->length);
  return *args->type_id ? nullptr : &no_memory;
}

constexpr int32_t kStages = 4;

Error* check_stage(const State* args) {
  return 0 <= args->stage && args->stage < kStages ? nullptr : make_error(kInvalidArgument, "there is no such stage");
}

Error* state_set(State* args) {
  if (Error* error = check_stage(args)) return error;
  args->context[args->stage] = args->state;
  return nullptr;
}

Error* state_get(State* args) {
  if (Error* error = check_stage(args)) return error;
  args->state = args->context[args->stage];
  return args->state ? nullptr : make_error(kNotFound, "no state was set in this stage");
}

// ------------------------------------------------------------------------------------------------ the run

Error* schedule(Schedule* args) {
  args->task(args->data);
  return nullptr;
}

Error* num_threads(NumThreads* args) {
  *args->count = 1;
  return nullptr;
}

Error* run_id(RunId* args) {
  args->run_id = 0;
  return nullptr;
}

Error* device_ordinal(DeviceOrdinal* args) {
  args->ordinal = 0;
  return nullptr;
}

// Functions of accelerators.
#define NJ_REFUSED(name) \
  [](void*) { return make_error(kUnimplemented, "XLA_FFI_" #name " is not available on numjet's CPU backend"); }

// XLA_FFI_Api, whose functions are all of type XLA_FFI_Error* (arguments*).
struct Api : Head {
  struct Version : Head {
    int32_t major, minor;
  } version;
  void* internal;
  Error* (*error_create)(ErrorCreate*);
  Error* (*error_message)(ErrorGetMessage*);
  Error* (*error_destroy)(ErrorDestroy*);
  Error* (*handler_register)(void*);
  Error* (*stream_get)(void*);
  Error* (*type_register)(TypeRegister*);
  Error* (*execution_context_get)(void*);
  Error* (*state_set)(State*);
  Error* (*state_get)(State*);
  Error* (*device_memory_allocate)(void*);
  Error* (*device_memory_free)(void*);
  Error* (*schedule)(Schedule*);
  Error* (*num_threads)(NumThreads*);
  Error* (*future_create)(void*);
  Error* (*future_set_available)(void*);
  Error* (*future_set_error)(void*);
  Error* (*run_id)(RunId*);
  Error* (*device_ordinal)(DeviceOrdinal*);
};

Api api{
    {sizeof(Api), nullptr},
    {{sizeof(Api::Version), nullptr}, 0, 3},
    nullptr,
    error_create,
    error_message,
    error_destroy,
    NJ_REFUSED(Handler_Register),
    NJ_REFUSED(Stream_Get),
    type_register,
    NJ_REFUSED(ExecutionContext_Get),
    state_set,
    state_get,
    NJ_REFUSED(DeviceMemory_Allocate),
    NJ_REFUSED(DeviceMemory_Free),
    schedule,
    num_threads,
    NJ_REFUSED(Future_Create),
    NJ_REFUSED(Future_SetAvailable),
    NJ_REFUSED(Future_SetError),
    run_id,
    device_ordinal,
};

}  // namespace
}  // namespace nj

using namespace nj;

// Where the frames of calls find these functions.
extern "C" void* nj_ffi_api() { return &api; }
extern "C" int64_t nj_ffi_type_number(const char* name, int64_t length) { return type_number(name, size_t(length)); }
extern "C" void nj_ffi_destroy_error(void* error) {
  ErrorDestroy args{{sizeof(ErrorDestroy), nullptr}, static_cast<Error*>(error)};
  error_destroy(&args);
}

NJ_KERNEL(nj_ffi_api);
NJ_KERNEL(nj_ffi_type_number);
NJ_KERNEL(nj_ffi_destroy_error);
