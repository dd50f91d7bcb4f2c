package agent

import (
	"fmt"
	"slices"

	"nod/agent/do"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// postAnswer posts the last step's answer. When a person wrote meanwhile, the answer was a
// draft, and the model is called again. An answer that may have been posted stands.
func (d *decision) postAnswer(t *thread.Turn, last *thread.Step) do.Action {
	if t.Answered(d.thread) {
		return d.closeTurn(t)
	}
	draft := t.Draft()
	heard := slices.ContainsFunc(t.Asked(), func(m *thread.Message) bool { return m.Seq > draft.Seen })
	most, used := d.callLimit(t, strategy.Phase{})
	more := used <= most
	switch {
	case heard && more && !d.before(last.Seq):
		return d.callModel(t, strategy.Phase{})
	case draft.Answer != "":
		if act := d.shareFiles(t, last); act != nil {
			return act
		}
		p := chat.Post{Key: memory.PostKey(t.AnswerName(), draft.Answer), ReplyTo: t.ReplyTo(), Text: view.Answer(d.thread, t)}
		p.Text.Steps = d.unshownSteps(t)
		return do.Post{Post: p, Look: d.before(last.Seq), Then: d.unlessSteps(t)}
	case more && !t.EmptyTwice(), used == most+1 && draft.Evaded():
		return d.callModel(t, strategy.Phase{}) // after the last call once more, and plainly
	}
	reason := fmt.Sprintf("I could not come to an answer within %d model calls. Ask again, perhaps in smaller parts.", len(t.Steps))
	switch {
	case draft.Written:
		reason = textWritten
	case draft.Cut:
		reason = textThoughtOut
	case draft.Thought != "" && more:
		reason = textStuck
	case more:
		reason = textNothing
	}
	return do.Record{Bodies: []memory.Body{memory.Failed{Turn: t.ID, Reason: reason, Seen: last.Seen}}}
}

// reportCall shows the result of a call that a person made, and ends the turn.
func (d *decision) reportCall(t *thread.Turn, st *thread.Step) do.Action {
	if t.Answered(d.thread) {
		return d.closeTurn(t)
	}
	if act := d.shareFiles(t, st); act != nil {
		return act
	}
	p := d.sayNotice(t.ReportName(), t.ReplyTo(), view.Report(st.Calls[0]), st.Seq)
	p.Post.Text.Steps = d.unshownSteps(t)
	p.Then = d.unlessSteps(t)
	return p
}

// shareFiles posts the files that the turn's tools made, before its answer.
func (d *decision) shareFiles(t *thread.Turn, last *thread.Step) do.Action {
	files, names := view.Shareable(d.thread, t)
	for i, name := range names {
		if !d.thread.Has(name) {
			p := chat.Post{Key: memory.PostKey(name, files[i].Blob), ReplyTo: t.ReplyTo(), File: &files[i]}
			return do.Post{Post: p, Look: d.before(last.Seq)}
		}
	}
	return nil
}

// sayEnd says why the turn ends without an answer, and then closes it.
func (d *decision) sayEnd(t *thread.Turn, name, text string, due uint64) do.Action {
	if d.thread.Has(name) {
		return d.closeTurn(t)
	}
	p := d.sayNotice(name, t.ReplyTo(), text, due)
	p.Post.Text.Steps = d.unshownSteps(t)
	// A store that lost the end of a turn has it end, and say so, again.
	p.Post.Key = memory.PostKey(name, text+t.Over.UTC().String())
	p.Then = d.unlessSteps(t)
	return p
}

// unlessSteps ends the turn along with its last post, when no steps message has to be
// folded after it.
func (d *decision) unlessSteps(t *thread.Turn) []memory.Body {
	if d.thread.Has(t.StepsName()) || t.Acts() {
		return nil
	}
	return []memory.Body{memory.Ended{Turn: t.ID}}
}

// closeTurn folds the steps message, if there is one, and ends the turn. With more to
// answer the turn ends at once, since a platform may take long to show an edit.
func (d *decision) closeTurn(t *thread.Turn) do.Action {
	ended := []memory.Body{memory.Ended{Turn: t.ID}}
	if !d.thread.Unfolded(t) || d.asksMore(t) {
		return do.Record{Bodies: ended}
	}
	fold := d.foldSteps(t)
	fold.Then = ended
	return fold
}

// asksMore says whether a question waits that the turn does not answer.
func (d *decision) asksMore(t *thread.Turn) bool {
	seen := t.DoneWith()
	return slices.ContainsFunc(t.Asked(), func(m *thread.Message) bool { return m.Seq > seen }) ||
		slices.ContainsFunc(d.thread.Inbox.Waiting, func(m *thread.Message) bool { return !m.Deleted })
}

func (d *decision) foldSteps(t *thread.Turn) do.Edit {
	p := chat.Post{Key: t.StepsName(), ReplyTo: t.ReplyTo(), Steps: d.finalSteps(t)}
	return do.Edit{Ref: d.thread.Posts.Refs[t.StepsName()], Post: p, Key: t.FoldName()}
}

func (d *decision) finalSteps(t *thread.Turn) *chat.Steps {
	steps := view.Steps(d.thread, t, d.agent.Prices)
	steps.Done = true
	return &steps
}

// unshownSteps are the steps that the last post of a turn carries, since no message shows
// them and none will; nil where there are none.
func (d *decision) unshownSteps(t *thread.Turn) *chat.Steps {
	if ref := d.thread.Posts.Refs[t.StepsName()]; !ref.IsZero() || !d.thread.Has(t.StepsName()) {
		return nil
	}
	steps := d.finalSteps(t)
	if t.Stopped == nil && t.Failed == nil {
		steps.Status = "Done" // with this post
	}
	return steps
}
