package web

import (
	"testing"
	"time"

	"nod/chat"
	"nod/internal/script"
)

// A card shows all that is approved, and nothing else.
func FuzzCard(f *testing.F) {
	script.FuzzCards(f, func(_ *testing.T, p *chat.Approval) (texts []string, args string) {
		a := approvalOf(p, time.Time{})
		return []string{a.Headline, a.Tool, a.Why, a.Terms, a.Reason, a.So, a.Preview, a.Would}, a.Args
	})
}
