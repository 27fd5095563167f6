// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws the panels of `rondoTimelines` on a canvas. Html.cpp writes that object
// in front of this text.
"use strict";

const marginLeft = 62, axisHeight = 24, titleHeight = 24;

const copyCodes = ["SAVE", "LOAD"];
const hasCopies = rondoTimelines.kinds.some((kind) => copyCodes.includes(kind.code));

/** A rank's tasks in rows of their own: compute, copies to the host, copies back. */
function lanesOf(panel, tasks, rank) {
  const begin = panel.rankBegin[rank], stop = panel.rankBegin[rank + 1];
  if (!hasCopies) return [{ begin, end: stop, of: (k) => k }];
  const lists = [[], [], []];
  for (let i = begin; i < stop; ++i) lists[1 + copyCodes.indexOf(rondoTimelines.kinds[tasks.kind[i]].code)].push(i);
  return lists.map((list) => ({ begin: 0, end: list.length, of: (k) => list[k] }));
}

/** Counts the bytes of a rank with copies over time, releases first; returns the levels with their times. */
function countOverTime(panel, tasks, rank) {
  const events = [];
  for (let i = panel.rankBegin[rank]; i < panel.rankBegin[rank + 1]; ++i)
    events.push([tasks.start[i], 1, i], [tasks.end[i], tasks.end[i] > tasks.start[i] ? 0 : 2, i]);
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let held = 0;
  return events.map(([ns, order, i]) => {
    const [takes, frees] = panel.bytes[tasks.replica[i]][tasks.kind[i]] || [0, 0];
    if (order === 1) tasks.held[i] = held += takes;
    else tasks.left[i] = held -= frees;
    return [ns, held];
  });
}

/** The tasks and messages of a panel, as typed arrays. */
function unpack(panel) {
  const count = panel.tasks.length / 6;
  const tasks = {
    count,
    replica: new Int32Array(count), kind: new Uint8Array(count), index: new Int32Array(count),
    start: new Float64Array(count), end: new Float64Array(count),
    waited: new Int32Array(count), held: new Float64Array(count), left: new Float64Array(count),
  };
  panel.rankBegin.slice(0, -1).forEach((begin, rank) => {
    let time = 0, held = 0;
    for (let i = begin; i < panel.rankBegin[rank + 1]; ++i) {
      const at = 6 * i;
      tasks.replica[i] = panel.tasks[at];
      tasks.kind[i] = panel.tasks[at + 1];
      tasks.index[i] = panel.tasks[at + 2];
      // Times are gaps to the task in front; other lanes may begin before its end.
      tasks.start[i] = time + panel.tasks[at + 3];
      tasks.end[i] = time = tasks.start[i] + panel.tasks[at + 4];
      tasks.waited[i] = panel.tasks[at + 5];
      const [takes, frees] = panel.bytes[tasks.replica[i]][tasks.kind[i]] || [0, 0];
      tasks.held[i] = held += takes;
      tasks.left[i] = held -= frees;
    }
  });
  const messages = [];
  for (let at = 0; at < panel.messages.length; at += 4) {
    const [from, to, wait, carried] = panel.messages.slice(at, at + 4);
    const leave = tasks.end[from] + wait;
    messages.push({ from, to, leave, arrive: leave + carried });
  }
  const ranks = panel.rankBegin.slice(0, -1).keys();
  const lanes = Array.from(ranks, (rank) => lanesOf(panel, tasks, rank));
  const levels = lanes.map((own, rank) => (own.length > 1 ? countOverTime(panel, tasks, rank) : null));
  return { ...panel, tasks, messages, lanes, levels };
}

const panels = rondoTimelines.panels.map(unpack);
const kinds = rondoTimelines.kinds;
const end = Math.max(1, ...panels.map((panel) => panel.makespan));
const canvas = document.querySelector("canvas");
const pen = canvas.getContext("2d");
const hint = document.getElementById("hint");
const show = { path: false, messages: false, memory: true };
/** The visible part: nanoseconds at the left and for each pixel, pixels hidden above. */
const view = { from: 0, perPixel: 1, top: 0, drawnTop: 0 };

function nameOf(panel, i) {
  const { tasks } = panel;
  return panel.replicas[tasks.replica[i]][0] + kinds[tasks.kind[i]].code + tasks.index[i];
}
function labelOf(panel, i, rank) {
  const { tasks } = panel;
  return panel.stagesOfRank[rank] > 1 ? nameOf(panel, i) : kinds[tasks.kind[i]].code + tasks.index[i];
}
function rankOf(panel, i) {
  let rank = 0;
  while (i >= panel.rankBegin[rank + 1]) ++rank;
  return rank;
}
function timeText(ns) {
  const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([size]) => ns >= size) || [1, "ns"];
  return `${+(ns / size).toFixed(3)} ${unit}`;
}
function bytesText(bytes) {
  const [size, unit] = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]].find(([size]) => bytes >= size) || [1, "B"];
  return `${+(bytes / size).toFixed(3)} ${unit}`;
}

/** Where each panel and row is, without the part hidden above. */
function layOut() {
  let y = 4;
  const ranks = panels.reduce((sum, panel) => sum + panel.ranks, 0);
  const room = canvas.clientHeight - axisHeight - panels.length * titleHeight;
  const row = Math.max(10, Math.min(34, Math.floor(room / ranks)));
  for (const panel of panels) {
    const hasMemory = show.memory && panel.memoryScale > 0;
    panel.memoryHeight = hasMemory ? Math.round(row * 0.36) : 0;
    panel.rowHeight = row;
    panel.barHeight = row - panel.memoryHeight - 2;
    panel.top = y + titleHeight;
    y = panel.top + panel.ranks * row + 6;
  }
  return y;
}
const nsAt = (x) => view.from + (x - marginLeft) * view.perPixel;
const xOf = (ns) => marginLeft + (ns - view.from) / view.perPixel;
const yOf = (panel, rank) => axisHeight + panel.top + rank * panel.rowHeight - view.top;

/** The first place of a lane whose task ends after `ns`. */
function firstAfter(panel, lane, ns) {
  let low = lane.begin, high = lane.end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (panel.tasks.end[lane.of(middle)] <= ns) low = middle + 1;
    else high = middle;
  }
  return low;
}
/** Where a lane is in its rank's bar: what is above it, and its height. Copies have strips at the bottom. */
function stripOf(panel, rank, lane) {
  if (panel.lanes[rank].length === 1) return [0, panel.barHeight];
  const strip = Math.max(2, Math.round(panel.barHeight * 0.2));
  return lane === 0 ? [0, panel.barHeight - 2 * strip] : [panel.barHeight - (3 - lane) * strip, strip];
}

/** The critical path, from its end: task numbers, and messages as negatives. */
function criticalPath(panel) {
  if (panel.path) return panel.path;
  const { tasks } = panel;
  const path = [];
  let i = 0;
  for (let k = 1; k < tasks.count; ++k) if (tasks.end[k] > tasks.end[i]) i = k;
  while (tasks.count > 0) {
    path.push(i);
    const waited = tasks.waited[i];
    if (waited === 0) break;
    if (waited > 0) i -= waited;
    else {
      path.push(waited);
      i = panel.messages[-1 - waited].from;
    }
  }
  return (panel.path = path);
}

function styleOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The curve between two places; of tasks within a pixel, the highest is drawn. */
function drawMemory(panel, rank, y, area, styles) {
  const { tasks } = panel;
  const base = y + panel.barHeight + 1 + panel.memoryHeight;
  const height = (bytes) => base - (panel.memoryHeight - 1) * (bytes / panel.memoryScale);
  const first = panel.rankBegin[rank];
  const levels = panel.levels[rank];
  let i = levels ? 0 : firstAfter(panel, panel.lanes[rank][0], nsAt(area.left));
  let level = !levels && i > first ? tasks.left[i - 1] : 0;
  let drawnTo = area.left, most = level;
  pen.fillStyle = styles.memory;
  const drawTo = (x) => {
    pen.fillRect(drawnTo, height(most), x - drawnTo, base - height(most));
    drawnTo = x;
  };
  for (const [ns, bytes] of levels || []) {
    const at = Math.min(xOf(ns), area.right);
    most = Math.max(most, level);
    if (at > drawnTo + 1) {
      drawTo(at);
      most = 0;
    } else if (at < area.left) most = 0;
    level = bytes;
  }
  for (; !levels && i < panel.rankBegin[rank + 1]; ++i) {
    const begin = xOf(tasks.start[i]), stop = xOf(tasks.end[i]);
    if (begin > area.right) break;
    if (begin > drawnTo + 1) {
      most = Math.max(most, level);
      drawTo(begin);
      most = 0;
    }
    most = Math.max(most, tasks.held[i]);
    if (stop > drawnTo + 1) {
      drawTo(Math.min(stop, area.right));
      most = 0;
    }
    level = tasks.left[i];
  }
  const stop = Math.min(area.right, xOf(panel.makespan));
  if (stop > drawnTo) {
    most = levels ? Math.max(most, level) : level;
    drawTo(stop);
  }
  if (panel.caps[rank] === null) return;
  pen.strokeStyle = styles.cap;
  pen.setLineDash([4, 3]);
  pen.lineDashOffset = area.left + view.from / view.perPixel;
  pen.beginPath();
  pen.moveTo(area.left, height(panel.caps[rank]));
  pen.lineTo(stop, height(panel.caps[rank]));
  pen.stroke();
  pen.setLineDash([]);
}

/** Bars by colour, so that the colour changes seldom; those of less than a pixel are merged. */
function drawBars(panel, rank, y, area, byColor, labels) {
  panel.lanes[rank].forEach((lane, number) => {
    const [above, height] = stripOf(panel, rank, number);
    drawLane(panel, rank, lane, y + above, height, area, byColor, labels);
  });
}
function drawLane(panel, rank, lane, y, height, area, byColor, labels) {
  const { tasks } = panel;
  let drawnTo = -Infinity;
  for (let k = firstAfter(panel, lane, nsAt(area.left)); k < lane.end; ++k) {
    const i = lane.of(k);
    let begin = xOf(tasks.start[i]);
    if (begin > area.right) break;
    const stop = xOf(tasks.end[i]);
    if (stop < drawnTo + 0.7) continue;
    begin = Math.max(begin, drawnTo);
    drawnTo = stop;
    const width = Math.max(stop - begin, 0.7);
    const color = kinds[tasks.kind[i]].colors[Math.min(panel.replicas[tasks.replica[i]][1], 6)];
    if (!byColor.has(color)) byColor.set(color, []);
    byColor.get(color).push(begin, y, width > 3 ? width - 0.6 : width, height);
    if (width > 16 && height > 8) {
      const label = labelOf(panel, i, rank);
      if (label.length * 6.4 < width - 2) labels.push(label, begin + width / 2, y + height / 2);
    }
  }
}

function drawMessages(panel, styles) {
  pen.strokeStyle = pen.fillStyle = styles.message;
  pen.lineWidth = 1;
  pen.beginPath();
  const heads = [];
  for (const message of panel.messages) {
    const begin = xOf(panel.tasks.end[message.from]), stop = xOf(message.arrive);
    if (stop < marginLeft || begin > canvas.clientWidth) continue;
    const from = yOf(panel, rankOf(panel, message.from)) + panel.barHeight / 2;
    const to = yOf(panel, rankOf(panel, message.to)) + panel.barHeight / 2;
    pen.moveTo(begin, from);
    pen.lineTo(stop, to);
    heads.push(begin, from, stop, to);
  }
  pen.stroke();
  if (heads.length > 8000) return;
  for (let at = 0; at < heads.length; at += 4) {
    const [begin, from, stop, to] = heads.slice(at, at + 4);
    const angle = Math.atan2(to - from, stop - begin);
    pen.beginPath();
    pen.moveTo(stop, to);
    for (const turn of [2.6, -2.6]) pen.lineTo(stop + 6 * Math.cos(angle + turn), to + 6 * Math.sin(angle + turn));
    pen.fill();
  }
}

function drawPath(panel, styles) {
  const { tasks, messages } = panel;
  pen.strokeStyle = styles.path;
  pen.lineWidth = 2.5;
  for (const step of criticalPath(panel)) {
    pen.beginPath();
    if (step >= 0) {
      const begin = xOf(tasks.start[step]);
      pen.rect(begin + 1, yOf(panel, rankOf(panel, step)) + 1, xOf(tasks.end[step]) - begin - 2, panel.barHeight - 2);
    } else {
      const { from, to, arrive } = messages[-1 - step];
      pen.moveTo(xOf(tasks.end[from]), yOf(panel, rankOf(panel, from)) + panel.barHeight / 2);
      pen.lineTo(xOf(arrive), yOf(panel, rankOf(panel, to)) + panel.barHeight / 2);
    }
    pen.stroke();
  }
  pen.lineWidth = 1;
}

function drawAxis(styles) {
  pen.fillStyle = styles.back;
  pen.fillRect(0, 0, canvas.clientWidth, axisHeight);
  pen.fillStyle = pen.strokeStyle = styles.text;
  pen.textAlign = "center";
  const most = Math.max(2, Math.floor(canvas.clientWidth / 110));
  const span = view.perPixel * (canvas.clientWidth - marginLeft);
  let step = 10 ** Math.max(0, Math.floor(Math.log10(span / most)));
  while (span / step > most) step *= span / step > 2.5 * most ? 5 : 2;
  pen.beginPath();
  for (let ns = Math.ceil(view.from / step) * step; xOf(ns) < canvas.clientWidth; ns += step) {
    pen.moveTo(xOf(ns), axisHeight - 5);
    pen.lineTo(xOf(ns), axisHeight);
    pen.fillText(timeText(ns), xOf(ns), axisHeight / 2 - 1);
  }
  pen.stroke();
}

/** Pixels by which what is drawn has moved since; NaN: all must be drawn. */
let shift = NaN;
let isWaiting = false;
function redraw(moved = NaN) {
  shift += moved;
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    draw();
  });
}

/** Moves what is drawn, and returns what is left to draw. */
function moveDrawn(width, height, scale) {
  const all = { left: marginLeft, right: width };
  const moved = shift;
  shift = 0;
  if (!(Math.abs(moved) < width / 2) || !Number.isInteger(moved * scale)) return all;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.drawImage(canvas, -moved * scale, 0);
  return moved > 0 ? { left: width - moved - 1, right: width } : { left: marginLeft, right: marginLeft - moved + 1 };
}

function draw() {
  const scale = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    shift = NaN;
  }
  const styles = Object.fromEntries(["back", "text", "faint", "memory", "cap", "path", "message"].map((name) => [name, styleOf(`--${name}`)]));
  const bottom = layOut();
  const top = Math.max(0, Math.min(view.top, bottom + axisHeight - height));
  if (top !== view.drawnTop) shift = NaN;
  view.top = view.drawnTop = top;
  const area = moveDrawn(width, height, scale);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.save();
  pen.beginPath();
  pen.rect(area.left, 0, area.right - area.left, height);
  pen.clip();
  pen.fillStyle = styles.back;
  pen.fillRect(area.left, 0, area.right - area.left, height);
  pen.font = "11px system-ui, Helvetica, Arial, sans-serif";
  pen.textBaseline = "middle";
  const byColor = new Map(), labels = [];
  for (const panel of panels)
    for (let rank = 0; rank < panel.ranks; ++rank) {
      const y = yOf(panel, rank);
      if (y + panel.rowHeight < axisHeight || y > height) continue;
      if (panel.memoryHeight) drawMemory(panel, rank, y, area, styles);
      drawBars(panel, rank, y, area, byColor, labels);
    }
  for (const [color, bars] of byColor) {
    pen.fillStyle = color;
    for (let at = 0; at < bars.length; at += 4) pen.fillRect(bars[at], bars[at + 1], bars[at + 2], bars[at + 3]);
  }
  pen.fillStyle = "#000";
  pen.textAlign = "center";
  for (let at = 0; at < labels.length; at += 3) pen.fillText(labels[at], labels[at + 1], labels[at + 2]);
  for (const panel of panels) {
    if (show.messages) drawMessages(panel, styles);
    if (show.path) drawPath(panel, styles);
  }
  pen.restore();
  // Names last, over what the left margin hides.
  pen.fillStyle = styles.back;
  pen.fillRect(0, 0, marginLeft, height);
  for (const panel of panels) {
    pen.fillStyle = styles.back;
    pen.fillRect(0, axisHeight + panel.top - titleHeight - view.top, width, titleHeight - 2);
    pen.fillStyle = styles.text;
    pen.textAlign = "left";
    pen.font = "bold 12px system-ui, Helvetica, Arial, sans-serif";
    pen.fillText([`${panel.title} — ${timeText(panel.makespan)}`, ...panel.notes].join("; "), 8, axisHeight + panel.top - titleHeight / 2 - view.top);
    pen.font = "11px system-ui, Helvetica, Arial, sans-serif";
    pen.fillStyle = styles.faint;
    pen.textAlign = "right";
    const step = Math.ceil(10 / panel.rowHeight);
    for (let rank = 0; rank < panel.ranks; rank += step) pen.fillText(`rank ${rank}`, marginLeft - 6, yOf(panel, rank) + panel.barHeight / 2);
  }
  drawAxis(styles);
}
