package main

import "testing"

// A send that is not answered in time says so, and keeps the text.
func TestPageUnanswered(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ada := o.visit(browser(t), "ada")
	ada.until(`((sent) => { window.fetch = (path, o) => o.method ? new Promise((_, no) => { window.late = () => no(new DOMException("", "TimeoutError")); }) : sent(path, o); return true; })(window.fetch)`)
	ada.say("is anybody there?")
	ada.until(`(window.late(), true)`)
	ada.until(`/has not answered/.test(document.querySelector("#trouble").innerText) && document.querySelector("#composer").value === "is anybody there?"`)
}

// The cards that wait for a person stand first, are counted in the title, and are decided there.
func TestPageWaiting(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	ada.say("restart service api")
	ada.until(last("approval", "waiting"))
	ben.until(`document.title.startsWith("(1) ") && document.querySelector("#icon").href.endsWith("/waits.svg")`)
	ada.until(`document.querySelector("#side a").textContent.includes("Waiting for you (0)")`)
	ben.hit(`document.querySelector("#side a")`)
	ben.until(`document.querySelectorAll('[data-kind="approval"]').length === 1 && document.title.includes("Waiting for you")`)
	shoot(ben, "waiting-for-you")
	ben.until(`(document.activeElement.blur(), document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "a", bubbles: true})), document.activeElement.matches('[data-state="waiting"]'))`)
	ben.until(`(document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "a", bubbles: true})), true)`)
	ada.answers("restarted api")
	ben.until(`document.querySelector('[data-state="approved"]') && !document.title.startsWith("(")`)
	ben.hit(`document.querySelector("a.opening")`)
	ben.until(`document.activeElement.matches('#log-thread [data-kind="approval"]')`)
}
