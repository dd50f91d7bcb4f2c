package slack

import (
	"testing"

	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/front"
	"nod/internal/parallel"
)

func TestMain(m *testing.M) { parallel.Main(m, 3) }

// everything is a card with all that there is on it.
var everything = layout.Card{Again: true}

// cardOf is what the card of an approval says.
func cardOf(p *chat.Approval) *front.Card { return layout.Drawn.Message(chat.Post{Approval: p}).Card }
