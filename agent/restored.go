package agent

import (
	"fmt"

	"nod/agent/do"
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
