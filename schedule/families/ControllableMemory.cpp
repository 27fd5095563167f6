//===- ControllableMemory.cpp - Repeated blocks in a V ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/ControllableMemory.h"

#include <algorithm>

using namespace rondo;

namespace {

enum Type : int8_t { F0, F1, I1, I0, W, Free };

struct Cell {
  Type type = Free;
  /// Micro-batch; of a W, the number of W before it on the rank.
  int32_t index = 0;
};

/// The slots of one rank; a slot takes one chunk task.
struct Row {
  std::vector<Cell> cells;
  /// [type]: the slot of each index.
  std::array<std::vector<int64_t>, 5> slots;

  int64_t size() const { return static_cast<int64_t>(cells.size()); }
  void place(Type type, int32_t index, int64_t slot) {
    if (slot >= size())
      cells.resize(slot + 1);
    cells[slot] = {type, index};
    slots[type][index] = slot;
  }
};

/// Which tasks a pass may move.
enum class Phase { Ramps, RampDown };

class Repeater {
public:
  Repeater(int64_t microbatches, const Block &block)
      : last(microbatches), rows(block.size()) {
    for (size_t r = 0; r < rows.size(); ++r)
      for (int8_t type = F0; type <= I0; ++type) {
        rows[r].slots[type].resize(last);
        for (int32_t i = 0; i < last; ++i)
          rows[r].place(Type(type), i, block[r][type] + 6 * i);
      }
  }

  const std::vector<Row> &run() {
    fillWeightGrads();
    reorder(Phase::Ramps);
    squeeze();
    removeWeightGrads();
    reorder(Phase::RampDown);
    fillWeightGrads();
    squeeze();
    removeWeightGrads();
    fillWeightGrads();
    return rows;
  }

private:
  int64_t numSlots() const {
    int64_t most = 0;
    for (const Row &row : rows)
      most = std::max(most, row.size());
    return most;
  }

  void fillWeightGrads();
  void removeWeightGrads();
  void reorder(Phase part);
  void squeeze();
  /// The first slot after everything that a task needs.
  int64_t earliest(size_t rank, Cell cell) const;

  int64_t last;
  std::vector<Row> rows;
};

/// The memory of a rank before each slot: chunk activations until their W, and
/// pending W.
class Holding {
public:
  /// If the row has no W, each free slot counts as running a pending one.
  Holding(const Row &row, bool hasWeightGrads)
      : hasWeightGrads(hasWeightGrads), states(1) {
    for (const Cell &cell : row.cells) {
      states.push_back(after(states.back(), cell.type));
      most = std::max<int64_t>(most, states.back().held);
    }
  }

  /// Updates the states if the row keeps `limit` with the task at `from` moved
  /// to the earlier free slot `to`. Otherwise returns the first slot that
  /// exceeds the limit.
  std::optional<int64_t> move(const Row &row, int64_t from, int64_t to,
                              int64_t limit) {
    // With W in the row, moving I does not change what is held.
    const Type moved = row.cells[from].type;
    if (hasWeightGrads && (moved == I1 || moved == I0))
      return std::nullopt;
    changed.clear();
    State state = states[to];
    for (int64_t slot = to; slot < row.size(); ++slot) {
      Type type = slot == to     ? moved
                  : slot == from ? Free
                                 : row.cells[slot].type;
      state = after(state, type);
      if (state.held > limit)
        return slot;
      if (slot >= from && state == states[slot + 1])
        break;
      changed.push_back(state);
    }
    std::copy(changed.begin(), changed.end(), states.begin() + to + 1);
    return std::nullopt;
  }

  int64_t most = 0;

private:
  struct State {
    /// `pending` is used only if the row has no W.
    int32_t held = 0, pending = 0;
    bool operator==(const State &other) const {
      return held == other.held && pending == other.pending;
    }
  };
  State after(State state, Type type) const {
    if (type == F0 || type == F1) {
      ++state.held;
    } else if (hasWeightGrads) {
      state.held -= type == W;
    } else if (type == I1 || type == I0) {
      ++state.pending;
    } else if (state.pending > 0) {
      --state.held;
      --state.pending;
    }
    return state;
  }

  bool hasWeightGrads;
  std::vector<State> states;
  /// The states after `to`, while a move is tried.
  std::vector<State> changed;
};

/// The slot of the k-th task of two lists in ascending order.
int64_t kthOf(const std::vector<int64_t> &a, const std::vector<int64_t> &b,
              int64_t k) {
  // Number of tasks of `a` among the k before it: the least i with
  // a[i] > b[k-i-1].
  int64_t low = std::max<int64_t>(0, k - static_cast<int64_t>(b.size()));
  int64_t high = std::min<int64_t>(k, a.size());
  while (low < high) {
    int64_t i = (low + high) / 2;
    if (a[i] > b[k - i - 1])
      high = i;
    else
      low = i + 1;
  }
  int64_t fromB = k - low;
  if (low == static_cast<int64_t>(a.size()))
    return b[fromB];
  if (fromB == static_cast<int64_t>(b.size()))
    return a[low];
  return std::min(a[low], b[fromB]);
}

/// Places a pending W into every free slot, and the remaining W at the end.
void Repeater::fillWeightGrads() {
  for (Row &row : rows) {
    row.slots[W].resize(2 * last);
    int64_t pending = 0;
    int32_t next = 0;
    for (int64_t slot = 0; slot < row.size(); ++slot) {
      Type type = row.cells[slot].type;
      if (type == I1 || type == I0)
        ++pending;
      else if (type == Free && next < pending)
        row.place(W, next++, slot);
    }
    while (next < pending)
      row.place(W, next++, row.size());
  }
}

void Repeater::removeWeightGrads() {
  for (Row &row : rows) {
    for (Cell &cell : row.cells)
      if (cell.type == W)
        cell = Cell();
    while (!row.cells.empty() && row.cells.back().type == Free)
      row.cells.pop_back();
    row.slots[W].clear();
  }
}

int64_t Repeater::earliest(size_t rank, Cell cell) const {
  const Row &row = rows[rank];
  int64_t needed = cell.index > 0 ? row.slots[cell.type][cell.index - 1] : -1;
  auto need = [&](int64_t slot) { needed = std::max(needed, slot); };
  if (cell.type == W) {
    need(kthOf(row.slots[I1], row.slots[I0], cell.index));
    return needed + 1;
  }
  if (cell.type != F0)
    need(row.slots[cell.type - 1][cell.index]);
  bool isDown = cell.type == F0 || cell.type == I1;
  if (isDown && rank > 0)
    need(rows[rank - 1].slots[cell.type][cell.index]);
  if (!isDown && rank + 1 < rows.size())
    need(rows[rank + 1].slots[cell.type][cell.index]);
  return needed + 1;
}

/// Moves each task of the part, in the order of slots, to the first free slot
/// after what it needs in which its rank keeps the limit.
void Repeater::reorder(Phase part) {
  const bool hasWeightGrads = !rows[0].slots[W].empty();
  std::vector<Holding> holdings;
  int64_t limit = 0;
  for (const Row &row : rows) {
    holdings.emplace_back(row, hasWeightGrads);
    limit = std::max(limit, holdings.back().most);
  }
  enum { WarmUp, Steady, CoolDown } phase = WarmUp;
  const int64_t end = numSlots();
  for (int64_t slot = 0; slot < end; ++slot)
    for (size_t rank = 0; rank < rows.size(); ++rank) {
      Row &row = rows[rank];
      if (slot >= row.size() || row.cells[slot].type == Free)
        continue;
      const Cell cell = row.cells[slot];
      if (phase == WarmUp && cell.type == I0 && rank == 0)
        phase = Steady;
      if (phase == Steady) {
        if (cell.type == F0 && cell.index + 1 == last)
          phase = CoolDown;
        continue;
      }
      if (phase == WarmUp && part == Phase::RampDown)
        continue;
      for (int64_t to = earliest(rank, cell); to < slot; ++to) {
        if (row.cells[to].type != Free)
          continue;
        std::optional<int64_t> over = holdings[rank].move(row, slot, to, limit);
        if (!over) {
          row.cells[slot] = Cell();
          row.place(cell.type, cell.index, to);
          break;
        }
        // If the row has W, moving the task to any slot up to `over` would
        // exceed the limit, so skips these.
        if (hasWeightGrads)
          to = *over;
      }
    }
}

/// Runs every rank's order as early as possible.
void Repeater::squeeze() {
  std::vector<Row> loose(rows.size());
  std::swap(loose, rows);
  int64_t end = 0;
  for (size_t rank = 0; rank < rows.size(); ++rank) {
    rows[rank].slots = loose[rank].slots;
    end = std::max(end, loose[rank].size());
  }
  for (int64_t slot = 0; slot < end; ++slot)
    for (size_t rank = 0; rank < rows.size(); ++rank) {
      if (slot >= loose[rank].size() || loose[rank].cells[slot].type == Free)
        continue;
      Cell cell = loose[rank].cells[slot];
      // The tasks that it needs are in earlier slots and have been moved
      // already.
      rows[rank].place(cell.type, cell.index,
                       std::max(earliest(rank, cell), rows[rank].size()));
    }
}

} // namespace

Schedule rondo::repeatBlock(const Chunks &chunks, int64_t microbatches,
                            const Block &block) {
  Schedule schedule;
  schedule.reserve(6 * chunks.ranks * microbatches);
  Repeater repeater(microbatches, block);
  const std::vector<Row> &rows = repeater.run();
  for (int32_t rank = 0; rank < chunks.ranks; ++rank) {
    const int32_t first = chunks.stage(0, rank), second = chunks.stage(1, rank);
    int64_t pendingSecond = 0, firstWeightGrad = 0, secondWeightGrad = 0;
    for (const Cell &cell : rows[rank].cells) {
      switch (cell.type) {
      case F0:
        schedule.append({ActionKind::Forward, first, cell.index});
        break;
      case F1:
        schedule.append({ActionKind::Forward, second, cell.index});
        break;
      case I1:
        schedule.append({ActionKind::InputGrad, second, cell.index});
        ++pendingSecond;
        break;
      case I0:
        schedule.append({ActionKind::InputGrad, first, cell.index});
        break;
      case W:
        if (pendingSecond > 0) {
          schedule.append({ActionKind::WeightGrad, second, secondWeightGrad++});
          --pendingSecond;
        } else {
          schedule.append({ActionKind::WeightGrad, first, firstWeightGrad++});
        }
        break;
      case Free:
        break;
      }
    }
    schedule.endRank();
  }
  return schedule;
}

int64_t rondo::stepsOfRepeatedBlocks(const Problem &problem) {
  const int64_t ranks = problem.numRanks();
  return ranks * ranks * ranks * 3 / 2;
}
