package agent

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/do"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// A store that came back older knows less than the platform shows. So no card from an
// earlier process decides anything before this one knows what it shows.

// prove finds out what a card from an earlier process shows.
func (d *decision) prove() do.Action {
	if d.log.claim.Proven == nil {
		return nil
	}
	for _, c := range d.thread.OpenAsked() {
		proof := d.thread.Proof(c)
		if c.Card.Shows == "" && !c.Card.Ref.IsZero() && !d.log.claim.Proven(proof) {
			return do.Prove{Call: c.ID, Proof: proof, Ref: c.Card.Ref}
		}
	}
	return nil
}

// Restored is the entry for a card that shows more than the log knows; ok is false for any
// other card. One that still asks, but for arguments that the log never had, has the call
// asked anew.
func Restored(log *Log, p do.Prove, shown chat.Shown) (b memory.Lost, ok bool) {
	c, shows := log.Thread.Calls[p.Call], shown.Headline
	if c == nil || c.Card.Ref != p.Ref || shows == "" {
		return b, false
	}
	if strings.HasPrefix(shows, "Approval ") {
		return memory.Lost{Reason: "the store came back older: the card shows a change that the log lacks"}, c.Open() && !log.Thread.Doubtful(c) && !asksFor(c, shown.Digest)
	}
	if c.WaitsToBegin() && strings.HasSuffix(shows, "running") {
		return b, false
	}
	return memory.Lost{Reason: "the store came back older: the card shows more than the log", Call: c.ID, Shows: shows}, c.Open()
}

// asksFor says whether the call was ever asked for under a digest that begins so. A card
// without a readable one may show anything.
func asksFor(c *thread.Call, digest string) bool {
	if digest == "" {
		return false
	}
	return strings.HasPrefix(c.Ask.First, digest) || strings.HasPrefix(c.Asked.Digest, digest) ||
		slices.ContainsFunc(c.Edits.Made, func(b memory.Changed) bool { return strings.HasPrefix(b.Digest, digest) })
}

// ShowsDecision says whether a card's first line is that of a decided one, and not a word
// about a card that the platform refused.
func ShowsDecision(shows string) bool {
	for _, o := range []chat.Outcome{chat.Approved, chat.Denied, chat.Expired, chat.Cancelled} {
		if strings.HasPrefix(shows, string(o)) {
			return true
		}
	}
	return false
}

// restored tells people that the store came back older.
func (d *decision) restored() do.Action {
	for _, r := range d.thread.Older.Told {
		name := fmt.Sprintf("restored/%d", r.Seq)
		if !d.thread.Has(name) {
			return d.sayNotice(name, chat.MessageRef{}, TextRestored(r.Restored), r.Seq)
		}
	}
	return nil
}

// TextRestored tells people that the store came back older.
func TextRestored(r memory.Restored) string {
	of := "an earlier time"
	if !r.Copy.IsZero() {
		of = r.Copy.UTC().Format("2006-01-02 15:04 UTC")
	}
	return "I was restored from a copy of " + of + "; ask again what still matters."
}
