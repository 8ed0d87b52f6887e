// Step 6: make the release, judge it, take it home.
import { ROOT, get, post } from "./api.js";
import { h, number, percent, problem, sentence, waiting } from "./dom.js";
import { running, watch, watchBegun } from "./job.js";
import { evidence, seenTiles, tiles } from "./seen.js";

const kept = { release: null, attacks: false };

export function promiseInWords({ privacy = {}, data }) {
  const list = (asked) => (asked === undefined ? [] : Array.isArray(asked) ? asked : [asked]);
  const parts = [];
  if (privacy.k) parts.push(`k = ${privacy.k}${data.entity ? " people" : ""}${privacy.m ? ` for up to m = ${privacy.m} items` : ""}`);
  for (const l of list(privacy.l)) parts.push(`l = ${l.value ?? l}${l.of ? ` of ${l.of}` : ""}`);
  if (privacy.p) parts.push(`p = ${privacy.p}`);
  for (const t of list(privacy.t)) parts.push(`t = ${t.value ?? t}${t.of ? ` of ${t.of}` : ""}`);
  return parts.join(", ") || "nothing yet";
}

export function publishStep(place, studio) {
  const { project } = studio;
  const method = project.spec.method ?? {};
  const progress = h("div");
  const shown = h("div");
  const over = async (job) => {
    make.disabled = false;
    if (job.state !== "done") return;
    kept.release = job.result.release;
    await studio.refresh();
  };
  const make = h("button", { type: "button", class: "main", id: "make", disabled: Boolean(project.wrong), onclick: async () => {
    const job = await studio.attempt(() => post(`${studio.base}/runs`, { attacks: kept.attacks ? ["all"] : [] }));
    if (job) {
      make.disabled = true;
      watchBegun(studio, progress, job.id, over);
    }
  } }, project.releases.length ? "Make another release" : "Make the release");
  place.append(
    h("h1", {}, "Publish"),
    h("section", { class: "card" },
      h("p", {}, "Promise: ", h("strong", {}, promiseInWords(project.spec)), ". Method: ", h("strong", {}, method.name ?? "optimal"), method.scheme && method.name === "optimal" ? ` by the scheme ${method.scheme}` : "", "."),
      project.wrong ? problem(project.wrong) : null,
      h("p", {}, h("label", {}, h("input", { type: "checkbox", id: "attacks", checked: kept.attacks, onchange: (event) => { kept.attacks = event.target.checked; } }), " Attack it, too: try what an adversary would try, and tell in the report how far that gets")),
      h("div", { class: "row" }, make)),
    progress, shown);
  const job = running(studio, "run");
  if (job) {
    make.disabled = true;
    watch(studio, progress, job.id, over);
  }
  if (!project.releases.length) {
    shown.append(h("p", { class: "note" }, "No release has been made yet. Nothing is published by making one: you look at it, and decide."));
    return null;
  }
  if (!project.releases.some((each) => each.id === kept.release)) kept.release = project.releases.at(-1).id;
  if (project.releases.length > 1) {
    shown.append(h("div", { class: "tabs", role: "group", "aria-label": "Releases" }, project.releases.map((each, at) =>
      h("button", { type: "button", "aria-pressed": String(each.id === kept.release), onclick: () => { kept.release = each.id; studio.refresh(); } }, `${at + 1}. ${each.name}`))));
  }
  const details = h("div", {}, waiting("Opening the release"));
  shown.append(details);
  return release(details, studio);
}

async function release(place, studio) {
  const drawn = studio.drawn;
  const made = await studio.attempt(() => get(`${studio.base}/releases/${kept.release}`));
  if (!made || drawn !== studio.drawn) return;
  if (made.verdict === null) {
    const progress = h("div");
    place.replaceChildren(h("p", { class: "warning" }, "This release came with the saved project. Whatever the file says of it: it is audited again, here."), progress);
    await audit(progress, made, studio, []);
    return;
  }
  const { verdict } = made;
  place.replaceChildren(
    h("div", { class: `verdict ${made.ok ? "" : "bad"}` }, h("h2", { id: "verdict" }, made.ok ? "The promise holds" : verdict.findings.length ? "The promise does not hold" : "It cannot be told whether the promise holds"),
      h("p", {}, made.ok ? "An audit that sees only the release and the specification, and shares no code with the search, has found every part of the promise kept." : "Do not publish this release."),
      verdict.unjudged.map((what) => h("p", {}, sentence(`${what}.`))),
      made.saved ? h("p", {}, "This release came with the saved project, and was audited here just now. All other figures, the report and the files are as they were saved: make the release again for new ones.") : "",
      h("p", {}, `${made.rows}. ${made.lost ? `${made.lost}.` : ""}`)),
    made.kept.length ? h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "asked"), h("th", { scope: "col" }, "measured"), h("th", { scope: "col" }, "what that means"))),
      h("tbody", {}, made.kept.map((line) => h("tr", {}, h("td", {}, line.asked), h("td", {}, h("strong", {}, line.measured)), h("td", {}, line.meaning)))))) : "",
    verdict.findings.length ? h("ul", {}, verdict.findings.map((finding) => h("li", {}, finding.message, h("span", { class: "note" }, ` To mend it: ${finding.mend}.`)))) : "",
    made.seen ? seenTiles(made.seen) : "",
    takeHome(made, studio),
    risk(verdict),
    h("div", { class: "beside" }, claims("Promised", made.promises), claims("Not promised", made.limits)),
    attacks(made, studio),
    made.items ? baskets(made.items) : "",
    made.seen ? evidence(made.seen, studio) : "",
  );
}

// Audit a release here: one that came with a saved project, whose verdict is not believed, or one that is to be attacked.
async function audit(place, made, studio, attacks) {
  const begun = running(studio, `audit of ${made.id}`) ?? (await studio.attempt(() => post(`${studio.base}/releases/${made.id}/audit`, { attacks })));
  if (begun) watch(studio, place, begun.id, (job) => (job.state === "done" ? studio.refresh() : place.append(h("p", {}, h("button", { type: "button", onclick: () => audit(place, made, studio, attacks) }, "Try again")))));
}

function takeHome(made, studio) {
  const path = `${ROOT}api/${studio.base}/releases/${made.id}/files`;
  const formulas = h("input", { type: "checkbox", id: "formulas", onchange: () => {
    for (const link of document.querySelectorAll("[data-csv]")) link.href = `${path}/${link.dataset.csv}${formulas.checked ? "?formulas=false" : ""}`;
  } });
  const size = (bytes) => (bytes > 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1000)} kB`);
  const spec = made.files.find((file) => file.file === "spec.toml");
  const command = `ringfence run ${spec.name.includes(" ") ? `"${spec.name}"` : spec.name} -o release`;
  const csv = made.files.some((file) => file.file.endsWith(".csv"));
  return h("section", {}, h("h2", {}, "Take it home"),
    h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "file"), h("th", { scope: "col" }, "for whom"), h("th", { scope: "col" }, "what it is"), h("th", { scope: "col", class: "n" }, "size"))),
      h("tbody", {}, made.files.map((file) => h("tr", {},
        h("td", {}, h("a", { href: `${path}/${file.file}`, download: file.name, data: file.file.endsWith(".csv") ? { csv: file.file } : {} }, file.name), file.file === "report.html" ? [" ", h("a", { href: `${path}/${file.file}?shown=true`, target: "_blank", rel: "noopener" }, "look at it")] : ""),
        h("td", {}, h("span", { class: file.private ? "private" : "public" }, file.private ? "keep private" : "may be published")), h("td", {}, file.what), h("td", { class: "n" }, size(file.bytes))))))),
    csv ? h("p", {}, h("label", {}, formulas, " Write cells so that no spreadsheet runs them as formulas (the hash in the manifest is of the file without that)")) : "",
    h("p", {}, "The same again, from the specification and the table beside it:"),
    h("div", { class: "row" }, h("pre", { id: "command" }, command), h("button", { type: "button", onclick: (event) => { navigator.clipboard?.writeText(command); event.target.textContent = "Copied"; } }, "Copy")));
}

function risk(verdict) {
  if (!verdict.risk) return "";
  const { prosecutor, marketer, uniques, counts, threshold } = verdict.risk;
  return h("section", {}, h("h2", {}, "Risk, as the audit measured it"), tiles([
    ["highest", percent(prosecutor.highest), "for anybody who is known to be in it"], ["mean", percent(prosecutor.mean), `over all ${counts}`],
    [`above ${percent(threshold)}`, percent(prosecutor.at_risk), `of ${counts}`], ["right in all", percent(marketer), "if one guesses for everybody"], ["alone", number(uniques.sample), `${counts} with labels of their own`]]));
}

function claims(title, list) {
  return h("section", {}, h("h2", {}, title), list.map((claim) => h("details", { open: title === "Promised" }, h("summary", {}, h("strong", {}, claim.name)), h("p", {}, claim.text))));
}

function attacks(made, studio) {
  const { verdict } = made;
  const place = h("section", {}, h("h2", {}, "Attacks"));
  const told = verdict.notes.filter((note) => note.startsWith("the attack"));
  if (!verdict.attacks.length && !verdict.refinement && !told.length) {
    place.append(h("p", { class: "note" }, "None has been tried yet."), h("button", { type: "button", id: "attack", onclick: async () => {
      const progress = h("div");
      place.replaceChildren(h("h2", {}, "Attacks"), progress);
      await audit(progress, made, studio, ["all"]);
    } }, "Attack it"));
    if (running(studio, `audit of ${made.id}`)) place.querySelector("#attack").click(); // it is under way
    return place;
  }
  if (verdict.attacks.length) place.append(h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "what an adversary does"), h("th", { scope: "col", class: "n" }, "right"), h("th", { scope: "col", class: "n" }, "at worst"), h("th", { scope: "col", class: "n" }, "promised: at most"), h("th", { scope: "col", class: "n" }, "without the release"))),
    h("tbody", {}, verdict.attacks.map((attack) => h("tr", {}, h("td", {}, attack.how), h("td", { class: "n" }, percent(attack.success)), h("td", { class: "n" }, percent(attack.worst)), h("td", { class: "n" }, attack.promised === null ? "no limit" : percent(attack.promised)), h("td", { class: "n" }, percent(attack.baseline))))))));
  if (studio.project.spec.data.entity) place.append(h("p", { class: "note" }, "Attacks that look rows up are not carried out where somebody may have several: they would make too little of it."));
  if (made.refined.length) place.append(h("h3", {}, "What comes out of the labels alone"), h("ul", {}, made.refined.map((line) => h("li", {}, line))));
  place.append(...told.map((note) => h("p", { class: "note" }, sentence(`${note}.`))));
  return place;
}

function baskets(items) {
  const listed = (names) => names.slice(0, 12).join(", ") + (names.length > 12 ? ", …" : "");
  return h("section", {}, h("h2", {}, "The first baskets, before and after"),
    h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "before"), h("th", { scope: "col" }, "after"))),
      h("tbody", {}, items.rows.slice(0, 8).map((row) => h("tr", {}, h("td", {}, listed(row.before)), h("td", {}, listed(row.after))))))),
    items.groups.length ? [h("h2", {}, "Why items are published in groups"), h("div", { class: "wide" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "published as"), h("th", { scope: "col" }, "items"), h("th", { scope: "col" }, "apart, there would be"))),
      h("tbody", {}, items.groups.slice(0, 20).map((group) => h("tr", {}, h("th", { scope: "row" }, group.label), h("td", {}, listed(group.items)), h("td", {}, group.why ?? ""))))))] : h("p", {}, "Every item is published as it is."));
}
