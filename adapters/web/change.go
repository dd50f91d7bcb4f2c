package web

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"nod/adapters/web/door"
	"nod/chat/inbound"
)

// own finds the message that a form is about, of whoever sent the form.
func (a *Adapter) own(r *http.Request, v view) (item, error) {
	it, err := a.on(r, v)
	switch {
	case err != nil:
		return item{}, err
	case it.message == nil || it.message.From.ID != v.Me.ID:
		return item{}, wrong{http.StatusForbidden, "Only who wrote a message can change it."}
	case it.gone || it.deleted:
		return item{}, wrong{http.StatusConflict, "This message is not there any more."}
	}
	return it, nil
}

// edit takes in what a message is to say instead. What the bot makes of that is
// the bot's: what a model has read stays as it was read.
func (a *Adapter) edit(r *http.Request, _ view, it item, id string) error {
	text := strings.TrimSpace(door.Clean(r.PostForm.Get("text")))
	switch {
	case utf8.RuneCountInString(text) > mostText:
		return wrong{http.StatusRequestEntityTooLarge, fmt.Sprintf("A message may have %d characters.", mostText)}
	case text == "":
		return wrong{http.StatusBadRequest, "There is nothing left of it. It can be deleted."}
	}
	said := inbound.Uncalled(text, mentionPattern, func(id string) bool { return id == nod })
	if _, err := a.o.Inbox.Edited(r.Context(), it.ref, said, eventID("edit", id)); err != nil {
		return fmt.Errorf("put an edit: %w", err)
	}
	a.board.change(it.ref, func(it *item) bool {
		m := *it.message
		m.Text = text
		it.message, it.edited = &m, true
		return true
	})
	return nil
}

// remove takes a message back. That there was one is still seen, as others may
// have answered it.
func (a *Adapter) remove(r *http.Request, _ view, it item, id string) error {
	if _, err := a.o.Inbox.Deleted(r.Context(), it.ref, eventID("delete", id)); err != nil {
		return fmt.Errorf("put a deletion: %w", err)
	}
	a.board.change(it.ref, func(it *item) bool {
		m := *it.message
		m.Text, m.Files = "", nil
		it.message, it.deleted = &m, true
		return true
	})
	return nil
}
