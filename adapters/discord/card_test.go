package discord

import (
	"slices"
	"strings"
	"testing"

	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/internal/script"
)

// A card shows all that is approved, in every form, and nothing else.
func FuzzCard(f *testing.F) {
	script.FuzzCards(f, func(_ *testing.T, p *chat.Approval) (texts []string, args string) {
		card, plain := layout.ApprovalPart(p, cardOf(p)), layout.PlainApproval(p, cardOf(p))
		for _, fenced := range append(slices.Clone(card.Card), plain.Content) {
			if _, rest, ok := strings.Cut(fenced, "```json\n"); ok && args == "" {
				args, _, _ = strings.Cut(rest, "\n```")
			}
		}
		if plain.File != nil && len(card.Card) == 0 {
			args = string(plain.File.Data)
		}
		return append([]string{plain.Content}, card.Card...), args
	})
}

// The file that a long preview makes hides nothing of the call either.
func TestFileOfALongPreview(t *testing.T) {
	const turns = "\u202e" // the direction of the text
	p := asking(`{"text":"a` + turns + `b"}`)
	p.Preview = &chat.Preview{Text: strings.Repeat("+1 line"+turns+"\n", 1000)}
	file := layout.PlainApproval(p, cardOf(p)).File
	if file == nil {
		t.Fatal("there is no file")
	}
	if text := string(file.Data); strings.Contains(text, turns) || !strings.Contains(text, `{"text":"a\u202eb"}`) || strings.Count(text, `+1 line\u202e`) != 1000 {
		t.Errorf("it holds %.300q", text)
	}
}
