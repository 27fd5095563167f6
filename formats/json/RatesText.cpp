//===- RatesText.cpp - What a stack reaches on devices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/RatesText.h"

#include "formats/json/GroupWords.h"
#include "formats/json/Rows.h"

using llvm::StringRef;

namespace rondo::json {

namespace {
#include "formats/json/RatesKeys.def"
} // namespace

const TableBase &ratesTable() { return ratesObject(); }

Result<Rates> readRates(StringRef text) {
  Rates rates;
  Context context;
  context.text = text;
  std::optional<TextFault> fault;
  if (text.trim().empty())
    fault = "the file is empty; expected one rondo-rates/1 object";
  else if (!(fault = checkSyntax(text)))
    fault = ratesObject().read(Place(context, "rates"), Value(text), rates);
  else
    fault = withWords("", *fault,
                      "; expected one rondo-rates/1 object, which is JSON");
  if (fault)
    return *fault;
  return rates;
}

void writeRates(const Rates &rates, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "rondo-rates/1");
    ratesObject().write(json, rates);
  });
  os << "\n";
}

} // namespace rondo::json
