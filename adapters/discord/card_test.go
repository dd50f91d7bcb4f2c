package discord

import (
	"slices"
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/script"
)

// A card shows all that is approved, in every form, and nothing else.
func FuzzCard(f *testing.F) {
	script.FuzzCards(f, func(_ *testing.T, p *chat.Approval) (texts []string, args string) {
		drawn, plain := approvalPart(p), plainApproval(p)
		for _, fenced := range append(slices.Clone(drawn.card), plain.content) {
			if _, rest, ok := strings.Cut(fenced, "```json\n"); ok && args == "" {
				args, _, _ = strings.Cut(rest, "\n```")
			}
		}
		if plain.file != nil && len(drawn.card) == 0 {
			args = string(plain.file.data)
		}
		return append([]string{plain.content}, drawn.card...), args
	})
}
