package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"nod/agent/approval"
	"nod/agent/do"
	"nod/chat"
	"nod/memory"
)

// judge makes the look-ups behind votes, and has these judged.
func (d *driver) judge(key string, act do.Judge) {
	d.begin(key, asks, func(ctx context.Context) outcome {
		known := d.lookUp(ctx, act.Ask)
		return outcome{settle: func() error {
			for {
				if _, judges := d.decide().(do.Judge); !judges {
					return nil
				}
				on, v, lapsed, ok := d.Agent.Vote(d.log, known)
				if !ok {
					return nil
				}
				if err := d.vote(on, v, lapsed); err != nil {
					return err
				}
			}
		}}
	})
}

// vote notes a judged vote, and tells people what they can't see on the card.
func (d *driver) vote(on chat.MessageRef, v memory.Vote, lapsed []memory.Vote) error {
	var bodies []memory.Body
	for _, l := range lapsed {
		bodies = append(bodies, l)
		// It is told before the card shows it, if the platform is not slow.
		told, at := newGroup(d.Host), d.whereabouts(on)
		told.Go(func() { d.whisper(at, v.By, on, approval.NoMore(l)) })
		told.waitUntil(d.Host.Now().Add(time.Second))
	}
	if err := d.commit(append(bodies, v)...); err != nil {
		return err
	}
	if !v.Counts && !v.By.Bot && v.Verdict != memory.Withdraw && approval.Alone(v) {
		d.tell(v.By, on, approval.Uncounted(v))
	}
	return nil
}

// identify looks up who people are, and notes it. What can't be found out is no
// membership.
func (d *driver) identify(key string, act do.Identify) {
	d.begin(key, asks, func(ctx context.Context) outcome {
		groups := d.groups(ctx, act.Who, act.Rules)
		var out []memory.Body
		for _, who := range act.Who {
			b := memory.Belongs{Turn: act.Turn, Call: act.Call, Who: who, Rules: act.Rules}
			for _, rule := range act.Rules {
				if groups[who][rule].In {
					b.In = append(b.In, rule)
				}
			}
			out = append(out, b)
		}
		return outcome{settle: func() error { return d.commit(out...) }}
	})
}

// change looks up the memberships behind a change of a call, and accepts it or not.
func (d *driver) change(key string, act do.Change) {
	d.begin(key, asks, func(ctx context.Context) outcome {
		known := approval.Known{Groups: d.groups(ctx, []chat.UserID{act.By.ID}, act.Rules)[act.By.ID]}
		return outcome{settle: func() error {
			b, ok := d.Agent.Changed(d.log, act, known.Member)
			if !ok {
				return nil
			}
			if err := d.commit(b); err != nil {
				return err
			}
			if b.Refused != "" && !act.On.IsZero() {
				d.tell(act.By, act.On, approval.NotChanged(b.Refused))
			}
			return nil
		}}
	})
}

// groups asks the platform once for each group which of some people are in it.
func (d *driver) groups(ctx context.Context, who []chat.UserID, rules []string) map[chat.UserID]map[string]approval.Membership {
	out := map[chat.UserID]map[string]approval.Membership{}
	for _, u := range who {
		out[u] = map[string]approval.Membership{}
	}
	for _, rule := range rules {
		var in []chat.UserID
		err := d.safely(d.thread, "look memberships up", func() (err error) {
			in, err = d.platform.Members(ctx, d.thread, rule, who)
			return err
		})
		if err != nil {
			d.Log.Warn("look memberships up", "thread", d.thread.String(), "rule", rule, "error", err)
		}
		for _, u := range who {
			out[u][rule] = approval.Membership{In: err == nil && slices.Contains(in, u), Err: err}
		}
	}
	return out
}

// mostLookUps is how many accounts of a thread's voters are looked up side by side.
const mostLookUps = 8

// lookUp makes look-ups. The account of a person who is in none of the groups decides
// nothing, and is left out.
func (d *driver) lookUp(ctx context.Context, ask approval.Ask) approval.Facts {
	var ids []chat.UserID
	for _, u := range ask.Among {
		ids = append(ids, u.ID)
	}
	groups, known := d.groups(ctx, ids, ask.Rules), approval.Facts{}
	var mu sync.Mutex
	for part := range slices.Chunk(slices.Concat(ask.People, ask.Among), mostLookUps) {
		beside := newGroup(d.Host)
		for _, u := range part {
			k := approval.Known{User: u, Groups: groups[u.ID], Asked: chat.Includes(ask.People, u.ID)}
			for _, m := range k.Groups {
				k.Asked = k.Asked || m.In
			}
			beside.Go(func() {
				if k.Asked {
					k.User, k.Err = d.account(ctx, u)
				}
				mu.Lock()
				defer mu.Unlock()
				known[u.ID] = k
			})
		}
		beside.Wait()
	}
	return known
}

// account looks somebody up who votes. Nobody delivers a vote again, so it tries for a while.
func (d *driver) account(ctx context.Context, u chat.User) (is chat.User, err error) {
	u.Barred = ""
	wait := backoff{}
	for n := 1; ; n++ {
		err = d.safely(d.thread, "look an account up", func() (err error) {
			is, err = d.platform.Who(ctx, d.thread.Channel, u)
			return err
		})
		if err == nil || n == mostTries || ctx.Err() != nil || errors.Is(err, errPanic) {
			break
		}
		d.sleep(ctx, wait.next())
	}
	if err != nil {
		d.Log.Warn("look an account up", "thread", d.thread.String(), "error", err)
	}
	return is, err
}

// prove finds out what a card from an earlier process shows now. A platform that is away is
// waited for: until then nothing is decided by that card. A card that is gone, or can't be
// read, shows nothing more.
func (d *driver) prove(key string, act do.Prove) {
	d.begin(key, posts, func(ctx context.Context) outcome {
		wait := backoff{}
		var shows chat.Shown
		for ctx.Err() == nil {
			err := d.safely(d.thread, "read a card", func() (err error) {
				shows, err = d.platform.Headline(ctx, d.thread, act.Ref)
				return err
			})
			if final(err) || errors.Is(err, errPanic) {
				break
			}
			d.Log.Warn("read a card", "thread", d.thread.String(), "error", err)
			d.failed(ctx, wait.next())
		}
		return outcome{settle: func() error {
			d.proofs.Put(d.thread.String()+" "+act.Proof, true)
			lost, ok := approval.Restored(d.log.Thread, act.Call, act.Ref, shows)
			if !ok {
				return nil
			}
			err := d.commit(lost)
			if err == nil && d.Older != nil && (lost.Call == "" || approval.ShowsDecision(shows.Headline)) {
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
func (d *driver) proved(p do.Post) {
	if p.Post.Approval != nil && !p.Look {
		d.proofs.Put(d.thread.String()+" "+memory.PostName(p.Post.Key), true)
	}
}
