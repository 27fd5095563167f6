//===- fibres.cpp - The threads of a block, one after another -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kernel.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

/// From AddressSanitizer; null in a build without it.
extern "C" __attribute__((weak)) void
__asan_unpoison_memory_region(const volatile void *memory, size_t bytes);

namespace emulation {

thread_local Thread *current = nullptr;

namespace {

/// Enough for the register arrays of a kernel compiled without optimisation;
/// untouched pages cost nothing.
constexpr size_t stackBytes = 256 << 10;

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "cuda emulation: %s\n", what);
  std::abort();
}

#if defined(__x86_64__)
// The library's swapcontext() makes a system call; this does not.
using Context = void *;
extern "C" void rondoEmulationSwitch(Context *from, Context to);
asm(R"(
.text
.globl rondoEmulationSwitch
.type rondoEmulationSwitch, @function
rondoEmulationSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size rondoEmulationSwitch, .-rondoEmulationSwitch
)");
void prepare(Context &context, char *stack, void (*entry)()) {
  auto **top = reinterpret_cast<void **>(stack + stackBytes) - 2;
  *top = reinterpret_cast<void *>(entry);
  context = top - 6;
}
void switchTo(Context &from, Context &to) { rondoEmulationSwitch(&from, to); }
#else
using Context = ucontext_t;
void prepare(Context &context, char *stack, void (*entry)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = stackBytes;
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
}
void switchTo(Context &from, Context &to) { swapcontext(&from, &to); }
#endif

struct Copy {
  void *to;
  const void *from;
  size_t bytes;
};

struct Fibre {
  Thread thread;
  Context context;
  char *stack = nullptr;
  /// Groups of cp.async that have not ended; the last one is open.
  std::vector<std::vector<Copy>> copies;
};

struct Warp {
  unsigned arrived = 0;
  const char *kind = nullptr;
  void *arguments[32] = {};
};

/// One block at a time on each host thread.
class Block {
public:
  ~Block() {
    for (auto &fibre : fibres) {
      // Its frames do not return; the next mapping here does not belong to
      // them.
      if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(fibre->stack, stackBytes);
      munmap(fibre->stack, stackBytes);
    }
  }

  void run(dim3 grid, dim3 extent, uint3 index, unsigned char *shared,
           const std::function<void()> &work) {
    body = &work;
    live = extent.x * extent.y * extent.z;
    waiting.clear();
    warps.assign(live / 32, {});
    ready.clear();
    while (fibres.size() < live)
      addFibre();
    unsigned number = 0;
    for (unsigned z = 0; z < extent.z; ++z)
      for (unsigned y = 0; y < extent.y; ++y)
        for (unsigned x = 0; x < extent.x; ++x, ++number) {
          Fibre &fibre = *fibres[number];
          fibre.thread = {{x, y, z},   index,       extent, grid,
                          number % 32, number / 32, shared};
          fibre.copies.assign(1, {});
          prepare(fibre.context, fibre.stack, enter);
          ready.push_back(number);
        }
    shuffle();
    resume();
    switchTo(host, fibres[running]->context);
    if (live != 0)
      fail("threads of a block wait for others that have ended, or at "
           "different barriers");
  }

  /// The calling thread waits for all others of the block.
  void barrier() {
    waiting.push_back(running);
    if (waiting.size() == live)
      release();
    pause();
  }

  void meet(const char *kind, void *argument, void (*work)(void **)) {
    unsigned me = running;
    Warp &warp = warps[me / 32];
    if (warp.arrived != 0 && warp.kind != kind && std::strcmp(warp.kind, kind))
      fail("lanes of a warp meet in different operations");
    warp.kind = kind;
    warp.arguments[me % 32] = argument;
    if (++warp.arrived == 32) {
      warp.arrived = 0;
      work(warp.arguments);
      // Ready from here on; the last lane continues at once.
      for (unsigned lane = 0; lane < 32; ++lane)
        if (me / 32 * 32 + lane != me)
          ready.push_back(me / 32 * 32 + lane);
      return;
    }
    pause();
  }

  Fibre &fibre() { return *fibres[running]; }

private:
  void addFibre() {
    auto fibre = std::make_unique<Fibre>();
    void *stack = mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
      fail("no memory for a stack");
    fibre->stack = static_cast<char *>(stack);
    fibres.push_back(std::move(fibre));
  }

  /// Where each fibre starts; never returns.
  static void enter();

  /// Everything waiting at the barrier may go on.
  void release() {
    ready.insert(ready.end(), waiting.begin(), waiting.end());
    waiting.clear();
    shuffle();
  }

  /// A warp or a lane that runs ahead of the others reveals a missing barrier.
  void shuffle() { std::shuffle(ready.begin(), ready.end(), random); }

  /// Chooses who runs next; false: nobody can.
  bool resume() {
    if (ready.empty())
      return false;
    running = ready.back();
    ready.pop_back();
    current = &fibres[running]->thread;
    return true;
  }

  /// Lets another fibre run until the calling thread is ready again.
  void pause() {
    unsigned me = running;
    Context &next = resume() ? fibres[running]->context : host;
    // The last one at a barrier may be chosen again.
    if (&next != &fibres[me]->context)
      switchTo(fibres[me]->context, next);
  }

  std::vector<std::unique_ptr<Fibre>> fibres;
  std::vector<Warp> warps;
  std::vector<unsigned> ready, waiting;
  const std::function<void()> *body = nullptr;
  Context host{};
  unsigned live = 0, running = 0;
  std::minstd_rand random{1};
};

thread_local Block block;

void Block::enter() {
  Block &mine = block;
  (*mine.body)();
  for (auto &group : mine.fibre().copies)
    if (!group.empty())
      fail("a thread ended with copies that it did not wait for");
  unsigned me = mine.running;
  if (--mine.live > 0 && mine.waiting.size() == mine.live)
    mine.release();
  Context &next =
      mine.resume() ? mine.fibres[mine.running]->context : mine.host;
  switchTo(mine.fibres[me]->context, next);
  fail("a thread ran after its end");
}

} // namespace

void runGrid(dim3 grid, dim3 extent, size_t sharedBytes,
             const std::function<void()> &body) {
  unsigned threads = extent.x * extent.y * extent.z;
  if (threads == 0 || threads > 1024 || threads % 32 != 0)
    fail("a block must have 32, 64, ... 1024 threads here");
  if (current)
    fail("a kernel was launched by a kernel");
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        // Of exactly this size, so that AddressSanitizer detects accesses past
        // its end.
        void *shared = nullptr;
        if (sharedBytes && posix_memalign(&shared, 128, sharedBytes) != 0)
          fail("no memory for a block's shared memory");
        // All bits set: NaN in fp32, bf16 and fp64.
        if (sharedBytes)
          std::memset(shared, 0xff, sharedBytes);
        block.run(grid, extent, {x, y, z}, static_cast<unsigned char *>(shared),
                  body);
        std::free(shared);
      }
  current = nullptr;
}

void blockBarrier() { block.barrier(); }

void meetWarp(const char *kind, void *argument, void (*work)(void **)) {
  block.meet(kind, argument, work);
}

void checkAligned(const void *address, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    fail("a vector's address is no multiple of its size");
}

void copyLater(void *to, const void *from, size_t bytes) {
  block.fibre().copies.back().push_back({to, from, bytes});
}

void closeCopies() { block.fibre().copies.emplace_back(); }

void awaitCopies(unsigned open) {
  auto &groups = block.fibre().copies;
  // The last group is the one being filled.
  while (groups.size() > size_t(open) + 1) {
    for (const Copy &copy : groups.front())
      std::memcpy(copy.to, copy.from, copy.bytes);
    groups.erase(groups.begin());
  }
}

} // namespace emulation
