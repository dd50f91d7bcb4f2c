package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/script"
)

// A card shows all that is approved, in every form, and nothing else.
func FuzzCard(f *testing.F) {
	script.FuzzCards(f, func(t *testing.T, p *chat.Approval) (texts []string, args string) {
		for _, form := range layout.ApprovalPart(p, cardOf(p), everything) {
			texts = append(texts, form.Text)
			for _, b := range form.Blocks {
				raw, err := json.Marshal(b)
				if err != nil {
					t.Fatal(err)
				}
				text := strings.Join(drawnTexts(raw), "")
				texts = append(texts, text)
				if args == "" && strings.Contains(string(raw), "rich_text_preformatted") {
					args = text
				}
			}
		}
		if !layout.Whole(p.Args) {
			args = chat.Exact(p.Args) // as in the file
		}
		return texts, args
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
