// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mouse, keys and buttons do.
"use strict";

function fit() {
  view.from = 0;
  view.top = 0;
  view.perPixel = end / Math.max(100, canvas.clientWidth - marginLeft - 12);
  redraw();
}
function zoom(factor, x) {
  const ns = nsAt(x);
  const widest = end / Math.max(100, canvas.clientWidth - marginLeft - 12);
  view.perPixel = Math.min(widest, Math.max(view.perPixel * factor, 0.02));
  view.from = Math.max(0, Math.min(ns - (x - marginLeft) * view.perPixel, end));
  redraw();
}
function pan(pixelsRight, pixelsDown) {
  const from = view.from + Math.round(pixelsRight) * view.perPixel;
  view.from = Math.max(0, Math.min(from, end));
  view.top += pixelsDown;
  redraw(view.from === from ? Math.round(pixelsRight) : NaN);
}

/** The panel and task at a place; nothing where there is none. */
function taskAt(x, y) {
  const ns = nsAt(x);
  if (x < marginLeft) return null;
  for (const panel of panels) {
    const rank = Math.floor((y - axisHeight - panel.top + view.top) / panel.rowHeight);
    if (rank < 0 || rank >= panel.ranks) continue;
    const inRow = y - yOf(panel, rank);
    const number = panel.lanes[rank].findIndex((_, lane) => {
      const [above, height] = stripOf(panel, rank, lane);
      return inRow >= above && inRow < above + height;
    });
    const lane = panel.lanes[rank][Math.max(0, number)];
    const k = firstAfter(panel, lane, ns);
    if (k < lane.end && panel.tasks.start[lane.of(k)] <= ns) return { panel, rank, i: lane.of(k), before: k > lane.begin ? lane.of(k - 1) : -1 };
  }
  return null;
}

/** What a task is and what it waited for, in words. */
function describe({ panel, rank, i, before }) {
  const { tasks, messages } = panel;
  const lines = [
    `${nameOf(panel, i)}: ${kinds[tasks.kind[i]].words} of stage ${panel.replicas[tasks.replica[i]][0]}, micro-batch ${tasks.index[i]}, on rank ${rank}`,
    `${timeText(tasks.start[i])} to ${timeText(tasks.end[i])}, ${timeText(tasks.end[i] - tasks.start[i])} long`,
  ];
  if (panel.memoryScale > 0) lines.push(`the rank holds ${bytesText(tasks.held[i])}, then ${bytesText(tasks.left[i])}`);
  const waited = tasks.waited[i];
  const idle = tasks.start[i] - (before >= 0 ? tasks.end[before] : 0);
  if (waited < 0) {
    const { from, leave, arrive } = messages[-1 - waited];
    lines.push(
      `waited for the message of ${nameOf(panel, from)} from rank ${rankOf(panel, from)}, ready at ${timeText(tasks.end[from])}, sent at ${timeText(leave)}, there at ${timeText(arrive)}` +
        (idle > 0 ? `; idle for ${timeText(idle)}` : ""),
    );
  } else if (waited > 0) lines.push(`follows ${nameOf(panel, i - waited)} without a gap`);
  return lines.join("\n");
}

function hover(x, y) {
  const found = taskAt(x, y);
  hint.style.display = found ? "block" : "none";
  if (!found) return;
  hint.textContent = describe(found);
  hint.style.left = `${Math.min(x + 14, canvas.clientWidth - hint.offsetWidth - 4)}px`;
  hint.style.top = `${Math.min(y + 14, canvas.clientHeight - hint.offsetHeight - 4)}px`;
}

function toggle(what) {
  show[what] = !show[what];
  document.getElementById(`show-${what}`).setAttribute("aria-pressed", show[what]);
  redraw();
}
function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").setAttribute("aria-pressed", dark);
  redraw();
}
const isDark = () => document.documentElement.dataset.theme === "dark";

const keys = {
  "+": () => zoom(1 / 1.5, (canvas.clientWidth + marginLeft) / 2),
  "=": () => zoom(1 / 1.5, (canvas.clientWidth + marginLeft) / 2),
  "-": () => zoom(1.5, (canvas.clientWidth + marginLeft) / 2),
  ArrowLeft: () => pan(-80, 0),
  ArrowRight: () => pan(80, 0),
  ArrowUp: () => pan(0, -60),
  ArrowDown: () => pan(0, 60),
  0: fit,
  c: () => toggle("path"),
  m: () => toggle("messages"),
  b: () => toggle("memory"),
  d: () => setTheme(!isDark()),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey) pan(event.deltaX, event.deltaY);
  else zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, event.offsetX);
}, { passive: false });
let dragged = null;
canvas.addEventListener("pointerdown", (event) => {
  dragged = [event.offsetX, event.offsetY];
  canvas.setPointerCapture(event.pointerId);
  canvas.classList.add("dragging");
});
canvas.addEventListener("pointermove", (event) => {
  if (dragged) {
    pan(dragged[0] - event.offsetX, dragged[1] - event.offsetY);
    dragged = [event.offsetX, event.offsetY];
  }
  hover(event.offsetX, event.offsetY);
});
for (const name of ["pointerup", "pointercancel"])
  canvas.addEventListener(name, () => {
    dragged = null;
    canvas.classList.remove("dragging");
  });
canvas.addEventListener("pointerleave", () => (hint.style.display = "none"));
for (const what of ["path", "messages", "memory"]) document.getElementById(`show-${what}`).addEventListener("click", () => toggle(what));
document.getElementById("fit").addEventListener("click", fit);
document.getElementById("theme").addEventListener("click", () => setTheme(!isDark()));
for (const kind of kinds) {
  const item = document.createElement("span");
  const box = document.createElement("i");
  box.style.background = kind.colors[0];
  item.append(box, `${kind.code} ${kind.words}`);
  document.getElementById("legend").append(item);
}
addEventListener("resize", redraw);
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
fit();
