//===- Html.cpp - Time over memory as a page ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/curves/Curve.h"
#include "formats/timeline/Pictures.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace rondo;
using namespace rondo::curves;
using timeline::escaped;

static const char *wordsFor(Origin origin) {
  switch (origin) {
  case Origin::Family:
    return "family";
  case Origin::File:
    return "schedule of the file";
  case Origin::Search:
    return "searched";
  }
  return "";
}

/// Fastest first.
static void writeTable(llvm::raw_ostream &os, const Curve &curve) {
  os << "<table>\n<caption>" << escaped(curve.title)
     << "</caption>\n<tr><th>schedule</th><th>from</th><th>"
     << escaped(curve.time)
     << "</th><th>peak memory, bytes</th><th>best for its memory</th></tr>\n";
  const std::vector<size_t> front = paretoFront(curve.points);
  const auto isBest = [&](const Point &point) {
    return llvm::any_of(front, [&](size_t i) {
      return curve.points[i].bytes == point.bytes &&
             curve.points[i].ns == point.ns;
    });
  };
  std::vector<size_t> order(curve.points.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return std::tie(curve.points[a].ns, curve.points[a].bytes) <
           std::tie(curve.points[b].ns, curve.points[b].bytes);
  });
  for (size_t i : order) {
    const Point &point = curve.points[i];
    os << "<tr><td>" << escaped(point.name) << "</td><td>"
       << wordsFor(point.origin) << "</td><td>" << timeline::timeText(point.ns)
       << "</td><td>" << point.bytes << "</td><td>"
       << (isBest(point) ? "yes" : "") << "</td></tr>\n";
  }
  for (const Missing &missing : curve.missing)
    os << "<tr><td>" << escaped(missing.name) << "</td><td colspan=\"4\">"
       << escaped(missing.why) << "</td></tr>\n";
  os << "</table>\n";
}

void curves::writeHtml(llvm::raw_ostream &os, llvm::ArrayRef<Curve> curves) {
  const std::string title = curves.empty() ? "" : escaped(curves.front().title);
  os << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
        "href=\"data:,\">\n<title>"
     << title
     << ": time over memory</title>\n<style>\n"
        "body{font:13px/1.4 system-ui,Helvetica,Arial,sans-serif;margin:16px;"
        "color:#1a1a1a;background:#fff}\n"
        "svg{max-width:100%;height:auto}\n"
        "svg .family:hover,svg .file:hover,svg .search:hover{stroke:#000;"
        "stroke-width:2}\n"
        "table{border-collapse:collapse;margin:12px 0}"
        "caption{text-align:left;font-weight:bold;padding:4px 0}\n"
        "td,th{text-align:left;padding:2px 14px 2px 0;border-bottom:1px solid "
        "#d5d5d5}\n</style>\n</head>\n<body>\n";
  writeSvg(os, curves);
  for (const Curve &curve : curves)
    writeTable(os, curve);
  os << "</body>\n</html>\n";
}
