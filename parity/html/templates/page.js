"use strict";
// Sorts and filters tables, folds trees, and opens an entry: histograms, worst places, source, trials.
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

  function tabled(caption, names, rows) {
    const table = make("table"), head = make("tr"), body = make("tbody", undefined, "rows");
    table.append(make("caption", caption, "hidden"));
    for (const name of names) {
      const th = make("th", name);
      th.scope = "col";
      head.append(th);
    }
    const thead = make("thead");
    thead.append(head);
    for (const row of rows) {
      const tr = make("tr");
      tr.append(...row.map((v) => make("td", v)));
      body.append(tr);
    }
    table.append(thead, body);
    return table;
  }

  function worst(rows, sides) {
    const reference = rows.some((r) => "reference" in r) ? ["reference"] : [];
    return tabled("Furthest apart", ["index", ...sides, "|difference|", ...reference],
      rows.map((r) => [`[${r.index.join(", ")}]`, ...r.values, short(r.gap), ...reference.map((k) => r[k])]));
  }

  // The lines of code behind an entry, and what was tried there.
  function behind(panel, n, index) {
    const own = data.panels[n][index];
    if (!own) return;
    const lines = Object.entries(own.source);
    if (lines.length) {
      const list = make("ul", undefined, "lines");
      for (const [side, line] of lines) {
        const item = make("li", `${side}: `);
        item.append(make("code", line));
        list.append(item);
      }
      panel.append(make("h3", "Source"), list);
    }
    if (own.tried.length) panel.append(make("h3", "Tried here"),
      tabled("Tried here", ["hypothesis", "change", "error before", "after", "removes it"],
        own.tried.map((i) => data.tried[n][i]).map((r) => [...r.slice(0, 4), r[4] ? "✓ yes" : "no"])));
  }

  // Numbers as the rest of the page writes them.
  const power = (text) => text.replace(/e([+-])(\d)$/, "e$10$2");
  const digits = (v) => { const t = Number(v.toPrecision(2)); return power(t >= 1e-4 && t < 100 || t === 0 ? String(t) : v.toExponential(1).replace(".0e", "e")); };
  const real = (v) => (v === null ? NaN : Number(v === "inf" ? Infinity : v));
  const num = (v) => (v === null ? "-" : v === "inf" ? "inf" : v === 0 ? "0" : digits(v));
  const share = (v) => {
    if (v === null) return "-";
    if (v === "inf") return "∞";
    if (v < 10) return `${Math.round(100 * v)}%`;
    return v < 1e6 ? `${Math.round(v).toLocaleString("en")}x` : `${digits(v)}x`;
  };
  const level = (l) => make("span", data.levels[l], `lv lv${l}`);
  const put = {
    order: (v) => make("td", v),
    text: (v) => make("td", v),
    share: (v) => make("td", share(v), "n"),
    num: (v) => make("td", num(v), "n"),
    count: (v) => make("td", v.toLocaleString("en"), "n"),
    part: (v) => make("td", `${v[0]}/${v[1]}`, "n"),
    verdict: (v) => {
      const cell = make("td"), badge = make("span", undefined, `badge ${v}`), symbol = make("span", data.symbols[v] || "?");
      symbol.setAttribute("aria-hidden", "true");
      badge.append(symbol, ` ${v}`);
      cell.append(badge);
      return cell;
    },
  };

  function open(report, index, focus) {
    const n = Number(report.dataset.report), panel = document.getElementById(`detail-${n}`);
    const row = (data.tables[n] || [])[index];
    if (!panel || !row) return;
    const cells = row[3], found = data.details[n][index], sides = cells[2].split("-");
    report.dataset.chosen = index;
    report.querySelectorAll(".chosen").forEach((r) => r.classList.remove("chosen"));
    report.querySelectorAll(`tr:has([data-open="${index}"])`).forEach((r) => r.classList.add("chosen"));
    panel.replaceChildren(make("h2", cells[1]));
    panel.append(make("p", row[2] || `${cells[8]}  ·  differing ${cells[7][0]}/${cells[7][1]}  ·  ${share(cells[3])} of the tolerance`));
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
    behind(panel, n, index);
    panel.hidden = false;
    if (focus) { panel.scrollIntoView({ block: "nearest" }); panel.focus({ preventScroll: true }); }
  }

  // A table of any length: parts of it are drawn when they come near the screen.
  const PART = 100, WHOLE = 400, HEIGHT = 27;
  function tableOf(report) {
    const table = report.querySelector("table[data-table]");
    if (!table) return;
    const rows = data.tables[table.dataset.table], heads = [...table.tHead.rows[0].cells], kinds = heads.map((h) => h.dataset.kind);
    const filter = report.querySelector(".filter"), state = report.querySelector(".state"), count = report.querySelector(".count");
    const names = rows.map((r) => r[3][1].toLowerCase()), opens = Number(report.dataset.report) >= 0;
    let order = rows.map((_, i) => i), shown = order, parts = [];
    table.setAttribute("aria-rowcount", rows.length + 1);

    function named(l, i, text) {
      const cell = make("td", undefined, "name"), name = make("bdi", text);
      cell.append(level(l), " ");
      if (!opens) { cell.append(name); return cell; }
      const link = make("a");
      link.href = `#detail-${report.dataset.report}`;
      link.dataset.open = i;
      link.append(name);
      cell.append(link);
      return cell;
    }
    function drawn(i, at) {
      const [l, ok, structure, cells] = rows[i], tr = make("tr", undefined, `lvrow${l}`);
      tr.dataset.ok = ok;
      tr.setAttribute("aria-rowindex", at + 2);
      if (report.dataset.chosen === String(i)) tr.classList.add("chosen");
      for (let k = 0; k < cells.length; k++) {
        if (structure && kinds[k] === "share") {
          const cell = make("td", structure, "structure");
          cell.colSpan = 5;
          tr.append(cell);
          k += 4;
        } else tr.append(kinds[k] === "name" ? named(l, i, cells[k]) : put[kinds[k]](cells[k]));
      }
      return tr;
    }
    function fill(body) {
      if (!body.classList.contains("room")) return;
      const from = parts.indexOf(body) * PART;
      body.classList.remove("room");
      body.replaceChildren(...shown.slice(from, from + PART).map((i, k) => drawn(i, from + k)));
    }
    const watch = new IntersectionObserver((seen) => seen.forEach((entry) => {
      if (entry.isIntersecting) { watch.unobserve(entry.target); fill(entry.target); }
    }), { root: table.parentElement, rootMargin: "600px" });
    function lay() {
      watch.disconnect();
      parts.forEach((p) => p.remove());
      parts = [];
      for (let from = 0; from < shown.length; from += PART) {
        const body = make("tbody", undefined, "room"), room = make("tr"), cell = make("td");
        cell.colSpan = heads.length;
        cell.style.height = `${HEIGHT * Math.min(PART, shown.length - from)}px`;
        room.append(cell);
        body.append(room);
        parts.push(body);
      }
      table.append(...parts);
      parts.forEach((p, i) => (shown.length <= WHOLE || !i ? fill(p) : watch.observe(p)));
      count.textContent = `${shown.length} of ${rows.length} shown`;
    }
    function apply() {
      const wanted = filter.value.trim().toLowerCase(), kind = state.value;
      shown = order.filter((i) => names[i].includes(wanted) && (kind === "all" || (kind === "agree") === !!rows[i][1]));
      lay();
    }
    filter.addEventListener("input", apply);
    state.addEventListener("change", apply);
    table.querySelectorAll("thead button").forEach((button) => button.addEventListener("click", () => {
      const th = button.closest("th"), k = th.cellIndex, kind = kinds[k];
      const down = th.getAttribute("aria-sort") === "ascending";
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = ([, , structure, cells]) => {
        if (["text", "name", "verdict"].includes(kind)) return cells[k];
        if (structure && kind !== "order") return Infinity; // worse than any number
        const v = real(kind === "part" ? cells[k][0] : cells[k]);
        return Number.isNaN(v) ? -1 : v;
      };
      const keyed = rows.map((r, i) => [value(r), i]);
      keyed.sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j) * (down ? -1 : 1));
      order = keyed.map(([, i]) => i);
      apply();
      table.parentElement.scrollTop = 0;
    }));
    table.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], index = event.target.dataset.open;
      if (!step || index === undefined) return;
      const at = shown.indexOf(Number(index)) + step;
      if (at < 0 || at >= shown.length) return;
      event.preventDefault();
      fill(parts[Math.floor(at / PART)]);
      parts[Math.floor(at / PART)].rows[at % PART].querySelector("a").focus();
    });
    window.addEventListener("beforeprint", () => parts.forEach(fill));
    lay();
  }

  // Two trees in one table: a group hides what is below it. Keys as in any tree.
  function treeOf(report) {
    const table = report.querySelector("table.layers");
    if (!table) return;
    const rows = [...table.tBodies[0].rows], depth = rows.map((r) => Number(r.getAttribute("aria-level")));
    const isGroup = (r) => r.hasAttribute("aria-expanded"), isOpen = (r) => r.getAttribute("aria-expanded") === "true";
    const set = (r, open) => r.setAttribute("aria-expanded", String(open));
    const apply = () => {
      let shut = Infinity; // the level of the shut group that we are in
      rows.forEach((r, i) => {
        if (depth[i] <= shut) shut = Infinity;
        r.hidden = depth[i] > shut;
        if (!r.hidden && isGroup(r) && !isOpen(r)) shut = depth[i];
      });
    };
    const parent = (i) => { for (let k = i - 1; k >= 0; k--) if (depth[k] < depth[i]) return k; return -1; };
    const go = (row) => {
      rows.forEach((r) => (r.tabIndex = -1));
      row.tabIndex = 0;
      row.focus();
    };
    const toggle = (row, open) => { set(row, open); apply(); };
    table.addEventListener("click", (event) => {
      const row = event.target.closest("tr[aria-expanded]");
      if (row && !event.target.closest("a")) { toggle(row, !isOpen(row)); go(row); }
    });
    table.addEventListener("keydown", (event) => {
      const row = event.target.closest("tr"), i = rows.indexOf(row);
      if (i < 0) return;
      const seen = rows.filter((r) => !r.hidden), at = seen.indexOf(row);
      const link = row.querySelector("[data-open]");
      const keys = {
        ArrowDown: () => seen[at + 1] && go(seen[at + 1]),
        ArrowUp: () => seen[at - 1] && go(seen[at - 1]),
        Home: () => go(seen[0]),
        End: () => go(seen.at(-1)),
        ArrowRight: () => isGroup(row) && (isOpen(row) ? go(seen[at + 1]) : toggle(row, true)),
        ArrowLeft: () => (isGroup(row) && isOpen(row) ? toggle(row, false) : parent(i) >= 0 && go(rows[parent(i)])),
        Enter: () => (isGroup(row) ? toggle(row, !isOpen(row)) : link && open(report, link.dataset.open, true)),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    report.querySelectorAll("[data-tree]").forEach((button) => button.addEventListener("click", () => {
      const kind = button.dataset.tree;
      rows.filter(isGroup).forEach((r) => set(r, kind === "open"));
      const here = kind === "apart" ? table.querySelector("tr.here, tr.lvrow4:not(.group), tr.lvrow3:not(.group), tr.lvrow2:not(.group)") : null;
      if (here) {
        for (let k = parent(rows.indexOf(here)); k >= 0; k = parent(k)) set(rows[k], true);
      }
      apply();
      if (here) { go(here); here.scrollIntoView({ block: "center" }); } else {
        rows.forEach((r, i) => (r.tabIndex = i ? -1 : 0));
      }
    }));
    apply();
  }

  document.querySelectorAll(".report").forEach((report) => {
    tableOf(report);
    treeOf(report);
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
