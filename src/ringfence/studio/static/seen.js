// What a plan makes of the table: figures, rows before and after, class sizes, distributions.
import { cell, h, number, percent, short, some } from "./dom.js";
import { draw, marginalChart, sizesChart } from "./charts.js";

const SHOWN = 6;
const shown = { attribute: null };
const charts = { sizes: h("div", { class: "chart" }), spread: h("div", { class: "chart" }) }; // one of each is on a page, and drawing it anew takes long

export function tiles(entries) {
  return h("dl", { class: "tiles" }, entries.map(([name, value, more]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, more) : null))));
}

export function beforeAfter(first, studio) {
  const kept = new Set(first.kept);
  const rows = first.rows.slice(0, SHOWN).flatMap((row) => {
    const after = row.after ? new Map(first.kept.map((name, at) => [name, row.after[at]])) : null;
    return [
      h("tr", { class: "before" }, h("th", { scope: "row", class: "note" }, "before"), row.before.map((value) => h("td", { title: value ?? "missing" }, cell(value)))),
      after === null
        ? h("tr", { class: "gone" }, h("th", { scope: "row", class: "note" }, "after"), h("td", { colspan: String(first.columns.length) }, "left out: too few rows are like it"))
        : h("tr", { class: "after" }, h("th", { scope: "row", class: "note" }, "after"), first.columns.map((name, at) => kept.has(name)
            ? h("td", { class: after.get(name) === row.before[at] ? "" : "changed", title: after.get(name) ?? "missing" }, cell(after.get(name)))
            : h("td", { class: "missing" }, "removed"))),
    ];
  });
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "First rows before and after" },
    h("table", { class: "cells" }, h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "unseen" }, "when")), first.columns.map((name) => h("th", { scope: "col", class: studio.role(name) }, name)))), h("tbody", {}, rows)));
}

export function attributesTable(seen) {
  return h("div", { class: "wide" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "quasi-identifier"), h("th", { scope: "col" }, "becomes"), h("th", { scope: "col", class: "n" }, "values → labels"), h("th", { scope: "col" }, "detail lost"))),
    h("tbody", {}, seen.attributes.map((each) => {
      const bar = h("span", { class: "bar" });
      bar.style.width = `${Math.round(each.loss * 70)}px`;
      return h("tr", {}, h("th", { scope: "row" }, each.name), h("td", {}, each.how, each.how === "as it is" || each.how === "hidden" ? null : h("span", { class: "note quote" }, ` e.g. ${each.examples.slice(0, 2).map((label) => short(label, 40)).join(", ")}`)),
        h("td", { class: "n" }, `${number(each.values)} → ${number(each.labels)}`), h("td", { class: "meter" }, bar, " ", percent(each.loss)));
    }))));
}

export function evidence(seen, studio) {
  const people = Boolean(studio.project.spec.data.entity);
  const { sizes, spread } = charts;
  const room = document.getElementById("content").clientWidth;
  const width = Math.max(260, (room > 1000 ? room / 2 : room) - 80); // two beside each other where there is room for it
  const names = seen.marginals.map((each) => each.name);
  if (!names.includes(shown.attribute)) shown.attribute = [...seen.marginals].sort((one, other) => other.moved - one.moved)[0]?.name ?? null;
  const caption = h("figcaption");
  const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Column whose distribution is shown" }, names.map((name) => h("button", { type: "button", title: name, "aria-pressed": String(name === shown.attribute), onclick: (event) => {
    shown.attribute = name;
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab === event.currentTarget));
    distribution();
  } }, name)));
  const distribution = () => {
    const marginal = seen.marginals.find((each) => each.name === shown.attribute);
    if (!marginal) return;
    caption.textContent = `${marginal.name}: ${percent(marginal.moved)} of the rows misplaced, for a reader of the release`;
    draw(spread, marginalChart(marginal, width), caption.textContent);
  };
  const sizesTitle = `${percent(seen.risk.alone_before / seen.of)} of the rows were alone; the smallest class of the release has ${number(Math.round(1 / seen.risk.highest))}`;
  draw(sizes, sizesChart(seen.sizes, width), sizesTitle);
  distribution();
  const key = () => h("p", {}, h("span", { class: "key" }, h("i"), "original"), h("span", { class: "key" }, h("i", { class: "new" }), "release"));
  return h("div", {},
    h("h2", {}, "The first rows, before and after"), beforeAfter(seen.first, studio),
    h("div", { class: "beside" },
      h("div", {}, h("h2", {}, "What becomes of each column"), attributesTable(seen),
        h("figure", {}, h("figcaption", {}, sizesTitle), key(), sizes, people ? h("p", { class: "note" }, "Sizes are in rows; k counts people.") : null)),
      h("div", {}, h("h2", {}, "Distributions, before and after"), tabs, h("figure", {}, caption, key(), spread))));
}

export function seenTiles(seen) {
  return tiles([
    ["rows published", number(seen.rows), `in ${some(seen.classes, "class", "classes")}`],
    ["rows left out", number(seen.suppressed), percent(seen.suppressed / seen.of)],
    ["detail lost", percent(seen.detail), "of quasi-identifiers, on average"],
    ["highest risk", percent(seen.risk.highest), "that somebody’s row is found"],
    ["mean risk", percent(seen.risk.mean), `before: ${percent(seen.risk.mean_before)}`],
  ]);
}
