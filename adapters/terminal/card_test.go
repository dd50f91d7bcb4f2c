package terminal

import (
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/script"
)

// A card shows all that is approved, and nothing else.
func FuzzCard(f *testing.F) {
	script.FuzzCards(f, func(_ *testing.T, p *chat.Approval) (texts []string, args string) {
		for _, r := range askRows(&ask{number: 1, want: *p}, time.Time{}) {
			texts = append(texts, r.text)
		}
		return texts, strings.TrimPrefix(texts[0], "Approval 1: deploy ")
	})
}

// Where a call can be allowed for a while the card says the word for it.
func TestGrantWord(t *testing.T) {
	p := chat.Approval{Number: 3, Tool: "deploy", Args: "{}", Approve: []string{"✅"}, Deny: []string{"❌"}, Grant: time.Hour}
	for grant, want := range map[time.Duration]bool{time.Hour: true, 0: false} {
		p.Grant = grant
		rows := askRows(&ask{number: 3, want: p}, time.Time{})
		if got := rows[len(rows)-1].text == "  allow 3 1h approves it, and the same call again for so long"; got != want {
			t.Errorf("the card ends with %q", rows[len(rows)-1].text)
		}
	}
}
