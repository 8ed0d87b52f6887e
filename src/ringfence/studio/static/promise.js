// Step 3: what is promised, and by which method. The form shows only what applies.
import { get } from "./api.js";
import { field, h, options, problem, some, waiting } from "./dom.js";
import { roleChip } from "./table.js";

const asList = (asked) => (asked === undefined ? [] : Array.isArray(asked) ? asked : [asked]);
const asTable = (asked, of) => (typeof asked === "object" ? { of, ...asked } : { value: asked, of });

export function promiseStep(place, studio) {
  const { project } = studio;
  const { privacy = {}, data } = project.spec;
  const sensitive = studio.of("sensitive");
  const people = Boolean(data.entity);
  const set = (key, value, what) => {
    studio.change((spec) => {
      const next = { ...spec.privacy };
      if (value === undefined || value === null || (Array.isArray(value) && !value.length)) delete next[key];
      else next[key] = Array.isArray(value) && value.length === 1 ? value[0] : value;
      return { privacy: next };
    }, what);
  };
  place.append(h("h1", {}, "What do you promise?"));
  if (studio.of("quasi").length || studio.of("items").length) {
    const who = people ? "people" : studio.of("quasi").length ? "rows" : "baskets";
    place.append(
      h("section", { class: "card" },
        h("h2", {}, "Nobody stands out"),
        h("div", { class: "row" },
          field("k =", h("input", { type: "number", id: "k", min: "2", step: "1", value: privacy.k ?? "", onchange: (event) => {
            set("k", event.target.value === "" ? null : Number(event.target.value), event.target.value === "" ? "no k" : `k = ${event.target.value}`);
          } })),
          [3, 5, 10, 20].map((k) => h("button", { type: "button", id: `k-${k}`, "aria-pressed": String(privacy.k === k), onclick: () => set("k", k, `k = ${k}`) }, String(k)))),
        h("p", { class: "note" }, who === "baskets" ? "k is how many baskets a few items must fit, if they fit any." : privacy.k === 1 ? "k = 1 promises nothing: whoever is alone may be found." : privacy.k ? `Whoever knows all that others may know of somebody finds at least ${privacy.k} ${who} that fit, or none. A larger k hides better and costs more detail.` : "k is how many others nobody can be told from. Without it, nothing is promised about being found."),
        studio.of("items").length
          ? h("div", { class: "row" }, field("m =", h("input", { type: "number", id: "m", min: "1", max: "6", value: privacy.m ?? 2, onchange: (event) => set("m", Number(event.target.value), `m = ${event.target.value}`) })),
              h("span", { class: "note" }, `Whoever knows up to ${privacy.m ?? 2} items of a basket finds at least ${privacy.k ?? "k"} baskets that fit, or none.`))
          : null),
    );
  }
  if (sensitive.length && studio.of("quasi").length) place.append(secrets(studio, sensitive, set));
  if (!sensitive.length && studio.of("quasi").length) place.append(h("p", { class: "note" }, "No column is sensitive, so there is nothing to keep secret but who is who."));
  const methods = h("section", {}, h("h2", {}, "How"), waiting("Looking which methods fit"));
  place.append(methods);
  if (project.wrong) place.append(problem(project.wrong));
  place.append(h("div", { class: "go" }, h("a", { class: "button main", href: studio.of("quasi").length ? "#explore" : "#publish" }, studio.of("quasi").length ? "Next: see what it costs" : "Next: publish"), studio.of("quasi").length ? h("a", { class: "button", href: "#publish" }, "Go straight to the release") : ""));
  return fill(methods, studio);
}

function secrets(studio, sensitive, set) {
  const { privacy = {} } = studio.project.spec;
  const diverse = asList(privacy.l).map((each) => asTable(each, sensitive[0]));
  const close = asList(privacy.t).map((each) => asTable(each, sensitive[0]));
  return h("section", { class: "card" },
    h("h2", {}, "Nobody’s secret is told"),
    h("p", { class: "note" }, "Even whoever cannot tell which row is somebody’s may learn something, if all rows that fit say the same."),
    h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "sensitive column"), h("th", { scope: "col" }, "different values (l)", h("small", {}, "so many at least in every class: whoever finds it has so many to choose from")), h("th", { scope: "col" }, "distance to the whole (t)", h("small", {}, "shares of values in a class may differ so much from those in the whole table: 0 is not at all, 1 is altogether")))),
      h("tbody", {}, sensitive.map((name, at) => {
        const l = diverse.find((each) => each.of === name);
        const t = close.find((each) => each.of === name);
        const others = (list) => list.filter((each) => each.of !== name);
        return h("tr", {}, h("th", { scope: "row" }, name, " ", roleChip("sensitive")),
          h("td", {}, h("select", { id: `l-${at}`, "aria-label": `l of ${name}`, onchange: (event) => {
            const value = Number(event.target.value);
            set("l", value ? [...others(diverse), { value, of: name }] : others(diverse), `l = ${event.target.value || "none"} of ${name}`);
          } }, options([["", "not asked"], ...[2, 3, 4, 5, 8, 10].map((value) => [String(value), `at least ${value}`])], l ? String(l.value) : ""))),
          h("td", {}, h("select", { id: `t-${at}`, "aria-label": `t of ${name}`, onchange: (event) => {
            const value = Number(event.target.value);
            set("t", value ? [...others(close), { value, of: name }] : others(close), `t = ${event.target.value || "none"} of ${name}`);
          } }, options([["", "not asked"], ...[0.1, 0.2, 0.3, 0.5].map((value) => [String(value), `at most ${value}`])], t ? String(t.value) : ""))));
      })))));
}

async function fill(section, studio) {
  const drawn = studio.drawn;
  const found = await studio.attempt(() => get(`${studio.base}/methods`));
  if (!found || drawn !== studio.drawn) return;
  const chosen = studio.project.spec.method ?? {};
  const name = chosen.name ?? "optimal";
  section.replaceChildren(
    h("h2", {}, "How"),
    h("fieldset", {}, h("legend", { class: "unseen" }, "Method"),
      found.methods.map((method) =>
        h("div", { class: `method ${method.name === name ? "chosen" : ""}` },
          h("label", {}, h("input", { type: "radio", name: "method", id: `method-${method.name}`, checked: method.name === name, onchange: () => {
            const kept = { name: method.name };
            if (chosen.suppression !== undefined && method.options.some((each) => each.name === "suppression")) kept.suppression = chosen.suppression;
            if (method.name === "optimal") Object.assign(kept, { scheme: "level", metric: "glm", suppression: kept.suppression ?? 0.05 });
            studio.change(() => ({ method: kept, ...(method.counts ? {} : { output: {} }) }), `method ${method.name}`);
          } }), " ", h("strong", {}, method.name), h("span", {}, method.line)),
          method.name === name ? optionsOf(method, chosen, studio) : null))),
    found.counts ? h("label", { class: "beside" }, h("input", { type: "checkbox", id: "counts", checked: Boolean(studio.project.spec.output?.counts), onchange: (event) => {
      const counts = event.target.checked;
      studio.change(() => ({ output: counts ? { counts } : {} }), counts ? "counts of values beside the release" : "no counts of values");
    } }), " Publish counts of values beside the release: how many rows have each, no fewer than k. Who reads labels by them is off by far less; of several releases of the same people, publish one with counts.") : "",
    found.others.length ? h("details", {}, h("summary", {}, `${some(found.others.length, "method does", "methods do")} not apply here`), h("ul", {}, found.others.map((other) => h("li", {}, h("strong", {}, other.name), `: ${other.why}`)))) : "",
  );
}

const CHOICES = {
  effort: [["fast", "fast"], ["good", "good"], ["best", "best: ten times as long"]],
  labels: [["tight", "tight: made from the values of a group"], ["loose", "loose: do not tell which values are there"]],
  suppression: [["0", "no row"], ["0.01", "1 %"], ["0.02", "2 %"], ["0.05", "5 %"], ["0.1", "10 %"], ["1", "any"]],
  time_limit: [["", "no limit"], ["5", "5 seconds"], ["20", "20 seconds"], ["60", "a minute"], ["600", "ten minutes"]],
  representation: [["", "as fits the values"], ["plain", "no lists: ranges and labels"], ["hierarchy", "labels of hierarchies"], ["set", "sets"], ["range", "ranges, where there is an order"]],
};

function optionsOf(method, chosen, studio) {
  const set = (key, value) => {
    studio.change((spec) => {
      const next = { ...spec.method, name: method.name };
      if (value === "" || value === undefined) delete next[key];
      else next[key] = value;
      return { method: next };
    }, `${key} = ${value === "" ? "as usual" : value}`);
  };
  const controls = method.options.map(({ name, line }) => {
    const id = `option-${name}`;
    if (name === "scheme" || name === "metric") {
      const entries = Object.entries(name === "scheme" ? method.schemes : method.metrics).map(([key]) => [key, key]);
      const now = chosen[name] ?? (name === "scheme" ? "level" : method.metric);
      const words = (name === "scheme" ? method.schemes : method.metrics)[now];
      return field(name, h("select", { id, onchange: (event) => set(name, event.target.value) }, options(entries, now)), `${line}: ${words}`);
    }
    if (CHOICES[name]) {
      const number = ["suppression", "time_limit"].includes(name);
      const now = String(chosen[name] ?? (name === "suppression" ? method.suppression : name === "effort" ? "good" : name === "labels" ? "tight" : ""));
      const entries = CHOICES[name].some(([key]) => key === now) ? CHOICES[name] : [...CHOICES[name], [now, now]];
      return field(name.replace("_", " "), h("select", { id, onchange: (event) => set(name, number && event.target.value !== "" ? Number(event.target.value) : event.target.value) }, options(entries, now)), line);
    }
    return null;
  });
  return h("div", { class: "options" }, controls);
}
