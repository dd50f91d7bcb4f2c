package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// changing looks at the next change that somebody asked for.
func (d *decision) changing() Action {
	if len(d.s.Approvals.Proposals) == 0 {
		return nil
	}
	p := d.s.Approvals.Proposals[0]
	if act := d.previewingChange(p); act != nil {
		return act
	}
	rules := slices.DeleteFunc(slices.Clone(p.Call.ApproversAt(d.s.Now)), func(rule string) bool { return !IsGroup(rule) })
	if !p.Call.Pending() || p.By.Bot {
		rules = nil
	}
	act := Change{Seq: p.Seq, By: p.By, Rules: rules}
	if p.Form {
		act.On = p.Call.Card.Ref
	}
	return act
}

// Changed says what comes of a change. Whatever is in doubt is refused.
func (a *Agent) Changed(log *Log, act Change, member Member) (b memory.Changed, ok bool) {
	s := log.state
	i := slices.IndexFunc(s.Approvals.Proposals, func(p thread.Proposal) bool { return p.Seq == act.Seq })
	if i < 0 {
		return memory.Changed{}, false
	}
	p := s.Approvals.Proposals[i]
	b = memory.Changed{Request: p.Seq, Call: p.Call.ID, By: p.By}
	if b.Refused = a.refuses(s, p, member); b.Refused != "" {
		if unfit, plain := a.unfit(p.Call, p); unfit == b.Refused {
			b.Plain = plain
		}
		return b, true
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(p.Args)); err != nil {
		b.Refused = "these arguments are no JSON object"
		return b, true
	}
	next := p.Call.With(compact.String())
	if tool, _ := a.tool(next.Tool); next.Preview.Bound != nil && next.Preview.Bound.Err != "" && tool.PreviewRequired {
		b.Refused = textNoPreview(next.Preview.Bound)
		return b, true
	}
	d := decision{a: a, s: s, log: log}
	b.Args, b.Digest, b.Marks = next.Args, d.bound(next), d.marks(next)
	return b, true
}

// refuses says why somebody may not change a call so; "" when they may.
func (a *Agent) refuses(s *thread.Thread, p thread.Proposal, member Member) string {
	c := p.Call
	v := memory.Vote{By: p.By, Verdict: memory.Approve}
	switch {
	case p.By.Bot:
		return "a bot changes nothing"
	case p.By.Barred != "":
		return p.By.Barred
	case c.Decided != nil:
		return "it is already decided: " + string(c.Decided.Outcome)
	case !c.Pending() || c.Turn.Ended:
		return "the call is over"
	case !s.Now.Before(c.Deadline()):
		return "the time to decide is over"
	case args.Digest(c.Tool, json.RawMessage(p.Args)) == c.Digest():
		return "these are the arguments that it has already"
	case !strings.HasPrefix(c.Asked.Digest, p.Was):
		return "somebody else has changed it meanwhile; look at the card again"
	}
	if p.By.ID != c.Asked.Requester.ID {
		if why := ineligible(c, v, s.Now, member); why != "" {
			return why
		}
	}
	unfit, _ := a.unfit(c, p)
	return unfit
}

// unfit says what is wrong with the arguments themselves; plain says it without a word of
// them, where there may be one in it.
func (a *Agent) unfit(c *thread.Call, p thread.Proposal) (why, plain string) {
	const misfit = "the arguments don't fit the tool's parameters"
	if !thread.IsObject(p.Args) {
		return "these arguments are no JSON object", ""
	}
	if _, err := args.Native(p.Args); err != nil {
		return err.Error(), "the arguments can't be read"
	}
	tool, _ := a.tool(c.Tool)
	if tool.Schema != nil {
		if bad := tool.Schema.Check([]byte(p.Args)); len(bad) > 0 {
			return misfit + ": " + strings.Join(bad, "; "), misfit
		}
	}
	if c.Asked.Rules.ExcludeRequester && !approvable(c, p.By.ID) {
		return "then nobody could approve it: with this rule whoever changes a call may not", ""
	}
	return "", ""
}

// approvable says whether enough people are left who may approve when one more may
// not. Of groups only the platform knows who is in them.
func approvable(c *thread.Call, without chat.UserID) bool {
	left := map[chat.UserID]bool{}
	for _, rule := range c.Asked.Rules.AllApprovers() {
		kind, id, _ := strings.Cut(rule, ":")
		switch who := chat.UserID(id); kind {
		case chat.Requester: // is excluded
		case "user":
			if who != without && !excludes(c, who) {
				left[who] = true
			}
		default:
			return true
		}
	}
	return len(left) >= max(1, c.Asked.Rules.Quorum)
}

// textChanged tells the model what ran instead of what it had written.
func textChanged(c *thread.Call) string {
	if len(c.Edits.Made) == 0 {
		return ""
	}
	verb := "what ran is"
	if !c.Started {
		verb = "they became"
	}
	return fmt.Sprintf("[%s changed the arguments of this call; %s %s.]\n", chat.Names(c.Editors()), verb, c.Args)
}

// changeReply answers whoever asked for a change by word.
func (d *decision) changeReply(c *thread.Command) string {
	b, ok := d.s.Approvals.Answers[c.Seq]
	switch {
	case !ok:
		return ""
	case b.Refused != "":
		return NotChanged(b.Refused)
	case d.s.Calls[b.Call] != nil && d.s.Calls[b.Call].Card.Hidden:
		return textHidden
	}
	return "Changed. All votes so far are void: the card shows what would run now."
}
