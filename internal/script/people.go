package script

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nod/chat"
)

// This file says what people do: they write, react, and change what they wrote.

func (p *play) says(who, text string) {
	if p.console != nil {
		p.console.types(text)
		return
	}
	who, file, attached := strings.Cut(who, " with ")
	who, as, _ := strings.Cut(who, " ")
	p.msgs++
	id := fmt.Sprintf("m%d", p.msgs)
	m := chat.Message{
		Ref:  chat.MessageRef{Platform: "board", Channel: "c", ID: id},
		From: chat.User{ID: chat.UserID(who), Name: who, Bot: strings.Contains(as, "bot")}, Text: text, Sent: time.Now(),
		Aside: as != "" && as != "eyes", Outside: strings.Contains(as, "outside"), Eyes: as == "eyes",
	}
	if attached {
		m.Files = []chat.File{{Name: file, MediaType: "text/plain", Text: "what the file says"}}
	}
	if _, err := p.inbox.Message(p.t.Context(), p.thread, m, id); err != nil {
		p.t.Errorf("put: %v", err)
	}
}

// reacts reads NAME EMOJI [TOOL|message ID|steps|answer] [removed] [found] [guest] [button] [bot],
// or NAME ✅ code=TOOL/DIGITS.
func (p *play) reacts(f []string) {
	if p.console != nil {
		p.console.types(vote(f))
		return
	}
	r := chat.Reaction{By: chat.User{ID: chat.UserID(f[0]), Name: f[0]}, Emoji: f[1]}
	for _, o := range f[2:] {
		switch {
		case o == "removed":
			r.Removed = true
		case o == "found":
			r.Found = true
		case o == "grant":
			r.Grant, r.Button, r.Way = &chat.Grant{}, true, chat.ByButton
		case o == "button":
			r.Button, r.Way = true, chat.ByButton
		case strings.HasPrefix(o, "code="):
			p.codes(r.By, strings.TrimPrefix(o, "code="))
			return
		case o == "guest":
			r.By.Barred = "guests may not decide here"
		case o == "bot":
			r.By.Bot = true
		case o == "steps":
			r.On, _ = p.board.Steps()
		case o == "answer":
			r.On = p.board.Answer()
		case strings.HasPrefix(o, "m") && len(o) == 2:
			r.On = chat.MessageRef{Platform: "board", Channel: "c", ID: o}
		case strings.HasPrefix(o, "in="):
			place, tool, _ := strings.Cut(strings.TrimPrefix(o, "in="), "/")
			r.On, _ = p.board.FindIn(place, tool)
		default:
			r.On, _ = p.board.Find(o)
		}
	}
	if r.On.IsZero() {
		p.t.Fatalf("react %v: there is no such message", f)
	}
	if p.stage != nil && r.Button {
		p.clicks(r)
		return
	}
	p.events++
	put := func(ctx context.Context, r chat.Reaction, event string) error {
		_, err := p.inbox.Reaction(ctx, r, event)
		return err
	}
	if p.stage != nil {
		put = p.stage.Reacts
	}
	if err := put(p.t.Context(), r, fmt.Sprintf("r%d", p.events)); err != nil {
		p.t.Errorf("put: %v", err)
	}
}

// meanwhile does one thing: "person NAME: TEXT" or "react NAME EMOJI …".
func (p *play) meanwhile(directive string) {
	word, rest, _ := strings.Cut(directive, " ")
	switch word {
	case "person":
		who, text, _ := strings.Cut(rest, ": ")
		p.says(who, text)
	case "react":
		p.reacts(strings.Fields(rest))
	case "edit":
		id, text, _ := strings.Cut(rest, ": ")
		p.edits(id, text)
	case "delete":
		p.deletes(rest)
	default:
		p.t.Fatalf("no directive %q", directive)
	}
}

func (p *play) edits(id, text string) {
	p.events++
	ref := chat.MessageRef{Platform: "board", Channel: "c", ID: id}
	if _, err := p.inbox.Edited(p.t.Context(), ref, text, fmt.Sprintf("e%d", p.events)); err != nil {
		p.t.Errorf("put: %v", err)
	}
}

func (p *play) deletes(id string) {
	p.events++
	ref := chat.MessageRef{Platform: "board", Channel: "c", ID: id}
	if _, err := p.inbox.Deleted(p.t.Context(), ref, fmt.Sprintf("d%d", p.events)); err != nil {
		p.t.Errorf("put: %v", err)
	}
}
