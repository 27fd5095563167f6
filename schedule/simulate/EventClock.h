//===- EventClock.h - Events in the order of time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SIMULATE_EVENTCLOCK_H
#define RONDO_SCHEDULE_SIMULATE_EVENTCLOCK_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo {

/// The clock of list scheduling: resources that run one thing at a time and
/// choose the next one when they are free. All events of an instant happen
/// before any resource chooses. So neither the order of these events nor that
/// of the resources matters, if a choice depends on the state of its own
/// resource only.
template <typename What> class EventClock {
public:
  struct Event {
    int64_t ns;
    int32_t resource;
    What what;
  };

  /// Resets the clock to 0, with all resources free and none touched.
  void reset(int32_t numResources) {
    busy.assign(numResources, false);
    touched.clear();
    events.clear();
  }

  bool isBusy(int32_t resource) const { return busy[resource]; }
  void setBusy(int32_t resource, bool isBusy) { busy[resource] = isBusy; }
  /// Lets a resource choose at the present instant.
  void touch(int32_t resource) { touched.push_back(resource); }
  /// Adds an event of a resource, at a later time or again at the present
  /// instant.
  void add(int64_t ns, int32_t resource, What what) {
    events.push_back({ns, resource, what});
    std::push_heap(events.begin(), events.end(), IsLater());
  }

  /// Runs until no event is left. `happen(event)` touches resources.
  /// `choose(resource, now)` is called for each touched one, perhaps several
  /// times; it adds events, touches nothing, and returns false to stop the
  /// clock. Returns false if it has been stopped. O(log events) for each event,
  /// apart from the calls.
  template <typename Happen, typename Choose>
  bool run(Happen happen, Choose choose) {
    for (int64_t now = 0;;) {
      for (const int32_t resource : touched)
        if (!choose(resource, now))
          return false;
      if (events.empty())
        return true;
      touched.clear();
      for (now = events.front().ns;
           !events.empty() && events.front().ns == now;) {
        const Event event = events.front();
        std::pop_heap(events.begin(), events.end(), IsLater());
        events.pop_back();
        happen(event);
      }
    }
  }

private:
  /// A class, so that the heap inlines it.
  struct IsLater {
    bool operator()(const Event &a, const Event &b) const {
      return a.ns > b.ns;
    }
  };

  std::vector<bool> busy;
  std::vector<int32_t> touched;
  /// A heap, earliest first.
  std::vector<Event> events;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_EVENTCLOCK_H
