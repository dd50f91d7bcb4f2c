package script

import (
	"context"
	"fmt"
	"strings"

	"nod/chat"
	"nod/chat/form"
	"nod/front"
)

// phones are the second factors of a conversation: 123456 is right for everybody but gus,
// who has none, and 666666 is the fifth wrong one.
type phones struct{}

// Spend implements the factors of an inbox.
func (phones) Spend(_ context.Context, who, digits string) (refused, locked string, err error) {
	switch {
	case strings.HasSuffix(who, ":gus"):
		return "You have no code here; whoever runs me gives you one", "", nil
	case digits == "666666":
		return "Too many wrong codes; try again in 15 minutes", "locked out for 15 minutes after five wrong codes", nil
	case digits != "" && digits != "123456":
		return "This code is wrong", "", nil
	}
	return "", "", nil
}

// codes has somebody press Approve on the card of a tool, and send the form with a code.
func (p *play) codes(by chat.User, toolDigits string) {
	tool, digits, _ := strings.Cut(toolDigits, "/")
	card, _ := p.board.card(tool)
	if p.stage == nil {
		code := chat.Code{Call: card.Call, By: by, Digest: card.Digest}
		for _, code.Digits = range []string{"", digits} {
			p.events++
			refused, err := p.inbox.Code(p.t.Context(), p.thread, code, fmt.Sprint("f", p.events))
			if err != nil {
				p.t.Errorf("put a code: %v", err)
			}
			if refused != "" {
				p.board.Note("tell %s %s.", by.Name, refused)
				return
			}
		}
		return
	}
	a := p.click(string(by.ID), front.Click{Verb: front.Code, Call: card.Call, Digest: card.Digest})
	if a.Form != nil {
		p.events++
		c := a.Form.Click
		c.ID = fmt.Sprint("f", p.events)
		var err error
		if a, err = p.stage.Sent(p.t.Context(), front.Sent{Click: c, Fields: []form.Filled{{ID: a.Form.Fields[0].ID, Value: digits}}}); err != nil {
			p.t.Errorf("send a code: %v", err)
		}
	}
	if a.Alone != "" {
		p.board.Note("tell %s %s", by.Name, a.Alone)
	}
}
