package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// slow is after how long a model call shows a steps message of its own.
const slow = 800 * time.Millisecond

// job is work that goes on beside the inbox.
type job struct {
	do          func(context.Context)
	cancellable bool   // a word to stop ends it; otherwise it is waited for
	slow        func() // called once when it takes long; may be nil
	more        <-chan struct{}
	grow        func() // called when more receives
}

// attend does a job beside the inbox: what arrives is taken into the log. It
// returns when the job has.
func (d *driver) attend(work context.Context, j job) error {
	ctx, cancel := context.WithCancel(work)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		j.do(ctx)
	}()
	long := time.NewTimer(slow)
	defer long.Stop()
	take := func() error {
		err := d.commit(work)
		if err != nil || j.cancellable && d.Agent.Interrupted(d.log) {
			cancel()
		}
		if err != nil {
			<-done
		}
		return err
	}
	var landed <-chan struct{} // the steps message of a slow job stands
	for {
		var redraw <-chan time.Time
		if d.steps.owed {
			redraw = time.After(d.pace() - time.Since(d.steps.at))
		}
		select {
		case <-done:
			return nil
		case <-long.C:
			if j.slow != nil {
				j.slow()
				landed = d.steps.sentYet()
			}
		case <-landed:
			// Noted at once, so that a stop on it is understood, and a process that
			// dies leaves no message behind that nobody knows of.
			landed = nil
			if err := take(); err != nil {
				return err
			}
		case <-j.more:
			j.grow()
		case <-redraw:
			d.showSteps(ctx)
		case <-d.run.Mail:
			if err := take(); err != nil {
				return err
			}
		}
	}
}

// call calls the model and commits its step.
func (d *driver) call(work context.Context, act agent.Call) error {
	var r llm.Response
	var failed error
	var took time.Duration
	why, err := d.overdrawn(work, act.By)
	if err != nil {
		return err
	}
	if why != "" {
		return d.commit(work, limited(act, why)...)
	}
	if err := d.fetchImages(work, act.Request); err != nil {
		return err
	}
	g := newGrowth()
	err = d.attend(work, job{cancellable: true, more: g.more, do: func(ctx context.Context) {
		start := time.Now()
		act.Request.Fair = d.run.Thread.String()
		r, failed = d.Model.Complete(ctx, act.Request, g.hear)
		took = time.Since(start)
	}, grow: func() { d.drawGrowth(work, act, g) }, slow: func() { d.showWaiting(work, act) }})
	switch {
	case err != nil:
		return err
	case failed == nil:
		d.spend(work, act.By, act.Request, r)
		return d.commit(work, append(act.Before, d.Agent.Step(act, r, took))...)
	case work.Err() != nil:
		return errDrained
	case d.Agent.Interrupted(d.log):
		return nil
	}
	d.Log.Error("call the model", "thread", d.run.Thread.String(), "turn", act.Turn, "error", failed)
	if missed, ok := d.Agent.Missed(d.log, act); ok {
		return d.commit(work, append(act.Before, missed)...)
	}
	return d.commit(work, append(act.Before, memory.Failed{Turn: act.Turn, Seen: act.Seen, Reason: reason(failed)})...)
}

// summarise has the model sum up what a trim leaves out. A turn does not fail
// for want of a summary.
func (d *driver) summarise(work context.Context, act agent.Summarise) error {
	var r llm.Response
	var failed error
	err := d.attend(work, job{cancellable: true, do: func(ctx context.Context) {
		act.Request.Fair = d.run.Thread.String()
		r, failed = d.Model.Complete(ctx, act.Request, nil)
	}})
	switch {
	case err != nil:
		return err
	case work.Err() != nil:
		return errDrained
	case d.Agent.Interrupted(d.log):
		return nil
	case failed != nil:
		d.Log.Warn("summarise", "thread", d.run.Thread.String(), "error", failed)
		r = llm.Response{}
	default:
		d.spend(work, act.By, act.Request, r)
	}
	return d.commit(work, d.Agent.Summarised(d.log, act, r))
}

// fetchImages puts the content of the prompt's images into it. An image that is
// gone is left out; the text still says that it was attached.
func (d *driver) fetchImages(work context.Context, req llm.Request) error {
	for i, m := range req.Messages {
		var have []llm.Image
		for _, img := range m.Images {
			data, err := d.Store.Blob(work, d.run.Thread, img.Blob)
			if err != nil && !errors.Is(err, memory.ErrNoBlob) {
				return fmt.Errorf("read an image: %w", err)
			}
			if err == nil {
				have = append(have, llm.Image{MediaType: img.MediaType, Blob: img.Blob, Data: data})
			}
		}
		req.Messages[i].Images = have
	}
	return nil
}

// reason is a failed model call in words for the person.
func reason(err error) string {
	const lead = "I could not answer: "
	var fault *llm.Error
	if !errors.As(err, &fault) {
		return lead + "the model call failed. Try again; if it stays so, tell whoever runs me."
	}
	switch fault.Fault {
	case llm.Unreachable:
		return lead + "the model could not be reached. Try again in a moment."
	case llm.Overloaded:
		return lead + "the model is overloaded. Try again in a moment."
	case llm.Timeout:
		return lead + "the model took too long. Try again, or ask for less at once."
	case llm.Auth:
		return lead + "the model refused my key. Whoever runs me has to look at `llm.api_key`."
	case llm.TooLong:
		return lead + "this conversation is too long for the model. `forget` starts afresh; whoever runs me can lower `memory.budget_tokens`."
	case llm.Filtered:
		return lead + "the provider's content filter stopped the answer."
	case llm.Malformed:
		return lead + "the model's answer could not be understood. Try again."
	}
	return lead + "the model refused the request. Whoever runs me finds the cause in the log."
}

// reads runs read-only calls at the same time. Results keep the calls' order.
func (d *driver) reads(work context.Context, act agent.Run) error {
	results := make([]memory.Body, len(act.Calls))
	desk := d.Agent.Desk(d.log)
	err := d.attend(work, job{cancellable: true, do: func(ctx context.Context) {
		var all sync.WaitGroup
		for i, c := range act.Calls {
			all.Go(func() { results[i] = d.tool(ctx, c, desk) })
		}
		all.Wait()
	}})
	switch {
	case err != nil:
		return err
	case work.Err() != nil:
		return errDrained
	case d.Agent.Interrupted(d.log):
		return nil
	}
	return d.commit(work, results...)
}

// effect runs a side effect, at most once: Started is committed first, and if
// the process dies before the result is, nobody runs it again.
func (d *driver) effect(work context.Context, act agent.Effect) error {
	if err := d.commit(work, act.Started); err != nil {
		return err
	}
	if d.Agent.Interrupted(d.log) {
		return d.commit(work, memory.Result{
			Call: act.Call.ID, Tool: act.Call.Tool, State: chat.CallCancelled,
			Text: "cancelled: the turn was stopped before this ran.",
		})
	}
	d.showSteps(work)
	var result memory.Result
	desk := d.Agent.Desk(d.log)
	if err := d.attend(work, job{do: func(ctx context.Context) { result = d.tool(ctx, act.Call, desk) }}); err != nil {
		return err
	}
	if work.Err() != nil {
		return errDrained
	}
	return d.commit(work, result)
}

// tool runs one call and keeps the files that it made.
func (d *driver) tool(ctx context.Context, c memory.Call, desk chat.Desk) memory.Result {
	start := time.Now()
	desk.Thread, desk.Key = d.run.Thread, d.run.Thread.String()+"#"+c.ID
	desk.Open = func(ctx context.Context, f chat.File) ([]byte, error) {
		return d.Store.Blob(ctx, d.run.Thread, f.Blob)
	}
	r, err := d.Tools.Call(ctx, desk, llm.Call{ID: c.ID, Name: c.Tool, Args: c.Args})
	if err != nil {
		d.Log.Error("run a tool", "thread", d.run.Thread.String(), "tool", c.Tool, "error", err)
		r.Failed = true
		if r.Text == "" {
			r.Text = "The tool failed inside. Do without it, and say so."
		}
	}
	out := memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDone, Text: r.Text}
	if r.Failed {
		out.State = chat.CallFailed
	}
	for _, f := range r.Files {
		kept, err := d.keep(ctx, f)
		if err != nil {
			d.Log.Error("keep a file", "thread", d.run.Thread.String(), "tool", c.Tool, "error", err)
			out.Text += fmt.Sprintf("\n[%s could not be kept]", f.Name)
			continue
		}
		out.Artifacts = append(out.Artifacts, kept)
	}
	out.Took = time.Since(start)
	return out
}

func (d *driver) keep(ctx context.Context, f llm.File) (chat.File, error) {
	name, err := d.Store.PutBlob(ctx, d.run.Thread, f.Data)
	if err != nil {
		return chat.File{}, err
	}
	return chat.File{Name: f.Name, MediaType: f.MediaType, Size: int64(len(f.Data)), Blob: name, Quiet: f.Quiet}, nil
}
