package run

import (
	"context"
	"errors"

	"nod/agent/do"
	"nod/chat"
	"nod/memory"
)

// mostBeside is how much is done at once for a thread that nothing waits for.
const mostBeside = 4

// besides begins actions in other places.
func (d *driver) besides() {
	acts := d.Agent.Beside(d.log)
	for _, act := range acts[:min(len(acts), mostBeside)] {
		if key, begin := d.job(act); d.works[key] == nil {
			begin(key)
		}
	}
}

// copy shows a card in another place. The store knows its message before the log names
// it, so reactions on it are heard.
func (d *driver) copy(ctx context.Context, act do.Copy) outcome {
	posted := memory.Posted{Key: act.Post.Key}
	act.Post.Approval.Home = d.thread
	err := chat.ErrElsewhere
	store, refers := d.Store.(memory.Referrer)
	if d.platform.Able().Elsewhere && refers {
		wait := backoff{}
		for n := 1; ; n++ {
			err = d.safely(d.thread, "show a card elsewhere", func() (err error) {
				posted.At, posted.Ref, err = d.platform.Copy(chat.WithDoubt(ctx, d.doubt), act.Place, act.Post, act.Look || n > 1 || d.doubt())
				return err
			})
			if final(err) || ctx.Err() != nil || errors.Is(err, chat.ErrElsewhere) || n == mostPosts {
				break
			}
			d.failed(ctx, wait.next())
		}
		for wait = (backoff{}); err == nil && ctx.Err() == nil; d.failed(ctx, min(wait.next(), longPause)) {
			if err := store.Refer(ctx, posted.Ref, d.thread); err == nil {
				break
			}
		}
	}
	return outcome{settle: func() error {
		if err != nil {
			posted.Ref, posted.At, posted.Refused = chat.MessageRef{}, chat.ThreadID{}, refusal(err)
			if !errors.Is(err, chat.ErrElsewhere) {
				d.Log.Error("an approval can't be shown elsewhere", "thread", d.thread.String(), "place", act.Place, "error", err)
			}
		}
		return d.commit(posted)
	}}
}

// mostSeeks is how often the platform is asked for the approvers before nobody gets a
// direct message.
const mostSeeks = 10

// seek finds out who is to get a card in a direct conversation.
func (d *driver) seek(ctx context.Context, act do.Seek) outcome {
	var who []chat.User
	var unknown []string
	if d.platform.Able().Elsewhere {
		wait := backoff{}
		for n := 1; ; n++ {
			err := d.safely(d.thread, "look who may decide", func() (err error) {
				who, unknown, err = d.platform.Deciders(ctx, d.thread, act.Rules, act.Most)
				return err
			})
			if err == nil || ctx.Err() != nil {
				break
			}
			d.Log.Warn("look who may decide", "thread", d.thread.String(), "error", err)
			if n == mostSeeks {
				who, unknown = nil, act.Of
				break
			}
			d.sleep(ctx, wait.next()) // it is no post, for which a drain waits or does not
		}
	}
	return outcome{settle: func() error {
		b, ok := d.Agent.Sought(d.log, act, who, unknown)
		if !ok {
			return nil
		}
		return d.commit(b)
	}}
}

func (d *driver) aside(ctx context.Context, act do.Aside) outcome {
	_, err := d.send(ctx, act.At, act.Post, act.Look)
	return outcome{settle: func() error {
		if err != nil {
			d.Log.Error("post elsewhere", "thread", d.thread.String(), "error", err)
		}
		return d.commit(memory.Posted{Key: act.Post.Key})
	}}
}
