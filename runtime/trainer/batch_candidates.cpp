//===- batch_candidates.cpp - Programs of the next batch ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/batch_candidates.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/store.h"

#include <sstream>
#include <utility>

using namespace rondo::runtime;

/// A batch as text, and back.
static std::string textOf(const PlannedBatch &planned) {
  std::ostringstream out;
  out << planned.batch.rows.size();
  for (const std::vector<PackedDocument> &row : planned.batch.rows) {
    out << ' ' << row.size();
    for (const PackedDocument &document : row)
      out << ' ' << document.position << ' ' << document.tokens;
  }
  out << '\n';
  return out.str() + encode(*planned.program);
}

static void read(const std::string &text, const Executable &executable,
                 PlannedBatch &planned) {
  const size_t end = text.find('\n');
  std::istringstream in(text.substr(0, end));
  size_t rows = 0;
  in >> rows;
  planned.batch.rows.clear();
  for (; rows > 0 && in; --rows) {
    size_t documents = 0;
    in >> documents;
    std::vector<PackedDocument> &row = planned.batch.rows.emplace_back();
    for (; documents > 0 && in; --documents) {
      PackedDocument document{};
      in >> document.position >> document.tokens;
      row.push_back(document);
    }
  }
  if (!in || end == std::string::npos)
    throw Error("process 0 has sent a batch that cannot be read");
  planned.program = decode(text.substr(end + 1), executable);
}

void rondo::runtime::shareBatch(const World &world,
                                const Executable &executable,
                                const std::string &name, BatchRun &batch) {
  if (world.isAlone())
    return;
  const std::string text =
      world.store
          ->exchange(name, world.isFirst() ? textOf(batch.planned) : "",
                     Store::Patience::WhileAlive)
          .front();
  if (!world.isFirst())
    read(text, executable, batch.planned);
}

/// The text of a candidate from process 0; empty: there are no more.
static std::string exchange(const World &world, int64_t iteration,
                            int64_t number, const std::string &text) {
  return world.store
      ->exchange("batch " + std::to_string(iteration) + " candidate " +
                     std::to_string(number),
                 text, Store::Patience::WhileAlive)
      .front();
}

BatchCandidates::BatchCandidates(const Executable &executable,
                                 const World &world, Options given)
    : exe(executable), world(world), options(std::move(given)) {
  if (!world.isFirst()) {
    thread.start([this] { receive(); });
    return;
  }
  BackgroundPlanner::Watch watch;
  watch.found = [this](const BackgroundPlanner::Result &result) {
    if (!this->world.isAlone())
      exchange(this->world, result.iteration, result.number,
               textOf(result.planned));
    auto next = std::make_unique<BatchRun>();
    next->planned = result.planned;
    next->seconds = result.seconds;
    add(result.iteration, std::move(next));
  };
  watch.ended = [this](int64_t of, int64_t number) {
    if (!this->world.isAlone())
      exchange(this->world, of, number, "");
  };
  planner = std::make_unique<BackgroundPlanner>(
      exe.extras.batchSearch->makePlanner(exe), options.effort,
      std::move(watch));
}

BatchCandidates::~BatchCandidates() {
  planner.reset();
  thread.stop();
}

void BatchCandidates::begin(int64_t next) {
  {
    std::lock_guard<std::mutex> lock(thread.mutex);
    iteration = next;
    old = std::move(candidates);
    candidates.clear();
    hasRequest = true;
  }
  thread.changed.notify_all();
  if (planner)
    planner->begin([this, next] { return options.pack(next); }, next);
}

std::unique_ptr<BatchRun> BatchCandidates::take(int64_t &waitNs) {
  const int64_t beginNs = nowNs();
  int64_t number = planner ? planner->take().number : 0;
  waitNs = nowNs() - beginNs;
  if (!world.isAlone())
    number = std::stoll(world.store
                            ->exchange("batch " + std::to_string(iteration),
                                       std::to_string(number),
                                       Store::Patience::WhileAlive)
                            .front());
  std::unique_lock<std::mutex> lock(thread.mutex);
  const auto index = static_cast<size_t>(number);
  thread.changed.wait(lock,
                      [&] { return failure || candidates.size() > index; });
  if (failure)
    std::rethrow_exception(failure);
  return std::move(candidates[index]);
}

void BatchCandidates::add(int64_t of, std::unique_ptr<BatchRun> next) {
  List unused;
  {
    std::lock_guard<std::mutex> lock(thread.mutex);
    unused.swap(old);
    if (of != iteration)
      return;
  }
  unused.clear();
  options.prepare(*next);
  {
    std::lock_guard<std::mutex> lock(thread.mutex);
    if (of == iteration)
      candidates.push_back(std::move(next));
  }
  thread.changed.notify_all();
}

void BatchCandidates::receive(int64_t of) {
  for (int64_t number = 0;; ++number) {
    const std::string text = exchange(world, of, number, "");
    if (text.empty())
      return;
    // Process 0 waits until all have received a candidate. So this process goes
    // on to receive them even if it cannot use one.
    try {
      auto next = std::make_unique<BatchRun>();
      read(text, exe, next->planned);
      add(of, std::move(next));
    } catch (...) {
      fail();
    }
  }
}

void BatchCandidates::fail() {
  {
    std::lock_guard<std::mutex> lock(thread.mutex);
    // Later ones may follow from the first.
    if (!failure)
      failure = std::current_exception();
  }
  thread.changed.notify_all();
}

void BatchCandidates::receive() {
  BackgroundThread::lowerPriority();
  for (;;) {
    std::unique_lock<std::mutex> lock(thread.mutex);
    thread.changed.wait(lock,
                        [this] { return thread.isStopping || hasRequest; });
    if (thread.isStopping)
      return;
    hasRequest = false;
    const int64_t of = iteration;
    lock.unlock();
    try {
      receive(of);
    } catch (...) {
      fail();
      return;
    }
  }
}
