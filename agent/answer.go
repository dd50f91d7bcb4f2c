package agent

import (
	"slices"

	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// answering posts the last step's answer, unless somebody wrote while it was
// made: then the model is called once more, and the answer was a draft. Once
// it may have been posted it is the answer.
func (d *decision) answering(t *thread.Turn, last *thread.Step) Action {
	if t.Answered(d.s) {
		return d.closing(t)
	}
	draft := t.Draft()
	heard := slices.ContainsFunc(t.Asked(), func(m *thread.Message) bool { return m.Seq > draft.Seen })
	most, used := d.limit(t, strategy.Phase{})
	more := used <= most
	switch {
	case heard && more && !d.before(last.Seq):
		return d.call(t, strategy.Phase{})
	case draft.Answer != "":
		if act := d.sharing(t, last); act != nil {
			return act
		}
		p := chat.Post{Key: memory.PostKey(t.AnswerName(), draft.Answer), ReplyTo: t.ReplyTo(), Text: view.Answer(d.s, t)}
		return Post{Post: p, Look: d.before(last.Seq), Then: d.unlessSteps(t)}
	case more && !t.EmptyTwice(), used == most+1 && draft.Evaded():
		return d.call(t, strategy.Phase{}) // after the last call once more, and plainly
	}
	reason := textNoAnswer(len(t.Steps))
	if draft.Thought != "" && more {
		reason = textStuck
	}
	return Record{[]memory.Body{memory.Failed{Turn: t.ID, Reason: reason, Seen: last.Seen}}}
}

// reporting shows what came of a call that a person made, and ends the turn.
func (d *decision) reporting(t *thread.Turn, st *thread.Step) Action {
	if t.Answered(d.s) {
		return d.closing(t)
	}
	if act := d.sharing(t, st); act != nil {
		return act
	}
	p := d.notice(t.ReportName(), t.ReplyTo(), view.Report(st.Calls[0]), st.Seq)
	p.Then = d.unlessSteps(t)
	return p
}

// sharing posts the files that the turn's tools made, before its answer.
func (d *decision) sharing(t *thread.Turn, last *thread.Step) Action {
	files, names := view.Shareable(d.s, t)
	for i, name := range names {
		if !d.s.Has(name) {
			p := chat.Post{Key: memory.PostKey(name, files[i].Blob), ReplyTo: t.ReplyTo(), File: &files[i]}
			return Post{Post: p, Look: d.before(last.Seq)}
		}
	}
	return nil
}

// ending says why the turn ends without an answer, and then closes it.
func (d *decision) ending(t *thread.Turn, name, text string, due uint64) Action {
	if d.s.Has(name) {
		return d.closing(t)
	}
	p := d.notice(name, t.ReplyTo(), text, due)
	// A store that lost the end of a turn has it end again, and that is said again.
	p.Post.Key = memory.PostKey(name, text+t.Over.UTC().String())
	p.Then = d.unlessSteps(t)
	return p
}

// unlessSteps ends the turn along with its last post, when no steps message
// has to be folded after it.
func (d *decision) unlessSteps(t *thread.Turn) []memory.Body {
	if d.s.Has(t.StepsName()) || t.Acts() {
		return nil
	}
	return []memory.Body{memory.Ended{Turn: t.ID}}
}

// closing folds the steps message, if there is one, and ends the turn. Where more is
// asked the turn ends at once: a platform may take long to show an edit, and that
// holds nobody up.
func (d *decision) closing(t *thread.Turn) Action {
	ended := []memory.Body{memory.Ended{Turn: t.ID}}
	if !d.s.Unfolded(t) || d.heard(t) {
		return Record{ended}
	}
	fold := d.fold(t)
	fold.Then = ended
	return fold
}

// heard says whether something is asked that the turn is not about.
func (d *decision) heard(t *thread.Turn) bool {
	seen := t.DoneWith()
	return slices.ContainsFunc(t.Asked(), func(m *thread.Message) bool { return m.Seq > seen }) ||
		slices.ContainsFunc(d.s.Inbox.Waiting, func(m *thread.Message) bool { return !m.Deleted })
}

// fold shows the steps of a turn as they are in the end.
func (d *decision) fold(t *thread.Turn) Edit {
	steps := view.Steps(d.s, t, d.a.Prices)
	steps.Done = true
	p := chat.Post{Key: t.StepsName(), ReplyTo: t.ReplyTo(), Steps: &steps}
	return Edit{Ref: d.s.Posts.Refs[t.StepsName()], Post: p, Key: t.FoldName()}
}

// folds shows the steps of turns so that ended before that was done.
func (d *decision) folds() (out []Action) {
	for _, t := range d.s.Folding {
		out = append(out, d.fold(t))
	}
	return out
}
