//===- found_program.cpp - Programs that the search has found -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/found_program.h"

#include "runtime/adaptive/program_values.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/execution/actions.h"
#include "schedule/program/ProgramLaneWaits.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;

// An action: kind, message and replica; then the receiver plus one, and the
// micro-batch.
static constexpr int messageShift = 8, replicaShift = 16, receiverShift = 32;

/// The function of every rank.
static void runTable(Rank &rank, const int64_t *row) {
  for (int64_t left = *row++; left > 0; --left, row += 2) {
    const auto kind = static_cast<ActionKind>(row[0] & 0xff);
    const auto message = static_cast<Message>((row[0] >> messageShift) & 0xff);
    const int64_t subject = row[0] >> replicaShift;
    const int64_t to = (row[1] >> receiverShift) - 1;
    const int64_t microbatch = row[1] & 0xffffffff;
    switch (kind) {
    case ActionKind::Forward:
      rank.forward(subject, microbatch);
      break;
    case ActionKind::InputGrad:
      rank.inputGrad(subject, microbatch);
      break;
    case ActionKind::WeightGrad:
      rank.weightGrad(subject, microbatch);
      break;
    case ActionKind::Backward:
      rank.backward(subject, microbatch);
      break;
    case ActionKind::Recompute:
      rank.recompute(subject, microbatch);
      break;
    case ActionKind::Save:
      rank.save(subject, microbatch);
      break;
    case ActionKind::Load:
      rank.load(subject, microbatch);
      break;
    case ActionKind::Send:
      rank.send(message, subject, to, microbatch);
      break;
    case ActionKind::Recv:
      rank.receive(message, subject, to, microbatch);
      break;
    case ActionKind::AllReduce:
      rank.allReduce(subject, 0);
      break;
    case ActionKind::Await:
      rank.await(subject, microbatch);
      break;
    case ActionKind::Unshard:
      rank.unshard(subject, microbatch);
      break;
    case ActionKind::Reshard:
      rank.reshard(subject, microbatch);
      break;
    case ActionKind::ReduceGrad:
      rank.reduceGrad(subject, microbatch);
      break;
    case ActionKind::Step:
      rank.step(subject, 0);
      break;
    default:
      throw Error("a table of actions has one of an unknown kind");
    }
  }
}

static std::vector<int64_t> tableOf(ActionRange order,
                                    const std::vector<Edge> &edges) {
  std::vector<int64_t> row;
  row.reserve(2 * order.size() + 1);
  row.push_back(static_cast<int64_t>(order.size()));
  for (Action action : order) {
    auto message = Message::Activation;
    auto subject = static_cast<int64_t>(action.subject);
    int64_t receiver = 0;
    if (action.kind() == ActionKind::Send ||
        action.kind() == ActionKind::Recv) {
      const Edge &edge = edges.at(action.subject);
      message = edge.message();
      subject = edge.from;
      receiver = edge.to + 1;
    }
    row.push_back(static_cast<int64_t>(action.kind()) |
                  static_cast<int64_t>(message) << messageShift |
                  subject << replicaShift);
    row.push_back(receiver << receiverShift |
                  static_cast<int64_t>(action.index));
  }
  return row;
}

void FoundProgram::addCopies(const Problem &problem) {
  tables.copies = nullptr;
  if (!values.order.hasCopies())
    return;
  const LaneWaits laneWaits = laneWaitsOf(problem, values);
  const ActionRange all = values.order.all();
  auto descOf = [](Action action) {
    return CopyDesc{action.kind(), static_cast<int32_t>(action.subject),
                    static_cast<int32_t>(action.index)};
  };
  copyLists.resize(values.order.numRanks());
  waitLists.resize(values.order.numRanks());
  for (int32_t r = 0; r < values.order.numRanks(); ++r) {
    for (int64_t i = values.order.rankBegin(r);
         i < values.order.rankBegin(r + 1); ++i) {
      const CopyDesc own = descOf(all[i]);
      if (isCopy(own.kind))
        copyLists[r].push_back(own);
      for (int64_t w = laneWaits.begin[i]; w < laneWaits.begin[i + 1]; ++w) {
        const CopyDesc awaited = descOf(all[laneWaits.awaited[w]]);
        waitLists[r].push_back({own.kind, own.replica, own.microbatch,
                                awaited.kind, awaited.replica,
                                awaited.microbatch});
      }
    }
    copies.push_back({static_cast<int32_t>(copyLists[r].size()),
                      copyLists[r].data(),
                      static_cast<int32_t>(waitLists[r].size()),
                      waitLists[r].data(), problem.hostMemory.isHalf(r)});
  }
  tables.copies = copies.data();
}

/// A hash of all that a device records of a program: its actions, their
/// addresses, and what tasks get from the host about their rows. The starts of
/// documents do not count, since tasks read them in the device's memory. Never
/// 0.
int64_t FoundProgram::recordingOf() const {
  uint64_t hash = 1;
  auto add = [&](auto... numbers) {
    ((hash = mix(hash, static_cast<uint64_t>(numbers))), ...);
  };
  for (const std::vector<int64_t> &row : actions)
    for (int64_t number : row)
      add(number);
  for (const Pool &pool : values.pools)
    add(pool.rank, pool.offset, pool.slotBytes, pool.slots, pool.isOnHost);
  for (const Place &place : values.places) {
    add(place.pool);
    for (int32_t slot : place.slotOf)
      add(slot);
    for (int32_t span : place.spans)
      add(span);
  }
  for (int32_t pool : values.staging)
    add(pool);
  for (int32_t i = 0; ofBatch.tables && i < tables.microbatches; ++i) {
    const DocumentsDesc &row = *documentsOf(tables, i);
    uint64_t share = 0;
    std::memcpy(&share, &row.lossShare, sizeof share);
    add(row.count, row.starts[row.count], share);
  }
  return static_cast<int64_t>(hash | 1);
}

FoundProgram::FoundProgram(const ProgramDesc &like, std::string ownName,
                           Program program, const Problem &problem,
                           BatchProgram batch)
    : name(std::move(ownName)), values(std::move(program)),
      ofBatch(std::move(batch)), tables(like) {
  if (values.order.numRanks() != like.numRanks ||
      static_cast<int32_t>(values.places.size()) != like.numPlaces)
    throw Error("schedule '" + name + "' is not one of '" + like.name + "'");
  for (int32_t r = 0; r < like.numRanks; ++r)
    actions.push_back(tableOf(values.order.rank(r), problem.edges));
  for (const std::vector<int64_t> &row : actions)
    ranks.push_back({runTable, row.data()});
  for (const Pool &pool : values.pools)
    pools.push_back(
        {pool.rank, pool.offset, pool.slotBytes, pool.slots, pool.isOnHost});
  for (const Place &place : values.places)
    slots.emplace_back(place.slotOf.begin(), place.slotOf.end());
  for (size_t p = 0; p < slots.size(); ++p)
    places.push_back({values.places[p].pool,
                      std::max(1, static_cast<int32_t>(slots[p].size())),
                      slots[p].data(), 0, nullptr,
                      values.places[p].spans.empty()
                          ? nullptr
                          : values.places[p].spans.data()});
  staging = values.staging;
  tables.name = name.c_str();
  tables.ranks = ranks.data();
  tables.numPools = static_cast<int32_t>(pools.size());
  tables.pools = pools.data();
  tables.places = places.data();
  tables.staging = like.staging ? staging.data() : nullptr;
  tables.predictedNs = ofBatch.predictedNs;
  if (ofBatch.tables)
    ofBatch.tables->setTo(tables);
  tables.recording = recordingOf();
  addCopies(problem);
}

std::string rondo::runtime::encode(const FoundProgram &found) {
  const Program &program = found.program();
  std::ostringstream out;
  out << found.desc().name << ' ' << found.desc().id << ' '
      << program.order.numRanks();
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    const ActionRange order = program.order.rank(r);
    out << ' ' << order.size();
    for (Action action : order)
      out << ' ' << static_cast<int>(action.kind()) << ' ' << action.subject
          << ' ' << action.index;
  }
  out << ' ' << program.pools.size();
  for (const Pool &pool : program.pools)
    out << ' ' << pool.rank << ' ' << pool.offset << ' ' << pool.slotBytes
        << ' ' << pool.slots << ' ' << pool.isOnHost;
  out << ' ' << program.places.size();
  for (const Place &place : program.places) {
    out << ' ' << place.pool << ' ' << place.slotOf.size();
    for (int32_t slot : place.slotOf)
      out << ' ' << slot;
    out << ' ' << place.spans.size();
    for (int32_t span : place.spans)
      out << ' ' << span;
  }
  out << ' ' << program.staging.size();
  for (int32_t pool : program.staging)
    out << ' ' << pool;
  const BatchProgram &batch = found.batch();
  out << ' ' << batch.predictedNs << ' '
      << (batch.tables ? batch.tables->lengths().size() : 0);
  if (batch.tables)
    for (const std::vector<int32_t> &row : batch.tables->lengths()) {
      out << ' ' << row.size();
      for (int32_t tokens : row)
        out << ' ' << tokens;
    }
  return out.str();
}

std::shared_ptr<const FoundProgram>
rondo::runtime::decode(const std::string &text, const Executable &executable) {
  std::istringstream in(text);
  std::string name;
  in >> name;
  auto next = [&](int64_t least, int64_t most) {
    int64_t number = 0;
    if (!(in >> number) || number < least || number > most)
      throw Error("process 0 has sent a schedule that cannot be read");
    return number;
  };
  constexpr int64_t maxCount = int64_t(1) << 31;
  const ProgramDesc &like =
      executable.programs[next(0, executable.numPrograms - 1)];
  Program program;
  program.resident = residentOf(like);
  for (int64_t left = next(1, maxRanks); left > 0; --left) {
    for (int64_t action = next(0, maxCount); action > 0; --action) {
      const auto kind = static_cast<ActionKind>(next(0, numActionKinds - 1));
      const int64_t subject = next(0, maxCount);
      program.order.append({kind, subject, next(0, maxCount)});
    }
    program.order.endRank();
  }
  constexpr int64_t maxBytes = int64_t(1) << 62;
  for (int64_t left = next(0, maxCount); left > 0; --left) {
    Pool pool;
    pool.rank = static_cast<int32_t>(next(0, maxRanks));
    pool.offset = next(0, maxBytes);
    pool.slotBytes = next(0, maxBytes);
    pool.slots = static_cast<int32_t>(next(0, maxSlots));
    pool.isOnHost = next(0, 1) != 0;
    program.pools.push_back(pool);
  }
  const auto numPools = static_cast<int64_t>(program.pools.size());
  for (int64_t left = next(0, maxCount); left > 0; --left) {
    Place &place = program.places.emplace_back();
    place.pool = static_cast<int32_t>(next(-1, numPools - 1));
    for (int64_t slot = next(0, maxCount); slot > 0; --slot)
      place.slotOf.push_back(static_cast<int32_t>(next(0, maxSlots - 1)));
    for (int64_t span = next(0, maxCount); span > 0; --span)
      place.spans.push_back(static_cast<int32_t>(next(1, maxSlots)));
    if (!place.spans.empty() &&
        static_cast<int32_t>(place.spans.size()) != like.microbatches)
      throw Error("process 0 has sent a schedule that cannot be read");
  }
  for (int64_t left = next(0, maxRanks); left > 0; --left)
    program.staging.push_back(static_cast<int32_t>(next(-1, numPools - 1)));
  const Problem problem = valuesOf(executable, like).problem;
  BatchProgram batch;
  batch.predictedNs = next(0, maxBytes);
  std::vector<std::vector<int32_t>> lengths(next(0, maxCount));
  for (std::vector<int32_t> &row : lengths)
    for (int64_t left = next(1, maxCount); left > 0; --left)
      row.push_back(static_cast<int32_t>(next(1, INT32_MAX)));
  if (!lengths.empty())
    batch.tables = std::make_shared<const BatchTables>(
        executable, like, problem, std::move(lengths));
  return std::make_shared<const FoundProgram>(
      like, std::move(name), std::move(program), problem, std::move(batch));
}
