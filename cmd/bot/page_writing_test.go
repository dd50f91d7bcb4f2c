package main

import "testing"

// What somebody is writing in a message stays when the message is drawn anew, and what
// is sent while something else is on its way is sent too.
func TestPageWhileWriting(t *testing.T) {
	o := openOffice(t)
	b := browser(t)
	ada, ben := o.visit(b, "ada"), o.visit(b, "ben")
	ada.say("restart service api")
	ada.until(last("approval", "waiting"))
	ben.open()

	const field = `#log-thread [data-kind="message"] .change textarea`
	ada.hit(`document.querySelector('#log-thread [data-kind="message"] .change summary')`)
	ada.writes(field, " please")
	ben.hit(`document.querySelector('#log-thread [data-kind="message"] .more summary')`)
	ben.hit(`document.querySelector('#log-thread [data-kind="message"] .pick button')`)
	ada.until(`document.querySelector('#log-thread [data-kind="message"] .mark[title="ben"]')`)
	ada.until(`((e) => e.value.length === 26 && e === document.activeElement && e.selectionStart === e.value.indexOf(" please") + 7)(document.querySelector('` + field + `'))`)

	ben.until(`(document.querySelectorAll('#log-thread [data-kind="message"] .pick button')[1].click(), document.querySelector("#log-thread .approve").click(), true)`)
	ada.until(last("approval", "approved"))
	ada.until(`document.querySelectorAll('#log-thread [data-kind="message"] .mark[title="ben"]').length === 2`)
}
