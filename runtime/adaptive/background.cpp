//===- background.cpp - Estimates in a thread of their own ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/background.h"

#include <utility>

using namespace rondo::runtime;

BackgroundEstimator::BackgroundEstimator(Estimator estimator)
    : estimator(std::move(estimator)), thread([this] { work(); }) {}

BackgroundEstimator::~BackgroundEstimator() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
  }
  changed.notify_one();
  thread.join();
}

void BackgroundEstimator::begin(Measurements measured) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    fresh.push_back(std::move(measured));
    result.reset();
  }
  changed.notify_one();
}

std::optional<std::vector<int64_t>> BackgroundEstimator::takeResult() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(result, std::nullopt);
}

void BackgroundEstimator::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return isStopping || !fresh.empty(); });
    if (isStopping)
      return;
    const std::vector<Measurements> taken = std::exchange(fresh, {});
    lock.unlock();
    for (const Measurements &measured : taken)
      estimator.take(measured);
    std::vector<int64_t> estimates = estimator.estimate();
    lock.lock();
    if (fresh.empty())
      result = std::move(estimates);
  }
}
