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

const theme = document.querySelector("button.theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
// Paper has no place to click: every command is printed, and closed again afterwards.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => opened.forEach((one) => { one.open = false; }));
