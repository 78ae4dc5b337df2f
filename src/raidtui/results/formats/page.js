"use strict";
// A click on a head sorts by it: numbers by their value, which the cell carries, and the rest by its text.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const given = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, given, head, column));
  });
}

function sort(table, given, head, column) {
  const numbers = given.some((row) => row.cells[column] && row.cells[column].dataset.value);
  const first = numbers ? "descending" : "ascending";
  const second = numbers ? "ascending" : "descending";
  const before = head.getAttribute("aria-sort");
  const wanted = before === first ? second : before === second ? null : first;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  const rows = [...given];
  if (wanted) {
    head.setAttribute("aria-sort", wanted);
    const sign = wanted === "ascending" ? 1 : -1;
    rows.sort((a, b) => {
      const x = key(a.cells[column], numbers), y = key(b.cells[column], numbers);
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (numbers ? x - y : x.localeCompare(y, "en", { numeric: true }));
    });
  }
  table.tBodies[0].append(...rows);
}

function key(cell, numbers) {
  if (!cell) return null;
  if (!numbers) return cell.textContent.trim();
  return cell.dataset.value ? Number(cell.dataset.value) : null;
}

// Charts: a box has the text of the mark at the pointer, or of the one that the arrow keys chose; the names of a legend are
// buttons that switch their layout off and on in all charts. Without this script a mark has a title, and nothing is a button.
const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const charts = document.getElementById("charts");
const box = document.createElement("div");
box.className = "tip";
box.setAttribute("role", "status");
document.body.append(box);

function tell(mark) {
  for (const other of document.querySelectorAll(".marks .at")) other.classList.remove("at");
  box.classList.toggle("shown", mark !== null);
  if (mark === null) return;
  mark.classList.add("at");
  box.textContent = mark.dataset.words;
  const at = mark.getBoundingClientRect();
  const left = Math.min(at.left + at.width / 2, innerWidth - box.offsetWidth - 8);
  const above = at.top - box.offsetHeight - 6;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${above < 8 ? at.bottom + 6 : above}px`;
}

function step(svg, by) {
  const marks = [...svg.querySelectorAll(".marks rect:not(.off)")];
  if (!marks.length) return;
  const now = marks.findIndex((mark) => mark.classList.contains("at"));
  tell(marks[now < 0 ? (by > 0 ? 0 : marks.length - 1) : (now + by + marks.length) % marks.length]);
}

function turn(layout, off) {
  for (const part of charts.querySelectorAll(`.l${layout}`)) part.classList.toggle("off", off);
  for (const part of charts.querySelectorAll(`.n${layout}`)) part.classList.toggle("dim", off);
  for (const name of charts.querySelectorAll(`[data-layout="${layout}"]`)) name.setAttribute("aria-pressed", String(!off));
}

for (const svg of document.querySelectorAll("#charts svg")) {
  svg.setAttribute("role", "group");
  svg.setAttribute("tabindex", "0");
  for (const mark of svg.querySelectorAll(".marks rect")) {
    mark.dataset.words = mark.textContent;
    mark.replaceChildren();
    mark.addEventListener("pointerover", () => tell(mark));
    mark.addEventListener("pointerout", () => tell(null));
  }
  const names = [...svg.querySelectorAll(".names rect")];
  names.forEach((name, number) => {
    name.setAttribute("role", "button");
    name.setAttribute("tabindex", number ? "-1" : "0");  // one stop of Tab for all names of a chart
    name.setAttribute("aria-label", name.dataset.name);
    name.setAttribute("aria-pressed", "true");
    const press = () => turn(name.dataset.layout, name.getAttribute("aria-pressed") === "true");
    name.addEventListener("click", press);
    name.addEventListener("keydown", (event) => {
      const by = ARROWS[event.key];
      if (by) names[(number + by + names.length) % names.length].focus();
      else if (event.key === "Enter" || event.key === " ") press();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  });
  svg.addEventListener("keydown", (event) => {
    const by = ARROWS[event.key];
    if (by) {
      event.preventDefault();
      step(svg, by);
    } else if (event.key === "Escape") tell(null);
  });
  svg.addEventListener("blur", () => tell(null));
}
for (const hint of document.querySelectorAll(".scripted")) hint.hidden = false;

const theme = document.querySelector("button.theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
// Paper has no place to click: where all is printed, every command is opened, and closed again afterwards.
let opened = [];
addEventListener("beforeprint", () => {
  if (!document.getElementById("print-all").checked) return;
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => {
  opened.forEach((one) => { one.open = false; });
  opened = [];
});
