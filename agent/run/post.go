package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"nod/agent/do"
	"nod/agent/policy"
	"nod/chat"
	"nod/memory"
)

// The number of tries before the turn goes on without a post. A platform may be away
// for an hour; a final refusal ends the tries.
const (
	mostPosts = 80
	mostLooks = 3
	mostEdits = mostPosts // a card that nobody edited asks for ever
)

// post makes a post and notes it.
func (d *driver) post(key string, act do.Post) {
	d.begin(key, posts, func(ctx context.Context) outcome { return d.makePost(ctx, act) })
}

func (d *driver) makePost(ctx context.Context, act do.Post) outcome {
	for _, blob := range act.Free {
		if err := d.patiently(ctx, func() error { return d.Store.DropBlob(ctx, d.thread, blob) }); err != nil {
			d.Log.Warn("free a file", "thread", d.thread.String(), "error", err)
		}
	}
	ref, err := d.send(ctx, d.thread, act.Post, act.Look)
	return outcome{settle: func() error {
		posted := memory.Posted{Key: act.Post.Key, Ref: ref, Stood: d.stood(act.Post, ref), Refused: refusal(err)}
		then := act.Then
		if err == nil {
			d.proved(act)
		} else {
			d.Log.Error("post", "thread", d.thread.String(), "error", err)
			if act.Refused != nil {
				then = act.Refused
			}
		}
		return d.commit(append([]memory.Body{posted}, then...)...)
	}}
}

// refusal is why a platform does not take a post, in words for people; "" for any other
// error.
func refusal(err error) string {
	if r, ok := errors.AsType[chat.Refused](err); ok {
		return r.Notice()
	}
	return ""
}

// final says whether a platform need not be asked again.
func final(err error) bool {
	_, refused := errors.AsType[chat.Refused](err)
	return err == nil || refused || errors.Is(err, chat.ErrGone)
}

// stood is since when a card or a question stands, where the platform knows.
func (d *driver) stood(p chat.Post, ref chat.MessageRef) time.Time {
	if p.Approval == nil && !strings.HasPrefix(p.Key, "question/") || ref.IsZero() {
		return time.Time{}
	}
	return d.platform.Stood(ref)
}

// send posts until the platform has it or refuses it. After an attempt that
// failed, or once another process may have had the thread, it is looked for first.
func (d *driver) send(ctx context.Context, at chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	wait := backoff{}
	for n := 1; ; n++ {
		var ref chat.MessageRef
		again := look || n > 1 || d.doubt()
		doubt := d.doubt
		if n > mostLooks { // the store is away for long, but the platform is not
			doubt = d.lost
		}
		ctx := chat.WithDoubt(ctx, doubt)
		err := d.safely(d.thread, "post", func() (err error) {
			ref, err = d.platform.Post(ctx, at, p, again)
			return err
		})
		if final(err) || ctx.Err() != nil || n == mostPosts {
			return ref, err
		}
		if errors.Is(err, chat.ErrDoubt) {
			if d.lost() {
				return ref, err
			}
			continue // with a look, at once
		}
		d.Log.Warn("post", "thread", d.thread.String(), "error", err)
		d.failed(ctx, wait.next())
	}
}

// failed pauses after an attempt that failed, and says so to a driver that drains.
func (d *driver) failed(ctx context.Context, pause time.Duration) {
	d.failing.Add(1)
	defer d.failing.Add(-1)
	d.wake.Set()
	d.sleep(ctx, pause)
}

// doubt says whether another process may have the thread by now.
func (d *driver) doubt() bool {
	return d.lost() || d.held.Doubt != nil && d.held.Doubt()
}

// lost says whether the thread is not this driver's any more.
func (d *driver) lost() bool { return d.ctx.Err() != nil || d.held.Bell.Lost() }

// edit makes a post show its final state, unless another process may have the thread: that
// may show a newer one.
func (d *driver) edit(key string, act do.Edit) {
	if a := act.Post.Approval; a != nil && a.Elsewhere {
		a.Home = d.thread
	}
	d.begin(key, posts, func(ctx context.Context) outcome {
		ctx = chat.WithDoubt(ctx, d.doubt)
		wait := backoff{}
		var err error
		for n := 1; n <= mostEdits && ctx.Err() == nil; n++ {
			err = d.safely(d.thread, "edit", func() error { return d.platform.Edit(ctx, cmp.Or(act.At, d.thread), act.Ref, act.Post) })
			if final(err) {
				break
			}
			d.failed(ctx, wait.next())
		}
		return outcome{settle: func() error {
			if err != nil {
				d.Log.Error("edit", "thread", d.thread.String(), "error", err)
			}
			return d.commit(append([]memory.Body{memory.Posted{Key: act.Key, Unshown: err != nil}}, d.log.Still(act.Then)...)...)
		}}
	})
}

// mark puts the eyes on a message that has to wait.
func (d *driver) mark(key string, act do.Mark) {
	d.begin(key, posts, func(ctx context.Context) outcome {
		err := d.safely(d.thread, "mark a message as seen", func() error { return d.platform.React(ctx, act.Ref, chat.EmojiSeen) })
		return outcome{settle: func() error {
			if err != nil {
				d.Log.Warn("mark a message as seen", "thread", d.thread.String(), "error", err)
			}
			return d.commit(memory.Seen{Message: act.Message})
		}}
	})
}

// open opens approvals, and denies at once those that nobody could give.
func (d *driver) open(key string, act do.Open) {
	ahead := d.now().Sub(d.Host.Now()) // of the store's clock
	d.begin(key, asks, func(ctx context.Context) outcome {
		open, bodies := d.unready(ctx, act.Asked)
		nobody := map[string]bool{} // could approve the call
		for _, a := range open {
			nobody[a.Call] = !d.possible(ctx, a) && !d.reachable(ctx, a.Rules)
		}
		// Last of all, since what is noted and does not come into a log makes room soon.
		var over []memory.Body
		err := d.patiently(ctx, func() error {
			rest, full, err := d.counted(ctx, d.Host.Now().Add(ahead), open)
			if err == nil {
				open, over = rest, full
			}
			return err
		})
		if err != nil {
			return outcome{settle: func() error { return err }}
		}
		bodies = append(bodies, over...)
		for _, a := range open {
			bodies = append(bodies, a)
			if nobody[a.Call] {
				bodies = append(bodies, memory.Decided{
					Call: a.Call, Outcome: chat.Denied, Reason: "nobody in this conversation can approve it",
				})
			}
		}
		return outcome{settle: func() error {
			if slices.ContainsFunc(act.Asked, func(a memory.Asked) bool { return d.stale(a.Call) }) {
				return nil // the others are asked anew
			}
			return d.commit(bodies...)
		}}
	})
}

// possible says whether enough people may approve who are in the thread, or named.
func (d *driver) possible(ctx context.Context, a memory.Asked) (ok bool) {
	err := d.safely(d.thread, "look for approvers", func() error {
		crowd := d.platform.Possible(ctx, d.thread, chat.Anyone)
		who := map[chat.UserID]bool{}
		for _, rule := range a.Rules.AllApprovers() {
			named, isUser := strings.CutPrefix(rule, "user:")
			switch {
			case isUser:
				who[chat.UserID(named)] = true
			case policy.IsGroup(rule) && !d.platform.Possible(ctx, d.thread, rule):
			case crowd && rule != chat.Requester:
				ok = true
			default:
				who[a.Requester.ID] = true
			}
		}
		if a.Rules.ExcludeRequester {
			delete(who, a.Requester.ID)
		}
		ok = ok || len(who) >= max(1, a.Rules.Quorum)
		return nil
	})
	return ok || err != nil // in doubt it is asked, and expires
}

// reachable says whether somebody could approve who is not in the thread: the card
// stands in other places, too.
func (d *driver) reachable(ctx context.Context, rules memory.Rules) (ok bool) {
	if !d.platform.Able().Elsewhere || len(rules.Channels) == 0 && !rules.Direct {
		return false
	}
	if len(rules.Channels) > 0 && slices.Contains(rules.AllApprovers(), chat.Anyone) {
		return true
	}
	err := d.safely(d.thread, "look who may decide", func() error {
		who, _, err := d.platform.Deciders(ctx, d.thread, rules.AllApprovers(), 1)
		ok = len(who) > 0
		return err
	})
	return ok || err != nil // in doubt it is asked, and expires
}

// textWhy asks somebody for the mistake in words, if the platform has no form for it.
const textWhy = "I noted that this answer was not good. What was wrong with it? If you tell me here, I try again with that in mind."

// askWhy asks one person for the mistake in an answer. It notes that first: being asked
// twice is worse than not being asked.
func (d *driver) askWhy(key string, act do.AskWhy) {
	d.begin(key, posts, func(context.Context) outcome {
		return outcome{settle: func() error {
			if err := d.commit(memory.Posted{Key: act.Key}); err != nil {
				return err
			}
			d.wonder(act)
			return nil
		}}
	})
}

func (d *driver) wonder(act do.AskWhy) {
	if !d.platform.Able().Asks {
		d.tell(act.To, act.On, textWhy)
		return
	}
	at := d.whereabouts(act.On) // the log is the driver's alone
	d.beside.Go(func() {
		if u, err := d.account(background, act.To); err != nil || u.Barred != "" {
			return
		}
		err := d.safely(d.thread, "ask what was wrong", func() error {
			return d.platform.AskWhy(background, d.thread, act.To, act.On)
		})
		if err != nil {
			d.Log.Warn("ask what was wrong", "thread", d.thread.String(), "error", err)
			d.whisper(at, act.To, act.On, textWhy)
		}
	})
}
