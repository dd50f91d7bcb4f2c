package web

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/inbound"
)

// This file decides which messages are for the bot, and makes them messages that
// the rest of the program understands.

// mentionPattern matches anybody's mention.
var mentionPattern = regexp.MustCompile(`\B@([a-z]+)\b`)

// mentions says whether a text mentions the bot, and whether it mentions others.
func mentions(text string) (me, others bool) {
	for _, m := range mentionPattern.FindAllStringSubmatch(text, -1) {
		if m[1] == nod {
			me = true
		} else if _, ok := person(m[1]); ok {
			others = true
		}
	}
	return me, others
}

// errNotOurs is for what is none of the bot's business.
var errNotOurs = errors.New("not for the bot")

// said is what somebody wrote, before it is known whom it is for.
type said struct {
	thread chat.ThreadID
	id     string
	by     chat.User
	text   string
}

// opens says whether it begins a thread.
func (s said) opens() bool { return s.thread.Root == s.id }

// convert makes it a message for the bot; errNotOurs says that it is none.
func (a *Adapter) convert(ctx context.Context, s said) (chat.Message, error) {
	m := chat.Message{Ref: messageRef(s.thread.Channel, s.id), From: s.by, Sent: a.o.Now()}
	m.Text = inbound.Uncalled(s.text, mentionPattern, func(id string) bool { return id == nod })
	me, others := mentions(s.text)
	if isDirect(s.thread.Channel) {
		return m, nil
	}
	if s.opens() {
		if c, _ := channelNamed(s.thread.Channel); me || c.open && !others {
			return m, nil
		}
		return m, errNotOurs
	}
	st, err := a.o.Inbox.Standing(ctx, s.thread)
	switch {
	case err != nil:
		return m, fmt.Errorf("look at the thread: %w", err)
	case !st.Known && !me:
		return m, errNotOurs
	case !st.Known:
		m.Quoted = a.before(s.thread, m.Ref)
	case !me && !a.follows(st, s, others):
		m.Text, m.Aside = s.text, true
	}
	return m, nil
}

// follows says whether what somebody writes in a thread is for the bot without a
// mention: they have called it there before, and write to nobody else.
func (a *Adapter) follows(st chat.Standing, s said, others bool) bool {
	switch {
	case st.Running && inbound.IsStop(s.text):
		return true
	case strings.EqualFold(strings.TrimSpace(s.text), "unmute"):
		return true
	case others || st.Muted:
		return false
	}
	return slices.Contains(st.Callers, s.by.ID)
}

// before is what people said in a thread until the bot was called into it.
func (a *Adapter) before(thread chat.ThreadID, ref chat.MessageRef) []chat.Quote {
	var out []chat.Quote
	for _, it := range a.board.said(thread, ref) {
		out = append(out, chat.Quote{From: it.message.From, Text: it.message.Text})
	}
	return out
}
