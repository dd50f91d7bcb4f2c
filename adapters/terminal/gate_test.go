package terminal

import (
	"strings"
	"testing"

	"nod/chat"
)

// TestGate plays what the adapter sees, a word each: `put`, `vote` and `halt`
// are the person's; `+` and `-` are Working; the rest is drawn. It says after
// which of them the bot is at rest.
func TestGate(t *testing.T) {
	tests := map[string]struct{ events, rest string }{
		"a turn":                          {"put + text -", "0001"},
		"working ends first":              {"put + - text", "0001"},
		"a run that says nothing of work": {"put text", "01"},
		"an earlier claim ends":           {"put - + -  + text -", "0000001"},
		"an approval": {
			"put + ask - vote + approved text -", "000100001",
		},
		"approved, without a word of work": {"put ask vote approved text", "01001"},
		"asked again":                      {"put ask vote approved ask", "01001"},
		"two approvals, one at a time":     {"put + ask ask - vote + approved - vote + denied text -", "00001000100001"},
		"one of two, without work":         {"put ask ask vote approved", "01101"},
		"a vote that decides nothing":      {"put ask vote + -", "01001"},
		"a vote that is shown":             {"put ask vote voted", "0101"},
		"a cancelled approval":             {"put ask halt text cancelled", "01011"},
		"stopped":                          {"put + halt text -", "00001"},
		"nothing to stop":                  {"halt + -", "001"},
		"stopped, without a word of work":  {"put halt text", "001"},
		"a message that waits":             {"put ask put seen", "0101"},
		"a message that waits, unmarked":   {"put ask put + -", "01001"},
		"the work of a deadline":           {"+ text -", "001"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var g gate
			var got strings.Builder
			open := 0
			for _, e := range strings.Fields(tt.events) {
				open = happen(&g, e, open)
				if g.rest() {
					got.WriteString("1")
				} else {
					got.WriteString("0")
				}
			}
			if got.String() != tt.rest {
				t.Errorf("%s: at rest %s, want %s", tt.events, got.String(), tt.rest)
			}
		})
	}
}

// happen plays one event, and returns how many approvals are open.
func happen(g *gate, event string, open int) int {
	switch event {
	case "put":
		g.reply = true
	case "vote":
		g.vote = true
	case "halt":
		g.halt = true
	case "+", "-":
		g.work(event == "+", open)
	case "text":
		g.answered()
	case "ask":
		g.asked()
		return open + 1
	case "seen":
		g.seen()
	case "voted":
		g.judged("", open-1)
	default:
		outcome := map[string]chat.Outcome{"approved": chat.Approved, "denied": chat.Denied, "cancelled": chat.Cancelled}[event]
		g.judged(outcome, open-1)
		return open - 1
	}
	return open
}
