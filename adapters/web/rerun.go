package web

import (
	"maps"

	"nod/adapters/web/door"
	"nod/chat"
	"nod/front"
)

// In the opened steps of a turn that is over each call has a button: it puts a form with
// the call's arguments below the steps, for whoever clicked alone. Sending it runs the
// call again, as theirs. Whether it can be is found out by the click.

// rerunButton is the button of a call.
type rerunButton struct{ Call, Label string }

// rerunForm is the form as the template draws it.
type rerunForm struct {
	Call, Title, Note string
	Fields            []field
}

// rerunButtons are those of a turn's calls.
func rerunButtons(s *chat.Steps) []rerunButton {
	var out []rerunButton
	for _, c := range front.Reruns(s, func(chat.ToolCall) bool { return s.Done }) {
		out = append(out, rerunButton{c.Call, door.Clean(c.Label)})
	}
	return out
}

// rerunFormOf is the form that somebody has open below the steps; nil where they have
// none.
func rerunFormOf(it item, who chat.UserID) *rerunForm {
	f := it.again[who]
	if f == nil {
		return nil
	}
	return &rerunForm{f.Call, exact(f.Title), f.Note, fieldsOf(f.Fields)}
}

// open sets, for one person, which form stands below an item; nil: none.
func (it *item) open(who chat.UserID, f *front.Form) {
	now := maps.Clone(it.again)
	if now == nil {
		now = map[chat.UserID]*front.Form{}
	}
	now[who] = f
	it.again = now
}
