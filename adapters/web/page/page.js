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
    events.addEventListener("working", (e) => { const s = byId("sign"); if (s) s.hidden = e.data !== "true"; });
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

  async function send(form, button) {
    const body = new FormData(form, button);
    const multipart = form.enctype === "multipart/form-data";
    const path = button?.getAttribute("formaction") || form.getAttribute("action");
    let answer;
    try {
      answer = await fetch(path, { method: "POST", headers: { Accept: "application/json" }, body: multipart ? body : new URLSearchParams(body) });
    } catch {
      return trouble("That was not sent: nod does not answer. It can be sent again.");
    }
    if (!answer.ok) return trouble((await answer.text()).trim());
    trouble("");
    form.closest("details")?.removeAttribute("open");
    form.reset();
    for (const id of form.querySelectorAll("input[name=id]")) id.value = fresh();
    if (form.getAttribute("id") !== "say") return; // form.id is an input of it
    byId("you").value = body.get("as");
    keep("draft " + location.search, "");
    const go = (await answer.json()).go;
    const to = new URL(go, location);
    if (to.searchParams.get("t") && !new URL(location).searchParams.get("t") && byId("log-thread") === null) location.assign(go);
    else { const log = byId("log-thread") || byId("log-channel"); toEnd(log); byId("composer").focus(); }
  }

  const sending = new WeakSet(); // forms: none is sent twice at once, and none waits for another one
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (form.method !== "post") return;
    e.preventDefault();
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
    if (e.key === "Escape" && document.body.dataset.close) location.assign(document.body.dataset.close);
  });

  byId("you").addEventListener("change", (e) => e.target.form.submit());
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
