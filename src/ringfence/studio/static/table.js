// Step 1: what the table holds, and what each column is to somebody who looks for a person.
import { post } from "./api.js";
import { cell, h, number, options, percent, problem, some } from "./dom.js";

export const ROLES = ["identifier", "quasi", "sensitive", "insensitive", "items"];
export const NAMES = { identifier: "identifier", quasi: "quasi-identifier", sensitive: "sensitive", insensitive: "insensitive", items: "items" };
const SHOWN = 10;

export function roleChip(role) {
  return h("span", { class: `role ${role}` }, NAMES[role]);
}

export function firstRows(columns, rows, role) {
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "First rows" },
    h("table", { class: "cells" },
      h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col", class: role(name), title: NAMES[role(name)] }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value) => h("td", { title: value ?? "missing" }, cell(value))))))));
}

export function tableStep(place, studio) {
  const { project, words } = studio;
  const lists = project.columns.some((column) => column.role === "items") || studio.of("items").length > 0;
  const setRole = async (column, role) =>
    studio.take(await studio.attempt(() => post(`${studio.base}/roles`, { column, role })), `${column}: ${NAMES[role]}`);

  const rows = project.columns.map((column, at) => {
    const role = studio.role(column.name);
    const began = project.began[column.name];
    const why = role === column.role ? column.reason : role === began ? "as the sample’s own specification says" : h("em", {}, `chosen by you; drafted as ${NAMES[column.role]}: ${column.reason}`);
    return h("tr", {},
      h("th", { scope: "row" }, column.name),
      h("td", {}, h("fieldset", { class: "choice" }, h("legend", { class: "unseen" }, `Role of ${column.name}`),
        ROLES.filter((each) => each !== "items" || lists || column.kind === "lists").map((each) =>
          h("label", {}, h("input", { type: "radio", name: `role-${at}`, id: `role-${at}-${each}`, checked: each === role, onchange: () => setRole(column.name, each) }),
            h("span", { class: `role ${each}` }, NAMES[each]))))),
      h("td", {}, column.kind),
      h("td", { class: "n" }, number(column.distinct)),
      h("td", { class: "n" }, percent(column.unique)),
      h("td", { class: "n" }, percent(column.missing)),
      h("td", { class: "why" }, why));
  });

  const alone = project.together ? ` ${percent(project.together.unique)} of the rows are alone with what others may know of them: whoever knows that finds them.` : "";
  place.append(
    h("h1", {}, "What is in the table?"),
    h("p", { class: "lead" }, `${some(project.rows, "row")}, ${some(project.columns.length, "column")}.${alone}`),
    people(studio),
    project.wrong ? problem(project.wrong) : "",
    h("h2", {}, "What is each column to somebody who looks for a person?"),
    h("p", { class: "note" }, "These are guesses from names and values. Only you know what others know about these people: check every role."),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Columns and their roles" },
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "column"), h("th", { scope: "col" }, "role"), h("th", { scope: "col" }, "holds"), h("th", { scope: "col", class: "n" }, "values"),
          h("th", { scope: "col", class: "n" }, "rows alone"), h("th", { scope: "col", class: "n" }, "missing"), h("th", { scope: "col" }, "why"))),
        h("tbody", {}, rows))),
    h("div", { class: "legend" }, ROLES.filter((role) => role !== "items" || lists).map((role) => h("p", {}, roleChip(role), " ", words.roles[role]))),
    h("h2", {}, "The first rows"),
    firstRows(project.first.columns, project.first.rows.slice(0, SHOWN), (name) => studio.role(name)),
    pairs(project),
    h("div", { class: "go" }, h("a", { class: "button main", href: "#hierarchies" }, "Next: hierarchies")),
  );
}

function people(studio) {
  const { project } = studio;
  const entity = project.spec.data.entity ?? null;
  if (!entity && studio.of("items").length) return h("p", { class: "card" }, h("strong", {}, "Does somebody have several baskets? "), "Then put them into one before: k counts baskets, not people.");
  const names = project.columns.map((column) => column.name);
  const likely = entity ?? project.columns.find((column) => column.role === "identifier")?.name ?? names[0];
  const say = async (column) =>
    studio.take(await studio.attempt(() => post(`${studio.base}/people`, { column })), column ? `rows belong to ${column}` : "each row is somebody else's");
  const which = h("select", { id: "entity", "aria-label": "Column that says whose a row is", onchange: (event) => say(event.target.value) }, options(names.map((name) => [name, name]), likely));
  return h("fieldset", { class: "card" }, h("legend", { class: "unseen" }, "People"),
    h("strong", {}, "May somebody have several rows?"),
    h("p", {}, h("label", {}, h("input", { type: "radio", name: "people", id: "people-no", checked: entity === null, onchange: () => say(null) }), " No: each row is somebody else’s.")),
    h("p", {}, h("label", {}, h("input", { type: "radio", name: "people", id: "people-yes", checked: entity !== null, onchange: () => say(which.value) }), " Yes: rows with the same "), which, " belong to one person."),
    h("p", { class: "note" }, entity ? `Then k counts people, not rows, so that nobody’s many rows pass for a crowd.${project.people ? ` (${project.people.reason}.)` : ""}` : "If you say no and it is not so, one person’s rows could hide nobody but that person."));
}

function pairs(project) {
  if (!project.pairs.length) return "";
  return h("details", {}, h("summary", {}, "Which columns together give people away"),
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "columns"), h("th", { scope: "col", class: "n" }, "combinations"), h("th", { scope: "col", class: "n" }, "rows alone"))),
      h("tbody", {}, project.pairs.map((pair) => h("tr", {}, h("th", { scope: "row" }, pair.columns.join(" × ")), h("td", { class: "n" }, number(pair.distinct)), h("td", { class: "n" }, percent(pair.unique)))))));
}
