package run

import (
	"context"
	"errors"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// prove finds out what a card from an earlier process shows now. A platform that is away is
// waited for: until then nothing is decided by that card. A card that is gone, or can't be
// read, shows nothing more.
func (d *driver) prove(key string, act agent.Prove) {
	d.begin(key, posts, func(ctx context.Context) outcome {
		wait := backoff{}
		var shows chat.Shown
		for ctx.Err() == nil {
			err := d.safely(d.thread, "read a card", func() (err error) {
				shows, err = d.platform.Headline(ctx, d.thread, act.Ref)
				return err
			})
			var refused chat.Refused
			if err == nil || errors.Is(err, chat.ErrGone) || errors.As(err, &refused) || errors.Is(err, errPanic) {
				break
			}
			d.Log.Warn("read a card", "thread", d.thread.String(), "error", err)
			d.failed(ctx, wait.next())
		}
		return outcome{settle: func() error {
			d.proofs.Put(d.thread.String()+" "+act.Proof, true)
			lost, ok := agent.Restored(d.log, act, shows)
			if !ok {
				return nil
			}
			err := d.commit(lost)
			if err == nil && d.Older != nil && (lost.Call == "" || agent.ShowsDecision(shows.Headline)) {
				thread := d.thread
				d.beside.Go(func() { d.Older(thread, lost.Call == "") })
			}
			return err
		}}
	})
}

// proven says whether this process knows what a card shows.
func (d *driver) proven(proof string) bool {
	known, _ := d.proofs.Get(d.thread.String() + " " + proof)
	return known
}

// proved notes that this process drew a card itself.
func (d *driver) proved(p agent.Post) {
	if p.Post.Approval != nil && !p.Look {
		d.proofs.Put(d.thread.String()+" "+memory.PostName(p.Post.Key), true)
	}
}
