// The page as the server drew it goes on by itself: what changes comes as events,
// each with the HTML of one message, and forms are sent without leaving the page.
"use strict";
(() => {
  const open = new Set(); // steps that this reader has opened
  const byId = (id) => document.getElementById(id);
  const fresh = () => crypto.randomUUID();

  // Drafts and what was seen are kept for this tab; storage may be off.
  const keep = (key, value) => { try { value ? sessionStorage.setItem(key, value) : sessionStorage.removeItem(key); } catch { /* off */ } };
  const kept = (key) => { try { return sessionStorage.getItem(key); } catch { return null; } };

  const atEnd = (log) => log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const toEnd = (log) => { log.scrollTop = log.scrollHeight; };

  function piece(html) {
    const t = document.createElement("template");
    t.innerHTML = html;
    return t.content.firstElementChild;
  }

  // The fields of a message, which of them one is, and what it held when it was drawn.
  const fields = (card) => Array.from(card.querySelectorAll("textarea, select, input:not([type=hidden]):not([type=file])"));
  const which = (e) => [e.form?.getAttribute("action"), e.name, e.type].join(" ");
  const drawn = (e) => (e.options ? (Array.from(e.options).find((o) => o.defaultSelected) || e.options[0])?.value : e.defaultValue);

  // keepTyped puts what this reader was writing in a message into the one that is
  // drawn in its place.
  function keepTyped(old, card) {
    const anew = new Map(fields(card).map((e) => [which(e), e]));
    for (const was of fields(old)) {
      const now = anew.get(which(was));
      if (!now) continue;
      if (was.type === "checkbox") { if (was.checked !== was.defaultChecked) now.checked = was.checked; }
      else if (was.value !== drawn(was)) now.value = was.value;
    }
  }

  // refocus gives the focus to what stands in the place of what had it.
  function refocus(focused, card, log) {
    const field = fields(card).find((e) => which(e) === which(focused));
    const said = (e) => e.value || e.textContent;
    (field || Array.from(card.querySelectorAll(focused.tagName)).find((e) => said(e) === said(focused)) || log).focus();
    if (field && focused.selectionStart != null) field.setSelectionRange(focused.selectionStart, focused.selectionEnd);
  }

  // dress gives a message back what this reader did to it: opened steps, the
  // focus.
  function dress(card) {
    for (const fold of card.querySelectorAll(".fold")) show(fold, open.has(fold.getAttribute("aria-controls")));
  }

  function show(fold, on) {
    const all = byId(fold.getAttribute("aria-controls")) || fold.closest(".steps").querySelector(".all");
    fold.setAttribute("aria-expanded", String(on));
    all.hidden = !on;
    const current = fold.closest(".steps").querySelector(".current");
    if (current) current.hidden = on;
  }


  function put(log, id, html) {
    const card = piece(html);
    const old = byId(id);
    const end = atEnd(log);
    if (old) {
      const focused = old.contains(document.activeElement) ? document.activeElement : null;
      const unfolded = Array.from(old.querySelectorAll("details[open]")).map((d) => d.className + d.textContent.length);
      old.replaceWith(card);
      for (const d of card.querySelectorAll("details")) if (unfolded.includes(d.className + d.textContent.length)) d.open = true;
      keepTyped(old, card);
      if (focused) refocus(focused, card, log);
    } else {
      log.append(card);
    }
    dress(card);
    if (!old?.querySelector(".because")) card.querySelector(".because input[name=reason]")?.focus();
    byId("hints")?.remove();
    if (!end) return;
    toEnd(log);
    for (const img of card.querySelectorAll("img")) img.addEventListener("load", () => toEnd(log));
  }

  function news() {
    for (const a of document.querySelectorAll("#side a")) {
      const key = "seen " + byId("you").value + " " + a.dataset.place;
      if (a.hasAttribute("aria-current")) keep(key, a.dataset.newest);
      a.classList.toggle("news", Number(a.dataset.newest) > Number(kept(key) || 0));
    }
  }

  function listen() {
    const events = new EventSource(document.body.dataset.events);
    events.addEventListener("card", (e) => {
      const c = JSON.parse(e.data);
      const log = byId("log-" + c.pane);
      if (log) put(log, c.id, c.html);
    });
    events.addEventListener("off", (e) => byId(e.data)?.remove());
    events.addEventListener("side", (e) => {
      const side = byId("side");
      const focused = side.contains(document.activeElement) ? document.activeElement.dataset.place : null;
      side.innerHTML = e.data;
      if (focused) side.querySelector(`a[data-place="${CSS.escape(focused)}"]`)?.focus();
      news();
    });
    events.addEventListener("working", (e) => {
      const sign = byId("sign"), now = JSON.parse(e.data);
      if (!sign) return;
      sign.hidden = !now.busy;
      byId("doing").textContent = now.text;
    });
    events.addEventListener("stale", () => location.reload());
    events.addEventListener("open", () => { byId("lost").hidden = true; });
    events.addEventListener("error", () => {
      byId("lost").hidden = false;
      if (events.readyState === EventSource.CLOSED) setTimeout(look, 3000);
    });
  }

  // look waits until the page is served again, and then loads it.
  async function look() {
    try {
      const r = await fetch("/icon.svg", { cache: "no-store" });
      if (r.ok) return location.reload();
    } catch { /* not yet */ }
    setTimeout(look, 3000);
  }

  function trouble(text) {
    const p = byId("trouble");
    if (!p) return;
    p.textContent = text;
    p.hidden = !text;
  }

  // post sends a form, and gives where to go on, or what went wrong.
  async function post(form, body, path, keepalive) {
    const multipart = form.enctype === "multipart/form-data";
    let answer;
    try {
      answer = await fetch(path, { method: "POST", keepalive, headers: { Accept: "application/json" }, body: multipart ? body : new URLSearchParams(body) });
    } catch {
      return { wrong: "That was not sent: nod does not answer. It can be sent again." };
    }
    return answer.ok ? { go: (await answer.json()).go } : { wrong: (await answer.text()).trim() };
  }

  function renew(form, id) {
    for (const e of form.querySelectorAll("input[name=id]")) e.value = id || fresh();
  }

  async function send(form, button) {
    const body = new FormData(form, button);
    const { wrong } = await post(form, body, button?.getAttribute("formaction") || form.getAttribute("action"));
    trouble(wrong || "");
    if (wrong) return;
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
    const composer = byId("composer");
    const file = form.querySelector("input[type=file]");
    const since = composer.value;
    const files = new DataTransfer();
    for (const f of [...unsent.flatMap(attached), ...file.files]) files.items.add(f);
    file.files = files.files;
    composer.value = [...unsent.map((body) => body.get("text")), since].filter(Boolean).join("\n");
    keep("draft " + location.search, composer.value);
    // It may have arrived all the same: as it was, it is known by its id.
    if (unsent.length === 1 && !since) renew(form, unsent[0].get("id"));
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
    try { await send(form, e.submitter); } finally { sending.delete(form); }
  });

  document.addEventListener("click", (e) => {
    const fold = e.target.closest(".fold");
    if (fold) {
      const id = fold.getAttribute("aria-controls");
      open.has(id) ? open.delete(id) : open.add(id);
      show(fold, open.has(id));
    }
    const hint = e.target.closest(".hint");
    if (hint) { const c = byId("composer"); c.value = hint.textContent; c.focus(); }
  });

  document.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing && e.target.id === "composer") {
      e.preventDefault();
      e.target.form.requestSubmit();
    }
    if (e.key === "Escape" && !e.isComposing && document.body.dataset.close) location.assign(document.body.dataset.close);
  });

  byId("you").addEventListener("change", (e) => e.target.form.submit());
  // Who goes back to a page finds it filled in as it was left, by becoming somebody else.
  addEventListener("pageshow", () => { byId("you").value = drawn(byId("you")); news(); });
  const composer = byId("composer");
  if (composer) {
    composer.value = kept("draft " + location.search) || composer.value;
    composer.addEventListener("input", () => keep("draft " + location.search, composer.value));
  }
  for (const log of document.querySelectorAll(".log")) toEnd(log);
  for (const img of document.querySelectorAll(".log img")) img.addEventListener("load", () => toEnd(img.closest(".log")));
  news();
  listen();
})();
