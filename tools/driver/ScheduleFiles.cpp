//===- ScheduleFiles.cpp - Schedules of a file for one problem ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/ScheduleFiles.h"

#include "formats/exchange/Exchange.h"
#include "formats/json/Documents.h"
#include "formats/json/ScheduleReader.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

using namespace llvm;

namespace rondo::driver {

int readSchedulesFor(const Problem &problem, const std::string &path,
                     std::vector<FileSchedule> &schedules) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
  if (!buffer)
    return reportError(toString(buffer.takeError()));
  const exchange::Importer importer = exchange::rondoScheduleImporter();
  exchange::ImportOptions options;
  options.problem = &problem;
  const size_t before = schedules.size();
  for (const json::Document &document :
       json::splitDocuments(path, (*buffer)->getBuffer())) {
    const std::string where = path + ": " + document.where();
    const auto report = [&](const std::string &message) {
      return reportUnread(path, (*buffer)->getBuffer(),
                          {formats::FileKind::Schedule},
                          document.where() + message);
    };
    if (auto fault = json::checkSyntax(document.text))
      return report(fault->message);
    const json::ScheduleText text{json::Value(document.text)};
    if (text.problemName() != problem.name)
      continue;
    std::vector<std::string> notes;
    Expected<exchange::ExchangedSchedule> read =
        importer.read(document.text, options, notes);
    if (!read)
      return report(toString(read.takeError()));
    const std::string name =
        read->family.empty()
            ? "schedule " + std::to_string(schedules.size() - before)
            : read->family;
    schedules.push_back(
        {name, where, std::move(read->schedule), read->clipsByNorm});
  }
  if (schedules.size() == before)
    return reportUnread(path, (*buffer)->getBuffer(),
                        {formats::FileKind::Schedule},
                        "no schedule is for problem '" + problem.name + "'");
  return Success;
}

} // namespace rondo::driver
