package view

import (
	"slices"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Standing says what an adapter has to know of a thread, with the entries in its inbox
// that nobody has read.
func Standing(s *thread.Thread, inbox ...memory.Entry) chat.Standing {
	st := chat.Standing{
		Known: len(s.Folk.People) > 0 || len(s.Turns) > 0 || s.Trim.Before > 0, Running: s.Open != nil || len(s.Inbox.Waiting) > 0,
		Horizon: s.Span.Horizon, First: s.Span.First, Last: s.Span.Last, Callers: slices.Clone(s.Folk.Callers), Muted: s.Folk.Muted,
	}
	for _, e := range inbox {
		switch b := e.Body.(type) {
		case memory.Message:
			hear(&st, b.Message)
		case memory.Reaction:
			st.Muted = st.Muted || thread.Mutes(b) && s.Own(b.On)
		}
	}
	return st
}

// hear takes a message from the inbox.
func hear(st *chat.Standing, m chat.Message) {
	st.Known = true
	if m.Sent.After(st.Last) {
		st.Last = m.Sent
	}
	st.First = thread.Earlier(st.First, m.Sent)
	if m.Aside {
		return
	}
	st.Running = true
	st.Callers = append(st.Callers, m.From.ID)
	if word, _, ok := thread.ParseCommand(m.Text); ok && !m.From.Bot && (word == "mute" || word == "unmute") {
		st.Muted = word == "mute"
	}
}

// Pending says what counts so far on the cards of an approval, the thread's first.
func Pending(entries []memory.Entry, id string) []chat.Pending {
	c := thread.Read(entries).Calls[id]
	if c == nil || c.Asked == nil {
		return []chat.Pending{{}}
	}
	p := chat.Pending{Approve: c.Asked.Rules.Approve, Deny: c.Asked.Rules.Deny, Votes: len(c.Votes.Given), Call: id, Ref: c.Card.Ref}
	out := []chat.Pending{p}
	for _, k := range c.Copies.Cards {
		p.Thread, p.Ref = k.At, k.Ref
		out = append(out, p)
	}
	for i := range out {
		out[i].More = i < len(out)-1
	}
	for _, v := range c.Standing() {
		for i := range out {
			if k := c.Votes.On[v.Reaction]; k == out[i].Ref || i == 0 && c.CopyOn(k) == nil {
				out[i].Approved = append(out[i].Approved, chat.Reaction{On: out[i].Ref, By: v.By, Emoji: v.Emoji})
				break
			}
		}
	}
	return out
}
