package main

import (
	"fmt"
	"testing"
)

// A half-written text in a message stays when the message is drawn again, and a text
// that is sent while another is on its way is sent too.
func TestPageWhileWriting(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	ada.say("restart service api")
	ada.until(last("approval", "waiting"))
	ben.open()

	const field = `#log-thread [data-kind="message"] .change textarea`
	ada.hit(`document.querySelector('#log-thread [data-kind="message"] .change summary')`)
	ada.writes(field, " please")
	react := func(n int) {
		ben.hit(`document.querySelector('#log-thread [data-kind="message"] .react')`)
		ben.hit(fmt.Sprintf(`document.querySelectorAll("#picker button")[%d]`, n))
	}
	react(0)
	ada.until(`document.querySelector('#log-thread [data-kind="message"] .mark[title="ben"]')`)
	ada.until(`((e) => e.value.length === 26 && e === document.activeElement && e.selectionStart === e.value.indexOf(" please") + 7)(document.querySelector('` + field + `'))`)

	react(1)
	ben.click("Approve")
	ada.until(last("approval", "approved"))
	ada.until(`document.querySelectorAll('#log-thread [data-kind="message"] .mark[title="ben"]').length === 2`)
}

// A text written while a message is on its way is sent behind it, or is still there,
// also if the message begins a conversation of its own. A text that can't be sent comes
// back.
func TestPageWritesOn(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ada := o.visit(browser(t), "ada")
	const hold = `(window.held = [], window.sent = window.fetch, window.fetch = (...a) => a[1].method ? new Promise((ok) => window.held.push(() => ok(window.sent(...a)))) : window.sent(...a), true)`
	const release = `(setInterval(() => window.held.splice(0).forEach((go) => go()), 10), true)`
	write := func(texts ...string) {
		for _, text := range texts {
			ada.until(fmt.Sprintf(`((c) => {
				c.focus();
				document.execCommand("insertText", false, %q);
				return c.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true})) || true;
			})(document.querySelector("#composer"))`, text))
		}
	}
	half := func(text string) {
		ada.until(fmt.Sprintf(`(document.execCommand("insertText", false, %q), document.querySelector("#composer").value === %q)`, text, text))
	}
	said := func(n int, texts string) string {
		return fmt.Sprintf(`Array.from(document.querySelectorAll('#log-thread [data-kind="message"] .text'), (e) => e.textContent).slice(-%d).join() === %q`, n, texts)
	}

	ada.until(hold)
	write("what is 1 + 1?", "what is 2 + 2?")
	half("what is")
	ada.until(release)
	ada.until(said(2, "what is 1 + 1?,what is 2 + 2?"))
	ada.until(`document.querySelector("#composer").value === "what is"`)

	ada.until(hold)
	write(" 3 + 3?", "what is 4 + 4?")
	half("and")
	ada.until(release)
	ada.until(said(4, "what is 1 + 1?,what is 2 + 2?,what is 3 + 3?,what is 4 + 4?"))
	ada.until(`document.querySelector("#composer").value === "and"`)

	ada.until(`(window.fetch = (...a) => a[1].method ? new Promise((_, no) => { window.lose = () => no(new Error("away")); }) : window.sent(...a), true)`)
	write(" more", "and more")
	ada.until(`(window.lose(), true)`)
	ada.until(`document.querySelector("#composer").value === "and more\nand more" && !document.querySelector("#trouble").hidden`)
	ada.until(`(window.fetch = window.sent, true)`)
	write("")
	ada.until(said(1, "and more\nand more"))
}
