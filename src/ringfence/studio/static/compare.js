// Step 5: every method that can keep the promise, measured by what its users would be off by.
import { get, post } from "./api.js";
import { cell, field, h, number, options, percent } from "./dom.js";
import { running, watch, watchBegun } from "./job.js";
import { promiseInWords } from "./publish.js";

const kept = { budget: 30, beside: new Set() };
const MOST = 4;

export function compareStep(place, studio) {
  const { project } = studio;
  const progress = h("div");
  const live = h("div");
  const shown = h("div");
  const over = (job) => {
    start.disabled = false;
    if (job.state === "done") studio.refresh();
  };
  const part = (job) => job.parts.length && live.replaceChildren(table(job.parts, null, studio));
  const start = h("button", { type: "button", class: "main", id: "compare", disabled: Boolean(running(studio, "compare")), onclick: async () => {
    const job = await studio.attempt(() => post(`${studio.base}/comparison`, { budget: kept.budget }));
    if (job) {
      shown.replaceChildren();
      start.disabled = true;
      watchBegun(studio, progress, job.id, over, part);
    }
  } }, "Compare");
  place.append(
    h("h1", {}, "Which release serves best?"),
    h("p", { class: "lead" }, `Every method that can promise ${promiseInWords(project.spec)} is tried, audited, and measured by what its users would be off by.`),
    studio.of("quasi").length ? purpose(studio) : "",
    h("div", { class: "row" }, field("Time for all together:", h("select", { id: "budget", onchange: (event) => { kept.budget = Number(event.target.value); } }, options([["10", "10 seconds"], ["30", "30 seconds"], ["120", "2 minutes"], ["600", "10 minutes"]], String(kept.budget)))), start),
    progress, live, shown);
  const job = running(studio, "compare");
  if (job) watch(studio, progress, job.id, over, part);
  else if (project.has_comparison) return result(shown, studio);
  else shown.append(h("p", { class: "note" }, "Nothing has been compared yet."));
  return null;
}

function purpose(studio) {
  const given = studio.project.spec.purpose ?? {};
  const published = studio.of("quasi", "sensitive", "insensitive");
  const targets = studio.of("sensitive", "insensitive");
  const same = (one, other) => one.length === other.length && one.every((name) => other.includes(name));
  const set = (changes, what) => {
    studio.change(({ purpose: now = {} }) => {
      const next = { ...now, ...changes(now) };
      for (const key of Object.keys(next)) if (!next[key]?.length) delete next[key];
      return { purpose: Object.keys(next).length ? next : null };
    }, what);
  };
  const counts = given.counts ?? [];
  const toggle = (names) => set(({ counts: now = [] }) => ({ counts: now.some((each) => same(each, names)) ? now.filter((each) => !same(each, names)) : [...now, names] }), `purpose: counts by ${names.join(" × ")}`);
  const one = h("select", { id: "count-one", "aria-label": "First column of a table" }, options(published.map((name) => [name, name]), published[0]));
  const two = h("select", { id: "count-two", "aria-label": "Second column of a table" }, options(published.map((name) => [name, name]), published[1] ?? published[0]));
  return h("details", { class: "card", open: Boolean(counts.length || given.predict?.length) }, h("summary", {}, h("strong", {}, "What is the release for?"), h("span", { class: "note" }, counts.length || given.predict?.length ? "" : " Not said: all tables of one and two columns count alike.")),
    h("fieldset", {}, h("legend", {}, "Tables that will be made from it"), h("div", { class: "row" }, published.map((name, at) => h("label", {}, h("input", { type: "checkbox", id: `count-${at}`, checked: counts.some((each) => same(each, [name])), onchange: () => toggle([name]) }), ` ${name}`))),
      counts.filter((each) => each.length > 1).map((each) => h("p", {}, h("label", {}, h("input", { type: "checkbox", checked: true, onchange: () => toggle(each) }), ` ${each.join(" × ")}`))),
      h("div", { class: "row" }, one, " × ", two, h("button", { type: "button", id: "count-add", onclick: () => one.value !== two.value && toggle([one.value, two.value]) }, "Add this table"))),
    targets.length ? h("fieldset", {}, h("legend", {}, "Columns that will be predicted from the others"), h("div", { class: "row" }, targets.map((name, at) => h("label", {}, h("input", { type: "checkbox", id: `predict-${at}`, checked: (given.predict ?? []).includes(name), onchange: (event) => set(({ predict: now = [] }) => ({ predict: event.target.checked ? [...now, name] : now.filter((each) => each !== name) }), `purpose: predict ${name}`) }), ` ${name}`)))) : "");
}

const FIGURES = [["off", "users are off by", percent], ["queries", "queries", percent], ["singles", "single columns", percent], ["pairs", "pairs", percent], ["glm", "detail lost (glm)", percent], ["suppressed", "rows left out", number], ["risk_mean", "mean risk", percent]];

function table(rows, advised, studio, pick) {
  const made = rows.filter((row) => row.made);
  const others = rows.filter((row) => !row.made);
  const columns = FIGURES.filter(([key]) => made.some((row) => row[key] !== undefined && row[key] !== null));
  return h("div", {},
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Candidates" }, h("table", { id: "candidates" },
      h("thead", {}, h("tr", {}, pick ? h("th", { scope: "col" }, "beside") : "", h("th", { scope: "col" }, "candidate"), columns.map(([, words]) => h("th", { scope: "col", class: "n" }, words)), h("th", { scope: "col" }, "promises"), pick ? h("th", { scope: "col" }, h("span", { class: "unseen" }, "choose")) : "")),
      h("tbody", {}, made.map((row) => h("tr", { class: row.name === advised ? "best" : "" },
        pick ? h("td", {}, h("input", { type: "checkbox", "aria-label": `Show ${row.name} beside others`, checked: kept.beside.has(row.name), disabled: kept.beside.size >= MOST && !kept.beside.has(row.name), onchange: (event) => { kept.beside[event.target.checked ? "add" : "delete"](row.name); studio.refresh(); } })) : "",
        h("th", { scope: "row" }, row.name, row.name === advised ? " (advised)" : "", row.plain ? "" : h("span", { class: "note", title: "Cells hold sets and ranges: not every program can read these." }, " sets in cells")),
        columns.map(([key, , as]) => h("td", { class: "n" }, row[key] === undefined || row[key] === null ? "" : as(row[key]))),
        h("td", { class: "note" }, row.as_asked ? "what was asked" : row.promise),
        pick ? h("td", {}, h("button", { type: "button", onclick: () => pick(row.name) }, "Use")) : ""))))),
    others.length ? h("details", {}, h("summary", {}, `${others.length} candidates were not made`), h("ul", {}, others.map((row) => h("li", {}, h("strong", {}, row.name), `: ${row.reason}`)))) : "");
}

async function result(place, studio) {
  const drawn = studio.drawn;
  const found = await studio.attempt(() => get(`${studio.base}/comparison`));
  if (!found || drawn !== studio.drawn) return;
  const pick = async (name) => {
    if (studio.take(await studio.attempt(() => post(`${studio.base}/comparison/chosen`, { name })), `chose ${name}`)) location.hash = "#publish";
  };
  const made = found.candidates.filter((row) => row.made);
  for (const name of [...kept.beside]) if (!made.some((row) => row.name === name)) kept.beside.delete(name);
  if (!kept.beside.size) for (const name of [found.advised, found.plain]) kept.beside.add(name);
  place.replaceChildren(
    found.current ? "" : h("p", { class: "warning" }, "The specification has changed since: compare again."),
    h("div", { class: "verdict" }, h("h2", {}, "Advice"), found.advice.map((sentence) => h("p", {}, sentence)), h("p", {}, h("button", { type: "button", class: "main", id: "use-advised", onclick: () => pick(found.advised) }, "Use this one"))),
    table(found.candidates, found.advised, studio, pick),
    found.naive ? h("p", { class: "note" }, `Whoever knew each column by itself and nothing else would be off by ${percent(found.naive.queries)} in queries.`) : "",
    h("h2", {}, "Side by side"), h("p", { class: "note" }, "Tick up to four above. The first rows of each release; their order is drawn anew in each."),
    h("div", { class: "beside" }, made.filter((row) => kept.beside.has(row.name)).map((row) => sample(row, studio))));
}

function sample(row, studio) {
  const names = Object.keys(row.examples[0] ?? {});
  return h("section", {}, h("h3", {}, row.name), h("p", { class: "note" }, [row.off !== null && row.off !== undefined ? `users are off by ${percent(row.off)}` : "", `${number(row.suppressed)} rows left out`].filter(Boolean).join("; ")),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `First rows of ${row.name}` }, h("table", { class: "cells" }, h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col", class: studio.role(name) }, name)))),
      h("tbody", {}, row.examples.map((each) => h("tr", {}, names.map((name) => h("td", { title: each[name] ?? "missing" }, cell(each[name])))))))));
}
