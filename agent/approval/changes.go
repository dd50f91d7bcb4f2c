package approval

import (
	"bytes"
	"encoding/json"
	"strings"

	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// Changed judges a change. In doubt it is refused.
func (k Case) Changed(p thread.Proposal, member Member) (b memory.Changed) {
	b = memory.Changed{Request: p.Seq, Call: p.Call.ID, By: p.By}
	if b.Refused = k.Refuses(p, member); b.Refused != "" {
		if unfit, plain := k.unfitEdit(p.Call, p); unfit == b.Refused {
			b.Plain = plain
		}
		return b
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(p.Args)); err != nil {
		b.Refused = "these arguments are no JSON object"
		return b
	}
	next := p.Call.With(compact.String())
	tool, _ := k.Tools.Find(next.Tool)
	if tool.Preview && next.Preview.Bound == nil {
		if b.Refused = textDoubt; p.Call.Preview.Edits[p.By.ID] >= mostEdited {
			b.Refused = textUnsteady
		}
		return b
	}
	if next.Preview.Bound != nil && next.Preview.Bound.Err != "" && tool.PreviewRequired {
		b.Refused = textNoPreview(next.Preview.Bound)
		return b
	}
	b.Args, b.Digest, b.Marks = next.Args, k.Bound(next), k.Taint.Marks(next)
	return b
}

// Refuses says why a person may not change a call so; "" when they may.
func (k Case) Refuses(p thread.Proposal, member Member) string {
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
	case !k.Thread.Now.Before(c.Deadline()):
		return "the time to decide is over"
	case args.Digest(c.Tool, json.RawMessage(p.Args)) == c.Digest():
		return "these are the arguments that it has already"
	case !strings.HasPrefix(c.Asked.Digest, p.Was):
		return TextChanged
	}
	if p.By.ID != c.Asked.Requester.ID {
		if why := ineligible(c, v, k.Thread.Now, member); why != "" {
			return why
		}
	}
	unfit, _ := k.unfitEdit(c, p)
	return unfit
}

// unfitEdit says what is wrong with the arguments; plain says it without quoting them.
func (k Case) unfitEdit(c *thread.Call, p thread.Proposal) (why, plain string) {
	tool, _ := k.Tools.Find(c.Tool)
	if why, plain = tool.Unfit(p.Args); why != "" {
		return why, plain
	}
	if c.Asked.Rules.ExcludeRequester && !approvable(c, p.By.ID) {
		return "then nobody could approve it: with this rule whoever changes a call may not", ""
	}
	return "", ""
}

// approvable says whether enough people can still approve when one more may not. Only the
// platform knows the members of groups.
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
