// Elements made from values. Whatever comes from a table becomes text, never markup: there is no other way here.

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else if (["checked", "value", "disabled", "selected", "open", "indeterminate"].includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const number = (value) =>
  Math.abs(value) >= 1000 || Number.isInteger(value)
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(4)));

export function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  if (share > 0.999 && share < 1) return ">99.9 %";
  const digits = (share > 0 && share < 0.0995) || (share > 0.99 && share < 1) ? 1 : 0;
  return `${(100 * share).toFixed(digits).replace(/\.0$/, "")} %`;
}

export const some = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

export const short = (words, most) => (words.length > most ? `${words.slice(0, most)}…` : words);

export const megabytes = (bytes) => (bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.round(bytes / 1e6)} MB`);

export function cell(value) {
  return value === null || value === undefined ? h("span", { class: "missing" }, "missing") : String(value);
}

export function options(entries, chosen) {
  return entries.map(([value, words]) => h("option", { value, selected: value === chosen }, words));
}

export function field(words, control, more) {
  return h("label", {}, words, " ", control, more ? h("small", {}, more) : null);
}

export function say(words) {
  document.getElementById("status").textContent = words;
}

export function waiting(words) {
  return h("p", { class: "wait" }, h("span", { class: "spin", "aria-hidden": "true" }), words);
}

// What goes wrong is told as programs are told it; on a page a sentence begins with a capital, unless with a name or a value.
export const sentence = (words) => (/^[a-z]+[ ,:;]/.test(words) ? words[0].toUpperCase() + words.slice(1) : words);

export function problem(words) {
  return h("p", { class: "error" }, sentence(words));
}
