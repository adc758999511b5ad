/* The page: asks the daemon by api/VERB (the verbs and results of docs/reference/protocol.md), and shows
 * what it says.  All text of a manual becomes text, never markup. */

const at = (id) => document.getElementById(id);
const query = at("query"), results = at("results"), section = at("section"), tree = at("tree");

/* An element with attributes, and texts or elements in it. */
function make(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

// ---- The daemon ----

async function post(verb, params, signal) {
  const body = JSON.stringify(params);
  const reply = await fetch(`api/${verb}`, { method: "POST", signal, body }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("lectern web does not answer: is it still running?");
  });
  if (!reply.ok) {
    const said = await reply.text();
    let message = said;
    try { message = JSON.parse(said).error.message; } catch { /* it is text */ }
    throw new Error(message);
  }
  return reply;
}

const call = async (verb, params, signal) => (await post(verb, params, signal)).json();

/* Calls `hear` with each line of a reply, parsed, as it comes. */
async function listen(reply, hear) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part; !(part = await reader.read()).done;) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop();
    for (const line of lines) hear(JSON.parse(line));
  }
}

/* Runs what a person has asked for; a failure is told, but not that it was given up. */
async function attempt(work) {
  at("problem").hidden = true;
  try {
    await work();
  } catch (error) {
    if (error.name === "AbortError") return;
    at("problem").textContent = error.message;
    at("problem").hidden = false;
  }
}

/* One piece of work at a time: the one before is given up. */
let underway = new AbortController();
function begin() {
  underway.abort();
  underway = new AbortController();
  return underway.signal;
}

/* What is amiss with a result: files that have changed, manuals that are missing from it. */
function note(result) {
  const lines = (result.missing ?? []).map((m) => (m.state === "indexing"
    ? `${m.manual} is not searched yet: it is being indexed.`
    : `${m.manual} is ${m.state === "stale" ? "searched as it was" : "not searched"}: ${m.reason}`));
  for (const m of result.damaged ?? [])
    lines.push(`${m.manual ?? "A manual"} is damaged in the store and left out: lectern verify --repair`);
  if (result.away) lines.push("Files of a manual are not here: whether they have changed is not known");
  else if (result.fresh === false) lines.push("Files have changed since they were read: lectern update");
  at("notes").textContent = lines.join("\n");
  at("notes").hidden = !lines.length;
}

function show(...shown) {
  for (const part of [at("start"), at("answer"), results, section]) part.hidden = !shown.includes(part);
  query.setAttribute("aria-expanded", String(!results.hidden));
}

const chosenManual = () => (at("manual").value ? { manual: at("manual").value } : {});
const place = (it) => (it.file ?? "") + (it.anchor ? `#${it.anchor}` : "");

// ---- Where one is, in the address ----

/* #q=WORDS, #ask=QUESTION, each with manual=, or #node=ID with span=FROM-TO of a citation, whose words are in
 * the state. */
function go(fields, { replace = false, state = null } = {}) {
  const address = "#" + new URLSearchParams(fields);
  if (location.hash !== address || state)
    history[replace ? "replaceState" : "pushState"](state, "", address);
  return visit();
}

function visit() {
  const fields = new URLSearchParams(location.hash.slice(1));
  at("contents").classList.remove("open");
  at("menu").setAttribute("aria-expanded", "false");
  if (fields.has("manual") || fields.has("q") || fields.has("ask")) at("manual").value = fields.get("manual") ?? "";
  if (fields.has("node")) return attempt(() => openSection(fields.get("node"), fields.get("span"), history.state));
  const words = fields.get("ask") ?? fields.get("q");
  if (!words) {
    document.title = "Lectern";
    note({});
    return show(at("start"));
  }
  if (query.value.trim() !== words) query.value = words;
  document.title = `${words} – Lectern`;
  return fields.has("ask") ? attempt(() => ask(words)) : attempt(() => search(words, begin(), true));
}

// ---- Searching ----

/* The text with the words in <mark> that begin with one of the stems. */
function withWords(text, stems) {
  const parts = text.split(/([\p{L}\p{N}_]+)/u);
  return parts.map((part, i) => i % 2 && stems.some((stem) => part.toLowerCase().startsWith(stem))
    ? make("mark", {}, part) : part);
}

/* About 300 characters from the first word that was asked for. */
function excerpt(text, stems) {
  const low = text.toLowerCase();
  const found = stems.map((stem) => low.indexOf(stem)).filter((i) => i >= 0);
  let from = found.length ? Math.max(0, Math.min(...found) - 80) : 0;
  if (from) from = text.lastIndexOf(" ", from) + 1;
  let to = from + 300;
  if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), from + 200);
  return (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
}

function resultRow(hit, number, stems) {
  const path = hit.path.slice(0, -1);
  const row = make("li", { role: "option", id: `result-${number}`, "aria-selected": "false" },
    make("div", { class: "title", dir: "auto" }, hit.path.at(-1) ?? hit.manual),
    make("div", { class: "path", dir: "auto" }, [hit.manual, ...path].join(" › ")),
    make("p", { dir: "auto" }, ...withWords(excerpt(hit.text ?? "", stems), stems)));
  row.addEventListener("click", () => go({ node: hit.node }));
  return row;
}

async function search(words, signal, typing) {
  const found = await call("search", { query: words, n: 12, typing, ...chosenManual() }, signal);
  const rows = found.results.map((hit, i) => resultRow(hit, i, found.terms ?? []));
  if (!rows.length) rows.push(make("li", { class: "nothing" }, "Nothing is found."));
  const kept = chosen(); // by one who was faster than the search
  results.replaceChildren(...rows);
  results.setAttribute("aria-busy", "false");
  note(found);
  choose(Math.min(kept, found.results.length - 1));
  const asked = new URLSearchParams(location.hash.slice(1)).has("ask");
  show(results, ...(asked ? [at("answer")] : []));
}

/* Chooses a result by its number; -1: none. */
function choose(number) {
  const rows = results.querySelectorAll("[role=option]");
  rows.forEach((row, i) => row.setAttribute("aria-selected", String(i === number)));
  if (rows[number]) {
    query.setAttribute("aria-activedescendant", rows[number].id);
    rows[number].scrollIntoView({ block: "nearest" });
  } else {
    query.removeAttribute("aria-activedescendant");
  }
}

const chosen = () => [...results.children].findIndex((row) => row.getAttribute("aria-selected") === "true");

let pause;
function onType() {
  clearTimeout(pause);
  choose(-1);
  results.setAttribute("aria-busy", "true");
  const words = query.value.trim();
  pause = setTimeout(() => {
    const now = new URLSearchParams(location.hash.slice(1));
    if (words) go({ q: words, ...chosenManual() }, { replace: now.has("q") });
    else if (now.has("q")) go({}, { replace: true });
  }, 50);
}

// ---- Asking ----

/* The answer's text as paragraphs, its [n] as links to the citations. */
function answerText(text, citations) {
  return text.split(/\n\n+/).map((paragraph) => make("p", { dir: "auto" },
    ...paragraph.split(/(\[\d+\])/).map((part, i) => {
      const citation = i % 2 && citations.find((c) => `[${c.n}]` === part);
      return citation ? citationLink(citation, part, "cite") : part;
    })));
}

function citationLink(citation, text, kind) {
  const fields = { node: citation.node, span: citation.span.join("-") };
  const link = make("a", { href: "#" + new URLSearchParams(fields), class: kind, dir: "auto" }, text);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    go(fields, { state: { file: citation.file, quote: citation.quote } });
  });
  return link;
}

/* One row for the citations of one section. */
function sourceRow(citations) {
  const first = citations[0];
  const doubt = citations.some((c) => c.status === "unverified");
  return make("li", {}, ...citations.flatMap((c) => [citationLink(c, `[${c.n}]`), " "]),
    make("b", { dir: "auto" }, first.path.at(-1) ?? first.manual),
    make("div", { class: "path", dir: "auto" }, [first.manual, ...first.path.slice(0, -1)].join(" › ")),
    make("div", { class: "place" }, place(first)),
    ...(doubt ? [make("div", { class: "unverified" }, "not found in the file")] : []));
}

function sourceRows(citations) {
  const sections = new Map();
  for (const citation of citations) sections.set(citation.node, [...sections.get(citation.node) ?? [], citation]);
  return [...sections.values()].map(sourceRow);
}

async function ask(words) {
  const signal = begin();
  const shown = { text: "", citations: [], doubtful: false };
  const draw = () => {
    const doubt = shown.doubtful ? [make("p", { class: "waiting" }, "The manuals may not answer this.")] : [];
    at("answer-text").replaceChildren(...doubt, ...answerText(shown.text, shown.citations));
    at("sources").replaceChildren(...sourceRows(shown.citations));
  };
  at("answer-text").replaceChildren(make("p", { class: "waiting" }, "Looking…"));
  at("sources").replaceChildren();
  at("answer-text").setAttribute("aria-busy", "true");
  show(at("answer"));
  const searched = search(words, signal, false);
  try {
    const reply = await post("ask", { query: words, stream: true, ...chosenManual() }, signal);
    await listen(reply, (said) => {
      if (said.error) throw new Error(said.error.message);
      if (said.event === "token") shown.text += said.text;
      if (said.event === "citation") shown.citations.push(said);
      if (said.result) {
        shown.text = said.result.kind === "none" ? "Nothing in the manuals answers this." : said.result.answer;
        shown.citations = said.result.citations ?? [];
        shown.doubtful = said.result.doubtful;
      }
      if (shown.text) draw();
    });
  } finally {
    if (!signal.aborted) { // else what is shown is another's
      at("answer-text").setAttribute("aria-busy", "false");
      if (!shown.text) at("answer-text").replaceChildren();
    }
  }
  await searched;
}

// ---- A section ----

/* Rows are lines, cells are parted by tabs; info is head=N: so many rows are headings. */
function tableOf(block) {
  const heads = Number(/head=(\d+)/.exec(block.info ?? "")?.[1] ?? 0);
  const rows = block.text.split("\n").map((line, i) => make("tr", {},
    ...line.split("\t").map((cell) => make(i < heads ? "th" : "td", { dir: "auto" }, cell))));
  return make("div", { class: "scroll", tabindex: "0" }, make("table", {}, ...rows));
}

function definitionOf(block) {
  const [term, ...rest] = block.text.split("\n");
  return make("div", { class: "definition", dir: "auto" }, make("b", {}, term), make("div", {}, rest.join("\n").trim()));
}

function blockOf(block) {
  switch (block.kind) {
    case "code": return make("pre", { tabindex: "0" }, make("code", {}, block.text));
    case "table": return tableOf(block);
    case "definition": return definitionOf(block);
    case "list": return make("div", { class: "list", dir: "auto" }, block.text);
    case "note": return make("div", { class: "note", role: "note" }, make("p", { dir: "auto" }, block.text));
    case "quote": return make("blockquote", {}, make("p", { dir: "auto" }, block.text));
    case "math": return make("p", { class: "math" }, block.text);
    default: return make("p", { dir: "auto" }, block.text);
  }
}

/* The words in <mark> where they stand in one text of the element; false: they do not. */
function markWords(element, words) {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    const from = text.data.indexOf(words);
    if (from < 0) continue;
    const range = document.createRange();
    range.setStart(text, from);
    range.setEnd(text, from + words.length);
    range.surroundContents(make("mark"));
    return true;
  }
  return false;
}

/* Marks what is cited: the quote's words, or the blocks that its bytes are in. */
function markCited(blocks, elements, span, quoted) {
  const [from, to] = span.split("-").map(Number);
  blocks.forEach((block, i) => {
    const overlaps = block.span && block.span[0] < to && block.span[1] > from;
    if (!overlaps || (quoted?.file && quoted.file !== block.file)) return;
    if (!quoted?.quote || !markWords(elements[i], quoted.quote)) elements[i].classList.add("cited");
  });
}

function linkTo(node, text) {
  return make("a", { href: `#node=${node}`, dir: "auto" }, text);
}

function pathOf(got) {
  const path = make("nav", { class: "path", "aria-label": "Path" }, got.manual);
  got.path.slice(0, -1).forEach((title, i) => path.append(" › ", linkTo(got.path_nodes[i], title)));
  return path;
}

function partsOf(item) {
  if (!item?.children?.length) return [];
  return [make("h2", {}, "In this section"),
    make("ul", { class: "parts" }, ...item.children.map((child) => make("li", {}, linkTo(child.id, child.title))))];
}

function refsOf(refs) {
  const known = new Map(refs.filter((ref) => ref.node && ref.text).map((ref) => [ref.node, ref.text]));
  if (!known.size) return [];
  return [make("details", {}, make("summary", {}, `Links (${known.size})`),
    make("ul", { class: "parts" }, ...[...known].map(([node, text]) => make("li", {}, linkTo(node, text)))))];
}

function stepsOf(item) {
  const before = item && previousOf(item), after = item && nextOf(item);
  return make("nav", { class: "steps", "aria-label": "Neighbours" },
    make("span", {}, ...(before ? ["‹ ", linkTo(before.id, before.title)] : [])),
    make("span", {}, ...(after ? [linkTo(after.id, after.title), " ›"] : [])));
}

async function openSection(node, span, quoted) {
  const signal = begin();
  const got = await call("get", { node }, signal);
  const elements = got.blocks.map(blockOf);
  if (span) markCited(got.blocks, elements, span, quoted);
  const title = make("h1", { id: "title", tabindex: "-1", dir: "auto" }, got.title);
  section.replaceChildren(pathOf(got), title, ...elements);
  note(got);
  show(section);
  document.title = `${got.title} – Lectern`;
  const cited = section.querySelector("mark, .cited");
  title.focus({ preventScroll: true });
  if (cited) cited.scrollIntoView({ block: "center" });
  else scrollTo(0, 0);
  const item = await reveal(got);
  if (signal.aborted) return;
  section.append(...partsOf(item), ...refsOf(got.refs), make("p", { class: "place" }, place(got)), stepsOf(item));
}

// ---- The tree ----

/* An item: {id, title, parent, children (null: not loaded), leaf, element}. */
let roots = [];
let current = null;

function itemOf(node, parent) {
  const item = { id: node.id, title: node.title, manual: node.manual, parent, children: null, leaf: !node.cut };
  item.group = make("ul", { role: "group" });
  item.element = make("li", { role: "treeitem", tabindex: "-1", "aria-expanded": item.leaf ? null : "false" },
    make("div", { class: "row" }, make("span", { class: "twisty", "aria-hidden": "true" }),
      make("span", { class: "name", dir: "auto" }, node.title)));
  item.element.setAttribute("aria-label", node.title);
  item.element.item = item;
  return item;
}

function fill(item, nodes) {
  item.leaf = !nodes.length;
  item.children = nodes.map((node) => itemOf(node, item));
  item.group.replaceChildren(...item.children.map((child) => child.element));
}

async function expand(item) {
  if (!item.children) fill(item, item.leaf ? [] : (await call("toc", { node: item.id, depth: 1 })).children);
  if (item.leaf) return;
  item.element.append(item.group);
  item.element.setAttribute("aria-expanded", "true");
}

function collapse(item) {
  item.group.remove();
  item.element.setAttribute("aria-expanded", "false");
}

const isOpen = (item) => item.element.getAttribute("aria-expanded") === "true";

/* Opens the way down to a section and returns its item; undefined: it is not in the tree any more. */
async function reveal(got) {
  let item = roots.find((root) => root.title === got.manual);
  for (const id of got.path_nodes) {
    if (!item) return undefined;
    await expand(item);
    item = item.children.find((child) => child.id === id);
  }
  if (!item) return undefined;
  if (!item.children) await expand(item);
  current?.element.removeAttribute("aria-current");
  current = item;
  item.element.setAttribute("aria-current", "true");
  reach(item);
  item.element.firstChild.scrollIntoView({ block: "nearest" });
  return item;
}

const siblingsOf = (item) => item.parent?.children ?? roots;
const sibling = (item, step) => siblingsOf(item)[siblingsOf(item).indexOf(item) + step];

function nextOf(item) {
  if (item.children?.length) return item.children[0];
  for (; item; item = item.parent)
    if (sibling(item, 1)) return sibling(item, 1);
  return undefined;
}
const previousOf = (item) => sibling(item, -1) ?? item.parent;

/* The one item that the Tab key reaches. */
function reach(item) {
  tree.querySelectorAll("[tabindex='0']").forEach((element) => { element.tabIndex = -1; });
  item.element.tabIndex = 0;
}

function focusItem(item) {
  if (!item) return;
  reach(item);
  item.element.focus();
}

/* Items that can be seen, from the top. */
const visible = () => [...tree.querySelectorAll("[role=treeitem]")].map((element) => element.item);

const treeKeys = {
  ArrowDown: (item) => focusItem(visible()[visible().indexOf(item) + 1]),
  ArrowUp: (item) => focusItem(visible()[visible().indexOf(item) - 1]),
  Home: () => focusItem(visible()[0]),
  End: () => focusItem(visible().at(-1)),
  ArrowRight: (item) => (isOpen(item) ? focusItem(item.children[0]) : attempt(() => expand(item))),
  ArrowLeft: (item) => (isOpen(item) ? collapse(item) : focusItem(item.parent)),
  Enter: (item) => go({ node: item.id }),
};

tree.addEventListener("keydown", (event) => {
  const item = event.target.closest("[role=treeitem]")?.item;
  if (!item || !treeKeys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  treeKeys[event.key](item);
});

tree.addEventListener("click", (event) => {
  const item = event.target.closest("[role=treeitem]")?.item;
  if (!item) return;
  if (!event.target.classList.contains("twisty")) go({ node: item.id });
  else if (isOpen(item)) collapse(item);
  else attempt(() => expand(item));
});

// ---- Keys, and the start ----

function toggleContents() {
  const open = at("contents").classList.toggle("open");
  at("menu").setAttribute("aria-expanded", String(open));
  if (open) scrollTo(0, 0);
}

at("menu").addEventListener("click", toggleContents);

query.addEventListener("input", onType);
at("manual").addEventListener("change", () => { if (query.value.trim()) onType(); });

query.addEventListener("keydown", (event) => {
  const count = results.hidden ? 0 : results.querySelectorAll("[role=option]").length;
  if (event.key === "ArrowDown") choose(Math.min(chosen() + 1, count - 1));
  else if (event.key === "ArrowUp") choose(Math.max(chosen() - 1, -1));
  else if (event.key === "Escape" && !query.value) query.blur();
  else return;
  event.preventDefault();
});

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(pause);
  const row = results.hidden ? undefined : results.children[chosen()];
  const words = query.value.trim();
  if (row) row.click();
  else if (words) go({ ask: words, ...chosenManual() });
});

const keys = {
  "/": () => { query.focus(); query.select(); },
  "?": () => go({}),
  t: () => { if (getComputedStyle(at("contents")).display === "none") toggleContents(); focusItem(current ?? roots[0]); },
  n: () => { const item = current && nextOf(current); if (item) go({ node: item.id }); },
  p: () => { const item = current && previousOf(current); if (item) go({ node: item.id }); },
  u: () => { if (current?.parent) go({ node: current.parent.id }); },
};

document.addEventListener("keydown", (event) => {
  const typed = event.target.matches("input, select");
  if (typed || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});

addEventListener("popstate", visit);

async function start() {
  const { manuals } = await call("ls", {});
  const lines = manuals.map((m) => make("li", {}, make("b", {}, m.name), ` ${m.nodes.toLocaleString("en")} ${m.nodes === 1 ? "section" : "sections and entries"}`));
  if (!manuals.length) lines.push(make("li", {}, "No manual is indexed yet: lectern add DIR"));
  at("manuals").replaceChildren(...lines);
  at("manual").append(...manuals.map((m) => make("option", { value: m.name }, m.name)));
  at("manual").hidden = manuals.length < 2;
  if (manuals.length) {
    const top = await call("toc", { depth: 1 });
    roots = (top.id ? [{ ...top, cut: top.children.length > 0 }] : top.children).map((node) => itemOf(node, undefined));
    tree.replaceChildren(...roots.map((root) => root.element));
    reach(roots[0]);
    for (let only = roots; only.length === 1 && !only[0].leaf; only = only[0].children) await expand(only[0]);
  }
}

attempt(start).then(visit);
