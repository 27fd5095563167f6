//===- fibres.cpp - The threads of a grid, one after another --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks start in a random order, and two of them take turns at random, so that
// a result that depends on what another block has done shows.
//
//===----------------------------------------------------------------------===//

#include "kernel.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <utility>
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

/// Usable bytes of a thread's stack. If all stacks began at the same offset in
/// a page, they would share a few lines of the cache.
constexpr size_t usedBytes(unsigned thread) {
  constexpr size_t line = 64, places = 256;
  return stackBytes - thread % places * line;
}

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
void prepare(Context &context, char *stack, size_t bytes, void (*entry)()) {
  auto **top = reinterpret_cast<void **>(stack + bytes) - 2;
  *top = reinterpret_cast<void *>(entry);
  context = top - 6;
}
void switchTo(Context &from, Context &to) { rondoEmulationSwitch(&from, to); }
#else
using Context = ucontext_t;
void prepare(Context &context, char *stack, size_t bytes, void (*entry)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
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

/// A block that runs, or room for one.
struct Block {
  std::vector<std::unique_ptr<Fibre>> fibres;
  std::vector<Warp> warps;
  /// Numbers of threads.
  std::vector<unsigned> ready, waiting;
  void *shared = nullptr;
  unsigned live = 0;
};

/// The blocks of one launch at a time, on each host thread.
class Grid {
public:
  ~Grid() {
    for (Block &place : blocks)
      for (auto &fibre : place.fibres) {
        // Its frames do not return; the next mapping here does not belong to
        // them.
        if (__asan_unpoison_memory_region)
          __asan_unpoison_memory_region(fibre->stack, stackBytes);
        munmap(fibre->stack, stackBytes);
      }
  }

  void run(dim3 gridExtent, dim3 blockExtent, size_t bytes,
           const std::function<void()> &work) {
    grid = gridExtent;
    extent = blockExtent;
    sharedBytes = bytes;
    body = &work;
    std::vector<unsigned> order(size_t(grid.x) * grid.y * grid.z);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    for (auto next = order.begin();;) {
      bool isOver = true;
      for (Block &place : blocks) {
        if (place.live == 0 && next != order.end())
          start(place, *next++);
        isOver &= place.live == 0;
      }
      if (isOver)
        break;
      if (!resume())
        fail("threads of a block wait for others that have ended, or at "
             "different barriers");
      switchTo(host, fibre().context);
    }
    for (Block &place : blocks)
      std::free(std::exchange(place.shared, nullptr));
  }

  /// The calling thread waits for all others of its block.
  void barrier() {
    now->waiting.push_back(running);
    if (now->waiting.size() == now->live)
      release();
    pause();
  }

  void meet(const char *kind, void *argument, void (*work)(void **)) {
    unsigned me = running;
    Warp &warp = now->warps[me / 32];
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
          now->ready.push_back(me / 32 * 32 + lane);
      return;
    }
    pause();
  }

  Fibre &fibre() { return *now->fibres[running]; }

private:
  /// Number of blocks that take turns.
  static constexpr size_t atOnce = 2;

  void start(Block &place, unsigned number) {
    std::free(place.shared);
    place.shared = nullptr;
    // Exactly this size, so that AddressSanitizer detects accesses past its
    // end.
    if (sharedBytes && posix_memalign(&place.shared, 128, sharedBytes) != 0)
      fail("no memory for a block's shared memory");
    // All bits set: NaN in fp32, bf16 and fp64.
    if (sharedBytes)
      std::memset(place.shared, 0xff, sharedBytes);
    const uint3 index = {number % grid.x, number / grid.x % grid.y,
                         number / grid.x / grid.y};
    place.live = extent.x * extent.y * extent.z;
    place.waiting.clear();
    place.warps.assign(place.live / 32, {});
    place.ready.clear();
    while (place.fibres.size() < place.live)
      addFibre(place);
    unsigned thread = 0;
    for (unsigned z = 0; z < extent.z; ++z)
      for (unsigned y = 0; y < extent.y; ++y)
        for (unsigned x = 0; x < extent.x; ++x, ++thread) {
          Fibre &fibre = *place.fibres[thread];
          fibre.thread = {{x, y, z},
                          index,
                          extent,
                          grid,
                          thread % 32,
                          thread / 32,
                          static_cast<unsigned char *>(place.shared)};
          fibre.copies.assign(1, {});
          prepare(fibre.context, fibre.stack, usedBytes(thread), enter);
          place.ready.push_back(thread);
        }
    shuffle(place);
  }

  static void addFibre(Block &place) {
    auto fibre = std::make_unique<Fibre>();
    void *stack = mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
      fail("no memory for a stack");
    fibre->stack = static_cast<char *>(stack);
    place.fibres.push_back(std::move(fibre));
  }

  /// Entry point of each fibre; never returns.
  static void enter();

  /// Everything waiting at the barrier may go on.
  void release() {
    now->ready.insert(now->ready.end(), now->waiting.begin(),
                      now->waiting.end());
    now->waiting.clear();
    shuffle(*now);
  }

  /// A warp or a lane that runs ahead of the others reveals a missing barrier.
  void shuffle(Block &place) {
    std::shuffle(place.ready.begin(), place.ready.end(), random);
  }

  /// Chooses who runs next; false: nobody can.
  bool resume() {
    const size_t first = random() % atOnce;
    for (size_t i = 0; i < atOnce; ++i) {
      Block &place = blocks[(first + i) % atOnce];
      if (place.ready.empty())
        continue;
      now = &place;
      running = place.ready.back();
      place.ready.pop_back();
      current = &fibre().thread;
      return true;
    }
    return false;
  }

  /// Lets another fibre run until the calling thread is ready again.
  void pause() {
    Fibre &me = fibre();
    Context &next = resume() ? fibre().context : host;
    // The last one at a barrier may be chosen again.
    if (&next != &me.context)
      switchTo(me.context, next);
  }

  Block blocks[atOnce];
  Block *now = nullptr;
  unsigned running = 0;
  dim3 grid, extent;
  size_t sharedBytes = 0;
  const std::function<void()> *body = nullptr;
  Context host{};
  std::minstd_rand random{1};
};

/// The grid of this host thread; null until it launches something. A pointer,
/// since an object with a constructor costs a check at each use.
thread_local Grid *launched = nullptr;

void Grid::enter() {
  Grid &mine = *launched;
  (*mine.body)();
  Fibre &me = mine.fibre();
  for (auto &group : me.copies)
    if (!group.empty())
      fail("a thread ended with copies that it did not wait for");
  const bool isLast = --mine.now->live == 0;
  if (!isLast && mine.now->waiting.size() == mine.now->live)
    mine.release();
  // At the end of a block, another takes its place.
  Context &next = !isLast && mine.resume() ? mine.fibre().context : mine.host;
  switchTo(me.context, next);
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
  thread_local Grid ofThread;
  launched = &ofThread;
  launched->run(grid, extent, sharedBytes, body);
  current = nullptr;
}

void blockBarrier() { launched->barrier(); }

void meetWarp(const char *kind, void *argument, void (*work)(void **)) {
  launched->meet(kind, argument, work);
}

void checkAligned(const void *address, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    fail("a vector's address is no multiple of its size");
}

void copyLater(void *to, const void *from, size_t bytes) {
  launched->fibre().copies.back().push_back({to, from, bytes});
}

void closeCopies() { launched->fibre().copies.emplace_back(); }

void awaitCopies(unsigned open) {
  auto &groups = launched->fibre().copies;
  // The last group is the one being filled.
  while (groups.size() > size_t(open) + 1) {
    for (const Copy &copy : groups.front())
      std::memcpy(copy.to, copy.from, copy.bytes);
    groups.erase(groups.begin());
  }
}

} // namespace emulation
