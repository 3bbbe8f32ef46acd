"use strict";
// Sorts and filters tables, and opens an entry: histograms, worst places, settings of its tolerance.
// Names and numbers are only ever put in as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (tag, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (name) node.className = name;
    return node;
  };
  const short = (v) => (typeof v === "number" ? Number(v.toPrecision(4)).toString() : String(v));

  function histogram(title, counts, range, side) {
    const box = make("div", undefined, side);
    box.append(make("b", title));
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const top = Math.max(...counts, 1), width = 100 / counts.length;
    svg.setAttribute("viewBox", "0 0 100 50");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${title}: histogram from ${short(range[0])} to ${short(range[1])}`);
    counts.forEach((count, i) => {
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      // one value among a million is still to be seen
      const height = count ? Math.max(0.7, (50 * count) / top) : 0;
      const low = range[0] + ((range[1] - range[0]) * i) / counts.length;
      bar.setAttribute("x", i * width + 0.1);
      bar.setAttribute("width", width - 0.2);
      bar.setAttribute("y", 50 - height);
      bar.setAttribute("height", height);
      const label = document.createElementNS("http://www.w3.org/2000/svg", "title");
      label.textContent = `${count} from ${short(low)}`;
      bar.append(label);
      svg.append(bar);
    });
    const ends = make("p");
    ends.append(make("span", short(range[0])), make("span", short(range[1])));
    box.append(svg, ends);
    return box;
  }

  function worst(rows, sides) {
    const table = make("table"), head = make("tr"), body = make("tbody", undefined, "rows");
    table.append(make("caption", "Furthest apart", "hidden"));
    const reference = rows.some((r) => "reference" in r);
    for (const name of ["index", ...sides, "|difference|", ...(reference ? ["reference"] : [])]) {
      const th = make("th", name);
      th.scope = "col";
      head.append(th);
    }
    const thead = make("thead");
    thead.append(head);
    for (const row of rows) {
      const tr = make("tr");
      tr.append(make("td", `[${row.index.join(", ")}]`), ...row.values.map((v) => make("td", v)));
      tr.append(make("td", short(row.gap)));
      if (reference) tr.append(make("td", row.reference));
      body.append(tr);
    }
    table.append(thead, body);
    return table;
  }

  function open(report, index, focus) {
    const n = Number(report.dataset.report), panel = document.getElementById(`detail-${n}`);
    const row = report.querySelector(`.entries tr[data-i="${index}"]`);
    if (!panel || !row) return;
    report.querySelectorAll(".chosen").forEach((r) => r.classList.remove("chosen"));
    report.querySelectorAll(`tr:has([data-open="${index}"])`).forEach((r) => r.classList.add("chosen"));
    const cells = [...row.cells].map((c) => c.innerText.trim());
    const found = data.details[n][index], sides = row.cells[2].innerText.trim().split("-");
    panel.replaceChildren(make("h2", row.querySelector("a").textContent));
    panel.append(make("p", `${cells.at(-1)}  ·  differing ${cells.at(-2)}  ·  ${cells[3]} of the tolerance`));
    if (!found) {
      panel.append(make("p", "No histogram of this entry was kept.", "note"));
    } else {
      if (found.counts) {
        const grid = make("div", undefined, "hists");
        Object.entries(found.counts).forEach(([side, counts], i) =>
          grid.append(histogram(side, counts, found.range, i ? "right" : "left")));
        grid.append(histogram(`${sides.join(" minus ")}`, found.gap_counts, found.gap_range, "gap"));
        panel.append(grid);
        if (found.sampled < found.size)
          panel.append(make("p", `Histograms of ${found.sampled} of ${found.size} values, at equal steps.`, "note"));
      }
      panel.append(found.worst.length ? worst(found.worst, Object.keys(found.counts || {}).length ? Object.keys(found.counts) : sides)
        : make("p", "Every value is the same on both sides.", "note"));
    }
    panel.hidden = false;
    if (focus) { panel.scrollIntoView({ block: "nearest" }); panel.focus({ preventScroll: true }); }
  }

  function tableOf(report) {
    const table = report.querySelector("table.entries");
    if (!table) return;
    const rows = [...table.querySelectorAll("tbody tr")], bodies = [...table.tBodies];
    const filter = report.querySelector(".filter"), state = report.querySelector(".state");
    const count = report.querySelector(".count");
    const names = rows.map((r) => r.cells[1].textContent.toLowerCase());
    const place = (ordered) => ordered.forEach((r, i) => bodies[Math.min(Math.floor(i / 100), bodies.length - 1)].append(r));
    const apply = () => {
      const wanted = filter.value.trim().toLowerCase(), kind = state.value;
      let shown = 0;
      rows.forEach((row, i) => {
        const ok = row.dataset.ok === "1";
        const keep = names[i].includes(wanted) && (kind === "all" || (kind === "agree") === ok);
        row.hidden = !keep;
        shown += keep;
      });
      bodies.forEach((b) => (b.hidden = ![...b.rows].some((r) => !r.hidden)));
      count.textContent = `${shown} of ${rows.length} shown`;
    };
    filter.addEventListener("input", apply);
    state.addEventListener("change", apply);
    table.querySelectorAll("thead button").forEach((button) => button.addEventListener("click", () => {
      const th = button.closest("th"), column = th.cellIndex;
      const down = th.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th").forEach((h) => h.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (r) => {
        const cell = r.cells[column];
        if (!cell || cell.colSpan > 1) return Infinity; // another structure is worse than any number
        if ("v" in cell.dataset) return cell.dataset.v === "" ? -1 : cell.dataset.v === "inf" ? Infinity : Number(cell.dataset.v);
        return button.dataset.key === "order" ? Number(r.dataset.i) : cell.textContent.trim();
      };
      const keyed = rows.map((r) => [value(r), r]);
      keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
      place(keyed.map(([, r]) => r));
      apply();
    }));
    table.addEventListener("keydown", (event) => {
      if (!["ArrowDown", "ArrowUp"].includes(event.key) || !event.target.dataset.open) return;
      const links = rows.filter((r) => !r.hidden).sort((a, b) => a.compareDocumentPosition(b) & 4 ? -1 : 1)
        .map((r) => r.querySelector("a"));
      const next = links[links.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) { event.preventDefault(); next.focus(); }
    });
    apply();
  }

  document.querySelectorAll(".report").forEach((report) => {
    tableOf(report);
    report.addEventListener("click", (event) => {
      const link = event.target.closest("[data-open]");
      if (!link) return;
      event.preventDefault();
      open(report, link.dataset.open, true);
    });
    const readout = report.querySelector(".readout");
    report.querySelectorAll(".plot title").forEach((title) => title.parentElement.addEventListener(
      "pointerenter", () => { readout.textContent = title.textContent; }));
    const first = report.querySelector(".first [data-open]");
    if (first) open(report, first.dataset.open, false);
  });
})();
