package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// People may change the arguments of a call that waits for approval. Then the
// card shows what would run now, all votes so far are void, and those that come
// before the card shows it count for nothing either: what runs is what was shown
// to whoever approved it.

// proposal is a request to let a call run with other arguments.
type proposal struct {
	seq  uint64
	call *call
	by   chat.User
	args string
	form bool   // it came from one
	was  string // how the digest of what that form was filled with begins
}

// mostChange is how long a command that holds arguments may be, in bytes.
const mostChange = 64 << 10

// parseChange reads `edit 1 {"service":"web"}`: a command only when a JSON object
// follows, or what was meant to be one.
func parseChange(text string) (number int, object string, ok bool) {
	if len(text) > mostChange {
		return 0, "", false
	}
	text = strings.TrimSpace(text)
	head, _, found := strings.Cut(text, "{")
	if verb := firstWord(head); !found || !strings.EqualFold(verb, "edit") {
		return 0, "", false
	}
	words := strings.Fields(strings.ReplaceAll(head, "```json", "```"))[1:]
	if len(words) > 0 && strings.Trim(words[0], "`") != "" {
		n, err := strconv.Atoi(strings.Trim(words[0], "`"))
		if err != nil || n < 1 {
			return 0, "", false
		}
		number, words = n, words[1:]
	}
	if strings.Trim(strings.Join(words, ""), "`") != "" {
		return 0, "", false
	}
	object = typedObject(text[len(head):])
	return number, object, meantAsObject(object)
}

func isObject(s string) bool {
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// change takes a message that changes a call; ok is false for any other.
func (s *state) change(m *message) (ok bool) {
	number, object, ok := parseChange(m.Text)
	if !ok {
		return false
	}
	c := numbered(s.cardsFor(m), number)
	if c == nil {
		s.commands = append(s.commands, &command{message: *m, word: "which"})
		return true
	}
	s.commands = append(s.commands, &command{message: *m, word: "edit"})
	s.proposals = append(s.proposals, proposal{seq: m.seq, call: c, by: m.From, args: object})
	return true
}

// propose takes a change that came from a form.
func (s *state) propose(seq uint64, b memory.Change) {
	if c := s.calls[b.Call]; c != nil && c.asked != nil {
		s.proposals = append(s.proposals, proposal{seq: seq, call: c, by: b.By, args: b.Args, form: true, was: b.Digest})
	}
}

// changed takes what came of a change.
func (s *state) changed(b memory.Changed) {
	s.proposals = slices.DeleteFunc(s.proposals, func(p proposal) bool { return p.seq == b.Request })
	if s.answers == nil {
		s.answers = map[uint64]memory.Changed{}
	}
	s.answers[b.Request] = b
	c := s.calls[b.Call]
	if c == nil || c.asked == nil || b.Refused != "" {
		return
	}
	asked := *c.asked
	asked.Digest, asked.Marks = b.Digest, b.Marks
	c.asked, c.votes, c.shownIn, c.hidden = &asked, nil, 0, false
	for _, k := range c.copies {
		k.shownIn = 0
	}
	c.was, c.sum, c.tied = append(c.was, c.digest()), "", ""
	c.changes = append(c.changes, b)
	c.Args = b.Args
	c.preview = c.previews[c.digest()]
}

// wrote is what the model wrote, whatever people made of it.
func (c *call) wrote() string {
	for _, k := range c.step.Calls {
		if k.ID == c.ID {
			return k.Args
		}
	}
	return c.Args
}

// editors lists who changed the call.
func (c *call) editors() []chat.User {
	var out []chat.User
	for _, b := range c.changes {
		if !slices.ContainsFunc(out, func(u chat.User) bool { return u.ID == b.By.ID }) {
			out = append(out, b.By)
		}
	}
	return out
}

// stale says whether the card does not show yet what would run now, or may not have
// when a reaction was put on it: of one that was found after a pause on a card that was
// redrawn nobody knows when that was, and the votes of before the change stand there still.
func (c *call) stale(seq uint64, r chat.Reaction) bool {
	stood, in := c.askedIn, c.shownIn
	if k := c.copyOn(r.On); k != nil {
		stood, in = k.in, k.shownIn
	}
	return len(c.changes) > 0 && (in == 0 || seq < in || r.Found && stood < in)
}

// redrawn names the edit by which a card shows the latest change.
func (c *call) redrawn() string {
	return fmt.Sprintf("change/%s/%d", c.ID, len(c.changes))
}

// redrawn notes that a card shows a change, or that the platform did not take it.
func (s *state) redrawn(seq uint64, name string, unshown bool) {
	rest, ok := strings.CutPrefix(name, "change/")
	if !ok {
		return
	}
	id, _, _ := strings.Cut(rest, "/")
	switch c := s.calls[id]; {
	case c == nil:
	case unshown:
		c.hidden = c.hidden || c.redrawn() == name
	default:
		if c.redrawn() == name {
			c.shownIn = seq
		}
		c.copyRedrawn(seq, name)
	}
}

// changing looks at the next change that somebody asked for.
func (d *decision) changing() Action {
	if len(d.s.proposals) == 0 {
		return nil
	}
	p := d.s.proposals[0]
	if act := d.previewingChange(p); act != nil {
		return act
	}
	rules := slices.DeleteFunc(slices.Clone(p.call.approversAt(d.s.now)), func(rule string) bool { return !IsGroup(rule) })
	if !p.call.pending() || p.by.Bot {
		rules = nil
	}
	act := Change{Seq: p.seq, By: p.by, Rules: rules}
	if p.form {
		act.On = p.call.ref
	}
	return act
}

// Changed says what comes of a change. Whatever is in doubt is refused.
func (a *Agent) Changed(log *Log, act Change, member Member) (b memory.Changed, ok bool) {
	s := log.state
	i := slices.IndexFunc(s.proposals, func(p proposal) bool { return p.seq == act.Seq })
	if i < 0 {
		return memory.Changed{}, false
	}
	p := s.proposals[i]
	b = memory.Changed{Request: p.seq, Call: p.call.ID, By: p.by}
	if b.Refused = a.refuses(s, p, member); b.Refused != "" {
		if unfit, plain := a.unfit(p.call, p); unfit == b.Refused {
			b.Plain = plain
		}
		return b, true
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(p.args)); err != nil {
		b.Refused = "these arguments are no JSON object"
		return b, true
	}
	next := *p.call
	next.Args, next.sum, next.tied = compact.String(), "", ""
	next.preview = next.previews[next.digest()]
	if tool, _ := a.tool(next.Tool); next.preview != nil && next.preview.Err != "" && tool.PreviewRequired {
		b.Refused = textNoPreview(next.preview)
		return b, true
	}
	d := decision{a: a, s: s, log: log}
	b.Args, b.Digest, b.Marks = next.Args, d.bound(&next), d.marks(&next)
	return b, true
}

// refuses says why somebody may not change a call so; "" when they may.
func (a *Agent) refuses(s *state, p proposal, member Member) string {
	c := p.call
	v := memory.Vote{By: p.by, Verdict: memory.Approve}
	switch {
	case p.by.Bot:
		return "a bot changes nothing"
	case p.by.Barred != "":
		return p.by.Barred
	case c.decided != nil:
		return "it is already decided: " + string(c.decided.Outcome)
	case !c.pending() || c.turn.ended:
		return "the call is over"
	case !s.now.Before(c.deadline()):
		return "the time to decide is over"
	case args.Digest(c.Tool, json.RawMessage(p.args)) == c.digest():
		return "these are the arguments that it has already"
	case !strings.HasPrefix(c.asked.Digest, p.was):
		return "somebody else has changed it meanwhile; look at the card again"
	}
	if p.by.ID != c.asked.Requester.ID {
		if why := c.ineligible(v, s.now, member); why != "" {
			return why
		}
	}
	unfit, _ := a.unfit(c, p)
	return unfit
}

// unfit says what is wrong with the arguments themselves; plain says it without a word of
// them, where there may be one in it.
func (a *Agent) unfit(c *call, p proposal) (why, plain string) {
	const misfit = "the arguments don't fit the tool's parameters"
	if !isObject(p.args) {
		return "these arguments are no JSON object", ""
	}
	if _, err := args.Native(p.args); err != nil {
		return err.Error(), "the arguments can't be read"
	}
	tool, _ := a.tool(c.Tool)
	if tool.Schema != nil {
		if bad := tool.Schema.Check([]byte(p.args)); len(bad) > 0 {
			return misfit + ": " + strings.Join(bad, "; "), misfit
		}
	}
	if c.asked.Rules.ExcludeRequester && !c.approvable(p.by.ID) {
		return "then nobody could approve it: with this rule whoever changes a call may not", ""
	}
	return "", ""
}

// approvable says whether enough people are left who may approve when one more may
// not. Of groups only the platform knows who is in them.
func (c *call) approvable(without chat.UserID) bool {
	left := map[chat.UserID]bool{}
	for _, rule := range c.asked.Rules.AllApprovers() {
		kind, id, _ := strings.Cut(rule, ":")
		switch who := chat.UserID(id); kind {
		case chat.Requester: // is excluded
		case "user":
			if who != without && !c.excludes(who) {
				left[who] = true
			}
		default:
			return true
		}
	}
	return len(left) >= max(1, c.asked.Rules.Quorum)
}

// replaced says whether a call is one that people made another of in this turn.
func (s *state) replaced(c *call) bool {
	digest := c.digest()
	for _, st := range c.turn.steps {
		for _, k := range st.calls {
			if k != c && slices.Contains(k.was, digest) {
				return true
			}
		}
	}
	return c.turn.replacedBefore(digest)
}

// textChanged tells the model what ran instead of what it had written.
func textChanged(c *call) string {
	if len(c.changes) == 0 {
		return ""
	}
	verb := "what ran is"
	if !c.started {
		verb = "they became"
	}
	return fmt.Sprintf("[%s changed the arguments of this call; %s %s.]\n", chat.Names(c.editors()), verb, c.Args)
}

// changeReply answers whoever asked for a change by word.
func (d *decision) changeReply(c *command) string {
	b, ok := d.s.answers[c.seq]
	switch {
	case !ok:
		return ""
	case b.Refused != "":
		return NotChanged(b.Refused)
	case d.s.calls[b.Call] != nil && d.s.calls[b.Call].hidden:
		return textHidden
	}
	return "Changed. All votes so far are void: the card shows what would run now."
}
