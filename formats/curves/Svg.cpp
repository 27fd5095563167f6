//===- Svg.cpp - Time over memory as a picture ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/curves/Curve.h"
#include "formats/curves/Labels.h"
#include "formats/timeline/Pictures.h"
#include "schedule/bounds/Bounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <map>

using namespace rondo;
using namespace rondo::curves;
using timeline::escaped;
using timeline::timeText;

namespace {

constexpr double width = 900, panelHeight = 520;
constexpr double left = 90, right = 24, top = 34, bottom = 64;
constexpr double letterWidth = 6, lineHeight = 13;

llvm::format_object<double> at(double x) { return llvm::format("%.2f", x); }

std::string bytesText(double bytes) {
  constexpr std::pair<double, const char *> units[] = {
      {0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}};
  for (auto [size, unit] : units)
    if (bytes >= size) {
      std::string text;
      llvm::raw_string_ostream(text) << llvm::format("%.3f", bytes / size);
      return llvm::StringRef(text).rtrim('0').rtrim('.').str() + " " + unit;
    }
  return std::to_string(int64_t(bytes)) + " B";
}

/// A round step, of at most `most` up to `length`, in multiples of `unit`.
double stepOf(double length, double unit, int most) {
  for (double power = unit / 1000;; power *= 10)
    for (double factor : {1, 2, 5})
      if (length / (power * factor) <= most)
        return power * factor;
}

/// The values of one axis.
struct Axis {
  double first = 0, last = 1, step = 1;

  /// `unit` by the largest value.
  Axis(double least, double most, double unit) {
    const double room = std::max((most - least) * 0.08, most * 0.01 + 1e-9);
    // From 0 if most of the axis is used then.
    first = least < 0.4 * most ? 0 : least - room;
    last = most + room;
    step = stepOf(last - first, unit, 8);
  }
  double share(double value) const { return (value - first) / (last - first); }
};

double unitOfBytes(double most) {
  double unit = 1;
  while (most >= unit * 1024)
    unit *= 1024;
  return std::max(unit, 1.0);
}

class Picture {
public:
  Picture(llvm::raw_ostream &os, const Curve &curve, double above)
      : os(os), curve(curve), above(above), memory(axisOfMemory(curve)),
        time(axisOfTime(curve)) {}

  void write();

private:
  static Axis axisOfMemory(const Curve &curve) {
    int64_t least = INT64_MAX, most = 1;
    for (const Point &point : curve.points) {
      least = std::min(least, point.bytes);
      most = std::max(most, point.bytes);
    }
    if (curve.capBytes) {
      least = std::min(least, *curve.capBytes);
      most = std::max(most, *curve.capBytes);
    }
    return Axis(double(std::min(least, most)), double(most),
                unitOfBytes(double(most)));
  }
  static Axis axisOfTime(const Curve &curve) {
    int64_t least = INT64_MAX, most = 1;
    for (const Point &point : curve.points) {
      least = std::min(least, point.ns);
      most = std::max(most, point.ns);
    }
    if (curve.boundNs >= 0) {
      least = std::min(least, curve.boundNs);
      most = std::max(most, curve.boundNs);
    }
    double unit = 1;
    while (double(most) >= unit * 1000)
      unit *= 1000;
    return Axis(double(std::min(least, most)), double(most), unit);
  }
  double x(double bytes) const {
    return left + (width - left - right) * memory.share(bytes);
  }
  double y(double ns) const {
    return above + top + (panelHeight - top - bottom) * (1 - time.share(ns));
  }
  void writeAxes();
  void writeLimits();
  void writeFront();
  void writePoints();
  void writeMark(const Point &point, const std::string &title);
  void writeLegend();

  llvm::raw_ostream &os;
  const Curve &curve;
  const double above;
  const Axis memory, time;
  /// The areas that labels avoid.
  std::vector<Box> lines;
};

void Picture::writeAxes() {
  const double floor = above + panelHeight - bottom, ceiling = above + top;
  os << "<text class=\"title\" x=\"" << at(left) << "\" y=\"" << at(above + 20)
     << "\">" << escaped(curve.title) << "</text>\n"
     << "<path class=\"axis\" d=\"M" << at(left) << " " << at(ceiling) << "V"
     << at(floor) << "H" << at(width - right) << "\"/>\n";
  const auto ticks = [](const Axis &axis, auto write) {
    for (auto k = int64_t(std::max(0.0, axis.first / axis.step));
         double(k) * axis.step <= axis.last; ++k)
      if (double(k) * axis.step >= axis.first)
        write(double(k) * axis.step);
  };
  ticks(memory, [&](double bytes) {
    os << "<path class=\"grid\" d=\"M" << at(x(bytes)) << " " << at(ceiling)
       << "V" << at(floor) << "\"/><text class=\"middle\" x=\"" << at(x(bytes))
       << "\" y=\"" << at(floor + 16) << "\">" << bytesText(bytes)
       << "</text>\n";
  });
  ticks(time, [&](double ns) {
    os << "<path class=\"grid\" d=\"M" << at(left) << " " << at(y(ns)) << "H"
       << at(width - right) << "\"/><text class=\"end\" x=\"" << at(left - 6)
       << "\" y=\"" << at(y(ns) + 4) << "\">" << timeText(int64_t(ns))
       << "</text>\n";
  });
  os << "<text class=\"middle\" x=\"" << at((left + width - right) / 2)
     << "\" y=\"" << at(floor + 34)
     << "\">peak memory of the fullest rank</text>\n"
     << "<text class=\"middle\" transform=\"translate(14 "
     << at((ceiling + floor) / 2) << ") rotate(-90)\">" << escaped(curve.time)
     << "</text>\n";
}

void Picture::writeLimits() {
  if (curve.boundNs >= 0) {
    const double level = y(double(curve.boundNs));
    lines.push_back({left, level - 1, width - right, level + 1});
    os << "<path class=\"bound\" d=\"M" << at(left) << " " << at(level) << "H"
       << at(width - right) << "\"><title>no schedule is below "
       << timeText(curve.boundNs) << " (bound "
       << escaped(printedBound(curve.bound)) << ")</title></path>\n";
  }
  if (curve.capBytes) {
    const double place = x(double(*curve.capBytes));
    lines.push_back(
        {place - 1, above + top, place + 1, above + panelHeight - bottom});
    os << "<path class=\"cap\" d=\"M" << at(place) << " " << at(above + top)
       << "V" << at(above + panelHeight - bottom)
       << "\"><title>no rank may hold more than "
       << bytesText(double(*curve.capBytes)) << "</title></path>\n";
  }
}

/// The best time within each cap.
void Picture::writeFront() {
  const std::vector<size_t> front = paretoFront(curve.points);
  if (front.empty())
    return;
  const auto place = [&](size_t i) {
    return std::pair(x(double(curve.points[i].bytes)),
                     y(double(curve.points[i].ns)));
  };
  // A line with some room, which no label covers.
  const auto block = [&](double fromX, double fromY, double toX, double toY) {
    lines.push_back({std::min(fromX, toX) - 1, std::min(fromY, toY) - 1,
                     std::max(fromX, toX) + 1, std::max(fromY, toY) + 1});
  };
  const auto [beginX, beginY] = place(front.front());
  double lastX = beginX, lastY = beginY;
  os << "<path class=\"front\" d=\"M" << at(beginX) << " " << at(beginY);
  for (size_t i : llvm::drop_begin(front)) {
    const auto [nextX, nextY] = place(i);
    os << "H" << at(nextX) << "V" << at(nextY);
    block(lastX, lastY, nextX, lastY);
    block(nextX, lastY, nextX, nextY);
    lastX = nextX;
    lastY = nextY;
  }
  block(lastX, lastY, width - right, lastY);
  os << "H" << at(width - right) << "\"/>\n";
}

void Picture::writeMark(const Point &point, const std::string &title) {
  const double px = x(double(point.bytes)), py = y(double(point.ns));
  switch (point.origin) {
  case Origin::Family:
    os << "<circle class=\"family\" cx=\"" << at(px) << "\" cy=\"" << at(py)
       << "\" r=\"4.5\">";
    break;
  case Origin::File:
    os << "<path class=\"file\" d=\"M" << at(px) << " " << at(py - 6)
       << "l6 6l-6 6l-6 -6Z\">";
    break;
  case Origin::Search:
    os << "<rect class=\"search\" x=\"" << at(px - 5) << "\" y=\"" << at(py - 5)
       << "\" width=\"10\" height=\"10\">";
    break;
  }
  os << "<title>" << escaped(title) << "</title>"
     << (point.origin == Origin::Family ? "</circle>"
         : point.origin == Origin::File ? "</path>"
                                        : "</rect>")
     << "\n";
}

void Picture::writePoints() {
  // Schedules at one place share a label.
  std::map<std::pair<int64_t, int64_t>, std::vector<const Point *>> places;
  for (const Point &point : curve.points)
    places[{point.bytes, point.ns}].push_back(&point);
  std::vector<Label> labels;
  std::vector<std::string> texts;
  for (const auto &[place, points] : places) {
    std::string text;
    for (const Point *point : llvm::ArrayRef(points).take_front(3))
      text += (text.empty() ? "" : ", ") + point->name;
    if (points.size() > 3)
      text += " and " + std::to_string(points.size() - 3) + " more";
    labels.push_back({x(double(place.first)), y(double(place.second)),
                      letterWidth * double(text.size()), lineHeight});
    texts.push_back(text);
  }
  const std::vector<Box> boxes = placeLabels(
      labels, lines,
      {left, above + top, width - right, above + panelHeight - bottom});
  for (auto [label, box] : llvm::zip_equal(labels, boxes)) {
    // From the point to the nearest part of the text.
    const double toX = std::clamp(label.x, box.left, box.right),
                 toY = std::clamp(label.y, box.top, box.bottom);
    if (std::abs(toX - label.x) + std::abs(toY - label.y) > 14)
      os << "<path class=\"leader\" d=\"M" << at(label.x) << " " << at(label.y)
         << "L" << at(toX) << " " << at(toY) << "\"/>\n";
  }
  for (const auto &[place, points] : places) {
    std::string names;
    for (const Point *point : points)
      names += (names.empty() ? "" : ", ") + point->name;
    // The mark that says most is on top.
    for (Origin origin : {Origin::Family, Origin::File, Origin::Search})
      for (const Point *point : points)
        if (point->origin == origin) {
          writeMark(*point, names + ": " + timeText(point->ns) + ", " +
                                bytesText(double(point->bytes)));
          break;
        }
  }
  for (auto [text, box] : llvm::zip_equal(texts, boxes))
    os << "<text class=\"middle label\" x=\"" << at((box.left + box.right) / 2)
       << "\" y=\"" << at(box.bottom - 3) << "\">" << escaped(text)
       << "</text>\n";
}

void Picture::writeLegend() {
  const double y = above + panelHeight - 14;
  double begin = left;
  const auto add = [&](const std::string &mark, const std::string &words) {
    os << "<g transform=\"translate(" << at(begin) << " " << at(y) << ")\">"
       << mark << "<text x=\"16\" y=\"4\">" << escaped(words)
       << "</text></g>\n";
    begin += 16 + letterWidth * double(words.size()) + 20;
  };
  const auto has = [&](Origin origin) {
    return llvm::any_of(curve.points, [&](const Point &point) {
      return point.origin == origin;
    });
  };
  if (has(Origin::Family))
    add("<circle class=\"family\" cx=\"5\" cy=\"0\" r=\"4.5\"/>", "families");
  if (has(Origin::File))
    add("<path class=\"file\" d=\"M5 -6l6 6l-6 6l-6 -6Z\"/>",
        "schedules of the file");
  if (has(Origin::Search))
    add("<rect class=\"search\" y=\"-5\" width=\"10\" height=\"10\"/>",
        "searched");
  add("<path class=\"front\" d=\"M0 0H12\"/>", "best for the memory");
  if (curve.boundNs >= 0)
    add("<path class=\"bound\" d=\"M0 0H12\"/>",
        "bound " + printedBound(curve.bound) + ", " + timeText(curve.boundNs));
  if (curve.capBytes)
    add("<path class=\"cap\" d=\"M6 -6V6\"/>", "cap");
  if (!curve.missing.empty())
    add("", std::to_string(curve.missing.size()) + " without a schedule");
}

void Picture::write() {
  writeAxes();
  writeFront();
  writeLimits();
  writePoints();
  writeLegend();
}

} // namespace

void curves::writeSvg(llvm::raw_ostream &os, llvm::ArrayRef<Curve> curves) {
  const double height = panelHeight * double(curves.size());
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << at(width)
     << " " << at(height) << "\" width=\"" << at(width) << "\" height=\""
     << at(height) << "\" font-family=\"Helvetica, Arial, sans-serif\" "
     << "font-size=\"11\">\n<style>\n"
     // Okabe and Ito's palette.
     << ".family{fill:#56b4e9;stroke:#fff}.file{fill:#009e73;stroke:#fff}"
     << ".search{fill:#d55e00;stroke:#fff}\n"
     << ".front{stroke:#333;stroke-width:1.5;fill:none}"
     << ".bound{stroke:#cc79a7;stroke-width:1.5;stroke-dasharray:6 4;fill:none}"
     << ".cap{stroke:#b00020;stroke-dasharray:4 3;fill:none}\n"
     << ".axis{stroke:#333;fill:none}.grid{stroke:#e4e4e4}"
     << ".leader{stroke:#999;stroke-width:.7}\n"
     << ".title{font-size:13px;font-weight:bold}.middle{text-anchor:middle}"
     << ".end{text-anchor:end}\n"
     << ".label{paint-order:stroke;stroke:#fff;stroke-width:3px}\n</style>\n"
     << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  for (size_t i = 0; i < curves.size(); ++i)
    Picture(os, curves[i], panelHeight * double(i)).write();
  os << "</svg>\n";
}
