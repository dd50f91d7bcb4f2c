package script

import (
	"context"
	"fmt"
	"strings"

	"nod/chat"
	"nod/chat/form"
	"nod/front"
)

// Room is what a form on the board has room for.
var Room = form.Bounds{Fields: 10, ID: 100, Label: 100, Text: 3000, Options: 25, Option: 75}

// card gives an approval as it is shown.
func (b *Board) card(tool string) (chat.Approval, bool) {
	ref, ok := b.Find(tool)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok {
		return chat.Approval{}, false
	}
	return *b.shown[ref].Approval, true
}

// callOn is the call whose card a message is.
func (b *Board) callOn(ref chat.MessageRef) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.shown[ref]; p.Approval != nil {
		return p.Approval.Call
	}
	return ""
}

// fields is what stands in the fields of a form.
func fields(parameters, args string) string {
	var seen []string
	for _, f := range form.Of(parameters, args, Room) {
		seen = append(seen, f.Label+" "+strings.Join(strings.Fields(f.Value), " "))
	}
	return strings.Join(seen, ", ")
}

// opens has somebody click on Edit: they see what stands in the fields.
func (p *play) opens(who, tool string) {
	card, ok := p.board.card(tool)
	if !ok {
		p.t.Fatalf("open: no approval of %s", tool)
	}
	if p.stage != nil {
		on, _ := p.board.Find(tool)
		p.opened(who, tool, "", p.click(who, front.Click{Verb: front.Edit, Call: card.Call, Digest: card.Digest, On: on}))
		return
	}
	p.board.Note("form for %s: %s", who, fields(card.Parameters, card.Args))
	if p.forms == nil {
		p.forms = map[string]chat.Approval{}
	}
	p.forms[who+" "+tool] = card
}

// sends has somebody send the form that they opened, filled in as arguments.
func (p *play) sends(who, tool, args string) {
	if p.stage != nil {
		p.fillsIn(who, tool, args)
		return
	}
	card, ok := p.forms[who+" "+tool]
	if !ok {
		p.t.Fatalf("send: %s has not opened a form of %s", who, tool)
	}
	p.put(chat.Change{Call: card.Call, Args: args, Digest: card.Digest}, who, p.inbox.Change)
}

// put has a form put, and notes what is wrong with it.
func (p *play) put(c chat.Change, who string, in func(context.Context, chat.ThreadID, chat.Change, ...string) (string, error)) {
	p.events++
	c.By, c.Args = chat.User{ID: chat.UserID(who), Name: who}, strings.TrimSpace(c.Args)
	refused, err := in(p.t.Context(), p.thread, c, fmt.Sprintf("f%d", p.events))
	if err != nil {
		p.t.Errorf("put: %v", err)
	}
	if refused != "" {
		p.board.Note("in the form of %s: %s", who, refused)
	}
}

// explains has somebody say why they denied a call, or close the form that asks.
func (p *play) explains(who, tool, text string) {
	ref, _ := p.board.Find(tool)
	call, text := p.board.callOn(ref), strings.TrimSpace(text)
	p.events++
	id := fmt.Sprintf("f%d", p.events)
	if p.stage == nil {
		if _, err := p.inbox.Reason(p.t.Context(), p.thread, call, chat.User{ID: chat.UserID(who), Name: who}, text, id); err != nil {
			p.t.Errorf("put a reason: %v", err)
		}
		return
	}
	f, ok := p.sheets[who+" why "+call]
	if !ok {
		p.t.Fatalf("reason: nobody asked %s why", who)
	}
	f.Click.ID = id
	if _, err := p.stage.Sent(p.t.Context(), front.Sent{Click: f.Click, Text: text, Closed: text == ""}); err != nil {
		p.t.Errorf("send a reason: %v", err)
	}
}

// reopens lets somebody open the form for running the latest call of a tool again.
func (p *play) reopens(who, tool string) {
	steps, _, err := p.inbox.Steps(p.t.Context(), p.thread, "")
	if err != nil {
		p.t.Fatal(err)
	}
	id, offered := "", false
	for _, item := range steps.Items {
		for _, c := range item.Calls {
			if c.Tool == tool {
				id, offered = c.ID, c.Again
			}
		}
	}
	v, why, err := p.inbox.Again(p.t.Context(), p.thread, id)
	if p.stage != nil {
		p.opened(who, tool, fmt.Sprintf(", call %d", v.Number), p.click(who, front.Click{Verb: front.Rerun, Call: id}))
		return
	}
	switch {
	case err != nil:
		p.t.Fatal(err)
	case why != "":
		p.board.Note("no form for %s: %s", who, why)
		return
	case !offered:
		p.board.Note("not offered to %s", who)
	}
	p.board.Note("form for %s, call %d: %s", who, v.Number, fields(v.Parameters, v.Args))
	if p.again == nil {
		p.again = map[string]chat.Again{}
	}
	p.again[who+" "+tool] = v
}

// runs has somebody send that form, filled in as arguments.
func (p *play) runs(who, tool, args string) {
	if p.stage != nil {
		p.fillsIn(who, tool, args)
		return
	}
	v, ok := p.again[who+" "+tool]
	if !ok {
		p.t.Fatalf("run: %s has not opened a form of %s", who, tool)
	}
	p.put(chat.Change{Call: v.Call, Args: args}, who, p.inbox.RunAgain)
}
