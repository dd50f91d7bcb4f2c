package phrase

import (
	"strings"
	"testing"

	"nod/chat"
)

// A display name is text in each sentence of nod's.
func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"Ada Lovelace":         "Ada Lovelace",
		"dan_smith":            "dan_smith",
		"[x](!channel)":        `\[x\](!channel)`,
		"<@U0BEN>\n**boss** `": `\<@U0BEN\> \*\*boss\*\* ` + "\\`",
	} {
		if got := Name(chat.User{ID: "U1", Name: in}); got != want {
			t.Errorf("Name(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Name(chat.User{Name: strings.Repeat("a", 500)}); len(got) > mostBrief+len("…") {
		t.Errorf("a long name has %d bytes", len(got))
	}
}
