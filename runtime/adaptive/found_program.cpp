//===- found_program.cpp - A program that came during a run ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/found_program.h"

#include "runtime/adaptive/program_values.h"
#include "runtime/base/error.h"
#include "runtime/execution/actions.h"

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

FoundProgram::FoundProgram(const ProgramDesc &like, std::string ownName,
                           Program program, const std::vector<Edge> &edges)
    : name(std::move(ownName)), values(std::move(program)), tables(like) {
  if (values.order.numRanks() != like.numRanks ||
      static_cast<int32_t>(values.places.size()) != like.numPlaces)
    throw Error("schedule '" + name + "' is not one of '" + like.name + "'");
  for (int32_t r = 0; r < like.numRanks; ++r)
    actions.push_back(tableOf(values.order.rank(r), edges));
  for (const std::vector<int64_t> &row : actions)
    ranks.push_back({runTable, row.data()});
  for (const Pool &pool : values.pools)
    pools.push_back({pool.rank, pool.offset, pool.slotBytes, pool.slots});
  for (const Place &place : values.places)
    slots.emplace_back(place.slotOf.begin(), place.slotOf.end());
  for (size_t p = 0; p < slots.size(); ++p)
    places.push_back({values.places[p].pool,
                      std::max(1, static_cast<int32_t>(slots[p].size())),
                      slots[p].data()});
  staging = values.staging;
  tables.name = name.c_str();
  tables.ranks = ranks.data();
  tables.numPools = static_cast<int32_t>(pools.size());
  tables.pools = pools.data();
  tables.places = places.data();
  tables.staging = like.staging ? staging.data() : nullptr;
  tables.predictedNs = 0;
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
        << ' ' << pool.slots;
  out << ' ' << program.places.size();
  for (const Place &place : program.places) {
    out << ' ' << place.pool << ' ' << place.slotOf.size();
    for (int32_t slot : place.slotOf)
      out << ' ' << slot;
  }
  out << ' ' << program.staging.size();
  for (int32_t pool : program.staging)
    out << ' ' << pool;
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
    program.pools.push_back(pool);
  }
  const auto numPools = static_cast<int64_t>(program.pools.size());
  for (int64_t left = next(0, maxCount); left > 0; --left) {
    Place &place = program.places.emplace_back();
    place.pool = static_cast<int32_t>(next(-1, numPools - 1));
    for (int64_t slot = next(0, maxCount); slot > 0; --slot)
      place.slotOf.push_back(static_cast<int32_t>(next(0, maxSlots - 1)));
  }
  for (int64_t left = next(0, maxRanks); left > 0; --left)
    program.staging.push_back(static_cast<int32_t>(next(-1, numPools - 1)));
  return std::make_shared<const FoundProgram>(
      like, std::move(name), std::move(program),
      valuesOf(executable, like).problem.edges);
}
