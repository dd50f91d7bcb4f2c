package web

import (
	"slices"

	"nod/chat"
	"nod/chat/summary"
)

// A card says in words who approved so far. Reactions say less: the bot puts some of them,
// and some do not count. So a card shows no reaction that means a vote, and a person takes
// an approval back by a button.

// ballot is the part of a card that depends on who looks at it.
type ballot struct {
	Barred   string // why this person may not approve; "": they may
	MayDeny  bool
	TakeBack string // the emoji of their approval, which stands; "": none does
}

// ballotOf is the ballot of an approval that waits.
func ballotOf(it item, me chat.UserID) ballot {
	p := it.post.Approval
	named := slices.ContainsFunc(p.Approvers, func(rule string) bool {
		return rule == chat.Anyone || rule == "user:"+string(me) || rule == chat.Requester && me == p.Requester.ID
	})
	b := ballot{MayDeny: named || me == p.Requester.ID && chat.Includes(p.Exclude, me)}
	switch {
	case chat.Includes(p.Exclude, me):
		b.Barred = "You may not approve this: somebody who did not ask for it has to."
	case !named:
		b.Barred = "You may not decide this: only " + exact(summary.May(p)) + " may."
	}
	if len(p.Approve) > 0 && slices.ContainsFunc(p.By, func(u chat.User) bool { return u.ID == me }) {
		b.TakeBack = chat.NormalEmoji(p.Approve[0])
		for _, m := range it.reactions {
			if votes(m.emoji, p.Approve) && slices.Contains(m.by, me) {
				b.TakeBack = m.emoji
			}
		}
	}
	return b
}

// votes says whether an emoji is one of those that decide.
func votes(emoji string, decide []string) bool {
	return slices.ContainsFunc(decide, func(e string) bool { return chat.NormalEmoji(e) == emoji })
}

// shows says whether a reaction is drawn on an item.
func (it item) shows(m mark) bool {
	p := it.card()
	return p == nil || !votes(m.emoji, p.Approve) && !votes(m.emoji, p.Deny)
}
