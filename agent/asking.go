package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// askPeople opens approvals for the risky calls of a step, and posts them.
func (d *decision) askPeople(t *thread.Turn, last *thread.Step) do.Action {
	switch want := d.approval().Want(t, last); {
	case len(want.Who) > 0:
		return do.Identify{Call: want.Call.ID, Turn: t.ID, Who: want.Who, Rules: want.Groups}
	case len(want.Entries) > 0:
		return do.Record{Bodies: want.Entries}
	case len(want.Open) > 0:
		return do.Open{Asked: want.Open}
	}
	for _, c := range last.Calls {
		if c.Asked == nil || c.Decided != nil || d.thread.Has(c.AskName()) {
			continue
		}
		if act := d.attachPreview(c); act != nil {
			return act
		}
		hidden := memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: "it could not be shown to anybody here"}
		return do.Post{Post: view.Card(d.taint(), c), Look: d.before(last.Seq), Refused: []memory.Body{hidden}}
	}
	return nil
}

// attachPreview posts a preview that is too long for the card that follows.
func (d *decision) attachPreview(c *thread.Call) do.Action {
	if c.Preview.Bound == nil || c.Preview.Bound.File.Blob == "" {
		return nil
	}
	name := fmt.Sprintf("preview/%s/%d", c.ID, c.Preview.Bound.Seq)
	if d.thread.Has(name) {
		return nil
	}
	f := view.PreviewFile(c)
	p := chat.Post{Key: memory.PostKey(name, f.Blob), ReplyTo: c.Turn.ReplyTo(), File: &f}
	return do.Post{Post: p, Look: d.before(c.Preview.Bound.Seq)}
}

// runPreviews runs the previews that are missing. Other work goes on beside.
func (d *decision) runPreviews(last *thread.Step, beside do.Action) do.Action {
	var out do.Preview
	for _, c := range last.Calls {
		tool, _ := d.agent.Tools.Find(c.Tool)
		if c.Result != nil || c.Started || !d.approval().LacksPreview(c) {
			continue
		}
		if risk, _ := d.taint().Risk(tool, c); risk != policy.Ask {
			continue
		}
		if why := d.taint().BarsPreview(tool, c); why != "" {
			return do.Record{Bodies: []memory.Body{approval.Unseen(c, why)}}
		}
		out.Calls = append(out.Calls, c.Call)
	}
	if len(out.Calls) == 0 {
		return beside
	}
	out.Beside = beside
	return out
}

// checkPreview runs the preview of an approved call once more; nil when that was done, or
// need not be.
func (d *decision) checkPreview(c *thread.Call) do.Action {
	tool, _ := d.agent.Tools.Find(c.Tool)
	if !tool.Preview || c.Asked == nil && c.Use.Grant == nil || c.Preview.Check != nil && !d.before(c.Preview.Check.Seq) {
		return nil
	}
	if why := d.taint().BarsPreview(tool, c); why != "" {
		return do.Record{Bodies: []memory.Body{approval.Unseen(c, why)}}
	}
	return do.Preview{Calls: []memory.Call{c.Call}}
}

// previewChange runs the preview of a call with other arguments, before the change is
// judged. Who asks for it is looked up first.
func (d *decision) previewChange(p thread.Proposal) do.Action {
	tool, _ := d.agent.Tools.Find(p.Call.Tool)
	if !tool.Preview {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(p.Args)) != nil {
		return nil
	}
	next := p.Call.With(compact.String())
	if next.Preview.Bound != nil {
		return nil
	}
	may, groups := d.approval().PreviewsChange(p)
	if len(groups) > 0 {
		return do.Identify{Call: p.Call.ID, Turn: p.Call.Turn.ID, Who: []chat.UserID{p.By.ID}, Rules: groups}
	}
	if !may {
		return nil
	}
	if why := d.taint().BarsPreview(tool, next); why != "" {
		return do.Record{Bodies: []memory.Body{approval.Unseen(next, why)}}
	}
	return do.Preview{Calls: []memory.Call{next.Call}}
}

// edits has cards show how they ended.
func (d *decision) edits() do.Action {
	for _, c := range d.thread.AllCards() {
		key := view.Stage(d.thread, c, "")
		if key == "" || d.thread.Has(key) {
			continue
		}
		done := []memory.Body{memory.Posted{Key: key}}
		if !d.thread.Has(c.AskName()) {
			return do.Post{Post: view.Card(d.taint(), c), Look: true, Refused: done} // one that stands already is then edited
		}
		if c.Card.Ref.IsZero() {
			return do.Record{Bodies: done}
		}
		return do.Edit{Ref: c.Card.Ref, Post: view.Card(d.taint(), c), Key: key}
	}
	return nil
}

// judge has the next reaction judged.
func (d *decision) judge() do.Action {
	pick, ask, ok := approval.NextVote(d.thread, nil)
	if !ok {
		return nil
	}
	return do.Judge{Seq: pick.Seq, Reaction: pick.Reaction, Ask: ask}
}

// Vote judges the next reaction by what is known; ok is false where that is not enough for
// any, or where something else comes first. Lapsed are earlier votes that end with it.
func (a *Agent) Vote(log *Log, known approval.Facts) (on chat.MessageRef, v memory.Vote, lapsed []memory.Vote, ok bool) {
	r, ask, ok := approval.NextVote(log.Thread, known)
	if !ok || len(ask.People)+len(ask.Among) > 0 {
		return on, v, nil, false
	}
	v = approval.Vote(log.Thread, r, known)
	return r.On, v, approval.Lapsed(log.Thread, v, r.At, known), true
}

// changing judges the next change that a person asked for.
func (d *decision) changing() do.Action {
	if len(d.thread.Approvals.Proposals) == 0 {
		return nil
	}
	p := d.thread.Approvals.Proposals[0]
	if act := d.previewChange(p); act != nil {
		return act
	}
	rules := slices.DeleteFunc(slices.Clone(p.Call.ApproversAt(d.thread.Now)), func(rule string) bool { return !policy.IsGroup(rule) })
	if !p.Call.Pending() || p.By.Bot {
		rules = nil
	}
	act := do.Change{Seq: p.Seq, By: p.By, Rules: rules}
	if p.Form {
		act.On = p.Call.Card.Ref
	}
	return act
}

// Changed judges a change. In doubt it is refused.
func (a *Agent) Changed(log *Log, act do.Change, member approval.Member) (b memory.Changed, ok bool) {
	proposals := log.Thread.Approvals.Proposals
	i := slices.IndexFunc(proposals, func(p thread.Proposal) bool { return p.Seq == act.Seq })
	if i < 0 {
		return memory.Changed{}, false
	}
	return a.on(log).approval().Changed(proposals[i], member), true
}

// Card is the approval of a call as people see it; ok is false where there is none.
func (a *Agent) Card(entries []memory.Entry, id string) (v chat.Approval, ok bool) {
	s := thread.Read(entries)
	c := s.Calls[id]
	if c == nil || c.Asked == nil {
		return v, false
	}
	d := a.on(&Log{Thread: s})
	return *view.Card(d.taint(), c).Approval, true
}

// Refuses says why a change from a form is refused, as far as the log tells; "" where it
// may be taken. Memberships are looked up later.
func (a *Agent) Refuses(entries []memory.Entry, b memory.Change) string {
	s := thread.Read(entries)
	c := s.Calls[b.Call]
	if c == nil || c.Asked == nil {
		return "this approval is over"
	}
	p := thread.Proposal{Call: c, By: b.By, Args: b.Args, Form: true, Was: b.Digest}
	return a.on(&Log{Thread: s}).approval().Refuses(p, func(string) (bool, error) { return true, nil })
}
