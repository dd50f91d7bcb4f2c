package discord

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	forms "nod/chat/form"
)

// Below the opened steps, which one reader alone sees, each call that can be gone on
// with has a button that opens a form with its arguments: sending it runs the call
// again, as one of whoever sends it.

const (
	rerunButton = "rerun"
	rerunForm   = "reran"
	// A message has 25 buttons in five rows, one of which turns pages.
	mostReruns = 20
	mostInRow  = 5
)

// rerun is what the button, and the form behind it, are about.
type rerun struct {
	kind  string
	place place
	call  string
}

// id writes the id of the button, or of the form; "" when it would be too long.
func (r rerun) id() string {
	return customID(r.kind, r.place.String(), r.call)
}

func readRerun(id string) (rerun, bool) {
	parts, ok := readID(id, 3, rerunButton, rerunForm)
	if !ok {
		return rerun{}, false
	}
	return rerun{parts[0], readPlace(parts[1]), parts[2]}, true
}

// rerunRows are the buttons of the calls of a turn that can be run again, the newest
// ones that there is room for.
func rerunRows(p place, s *chat.Steps) []any {
	var buttons []discordgo.MessageComponent
	n := 0
	for _, item := range s.Items {
		for _, c := range item.Calls {
			n++
			if id := (rerun{rerunButton, p, c.ID}).id(); c.Again && id != "" {
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

// editAgain opens the form.
func (a *Adapter) editAgain(ctx context.Context, in interaction, r rerun) error {
	if !in.in(r.place) {
		return errForeign
	}
	within, cancel := context.WithTimeout(ctx, forms.CardWait)
	defer cancel()
	v, why, err := a.o.Inbox.Again(within, threadID(r.place), r.call)
	if err != nil {
		return a.sorry(ctx, in, err)
	}
	word := fmt.Sprintf("In a message, `run %d {…}` does the same.", v.Number)
	fields := forms.Of(v.Parameters, v.Args, tight)
	switch {
	case why != "":
		return a.respond(ctx, in, answerMessage, newPage("It can't be run again: "+escape(chat.Exact(why))+"."))
	case len(fields) == 0:
		return a.respond(ctx, in, answerMessage, newPage("These arguments are too long for a form. "+word))
	}
	r.kind = rerunForm
	return a.openForm(ctx, in, r.id(), forms.AgainTitle(v.Tool, 45), fields, v.Args, word)
}

// ranAgain takes in what somebody sends with the form.
func (a *Adapter) ranAgain(ctx context.Context, in interaction, r rerun) error {
	if !in.in(r.place) {
		return errForeign
	}
	return a.sent(ctx, in, r.place, chat.Change{Call: r.call}, a.o.Inbox.RunAgain, "I did not run it")
}
