package slack

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

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
		var texts []string
		args := ""
		for _, form := range approvalPart(&p, everything) {
			texts = append(texts, form.text)
			for _, b := range form.blocks {
				drawn, err := json.Marshal(b)
				if err != nil {
					t.Fatal(err)
				}
				text := ""
				for _, s := range drawnTexts(drawn) {
					text += s
				}
				texts = append(texts, text)
				if strings.Contains(string(drawn), "rich_text_preformatted") {
					args = text
				}
			}
		}
		if !whole(p.Args) {
			args = chat.Exact(p.Args) // as in the file
		}
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

// drawnTexts lists the texts of a block.
func drawnTexts(block []byte) (out []string) {
	var value any
	_ = json.Unmarshal(block, &value)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				out = append(out, text)
			}
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(value)
	return out
}
