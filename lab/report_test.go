package lab

import (
	"strings"
	"testing"

	"nod/chat"
	"nod/memory"
)

// A model's answer, and a person's name, may hold control characters of a terminal. A
// report shows them and obeys none.
func TestReportDrivesNoTerminal(t *testing.T) {
	const up = "\x1b[1A\x1b[2K\u009b2Jall is well\u202e"
	d := Difference{Thread: "t", Turn: 1, What: []string{"answer"}}
	d.Old.Answer, d.New.Answer = up, "as before"
	d.New.unask(Free{Held: true, Decided: memory.Decided{Outcome: chat.Denied, By: []chat.User{{Name: up + "\nx"}}}})
	var r Report
	r.Add(d)
	var text strings.Builder
	if err := r.Text(&text, Turns); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"\x1b", "\u009b", "\u202e", "\nx"} {
		if strings.Contains(text.String(), not) {
			t.Errorf("%q is in the report:\n%q", not, text.String())
		}
	}
}
