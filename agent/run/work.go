package run

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"nod/agent/do"
	"nod/chat"
	"nod/memory"
)

// work runs beside the driver.
type work struct {
	kind   kind
	cancel context.CancelFunc
}

// kind says who may end a work.
type kind int

const (
	asks  kind = iota // calls of the model and reads: a word to stop ends them
	posts             // messages: the loss of the thread ends them
	acts              // side effects: nobody does
)

// outcome is the result of a work.
type outcome struct {
	key    string
	settle func() error // takes it into the log, in the driver's goroutine
	letter memory.Body  // goes by letter when the driver can't do that any more
	cut    bool         // it was ended, so that nothing came of it
}

// post sends the outcome by letter, if it is one that must not be lost.
func (o outcome) post(d *driver) {
	if o.letter != nil {
		d.letters.send(d.thread, o.letter)
	}
}

// begin begins a work. The result of do commits the outcome.
func (d *driver) begin(key string, k kind, do func(ctx context.Context) outcome) {
	ctx, cancel := context.WithCancel(d.ctx)
	beside := d.Host.Go
	if k == acts {
		ctx, cancel = context.WithCancel(background)
		beside = d.acting.Go
	}
	d.works[key] = &work{k, cancel}
	beside(func() {
		defer cancel()
		o := do(ctx)
		o.key, o.cut = key, ctx.Err() != nil && k != acts
		d.deliver(o)
	})
}

// stale says whether nobody waits any more for the thing that was begun for a call.
func (d *driver) stale(call string) bool {
	return d.Agent.Interrupted(d.log) || d.log.Thread.Over(call)
}

// deliver hands an outcome to the driver, as long as there is one.
func (d *driver) deliver(o outcome) {
	d.mu.Lock()
	if d.over {
		d.mu.Unlock()
		o.post(d)
		return
	}
	d.box = append(d.box, o)
	d.mu.Unlock()
	d.wake.Set()
}

// perform begins an action, unless it is under way. begun says that it began work or
// changed the log, so that it is worth asking again.
func (d *driver) perform(act do.Action) (begun bool, err error) {
	if d.answers(act) {
		return false, nil
	}
	if d.endless(act) {
		return true, d.standStill(act)
	}
	switch act := act.(type) {
	case do.Record:
		return true, d.commit(act.Bodies...)
	case do.Run:
		return d.reads(act), nil
	case do.Preview:
		return d.previews(act)
	case do.Effect:
		return true, d.effect(act)
	case do.Recall:
		return true, d.recall()
	case do.Jot:
		return true, d.jot(act)
	case do.Wait:
		return false, nil
	}
	key, begin := d.job(act)
	if d.works[key] != nil || begin == nil || d.behindSteps(act) {
		return false, nil
	}
	if d.fit(act) {
		begin(key)
	}
	return true, nil
}

// answers says whether the turn's answer is on its way to the platform. Nothing may
// change the turn then; other actions wait until the answer stands.
func (d *driver) answers(act do.Action) bool {
	switch act.(type) {
	case do.Judge, do.Identify, do.Edit, do.AskWhy, do.Mark, do.Prove, do.Wait:
		return false
	}
	for key := range d.works {
		if strings.HasPrefix(key, "post/answer/") || strings.HasPrefix(key, "post/ran/") {
			return true
		}
	}
	return false
}

// job gives the work of an action, and its key.
func (d *driver) job(act do.Action) (key string, begin func(key string)) {
	switch act := act.(type) {
	case do.Open:
		return "open/" + act.Asked[0].Call, func(key string) { d.open(key, act) }
	case do.Judge:
		return "judge/" + number(act.Seq), func(key string) { d.judge(key, act) }
	case do.Identify:
		return "who/" + number(act.Turn) + act.Call, func(key string) { d.identify(key, act) }
	case do.Change:
		return "change/" + number(act.Seq), func(key string) { d.change(key, act) }
	case do.Call:
		return "call/" + number(act.Turn) + "/" + number(uint64(act.N)), func(key string) { d.call(key, act) }
	case do.Summarise:
		return "sum/" + number(act.Cut.Before), func(key string) { d.summarise(key, act) }
	case do.Post:
		return "post/" + act.Post.Key, func(key string) { d.post(key, act) }
	case do.List:
		return "post/" + act.Post.Post.Key, func(key string) { d.list(key, act) }
	case do.Edit:
		// One edit of a message at a time, so that the newest stands in the end.
		return editWork(act.Ref), func(key string) { d.edit(key, act) }
	case do.Prove:
		return "prove/" + act.Proof, func(key string) { d.prove(key, act) }
	case do.AskWhy:
		return "why/" + act.Key, func(key string) { d.askWhy(key, act) }
	case do.Schedule:
		return "schedule/" + number(act.Made.Message) + act.Made.Call, func(key string) { d.schedule(key, act) }
	case do.Occur:
		return "slot/" + number(act.Slot.Of) + "/" + number(uint64(act.Slot.At.Unix())), func(key string) { d.occur(key, act) }
	case do.Mark:
		return "mark/" + number(act.Message), func(key string) { d.mark(key, act) }
	case do.Copy:
		return "copy/" + act.Post.Key, func(key string) { d.begin(key, posts, func(ctx context.Context) outcome { return d.copy(ctx, act) }) }
	case do.Seek:
		return "seek/" + act.Name, func(key string) { d.begin(key, asks, func(ctx context.Context) outcome { return d.seek(ctx, act) }) }
	case do.Aside:
		return "aside/" + act.Post.Key, func(key string) { d.begin(key, posts, func(ctx context.Context) outcome { return d.aside(ctx, act) }) }
	}
	return "", nil
}

func editWork(ref chat.MessageRef) string { return "edit/" + ref.String() }

// behindSteps says whether an action is a post that the first steps post goes before.
func (d *driver) behindSteps(act do.Action) bool {
	switch act.(type) {
	case do.Post, do.List, do.Edit:
		return d.works[stepsWork] != nil
	}
	return false
}

// fit says whether an action may begin now, and pauses if not. No model is called while
// the store takes no writes: its words could not be kept.
func (d *driver) fit(act do.Action) bool {
	switch act.(type) {
	case do.Call, do.Summarise:
	default:
		return true
	}
	if !d.health.bad.Load() {
		return true
	}
	if err := d.Store.Ping(background); err != nil {
		d.wake.Wait(d.Host.Now().Add(longPause))
		return false
	}
	d.health.works(d.Log)
	return true
}

// patiently repeats a write in a work until the store takes it, or the work ends. A
// refused write is given up. The write is repeated only once the store answers, since
// some writes count each time.
func (d *driver) patiently(ctx context.Context, do func() error) error {
	wait := backoff{}
	for n := 1; ; n++ {
		err := do()
		if err == nil || n == mostTries || errors.Is(err, memory.ErrFenced) {
			return err
		}
		for away := true; away; {
			d.sleep(ctx, min(wait.next(), longPause))
			if ctx.Err() != nil {
				return err
			}
			ill := d.Store.Ping(background)
			if away = ill != nil; away {
				d.health.fails(d.Log, ill)
			}
		}
	}
}

// tell says something to one person, beside everything else.
func (d *driver) tell(to chat.User, about chat.MessageRef, text string) {
	at := d.whereabouts(about)
	d.beside.Go(func() { d.whisper(at, to, about, text) })
}

// whereabouts is the thread in which a person is told something about a message: a
// person who reacts elsewhere need not be here.
func (d *driver) whereabouts(about chat.MessageRef) chat.ThreadID {
	return cmp.Or(d.log.Thread.At(about), d.thread)
}

func (d *driver) whisper(at chat.ThreadID, to chat.User, about chat.MessageRef, text string) {
	err := d.safely(d.thread, "tell a person", func() error {
		return d.platform.Whisper(background, at, to, about, text)
	})
	if err != nil {
		d.Log.Warn("tell a person why", "thread", d.thread.String(), "error", err)
	}
}
