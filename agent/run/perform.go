package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/chat/patience"
	"nod/chat/picture"
	"nod/llm"
	"nod/memory"
)

// call calls the model. What it says is a step, unless the turn went on
// otherwise meanwhile.
func (d *driver) call(key string, act do.Call) {
	act = d.awake(act)
	g := d.grows(act)
	hear := func(piece llm.Delta) {
		if piece.Pause != nil {
			g.pauses(*piece.Pause, d.Host.Now())
			return
		}
		g.hear(piece)
	}
	d.begin(key, asks, func(ctx context.Context) outcome {
		start := d.Host.Now()
		r, why, err := d.ask(ctx, act.By, act.Request, hear)
		took := d.Host.Now().Sub(start)
		return outcome{settle: func() error {
			answers := false
			defer func() { d.grew(g, answers) }()
			act.Before = d.Agent.Renewed(d.log, act.Before)
			switch {
			case !d.Agent.Awaits(d.log, act) || d.Agent.Interrupted(d.log) || d.answers(act): // nobody waits for it any more
				return nil
			case why != "":
				return d.commit(append(act.Before, d.Agent.Overdrawn(d.log, act, why))...)
			case err == nil:
				var step memory.Step
				err = d.safely(d.thread, "read a completion", func() error { step = d.Agent.Step(act, r, took); return nil })
				switch {
				case step.Phase == "" && step.Answer == "" && len(step.Calls) == 0 && !step.Written:
					d.Log.Warn("the model answered nothing", "thread", d.thread.String(), "turn", act.Turn, "finish", r.Finish, "reasoning", r.Reasoning != "")
				case agent.Shortened(d.log, step):
					d.Log.Warn("the server seems to cut prompts; lower memory.budget_tokens", "thread", d.thread.String(), "turn", act.Turn, "sent", step.Estimate, "read", step.Usage.Prompt)
				case step.Written:
					d.Log.Warn("the model writes its calls as text; its server has no function calling", "thread", d.thread.String(), "turn", act.Turn, "remedy", "protocol: react")
				}
				if err == nil {
					answers = step.Answer != "" && len(step.Calls) == 0
					return d.commit(append(act.Before, step)...)
				}
			}
			return d.missed(key, act, err)
		}}
	})
}

// missed takes a call that failed into the log. One that was refused is first made with
// half of its prompt.
func (d *driver) missed(key string, act do.Call, err error) error {
	var fault *llm.Error
	errors.As(err, &fault)
	if d.spares(key, act, fault.Lacks()) {
		return nil
	}
	if ofPrompt(fault) && act.Whole == nil {
		if half, ok := d.Agent.Half(d.log, act); ok {
			d.Log.Warn("the model refused a prompt; half of it is tried", "thread", d.thread.String(), "turn", act.Turn, "error", err)
			d.call(key, half)
			return nil
		}
	}
	if act.Whole != nil && fault != nil && (fault.Fault == llm.Refused || fault.Fault == llm.Filtered) { // nothing is left out for nothing
		whole := *act.Whole
		whole.Before = d.Agent.Renewed(d.log, whole.Before)
		act = whole
	}
	if fault != nil && fault.Fault == llm.TooLong {
		if cut, ok := d.Agent.Shorter(d.log, act); ok {
			d.Log.Warn("the prompt is too long for the model; less is sent", "thread", d.thread.String(), "turn", act.Turn, "error", err)
			return d.commit(append(act.Before, cut)...)
		}
	}
	d.Log.Error("call the model", "thread", d.thread.String(), "turn", act.Turn, "error", err)
	cause := ""
	if fault != nil {
		cause = string(fault.Fault)
	}
	if missed, ok := d.Agent.Missed(d.log, act); ok {
		missed.Cause = cause
		return d.commit(append(act.Before, missed)...)
	}
	return d.commit(append(act.Before, memory.Failed{Turn: act.Turn, Seen: act.Seen, Reason: reason(err), Cause: cause})...)
}

// ofPrompt says whether the cause of a refusal may stand in the prompt.
func ofPrompt(f *llm.Error) bool {
	return f != nil && (f.Fault == llm.Filtered || f.Fault == llm.Refused && slices.Contains([]int{400, 413, 422}, f.Status))
}

// ask calls the model for a person, within the limits; why says, in words for the
// person, that one is reached.
func (d *driver) ask(ctx context.Context, by chat.UserID, req llm.Request, hear func(llm.Delta)) (r llm.Response, why string, err error) {
	err = d.safely(d.thread, "call the model", func() error {
		if why, err = d.overdrawn(ctx, by); why != "" || err != nil {
			return err
		}
		if err := d.patiently(ctx, func() error { return d.fetchImages(ctx, req) }); err != nil {
			return err
		}
		req.Fair = d.thread.String()
		r, err = d.Model.Complete(ctx, req, hear)
		if err == nil {
			d.spend(ctx, by, req, r)
		}
		return err
	})
	return r, why, err
}

// summarise asks the model for a summary of trimmed turns. A turn does not fail without
// one.
func (d *driver) summarise(key string, act do.Summarise) {
	d.begin(key, asks, func(ctx context.Context) outcome {
		r, why, err := d.ask(ctx, act.By, act.Request, nil)
		return outcome{settle: func() error {
			switch {
			case d.Agent.Interrupted(d.log):
				return nil
			case err != nil || why != "":
				d.Log.Warn("summarise", "thread", d.thread.String(), "limit", why, "error", err)
				r = llm.Response{}
			}
			return d.commit(d.Agent.Summarised(d.log, act, r))
		}}
	})
}

// fetchImages puts the content of the prompt's images into it, as models take them. An
// image that is gone or broken is left out; the text still says that it was attached.
func (d *driver) fetchImages(ctx context.Context, req llm.Request) error {
	for i, m := range req.Messages {
		var have []llm.Image
		for _, img := range m.Images {
			data, err := d.Store.Blob(ctx, d.thread, img.Blob)
			if err != nil && !errors.Is(err, memory.ErrNoBlob) {
				return fmt.Errorf("read an image: %w", err)
			}
			if data, form, ok := picture.Fit(data); err == nil && ok {
				have = append(have, llm.Image{Name: img.Name, MediaType: form, Blob: img.Blob, Data: data})
			}
		}
		req.Messages[i].Images = have
	}
	return nil
}

// mostReads is how many read-only calls of a thread run at once.
const mostReads = 8

// reads begins the read-only calls that are not under way, as many as may be. A server is
// asked by the same means how a call stands that goes on there.
func (d *driver) reads(act do.Run) (begun bool) {
	return d.beginSome(act.Calls, readWork, func(c memory.Call) {
		desk := d.desk(c)
		if desk.Resumes != nil {
			desk.Resumes.Stop = act.Stop
		}
		d.begin(readWork(c), asks, func(ctx context.Context) outcome {
			desk.Ask = d.asker(c.ID, nil)
			came := d.tool(ctx, c, desk)
			return outcome{settle: func() error {
				if d.stale(c.ID) {
					return nil
				}
				return d.commit(came)
			}}
		})
	})
}

// readWork names a read among the works.
func readWork(c memory.Call) string { return "read/" + c.ID }

// beginSome begins works of calls that are not under way, as many as may be.
func (d *driver) beginSome(calls []memory.Call, key func(memory.Call) string, begin func(memory.Call)) (begun bool) {
	rest := slices.DeleteFunc(slices.Clone(calls), func(c memory.Call) bool { return d.works[key(c)] != nil })
	room := mostReads - (len(calls) - len(rest))
	rest = rest[:max(0, min(room, len(rest)))]
	for _, c := range rest {
		begin(c)
	}
	return len(rest) > 0
}

// effect runs a side effect, at most once: Started is committed first, and if the
// process dies before the outcome is kept, nobody runs it again. Once it runs,
// nothing ends it but its own timeout.
func (d *driver) effect(act do.Effect) error {
	// It counts as begun from here on: another driver of this process that finds
	// Started must not take it for a call that nobody runs.
	id := d.effectID(act.Call)
	desk := d.desk(act.Call)
	fresh := d.Effects.begin(id)
	defer func() { // also after a panic
		if fresh {
			d.unbegin(id, act.Call, act.Started.By)
		}
	}()
	if err := d.commit(act.Started); err != nil {
		return err
	}
	if !fresh { // its outcome is found as that of any call of this process
		d.Log.Error("the store came back older: a call that ran was to run again", "thread", d.thread.String(), "tool", act.Call.Tool)
		return nil
	}
	if d.Agent.Interrupted(d.log) {
		cancelled := memory.Result{
			Call: act.Call.ID, Tool: act.Call.Tool, State: chat.CallCancelled,
			Text: "cancelled: the turn was stopped before this ran.",
		}
		if desk.Resumes != nil {
			cancelled.Text = agent.TextHalfDone
		}
		d.Effects.end(id, cancelled)
		fresh = false
		return d.commit(cancelled)
	}
	fresh = false
	d.begin("effect/"+act.Call.ID, acts, func(ctx context.Context) outcome {
		ctx, limit, stop := patience.With(ctx, act.Started.Within+overtime, context.DeadlineExceeded)
		defer stop()
		desk.Ask = d.asker(act.Call.ID, limit)
		came := d.tool(ctx, act.Call, desk)
		d.Effects.end(id, came)
		return outcome{letter: came, settle: func() error {
			if d.recovered[id] {
				return nil
			}
			return d.commit(came)
		}}
	})
	return nil
}

// unbegin takes back the start of a call. Another holder of the thread may wait for the
// call's outcome meanwhile, and must look again; another process learns only from this
// that there will be none.
func (d *driver) unbegin(id effectID, c memory.Call, by string) {
	d.Effects.drop(id)
	d.letters.put(d.thread, memory.Due{}, "look/"+c.ID+"/"+memory.Short(d.held.Token))
	d.letters.disown(id, c, by)
}

// effectID names the effect with which a call begins, or goes on.
func (d *driver) effectID(c memory.Call) effectID {
	id := effectID{d.thread, c.ID, 0}
	if known := d.log.Thread.Calls[c.ID]; known != nil {
		id.phase = len(known.Run.Keys)
	}
	return id
}

// desk is the view that a call has of the thread. It holds the handle of one that goes on.
func (d *driver) desk(c memory.Call) chat.Desk {
	desk := d.Agent.Desk(d.log)
	if known := d.log.Thread.Calls[c.ID]; known != nil {
		desk.Resumes, _ = d.log.Thread.Resumed(known)
	}
	return desk
}

// overtime is how long a tool may take to notice that its own timeout is over.
const overtime = 5 * time.Second

// tool runs one call and keeps the files that it made. It gives the result, or the handle of
// a call that goes on at its server.
func (d *driver) tool(ctx context.Context, c memory.Call, desk chat.Desk) memory.Body {
	start := d.Host.Now()
	if desk.Resumes != nil {
		start = desk.Resumes.Since
	}
	var held *chat.Handle
	desk.Hold = func(h chat.Handle) { held = &h }
	desk.Thread, desk.Key = d.thread, d.thread.String()+"#"+c.ID
	desk.Open = func(ctx context.Context, f chat.File) ([]byte, error) {
		return d.Store.Blob(ctx, d.thread, f.Blob)
	}
	var r llm.Result
	err := d.safely(d.thread, "run a tool", func() (err error) {
		r, err = d.Tools.Call(ctx, desk, llm.Call{ID: c.ID, Name: c.Tool, Args: c.Args})
		return err
	})
	if err != nil {
		d.Log.Error("run a tool", "thread", d.thread.String(), "tool", c.Tool, "error", err)
		r.Failed = true
		if r.Text == "" {
			r.Text = "The tool failed inside. Do without it, and say so."
		}
	}
	if held != nil {
		return memory.Held{Call: c.ID, Handle: *held}
	}
	out := memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDone, Text: r.Text, Origin: d.Agent.Tools.Origin(c.Tool)}
	switch {
	case r.Unknown:
		out.State = chat.CallUnknown
	case r.Failed:
		out.State = chat.CallFailed
	}
	for _, f := range r.Files {
		kept, err := d.keep(f)
		if err != nil {
			d.Log.Error("keep a file", "thread", d.thread.String(), "tool", c.Tool, "error", err)
			why := full(err)
			if why != "" {
				why = ": " + why
			}
			out.Text += fmt.Sprintf("\n[%s could not be kept%s]", f.Name, why)
			continue
		}
		out.Artifacts = append(out.Artifacts, kept)
	}
	out.Took = d.Host.Now().Sub(start)
	return out
}

// full says for people why a file does not fit.
func full(err error) string {
	if f, ok := errors.AsType[memory.FullError](err); ok {
		return f.Error()
	}
	return ""
}

// keep keeps a file that a tool made. A store that is away is waited for.
func (d *driver) keep(f llm.File) (chat.File, error) {
	wait := backoff{}
	for n := 1; ; n++ {
		name, err := d.Store.PutBlob(background, d.thread, f.Data)
		if err == nil {
			return chat.File{Name: f.Name, MediaType: picture.Type(f.Data, f.MediaType), Size: int64(len(f.Data)), Blob: name, Quiet: f.Quiet}, nil
		}
		if full(err) != "" || len(f.Data) > memory.BlobCap || n == mostPosts {
			return chat.File{}, err
		}
		d.sleep(background, wait.next())
	}
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// reason is a failed model call in words for the person.
func reason(err error) string {
	const lead = "I could not answer: "
	var fault *llm.Error
	if errors.Is(err, errPanic) {
		return lead + "there is a mistake in me. Whoever runs me finds it in the log."
	}
	if !errors.As(err, &fault) {
		return lead + "the model call failed. Try again; if it stays so, tell whoever runs me."
	}
	return lead + cmp.Or(reasons[fault.Fault], "the model refused the request. Whoever runs me finds the cause in the log.")
}

// reasons are faults in words for the person.
var reasons = map[llm.Fault]string{
	llm.Unreachable: "the model could not be reached. Try again in a moment.",
	llm.Overloaded:  "the model is overloaded. Try again in a moment.",
	llm.Timeout:     "the model took too long. Try again, or ask for less at once.",
	llm.Auth:        "the model refused my key. Whoever runs me has to look at `llm.api_key`.",
	llm.TooLong:     "this conversation is too long for the model. `forget` starts afresh; whoever runs me can lower `memory.budget_tokens`.",
	llm.Filtered:    "the provider's content filter stopped the answer.",
	llm.Malformed:   "the model's answer could not be understood. Try again.",
}
