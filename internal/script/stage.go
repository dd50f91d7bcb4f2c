package script

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"nod/agent/run"
	"nod/chat"
	"nod/chat/form"
	"nod/front"
)

// Stage stands between the board and the run in a conversation, as a platform's adapter
// does: people react, click and send forms through it.
type Stage interface {
	run.Platform
	Reacts(ctx context.Context, r chat.Reaction, event string) error
	Click(ctx context.Context, c front.Click) (front.Answer, error)
	Sent(ctx context.Context, s front.Sent) (front.Answer, error)
}

// NewStage makes the stage of a process that starts: in front of a board that stays.
type NewStage func(b *Board, inbox run.Inbox) Stage

// PlayOnStage plays the conversation in file on a stage, and compares what people saw
// with its section `want`.
func PlayOnStage(t *testing.T, file string, stage NewStage, open OpenStore) {
	t.Helper()
	playFile(t, file, "want", open, false, func(p *play) { p.newStage = stage })
}

// click has somebody click on a button.
func (p *play) click(who string, c front.Click) front.Answer {
	p.events++
	c.ID, c.Thread, c.Heard = fmt.Sprintf("c%d", p.events), p.thread, true
	c.By = chat.User{ID: chat.UserID(who), Name: who}
	a, err := p.stage.Click(p.t.Context(), c)
	if err != nil {
		p.t.Errorf("click: %v", err)
	}
	return a
}

// clicks has somebody vote by a button.
func (p *play) clicks(r chat.Reaction) {
	c := front.Click{Verb: front.Approve, Emoji: r.Emoji, On: r.On, Call: p.board.callOn(r.On)}
	switch {
	case r.Grant != nil:
		c.Verb = front.Grant
	case slices.Contains(Rules().Deny, r.Emoji):
		c.Verb = front.Deny
	}
	if a := p.click(string(r.By.ID), c); a.Form != nil {
		p.sheet(string(r.By.ID), "why "+c.Call, *a.Form)
	}
}

// sheet keeps a form that somebody opened.
func (p *play) sheet(who, about string, f front.Form) {
	if p.sheets == nil {
		p.sheets = map[string]front.Form{}
	}
	p.sheets[who+" "+about] = f
}

// opened notes the form that somebody got, and keeps it until they send it.
func (p *play) opened(who, tool, about string, a front.Answer) {
	if a.Form == nil {
		why := strings.TrimSuffix(strings.TrimPrefix(a.Alone, "It can't be run again: "), ".")
		p.board.Note("no form for %s: %s", who, why)
		return
	}
	var seen []string
	for _, f := range a.Form.Fields {
		seen = append(seen, f.Label+" "+strings.Join(strings.Fields(f.Value), " "))
	}
	p.board.Note("form for %s%s: %s", who, about, strings.Join(seen, ", "))
	p.sheet(who, tool, *a.Form)
}

// fillsIn has somebody send the form that they opened, filled in as arguments.
func (p *play) fillsIn(who, tool, args string) {
	f, ok := p.sheets[who+" "+tool]
	if !ok {
		p.t.Fatalf("send: %s has not opened a form of %s", who, tool)
	}
	p.events++
	c := f.Click
	c.ID, c.By = fmt.Sprintf("c%d", p.events), chat.User{ID: chat.UserID(who), Name: who}
	a, err := p.stage.Sent(p.t.Context(), front.Sent{Click: c, Fields: filled(f.Fields, strings.TrimSpace(args))})
	if err != nil {
		p.t.Errorf("send: %v", err)
	}
	if a.Wrong != nil {
		p.board.Note("in the form of %s: %s", who, a.Wrong.Why)
	}
}

// filled is what a client sends of a form once it holds these arguments: also ones that
// the form has no field for.
func filled(fields []form.Field, args string) (out []form.Filled) {
	if len(fields) == 1 && len(fields[0].ID) == 1 {
		return []form.Filled{{ID: fields[0].ID, Value: args}}
	}
	var values map[string]json.RawMessage
	_ = json.Unmarshal([]byte(args), &values) // it is an object, or the form says what is wrong
	for _, name := range slices.Sorted(maps.Keys(values)) {
		f := form.Filled{ID: "s" + name, Value: string(values[name])}
		if i := slices.IndexFunc(fields, func(f form.Field) bool { return f.ID[1:] == name }); i >= 0 {
			f.ID = fields[i].ID
		}
		_ = json.Unmarshal(values[name], &f.Value) // unless it is no text
		out = append(out, f)
	}
	return out
}
