package front

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// The person whose click on Deny has denied a call is asked why. Some platforms open a form
// only as the answer to the click, before the click is judged; then what the judge said
// answers the form. On the others only the person whose click decided is asked, while the
// click still lets a form be opened. Another process may draw that the call is denied than
// the one that got the click: so the click is left in the store besides, in one of a few
// notes.

const (
	denialNotes = 64               // a click that finds its note taken opens no form elsewhere
	denialStays = 10 * time.Second // clocks of processes differ
	putWait     = 30 * time.Second // for what is done behind everything else
)

// clicked is who clicked, and on what.
type clicked struct {
	ref  chat.MessageRef
	user chat.UserID
}

func (c clicked) String() string { return c.ref.String() + " " + string(c.user) }

// noteOf is the name of the note for a click.
func (f *Front) noteOf(c clicked) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.String())) // it takes all
	return fmt.Sprint(f.o.Platform, " denial ", h.Sum32()%denialNotes)
}

// denial is a click on Deny.
type denial struct {
	Of      string    `json:"of"`
	Trigger string    `json:"trigger"`
	At      time.Time `json:"at"`
}

// noteDenial remembers a click on Deny, here and for other processes.
func (f *Front) noteDenial(ctx context.Context, c Click) {
	on := clicked{c.On, c.By.ID}
	by := denial{Of: on.String(), Trigger: c.Trigger, At: f.o.Now()}
	f.denials.Put(on, by)
	raw, err := json.Marshal(by)
	if err == nil {
		err = f.o.Inbox.Note(ctx, f.noteOf(on), raw)
	}
	if err != nil {
		f.o.Logger.Debug("leave a click to other processes", "error", err)
	}
}

// leftDenial gives the click that another process left.
func (f *Front) leftDenial(ctx context.Context, c clicked) (denial, bool) {
	var by denial
	raw, err := f.o.Inbox.Noted(ctx, f.noteOf(c))
	if err != nil || len(raw) == 0 || json.Unmarshal(raw, &by) != nil || by.Of != c.String() {
		return by, false
	}
	return by, f.o.Now().Sub(by.At).Abs() < denialStays
}

// askWhy is called when a card is drawn. If a click has just denied the call, it asks that
// person why, and does not wait for the form. If none opens, the turn learns at once that
// there will be no reason: it would wait for one.
func (f *Front) askWhy(thread chat.ThreadID, on chat.MessageRef, p *chat.Approval) {
	if f.o.Open == nil || p.Outcome != chat.Denied || len(p.By) != 1 {
		return
	}
	c := clicked{on, p.By[0].ID}
	by, here := f.denials.Take(c)
	if first := f.explains.Add(c); !here && !first {
		return
	}
	f.opening.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), putWait)
		defer cancel()
		if !here {
			if by, here = f.leftDenial(ctx, c); !here {
				return
			}
		}
		fm := whyDenied(Click{Verb: Deny, Thread: thread, Call: p.Call, On: on, By: p.By[0], ID: by.Trigger, Trigger: by.Trigger})
		within, cancel := context.WithTimeout(ctx, min(f.o.Trigger-f.o.Now().Sub(by.At), f.o.Trigger)) // the click lets it be opened so long
		defer cancel()
		err := f.o.Open(within, *fm)
		if err == nil || outbox.IsLost(err) {
			return // a form whose outcome is unknown may be open
		}
		f.o.Logger.Debug("ask why a call was denied", "error", err)
		if _, err := f.Unopened(ctx, *fm); err != nil {
			f.o.Logger.Warn("put that there is no reason", "error", err)
		}
	})
}

// Wait returns when no form is being opened any more.
func (f *Front) Wait() { f.opening.Wait() }

// whyDenied is the form that asks why.
func whyDenied(c Click) *Form {
	return &Form{Click: c, Title: "Deny: why?", Hint: "It goes to the model, and stands on the message", Most: MostReason, Closes: true}
}

// takeReason puts a person's reason for a denial, or that they give none. The judge's words
// answer a form that opened before the click was judged.
func (f *Front) takeReason(ctx context.Context, s Sent) (Answer, error) {
	text := chat.Flat(s.Text)
	if s.Closed {
		text = ""
	}
	if err := f.putReason(ctx, s.Click, text, s.ID); err != nil || f.o.Open != nil {
		return Answer{}, err
	}
	said, err := f.o.Inbox.Judged(ctx, s.Thread, s.Call, s.By.ID)
	if err != nil { // the reason is there
		f.o.Logger.Debug("look what came of a denial", "error", err)
	}
	return Answer{Alone: said}, nil
}

func (f *Front) putReason(ctx context.Context, c Click, text, id string) error {
	if _, err := f.o.Inbox.Reason(ctx, c.Thread, c.Call, c.By, text, id); err != nil {
		return fmt.Errorf("put a reason: %w", err)
	}
	return nil
}
