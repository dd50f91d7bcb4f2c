package terminal

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"nod/chat"
)

// formless are characters without a form of their own, and others that pose.
var formless = []string{"\u202e", "\u3164", "\uffa0", "\u034f", "\u2800", "\u00a0", "\ufe0f", "\U000e0041", "\u200b", "\uff50"}

// A card shows all that is approved, in every form: what of names, reasons and
// arguments has no form of its own is written out, and the arguments that are
// shown mean those that are bound.
func FuzzCard(f *testing.F) {
	f.Add("ada", "prod", 0)
	for i, h := range formless {
		f.Add("a"+h+"b", "pro"+h+"d`"+"``</script>\"\\", 300*i)
	}
	f.Fuzz(func(t *testing.T, name, value string, pad int) {
		raw, err := json.Marshal(map[string]string{"env": value, name: strings.Repeat("x", max(0, min(pad, 5000)))})
		if err != nil {
			t.Skip()
		}
		p := chat.Approval{
			Call: "1-1-1", Number: 1, Tool: "deploy", Args: string(raw), Digest: strings.Repeat("a", 64), Requester: chat.User{ID: "u", Name: name},
			Approvers: []string{"requester"}, Quorum: 1, Approve: []string{"✅"}, Deny: []string{"❌"}, Why: "This (" + name + ")", Marks: []string{name + ": from " + name},
			Headline: "Approval 1: deploy by " + name,
		}
		rows := askRows(&ask{number: 1, want: p}, time.Time{})
		var texts []string
		for _, r := range rows {
			texts = append(texts, r.text)
		}
		args := strings.TrimPrefix(texts[0], "Approval 1: deploy ")
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
