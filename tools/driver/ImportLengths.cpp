//===- ImportLengths.cpp - rondo import lengths ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/Lengths.h"
#include "formats/SizedProblem.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include <algorithm>

#define OPTIONS "tools/driver/ImportLengths.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

using formats::DocumentLengths;

/// The micro-batches of the batch that the options name.
Result<std::vector<DocumentLengths>>
microbatchesOf(const Arguments &arguments, std::vector<DocumentLengths> entries,
               int64_t ofProblem) {
  const int64_t batch = arguments.number("batch", 0);
  if (arguments.has("row-tokens"))
    return formats::packLengths(entries,
                                {arguments.number("microbatches", ofProblem),
                                 std::min(arguments.number("row-tokens", 0),
                                          formats::maxDocumentLength),
                                 batch});
  const auto all = static_cast<int64_t>(entries.size());
  const int64_t each = arguments.number("microbatches", all);
  if (batch >= all / each)
    return json::TextFault("the file has " + countOf(all, "entry") + ", " +
                           countOf(all / each, "batch") + " of " +
                           countOf(each, "micro-batch"));
  const auto first = entries.begin() + batch * each;
  return std::vector<DocumentLengths>(first, first + each);
}

int run(const Arguments &arguments) {
  const std::string path = arguments.file(),
                    problemPath = arguments.text("problem"),
                    output = arguments.text("output", "-");
  if (path.empty() || problemPath.empty())
    return reportUsage("import lengths needs a file of lengths and --problem "
                       "FILE, the rondo-problem that gets the sizes");
  if (int code =
          checkOutputs({{"the input file", path}, {"--problem", problemPath}},
                       {{"--output", output}}))
    return code;
  const std::unique_ptr<MemoryBuffer> lengths = readOrReport(path);
  const std::unique_ptr<MemoryBuffer> text =
      lengths ? readOrReport(problemPath) : nullptr;
  if (!text)
    return Failure;
  Result<std::vector<DocumentLengths>> entries =
      formats::readLengths(lengths->getBuffer(), arguments.text("key"));
  if (!entries)
    return reportFault(path, describe(entries.fault()));
  Result<json::ProblemText> problem =
      formats::readProblemText(text->getBuffer());
  if (!problem)
    return reportUnread(problemPath, text->getBuffer(),
                        {formats::FileKind::Problem},
                        describe(problem.fault()));
  Result<std::vector<DocumentLengths>> microbatches =
      microbatchesOf(arguments, std::move(*entries), problem->microbatches);
  if (!microbatches)
    return reportFault(path, describe(microbatches.fault()));
  std::vector<std::vector<int64_t>> sizes;
  for (const DocumentLengths &microbatch : *microbatches) {
    Result<std::vector<int64_t>> size = formats::tokensAndPairs(microbatch);
    if (!size)
      return reportFault(path, describe(size.fault()));
    sizes.push_back(std::move(*size));
  }
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const std::string written = countOf(sizes.size(), "micro-batch") + " of " +
                              std::to_string(least->front()) + " to " +
                              countOf(most->front(), "token");
  formats::setSizes(*problem, std::move(sizes));
  if (arguments.has("tokens"))
    formats::scaleBytes(*problem, arguments.number("tokens", 0));
  const Result<std::string> result = formats::writeProblemText(*problem);
  if (!result)
    return reportFault(problemPath, describe(result.fault()));
  if (int code = writeOrReport(output,
                               [&](raw_ostream &os) { os << *result << "\n"; }))
    return code;
  reportWritten(output, written);
  return Success;
}

} // namespace

const Command &importLengthsCommand() {
  static const Command command{
      162,
      "import lengths",
      "give the micro-batches of a rondo-problem the sizes of documents",
      optionTable(),
      {"FILE --problem FILE [-o FILE] [OPTIONS]"},
      {"rondo import lengths batch.txt --problem stages.json -o uneven.json",
       "rondo import lengths documents.jsonl --key tokens --row-tokens 8192 "
       "--problem stages.json -o uneven.json"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
