package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// Whoever's click on Deny has denied a call is asked why, in a form that only the
// click lets be opened, for three seconds. Whether it did is known where the turn
// is driven, which may be another process than the one that got the click: so the
// click is left in the store besides, in one of a few notes.

const (
	denialNotes = 64               // a click that finds its note taken opens no form elsewhere
	denialStays = 10 * time.Second // clocks of processes differ
)

// clicked is who clicked, and on what.
type clicked struct {
	ref  chat.MessageRef
	user chat.UserID
}

// name is that of the note for a click.
func (c clicked) name() string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.String())) // it takes all
	return fmt.Sprint("slack denial ", h.Sum32()%denialNotes)
}

func (c clicked) String() string { return c.ref.String() + " " + string(c.user) }

// denial is a click on Deny.
type denial struct {
	Of      string    `json:"of"`
	Trigger string    `json:"trigger"`
	At      time.Time `json:"at"`
}

// noteDenial remembers a click on Deny, here and for other processes.
func (a *Adapter) noteDenial(ctx context.Context, c clicked, by denial) {
	by.Of = c.String()
	a.denials.Put(c, by)
	raw, err := json.Marshal(by)
	if err == nil {
		err = a.o.Inbox.Note(ctx, c.name(), raw)
	}
	if err != nil {
		a.log.Debug("leave a click to other processes", "error", err)
	}
}

// leftDenial gives the click that another process left.
func (a *Adapter) leftDenial(ctx context.Context, c clicked) (denial, bool) {
	var by denial
	raw, err := a.o.Inbox.Noted(ctx, c.name())
	if err != nil || len(raw) == 0 || json.Unmarshal(raw, &by) != nil || by.Of != c.String() {
		return by, false
	}
	return by, a.o.Now().Sub(by.At).Abs() < denialStays
}

// whyDenied opens a form that asks for a reason, for whoever's click has denied a
// call just now. It does not wait. Where no form opens, the turn is told at once
// that there will be no reason: else it would wait for one.
func (a *Adapter) whyDenied(thread chat.ThreadID, ref chat.MessageRef, p *chat.Approval) {
	if p.Outcome != chat.Denied || len(p.By) != 1 {
		return
	}
	c := clicked{ref, p.By[0].ID}
	by, here := a.denials.Take(c)
	if first := a.denied.Add(c); !here && !first {
		return
	}
	view, err := reasonWindow(about{thread.String(), p.Call})
	if err != nil {
		return
	}
	a.working.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		if !here {
			if by, here = a.leftDenial(ctx, c); !here {
				return
			}
		}
		if err := a.openWhy(ctx, by, view); err == nil || outbox.IsLost(err) {
			return // a form whose outcome is unknown may be open
		}
		if _, err := a.o.Inbox.Reason(ctx, thread, p.Call, p.By[0], "", "slack:noreason:"+by.Trigger); err != nil {
			a.log.Warn("put that there is no reason", "error", err)
		}
	})
}

// openWhy opens the form, for as long as the click lets it be opened.
func (a *Adapter) openWhy(ctx context.Context, by denial, view json.RawMessage) error {
	left := min(a.o.Trigger-a.o.Now().Sub(by.At), a.o.Trigger)
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	args := url.Values{"trigger_id": {by.Trigger}, "view": {string(view)}}
	err := a.web.call(ctx, request{method: "views.open", args: args, priority: outbox.Approval})
	if err != nil {
		a.log.Debug("ask why a call was denied", "error", err)
	}
	return err
}
