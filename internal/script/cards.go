package script

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"nod/chat"
)

// formless are characters without a form of their own, and others that pose.
var formless = []string{"\u202e", "\u3164", "\uffa0", "\u034f", "\u2800", "\u00a0", "\ufe0f", "\U000e0041", "\u200b", "\uff50"}

// FuzzCards makes a platform draw cards from any bytes. All drawn texts must escape
// invisible characters of names, reasons, previews and arguments, and the shown
// arguments must mean the bound ones.
func FuzzCards(f *testing.F, draw func(t *testing.T, p *chat.Approval) (texts []string, args string)) {
	f.Helper()
	f.Add("ada", "prod", 0)
	for i, h := range formless {
		f.Add("a"+h+"b", "pro"+h+"d`"+"``</script>\"\\", 300*i)
	}
	f.Fuzz(func(t *testing.T, name, value string, pad int) {
		raw, err := json.Marshal(map[string]string{"env": value, name: strings.Repeat("x", max(0, min(pad, 5000)))})
		if err != nil {
			t.Skip()
		}
		texts, args := draw(t, &chat.Approval{
			Call: "1-1-1", Number: 1, Tool: "deploy", Args: string(raw), Digest: strings.Repeat("a", 64), Requester: chat.User{ID: "u", Name: name},
			Approvers: []string{"requester"}, Quorum: 1, Approve: []string{"✅"}, Deny: []string{"❌"}, Why: "This (" + name + ")", Marks: []string{name + ": from " + name},
			Headline: "Approval 1: deploy by " + name, Preview: &chat.Preview{Text: "would write " + value},
		})
		for _, text := range append(texts, args) {
			for _, h := range formless {
				if strings.Contains(text, h) {
					t.Errorf("%q is drawn raw in %.300q", h, text)
				}
			}
		}
		var want, got map[string]string
		_ = json.Unmarshal(raw, &want)
		if err := json.Unmarshal([]byte(args), &got); err != nil || !maps.Equal(got, want) {
			t.Errorf("%.300q is shown as %.300q", raw, args)
		}
	})
}
