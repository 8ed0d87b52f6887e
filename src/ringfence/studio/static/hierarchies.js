// Step 2: how each quasi-identifier, or item, is made coarser. Own trees are kept as paths from a value up to the root.
import { post, send } from "./api.js";
import { field, h, number, options, problem, short, some, waiting } from "./dom.js";
import { roleChip } from "./table.js";

const KINDS = { flat: "as it is, or hidden", intervals: "intervals of numbers", mask: "characters hidden one by one", dates: "parts of the calendar", fanout: "groups of neighbours", codes: "a public system of codes", file: "from a file", paths: "a tree of your own", tree: "a tree of your own" };
const kept = { column: null, picked: new Set() };

const kindOf = (hierarchy) => (hierarchy === undefined || hierarchy === "flat" ? "flat" : Object.keys(KINDS).find((kind) => kind in hierarchy));

export function hierarchiesStep(place, studio) {
  const names = studio.of("quasi", "items");
  place.append(h("h1", {}, "How may values become coarser?"));
  if (!names.length) {
    place.append(h("p", { class: "lead" }, "Only quasi-identifiers and items are made coarser, and no column is one. Give a column that role first."), h("a", { class: "button main", href: "#table" }, "Back to the table"));
    return null;
  }
  if (!names.includes(kept.column)) kept.column = names[0];
  const name = kept.column;
  const attribute = studio.project.spec.attributes[name];
  const shown = h("div", {}, waiting("Looking at the values"));
  place.append(
    h("p", { class: "lead" }, "A release shows each value at one step of its hierarchy or another: the more steps, the less is lost. What means alike belongs together."),
    h("div", { class: "tabs", role: "group", "aria-label": "Columns" }, names.map((each) => h("button", { type: "button", id: `column-${names.indexOf(each)}`, title: each, "aria-pressed": String(each === name), onclick: () => { kept.column = each; kept.picked.clear(); studio.refresh(); } }, each))),
    h("h2", {}, name, " ", roleChip(attribute.role)), shown,
    h("div", { class: "go" }, h("a", { class: "button main", href: "#promise" }, "Next: the promise")));
  return fill(shown, studio, name, attribute);
}

async function fill(place, studio, name, attribute) {
  const drawn = studio.drawn;
  let found = null;
  let wrong = null;
  try {
    found = await post(`${studio.base}/hierarchies/${encodeURIComponent(name)}`, null);
  } catch (error) {
    wrong = error.message;
  }
  if (drawn !== studio.drawn) return;
  const set = (changes, what) => {
    const next = (spec) => Object.fromEntries(Object.entries({ ...spec.attributes[name], ...changes }).filter(([, value]) => value !== undefined));
    return studio.change((spec) => ({ attributes: { [name]: next(spec) } }), `${name}: ${what}`);
  };
  place.replaceChildren(
    h("div", { class: "beside" },
      h("div", {}, chooser(studio, name, attribute, found, set), wrong ? problem(wrong) : "", found ? uncovered(found, attribute, set) : "", found ? ruler(found, attribute, set) : ""),
      found ? h("div", {}, tree(found, attribute, set)) : ""));
}

// What is counted: rows that have a value, or baskets that hold an item. Of a group of items, baskets count once for each that they hold.
const counted = (attribute, { rows, leaf = true }) => (attribute.role !== "items" ? some(rows, "row") : leaf ? some(rows, "basket") : `seen ${some(rows, "time")}`);
const valuesOf = (attribute, count) => some(count, attribute.role === "items" ? "item" : "value");

function chooser(studio, name, attribute, found, set) {
  const hierarchy = attribute.hierarchy;
  const kind = kindOf(hierarchy) === "tree" ? "paths" : kindOf(hierarchy);
  const drafted = studio.project.drafted[name]; // it has looked at the values
  const usual = {
    flat: () => "flat", intervals: () => (drafted?.intervals ? drafted : { intervals: [5, 10, 20] }), mask: () => ({ mask: "right" }), dates: () => (drafted?.dates ? drafted : { dates: ["month", "year"] }),
    fanout: () => (attribute.role === "items" ? { fanout: 5, by: "support" } : { fanout: 5 }), codes: () => ({ codes: studio.words.code_systems[0] }), paths: () => ({ paths: paths(found) }),
  };
  const holds = studio.project.columns.find((column) => column.name === name)?.kind;
  const fits = { intervals: holds === "numbers", dates: holds === "dates", paths: found && whole(found.tree) };
  const kinds = Object.keys(usual).filter((each) => each === kind || ((fits[each] ?? true) && (attribute.role !== "items" || ["flat", "fanout", "codes", "paths"].includes(each))));
  if (kind === "file") kinds.push("file");
  const file = h("input", { type: "file", id: "tree-file", "aria-label": "File with a hierarchy", onchange: async () => {
    if (!file.files.length) return;
    const sent = await studio.attempt(() => send(`${studio.base}/files?name=${encodeURIComponent(file.files[0].name)}`, file.files[0]));
    if (sent) set({ hierarchy: { file: sent.file }, boundary: undefined }, `hierarchy from ${sent.file}`);
  } });
  return h("section", { class: "card" },
    h("div", { class: "row" }, field("Made coarser by", h("select", { id: "kind", onchange: (event) => set({ hierarchy: usual[event.target.value](), boundary: undefined }, KINDS[event.target.value]) }, options(kinds.map((each) => [each, KINDS[each]]), kind)))),
    details(kind, attribute, studio, set),
    h("p", { class: "note" }, "Or a file, one line a value: value; group; wider group; … ", file));
}

function details(kind, attribute, studio, set) {
  const { hierarchy } = attribute;
  const numbers = (words) => words.split(/[ ,;]+/).filter(Boolean).map((word) => (Number.isNaN(Number(word)) ? word : Number(word))); // the server says what is wrong with a word
  if (kind === "intervals") {
    const keep = (changes) => {
      const next = { ...hierarchy, ...changes };
      for (const key of Object.keys(next)) if (next[key] === undefined) delete next[key];
      set({ hierarchy: next }, `intervals ${next.intervals.join(", ")}`);
    };
    const end = (key, words) => field(words, h("input", { type: "number", step: "any", id: `interval-${key}`, value: hierarchy[key] ?? "", onchange: (event) => keep({ [key]: event.target.value === "" ? undefined : Number(event.target.value) }) }));
    return h("div", { class: "row" }, field("widths", h("input", { type: "text", id: "widths", value: hierarchy.intervals.join(", "), onchange: (event) => keep({ intervals: numbers(event.target.value) }) })), end("from", "counted from"), end("bottom", "all below"), end("top", "all from"));
  }
  if (kind === "mask") return field("hide characters from the", h("select", { id: "mask", onchange: (event) => set({ hierarchy: { mask: event.target.value } }, `hidden from the ${event.target.value}`) }, options([["right", "right"], ["left", "left"]], hierarchy.mask)));
  if (kind === "dates") {
    return h("fieldset", { class: "row" }, h("legend", { class: "unseen" }, "Parts of the calendar"), studio.words.date_parts.map((part) => h("label", {}, h("input", { type: "checkbox", id: `part-${part}`, checked: hierarchy.dates.includes(part), onchange: (event) => {
      const parts = studio.words.date_parts.filter((each) => (each === part ? event.target.checked : hierarchy.dates.includes(each)));
      set({ hierarchy: { dates: parts } }, `by ${parts.join(", ")}`);
    } }), ` ${part}`)));
  }
  if (kind === "fanout") return field("groups of", h("input", { type: "number", min: "2", id: "fanout", value: hierarchy.fanout, onchange: (event) => set({ hierarchy: { ...hierarchy, fanout: Number.parseInt(event.target.value, 10) } }, `groups of ${event.target.value}`) }), attribute.role === "items" ? "items that are about as common, and groups of these, and so on" : "neighbours in the order of the values, and groups of these, and so on");
  if (kind === "codes") return field("codes of", h("select", { id: "codes", onchange: (event) => set({ hierarchy: { codes: event.target.value } }, `codes of ${event.target.value}`) }, options(studio.words.code_systems.map((each) => [each, each]), hierarchy.codes)));
  return "";
}

function uncovered(found, attribute, set) {
  if (!found.uncovered.length) return h("p", { class: "fine" }, `Every ${attribute.role === "items" ? "item" : "value"} of the table is covered.`);
  const names = found.uncovered.map(({ value, rows }) => `${value} (${counted(attribute, { rows })})`);
  return h("div", { class: "error" }, h("p", {}, `${valuesOf(attribute, found.uncovered_values)} of the table, ${attribute.role === "items" ? counted(attribute, { rows: found.uncovered_rows, leaf: false }) : `in ${some(found.uncovered_rows, "row")}`}, ${found.uncovered_values === 1 ? "is" : "are"} not covered: ${names.join(", ")}${found.uncovered_values > names.length ? ", …" : ""}`),
    whole(found.tree) ? h("button", { type: "button", id: "cover", onclick: () => set({ hierarchy: { paths: [...paths(found), ...found.uncovered.map(({ value }) => [value, "*"])] } }, "all values covered") }, "Put them directly under the root") : "");
}

function ruler(found, attribute, set) {
  const bound = attribute.boundary?.level;
  return h("table", {}, h("caption", {}, "The steps from a value up to nothing at all"), h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "n" }, "level"), h("th", { scope: "col", class: "n" }, "labels"), h("th", { scope: "col" }, "for example"), h("th", { scope: "col" }, "never beyond"))),
    h("tbody", {}, found.levels.map((level, at) => h("tr", {}, h("td", { class: "n" }, String(at)), h("td", { class: "n" }, number(level.labels)), h("td", { class: "quote" }, level.examples.map((label) => short(label, 60)).join(", ")),
      h("td", {}, at > 0 && at < found.height ? h("input", { type: "checkbox", id: `bound-${at}`, "aria-label": `Never beyond level ${at}`, checked: bound === at, onchange: (event) => set({ boundary: event.target.checked ? { level: at } : undefined }, event.target.checked ? `never beyond level ${at}` : "no boundary") }) : "")))));
}

const whole = (node) => node.more === 0 && node.children.every(whole);

function paths(found) {
  const rows = [];
  const walk = (node, above) => {
    if (node.leaf) {
      if (node.label !== null) rows.push([node.label, ...above.filter((label, at) => label !== above[at - 1] && label !== node.label)]);
    } else for (const child of node.children) walk(child, [node.label, ...above]);
  };
  walk(found.tree, []);
  return rows;
}

function tree(found, attribute, set) {
  const marked = Array.isArray(attribute.boundary) ? attribute.boundary : [];
  const own = whole(found.tree) && found.leaves <= 400;
  const name = h("input", { type: "text", id: "group-name", "aria-label": "Name of a group", placeholder: "name of a group" });
  const missing = h("p", { class: "warning", role: "alert", hidden: true });
  const lacks = (words) => {
    missing.textContent = words;
    missing.hidden = !words;
    return Boolean(words);
  };
  const change = (rows, what) => {
    kept.picked.clear();
    return set({ hierarchy: { paths: rows }, boundary: undefined }, what);
  };
  const group = () => {
    const label = name.value.trim();
    if (lacks(!kept.picked.size ? "Tick below what belongs together." : !label ? "Give the group a name." : "")) return;
    const rows = paths(found);
    const there = rows.find((row) => row.includes(label));
    const chosen = rows.filter((row) => row.some((part) => kept.picked.has(part)));
    const rest = chosen.map((row) => row.slice(row.findLastIndex((part) => kept.picked.has(part)) + 1));
    const above = there ? there.slice(there.indexOf(label) + 1) : rest[0].filter((part) => rest.every((each) => each.includes(part)));
    change(rows.map((row) => (chosen.includes(row) ? [...row.slice(0, row.findLastIndex((part) => kept.picked.has(part)) + 1), label, ...above] : row)), `${[...kept.picked].join(", ")} under ${label}`);
  };
  const rename = () => {
    const label = name.value.trim();
    const [old] = kept.picked;
    const isGroup = paths(found).some((row) => row.indexOf(old) > 0);
    if (!lacks(kept.picked.size !== 1 || !isGroup ? "Tick the one group that is to be renamed." : !label ? "Give it a name." : "")) change(paths(found).map((row) => row.map((part, at) => (part === old && at > 0 ? label : part))), `${old} renamed ${label}`);
  };
  const dissolve = () => lacks(paths(found).some((row) => row.some((part, at) => at > 0 && kept.picked.has(part))) ? "" : "Tick the groups that are to be dissolved.") || change(paths(found).map((row) => row.filter((part, at) => at === 0 || !kept.picked.has(part))), `${[...kept.picked].join(", ")} dissolved`);
  const node = (each, root) => {
    const label = each.label ?? "(missing)";
    const parts = [
      own && !root && each.label !== null ? h("input", { type: "checkbox", "aria-label": `Pick ${label}`, checked: kept.picked.has(label), onchange: (event) => kept.picked[event.target.checked ? "add" : "delete"](label) }) : null,
      h("span", { class: "label" }, root ? "* (hidden)" : label), h("span", { class: "count" }, `${each.leaf ? "" : `${valuesOf(attribute, each.values)}, `}${counted(attribute, each)}`),
      !root && !each.leaf ? h("button", { type: "button", "aria-pressed": String(marked.includes(label)), onclick: () => {
        const next = marked.includes(label) ? marked.filter((other) => other !== label) : [...marked, label];
        set({ boundary: next.length ? next : undefined }, marked.includes(label) ? `${label} may be passed` : `never beyond ${label}`);
      } }, marked.includes(label) ? "may not be passed ✕" : "never beyond this") : null,
    ];
    if (each.leaf) return h("li", {}, h("span", { class: "leaf" }, parts));
    return h("li", { class: each.ceiling ? "ceiling" : "" }, h("span", { class: "leaf" }, parts), h("ul", {}, each.children.map((child) => node(child, false)), each.more ? h("li", { class: "note" }, `and ${some(each.more, "more", "more")}`) : null));
  };
  return h("section", {}, h("h3", {}, `The tree, over the ${attribute.role === "items" ? "items" : "values"} of this table`),
    own ? h("div", { class: "row" }, h("span", { class: "note" }, `Tick ${attribute.role === "items" ? "items" : "values"} or groups, then:`), name, h("button", { type: "button", id: "group", onclick: group }, "Put under this name"), h("button", { type: "button", id: "rename", onclick: rename }, "Rename the group"), h("button", { type: "button", id: "dissolve", onclick: dissolve }, "Dissolve the group"), missing) : h("p", { class: "note" }, "Too many values to move one by one: bring a file."),
    h("ul", { class: "tree", tabindex: "0", "aria-label": "Hierarchy" }, node(found.tree, true)));
}
