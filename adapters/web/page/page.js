// The page as the server drew it goes on by itself: what changes comes as the HTML of
// messages, and forms are sent without leaving the page.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const fresh = () => crypto.randomUUID();

  // Drafts, opened steps and what was seen are kept for this tab; storage may be off.
  const keep = (key, value) => { try { value ? sessionStorage.setItem(key, value) : sessionStorage.removeItem(key); } catch { /* off */ } };
  const kept = (key) => { try { return sessionStorage.getItem(key); } catch { return null; } };
  const open = new Set((kept("open") || "").split(" ")); // steps that this reader has opened

  const logs = all(".log");
  const atEnd = (log) => log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const waiting = (log) => all('[data-state="waiting"]:has(.decide)', log).at(-1);

  // toEnd scrolls to the newest message. A card that waits is seen from its top, so that
  // nobody approves what they have not seen.
  function toEnd(log, card) {
    log.scrollTop = log.scrollHeight;
    if (card && card.getBoundingClientRect().top < log.getBoundingClientRect().top) card.scrollIntoView({ block: "start" });
    newer(log, false);
  }
  const newer = (log, on) => { log.parentElement.querySelector(".newer").hidden = !on; };

  // --- Messages are drawn anew where they stand (morph.js).

  // dress readies a message: code can be copied, and steps are as this reader left them.
  function dress(card) {
    for (const pre of all(".rich pre", card)) pre.insertAdjacentHTML("beforebegin", '<button type="button" class="quiet copy">Copy</button>');
    for (const fold of all(".fold", card)) show(fold, open.has(fold.getAttribute("aria-controls")));
    return card;
  }

  function show(fold, on) {
    fold.setAttribute("aria-expanded", String(on));
    const steps = fold.closest(".steps");
    for (const [part, hidden] of [[".all", !on], [".current", on]]) if (steps.querySelector(part)) steps.querySelector(part).hidden = hidden;
  }

  const place = (card) => Number(card.dataset.place);

  function put(log, { id, html, known }) {
    const card = dress(document.createRange().createContextualFragment(html).firstElementChild);
    const old = byId(id);
    const end = atEnd(log);
    const asked = old?.querySelector(".because");
    if (old) {
      const focused = old.contains(document.activeElement) ? document.activeElement : null;
      morph(old, card);
      if (focused && !focused.checkVisibility()) log.focus();
    } else {
      const cards = all(".card", log);
      if (known || log.querySelector(".back") && cards[0] && place(card) < place(cards[0])) return; // it stands further up
      const before = cards.findLast((c) => place(c) < place(card));
      before ? before.after(card) : cards[0] ? cards[0].before(card) : log.append(card);
      byId("hints")?.remove();
      days(log);
    }
    if (!asked) (old || card).querySelector(".because input[name=reason]")?.focus();
    if (end) toEnd(log, !old && card.querySelector(".decide") && card);
    else if (!old) newer(log, true);
    if (end) for (const img of all("img", old || card)) img.addEventListener("load", () => toEnd(log), { once: true });
  }

  // days draws a line where another day begins.
  function days(log) {
    for (const line of all(".day", log)) line.remove();
    let last = "";
    for (const card of all(".card", log)) {
      const day = card.querySelector("time").title.replace(/, [^,]*$/, "");
      if (day !== last) card.before(Object.assign(document.createElement("p"), { className: "day", textContent: day }));
      last = day;
    }
  }

  // earlier draws what stands above the first message of a pane.
  async function earlier(link) {
    const log = link.closest(".log"), first = log.querySelector(".card"), top = first.getBoundingClientRect().top;
    const { text } = await ask(link.href);
    if (text === undefined) return;
    const page = new DOMParser().parseFromString(text, "text/html").getElementById(log.id);
    for (const card of all(".card", page)) if (!byId(card.id)) first.before(dress(card));
    const next = page.querySelector(".back");
    next ? (link.href = next.href) : link.remove();
    days(log);
    log.scrollTop += first.getBoundingClientRect().top - top;
  }

  function news() {
    for (const a of all("#side a[data-newest]")) {
      const key = "seen " + byId("you").value + " " + a.dataset.place;
      if (a.hasAttribute("aria-current")) keep(key, a.dataset.newest);
      a.classList.toggle("news", Number(a.dataset.newest) > Number(kept(key) || 0));
    }
    const n = Number(document.querySelector("#side [data-waits]").dataset.waits);
    document.title = (n ? `(${n}) ` : "") + document.body.dataset.title;
    byId("icon").href = n ? "/waits.svg" : "/icon.svg";
  }

  // The sign says for how long already; the server says it with each change.
  let since = 0, next = 0; // when it began, and tries again
  function sign(html) {
    if (html !== undefined) anew(byId("sign"), html);
    const secs = document.querySelector("#sign .secs");
    if (secs) [since, next] = [Date.now() - 1000 * secs.dataset.secs, Number(secs.dataset.next) && Date.now() + 1000 * secs.dataset.next];
    tick();
  }
  function tick() {
    const secs = document.querySelector("#sign .secs");
    const n = Math.floor((next ? next - Date.now() : Date.now() - since) / 1000);
    if (secs) secs.textContent = n < 1 ? "" : (next ? "; next try in " : " · ") + (n < 60 ? n + " s" : Math.floor(n / 60) + " min " + n % 60 + " s");
  }

  // --- One stream a browser says that something changed; each page then asks for what
  // --- that is. The page that holds the lock has the stream.

  const unknown = (status) => status === 403 || status === 410;
  const others = new BroadcastChannel("nod");
  let changes = document.body.dataset.changes, asking = false, again = false, leaving = false, later;
  addEventListener("beforeunload", () => { leaving = true; });

  function lost(text) {
    byId("lost").hidden = !text;
    byId("lost").textContent = text;
  }

  async function refresh() {
    if (asking) { again = true; return; }
    asking = true;
    do {
      again = false;
      const { text, status } = await ask(changes);
      if (text === undefined) {
        lost(unknown(status) ? "nod was restarted: open the new link that it printed. What you wrote is kept here."
          : "Not connected. Is nod still running? The page goes on by itself when it is back.");
        clearTimeout(later);
        later = setTimeout(refresh, 3000);
        break;
      }
      lost("");
      const c = JSON.parse(text);
      if (!c.seen && !leaving) return location.reload(); // this page is of another process
      if (!c.seen) { // a reload would take back the reader's own click
        leaving = false;
        later = setTimeout(refresh, 3000);
        break;
      }
      draw(c);
    } while (again);
    asking = false;
  }

  function draw(c) {
    changes = changes.replace(/since=.*/, "since=" + c.seen);
    for (const id of c.off || []) byId(id)?.remove();
    for (const card of c.cards || []) { const log = byId("log-" + card.pane); if (log) put(log, card); }
    const ends = c.cards ? [] : logs.filter(atEnd); // the sign takes a line from below them
    sign(c.sign);
    for (const log of ends) log.scrollTop = log.scrollHeight;
    anew(byId("side"), c.side);
    news();
  }

  others.onmessage = refresh;
  const tell = () => { others.postMessage(""); refresh(); };
  const lead = () => new Promise(() => {
    const events = new EventSource("/events");
    events.addEventListener("changed", tell);
    events.addEventListener("error", () => {
      tell();
      if (events.readyState === EventSource.CLOSED) setTimeout(() => { events.close(); lead(); }, 3000);
    });
  });
  navigator.locks ? navigator.locks.request("nod stream", lead) : lead();

  // --- Forms. None is sent without an end: what is not answered in time is said to be.

  function trouble(text) {
    const p = byId("trouble");
    p.textContent = text;
    p.hidden = !text;
  }

  // ask sends a request, and gives the text of the answer, or what went wrong.
  async function ask(path, options, patience = 5000) {
    try {
      const answer = await fetch(path, { ...options, signal: AbortSignal.timeout(patience), cache: "no-store" });
      const text = await answer.text(); // which fails, too, where nod ends
      if (answer.ok) return { text };
      return { status: answer.status, wrong: unknown(answer.status) ? "nod was restarted: open the new link that it printed." : text.trim() };
    } catch (e) {
      return { wrong: e.name === "TimeoutError" ? "nod has not answered for 5 s. Nothing is lost: it can be sent again, and counts once." : "That was not sent: nod does not answer. It can be sent again." };
    }
  }

  // post sends a form, and gives where to go on, or what went wrong.
  async function post(form, body, path, keepalive) {
    const multipart = form.enctype === "multipart/form-data";
    const slow = attached(body).length && setTimeout(() => trouble("nod has not answered for 5 s. The files are still on their way."), 5000);
    const { text, wrong } = await ask(path, { method: "POST", keepalive, headers: { Accept: "application/json" }, body: multipart ? body : new URLSearchParams(body) }, slow ? 60000 : 5000);
    clearTimeout(slow);
    return text === undefined ? { wrong } : { go: JSON.parse(text).go };
  }

  function renew(form, id) {
    for (const e of all("input[name=id]", form)) e.value = id || fresh();
  }

  async function send(form, button) {
    const body = new FormData(form, button);
    const { wrong } = await post(form, body, button?.getAttribute("formaction") || form.getAttribute("action"));
    trouble(wrong || "");
    if (wrong) return renew(form, body.get("id"));
    form.closest("details")?.removeAttribute("open");
    form.reset();
    renew(form);
  }

  // Messages go one after the other, and each leaves the field at once: what is written
  // while another one is on its way is no part of it, and is sent, too.
  const line = []; // messages on their way
  let root = "", going = ""; // the conversation that the first of them began, and its page
  const attached = (body) => body.getAll("file").filter((f) => f.name);

  async function say(form, button) {
    const body = new FormData(form, button);
    if (line.length && !body.get("text").trim() && !attached(body).length) return; // another click on what is sent already
    form.reset();
    chosen();
    renew(form);
    keep("draft " + location.search, "");
    byId("you").value = body.get("as");
    byId("composer").focus();
    if (line.push(body) > 1) return;
    while (line.length) {
      if (root) line[0].set("t", root);
      const light = line[0].get("text").length < 10000 && !attached(line[0]).length; // as a browser sends what outlives its page
      const { go, wrong } = await post(form, line[0], form.getAttribute("action"), Boolean(going) && light);
      trouble(wrong || "");
      if (wrong) return putBack(form, line.splice(0));
      line.shift();
      const to = new URL(go, location).searchParams.get("t");
      if (to && !new URL(location).searchParams.get("t") && byId("log-thread") === null) [root, going] = [to, go];
      else toEnd(byId("log-thread") || byId("log-channel"));
    }
    if (going) location.assign(going);
  }

  // putBack gives back what was not sent, before what was written since.
  function putBack(form, unsent) {
    const composer = byId("composer"), since = composer.value;
    attach(unsent.flatMap(attached), true);
    composer.value = [...unsent.map((body) => body.get("text")), since].filter(Boolean).join("\n");
    keep("draft " + location.search, composer.value);
    // It may have arrived all the same: as it was, it is known by its id.
    if (unsent.length === 1 && !since) renew(form, unsent[0].get("id"));
  }

  // attach adds files to what is being written.
  function attach(files, first) {
    const field = document.querySelector("#say input[type=file]"), list = new DataTransfer();
    if (!field) return;
    for (const f of first ? [...files, ...field.files] : [...field.files, ...files]) list.items.add(f);
    field.files = list.files;
    chosen();
  }
  function chosen() {
    byId("chosen").textContent = Array.from(document.querySelector("#say input[type=file]").files, (f) => f.name).join(", ");
  }

  // What is being written when the page of a new conversation opens goes along.
  addEventListener("pagehide", () => {
    if (!going) return;
    keep("draft " + new URL(going, location).search, byId("composer").value);
    keep("draft " + location.search, "");
  });

  const sending = new WeakSet(); // forms: none is sent twice at once, and none waits for another one
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (form.method !== "post") return;
    e.preventDefault();
    if (form.getAttribute("id") === "say") return say(form, e.submitter); // form.id is an input of it
    if (sending.has(form)) return;
    sending.add(form);
    byId("picker").hidePopover();
    try { await send(form, e.submitter); } finally { sending.delete(form); }
  });

  // pick opens the emoji at hand, beside the button; they are sent with the message's form.
  function pick(button) {
    const picker = byId("picker"), at = button.getBoundingClientRect();
    picker.replaceChildren(...(button.dataset.quick || picker.dataset.quick).split(" ").map((emoji) => {
      const b = Object.assign(document.createElement("button"), { className: "mark", name: "emoji", value: emoji, textContent: emoji });
      b.setAttribute("form", button.form.getAttribute("id"));
      b.setAttribute("aria-label", "React with " + emoji);
      return b;
    }));
    picker.showPopover();
    picker.style.left = Math.max(8, Math.min(at.left, innerWidth - picker.offsetWidth - 8)) + "px";
    picker.style.top = (at.bottom + picker.offsetHeight > innerHeight ? at.top - picker.offsetHeight : at.bottom) + "px";
    picker.firstChild.focus();
  }

  document.addEventListener("click", async (e) => {
    const on = (selector) => e.target.closest(selector);
    if (on(".fold")) {
      const id = on(".fold").getAttribute("aria-controls");
      open.has(id) ? open.delete(id) : open.add(id);
      keep("open", Array.from(open).join(" ").trim());
      show(on(".fold"), open.has(id));
    }
    if (on(".hint")) { byId("composer").value = on(".hint").textContent; byId("composer").focus(); }
    if (on(".react")) pick(on(".react"));
    if (on(".newer")) toEnd(on(".newer").parentElement.querySelector(".log"));
    if (on("#keys")) byId("help").showModal();
    if (on(".back")) { e.preventDefault(); earlier(on(".back")); }
    if (on(".copy")) {
      const copy = on(".copy");
      try { await navigator.clipboard.writeText(copy.nextElementSibling.textContent); copy.textContent = "Copied"; }
      catch { copy.textContent = "Not copied"; }
    }
  });

  // --- Keys.

  const card = () => document.activeElement.closest(".card");
  function step(to) {
    const cards = all(".card", card()?.closest(".log") || logs.at(-1));
    const now = cards.indexOf(card());
    focus(cards[now < 0 ? cards.length - 1 : now + to]);
  }
  function focus(card) {
    if (!card) return;
    card.tabIndex = -1;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: card.offsetHeight > card.parentElement.clientHeight ? "start" : "nearest" });
  }

  // decide presses a button of the card that has the focus; else the newest card that
  // waits gets it, so that nobody decides what they have not looked at.
  function decide(button) {
    const found = card()?.querySelector(`.decide ${button}`);
    found ? found.click() : focus(waiting(logs.at(-1)) || waiting(logs[0]));
  }

  const keys = {
    j: () => step(1), k: () => step(-1), a: () => decide(".approve"), d: () => decide(".deny"), "?": () => byId("help").showModal(),
    Enter: () => document.activeElement === card() && card().querySelector(".opening")?.click(),
  };

  // close closes one thing: the innermost. What was typed stays.
  function close() {
    const at = document.activeElement;
    const typed = at.matches("input:not([type=checkbox]), textarea");
    const away = document.body.dataset.close; // the thread is closed by that; a draft of a message is kept
    const unsent = composer?.form.querySelector("[type=file]").files.length || all(".card textarea, .card input:not([type=hidden])").some((e) => e.value !== e.defaultValue);
    const form = at.closest(".because"), details = at.closest("details.change[open]");
    if (form && !at.value) form.querySelector('button[value=""]').click();
    else if (details) { details.open = false; details.querySelector("summary").focus(); }
    else if (typed && (at.value || !away)) at.blur();
    else if (away && !unsent) location.assign(away);
  }

  document.addEventListener("keydown", (e) => {
    if (e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Enter" && !e.shiftKey && e.target.id === "composer") {
      e.preventDefault();
      return e.target.form.requestSubmit();
    }
    if (document.querySelector("dialog[open], :popover-open")) return; // the browser closes these
    if (e.key === "Escape") return close();
    if (!keys[e.key] || e.target.closest("input, textarea, select, a, button, summary") && (e.key === "Enter" || !e.target.closest("a, button, summary"))) return;
    if (e.key !== "Enter") e.preventDefault();
    keys[e.key]();
  });

  byId("you").addEventListener("change", (e) => e.target.form.submit());
  // Who goes back to a page finds it filled in as it was left, by becoming somebody else.
  addEventListener("pageshow", () => { byId("you").value = all("option", byId("you")).find((o) => o.defaultSelected)?.value || byId("you").value; news(); });

  const composer = byId("composer");
  if (composer) {
    const grow = () => { if (!CSS.supports("field-sizing", "content")) { composer.style.height = "auto"; composer.style.height = composer.scrollHeight + "px"; } };
    composer.value = kept("draft " + location.search) || composer.value;
    composer.addEventListener("input", () => { keep("draft " + location.search, composer.value); grow(); });
    byId("say").addEventListener("change", chosen);
    const files = (e, from) => { if (from?.files.length) { e.preventDefault(); attach(from.files); composer.focus(); } };
    composer.addEventListener("paste", (e) => files(e, e.clipboardData));
    addEventListener("dragover", (e) => { if (e.dataTransfer.types.includes("Files")) e.preventDefault(); });
    addEventListener("drop", (e) => files(e, e.dataTransfer));
    grow();
  }
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  for (const log of logs) {
    all(".card", log).forEach(dress);
    days(log);
    toEnd(log, waiting(log));
    log.addEventListener("scroll", () => { if (atEnd(log)) newer(log, false); });
    for (const img of all("img", log)) img.addEventListener("load", () => target || toEnd(log, waiting(log)), { once: true });
  }
  if (target?.matches(".card")) { focus(target); target.scrollIntoView({ block: "start" }); }
  news();
  sign();
  setInterval(tick, 1000);
  refresh();
})();
