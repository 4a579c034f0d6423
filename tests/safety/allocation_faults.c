/* Allocations that fail on demand, for tests/safety/test_out_of_memory.py: preloaded, it stands in front of the C library.

   Counted are, in all threads, allocations by the code that faults_range() names, and those by other code on its behalf: it is
   found on the stack before the interpreter's loop is, and before code that is to be spared. (When the loop cannot make its
   frames, the interpreter loses references; OpenBLAS writes to memory that it did not get.) The one whose number faults_arm() gives fails, and only that one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

enum { most_ranges = 16, most_frames = 48 };
static struct { uintptr_t begin, end; int spared; } ranges[most_ranges];
static int range_count = 0, loop_known = 0;
static atomic_long seen = 0, wanted = 0, fired = 0;
static atomic_int armed = 0;
static __thread int looking = 0;

void faults_range(uintptr_t begin, uintptr_t end, int spared) {
  if (range_count == most_ranges) return;
  ranges[range_count].begin = begin, ranges[range_count].end = end, ranges[range_count++].spared = spared;
}

static int find_loop(void) {
  Dl_info info;
  const ElfW(Sym)* symbol = NULL;
  void* place = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  if (!place || !dladdr1(place, &info, (void**)&symbol, RTLD_DL_SYMENT) || !symbol) return -1;
  faults_range((uintptr_t)place, (uintptr_t)place + symbol->st_size, 1);
  return loop_known = 1, 0;
}

int faults_arm(long number) {
  void* frames[most_frames];
  backtrace(frames, most_frames);  /* which allocates when it is called first */
  if (!loop_known && find_loop() < 0) return -1;
  atomic_store(&seen, 0), atomic_store(&fired, 0), atomic_store(&wanted, number), atomic_store(&armed, 1);
  return 0;
}
long faults_disarm(void) {
  atomic_store(&armed, 0);
  return atomic_load(&seen);
}
long faults_fired(void) { return atomic_load(&fired); }

static int counts(void) {
  void* frames[most_frames];
  looking = 1;
  int depth = backtrace(frames, most_frames);
  looking = 0;
  for (int frame = 0; frame < depth; ++frame)
    for (int k = 0; k < range_count; ++k)
      if ((uintptr_t)frames[frame] >= ranges[k].begin && (uintptr_t)frames[frame] < ranges[k].end) return !ranges[k].spared;
  return 0;
}

static int fails(void) {
  if (!atomic_load_explicit(&armed, memory_order_relaxed) || looking || !counts()) return 0;
  if (atomic_fetch_add(&seen, 1) + 1 != atomic_load(&wanted)) return 0;
  atomic_store(&fired, 1);
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
void* memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* found = fails() ? NULL : __libc_memalign(alignment, size);
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}
void* mmap(void* place, size_t length, int protection, int flags, int file, off_t offset) {
  if (fails()) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, place, length, protection, flags, file, offset);
}
