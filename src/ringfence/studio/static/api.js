// The one way to the server: JSON under /api. What goes wrong is an Error with the server's own sentence.

// The studio's pages are under a path of their own.
export const ROOT = new URL("..", import.meta.url).pathname;

export class ApiError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export async function ask(method, path, body, kind = "application/json") {
  const headers = body === undefined ? {} : { "Content-Type": kind };
  let answer;
  try {
    answer = await fetch(`${ROOT}api/${path}`, { method, headers, body: kind === "application/json" && body !== undefined ? JSON.stringify(body) : body });
  } catch {
    throw new ApiError("Gone", "The studio does not answer. Is it still running? Its terminal says.");
  }
  const content = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : null;
  if (answer.status === 401) location.href = "/login";
  if (!answer.ok) throw new ApiError(content?.error?.kind ?? "Error", content?.error?.message ?? `The studio answered ${answer.status}.`);
  return content;
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);
export const send = (path, file) => ask("POST", path, file, "application/octet-stream");
