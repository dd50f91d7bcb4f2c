package discord

import (
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	forms "nod/chat/form"
	"nod/front"
)

// Below the opened steps, which one reader alone sees, each call that can be gone on with
// has a button that opens a form with its arguments.

// A message has 25 buttons in five rows, one of which turns pages.
const (
	mostReruns = 20
	mostInRow  = 5
)

// rerunRows are the buttons of the calls of a turn that can be run again, the newest
// ones that there is room for.
func rerunRows(p place, s *chat.Steps) []any {
	var buttons []discordgo.MessageComponent
	n := 0
	for _, item := range s.Items {
		for _, c := range item.Calls {
			n++
			if id := idOf(rerunButton, front.Click{Thread: threadID(p), Call: c.ID}); c.Again && id != "" {
				label := fmt.Sprintf("%s: %d %s", forms.AgainLabel, n, chat.Exact(chat.Flat(c.Tool)))
				buttons = append(buttons, discordgo.Button{Label: shorten(label, 80), Style: discordgo.SecondaryButton, CustomID: id})
			}
		}
	}
	if len(buttons) == 1 {
		only, _ := buttons[0].(discordgo.Button)
		only.Label = forms.AgainLabel
		buttons[0] = only
	}
	buttons = buttons[max(0, len(buttons)-mostReruns):]
	rows := []any{}
	for len(buttons) > 0 {
		k := min(mostInRow, len(buttons))
		rows = append(rows, discordgo.ActionsRow{Components: buttons[:k]})
		buttons = buttons[k:]
	}
	return rows
}
