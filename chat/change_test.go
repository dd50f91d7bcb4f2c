package chat_test

import (
	"testing"
	"time"

	"nod/chat"
)

func TestGrantWords(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		time.Hour:                    {"Approve, and for 1 h", "allow 3 1h"},
		90 * time.Minute:             {"Approve, and for 1 h 30 min", "allow 3 1h30m"},
		36*time.Hour + 5*time.Second: {"Approve, and for 36 h 5 s", "allow 3 36h5s"},
	} {
		a := chat.Approval{Number: 3, Grant: d}
		if a.GrantLabel() != want[0] || a.GrantWord() != want[1] {
			t.Errorf("%s: %q, %q", d, a.GrantLabel(), a.GrantWord())
		}
	}
	if (&chat.Approval{Number: 3}).GrantWord() != "" {
		t.Error("a word where nothing can be allowed")
	}
}
