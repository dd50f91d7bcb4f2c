package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/speak"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// StepsPost is the steps message of the running turn, as it stands; ok is
// false when there is none to show, since no tool was called yet. posted is
// where it stands on the platform, zero while it does not.
func (a *Agent) StepsPost(log *Log) (p chat.Post, posted chat.MessageRef, look, ok bool) {
	s := log.state
	t := s.open
	if t == nil || !t.acts() {
		return chat.Post{}, chat.MessageRef{}, false, false
	}
	steps := s.steps(t, a.Prices)
	name := t.stepsName()
	return chat.Post{Key: name, ReplyTo: t.replyTo(), Steps: &steps}, s.posted[name], t.id < log.claim.Since, !s.has(name) || !s.posted[name].IsZero()
}

func (t *turn) acts() bool {
	return slices.ContainsFunc(t.steps, func(st *step) bool { return len(st.calls) > 0 && !st.refused() || st.Phase != "" && st.by == nil })
}

// steps is the view of a turn.
func (s *state) steps(t *turn, prices *Prices) chat.Steps {
	v := chat.Steps{Turn: t.name, Version: s.last, Done: t.ended}
	for _, st := range t.steps {
		v.Tokens.Prompt += st.Usage.Prompt
		v.Tokens.Cached += st.Usage.Cached
		v.Tokens.Completion += st.Usage.Completion
		v.Cost += prices.Cost(st.Usage)
		v.Took += st.Took
		thought := t.thought(st)
		if len(st.calls) == 0 && thought == "" {
			continue
		}
		item := chat.Step{Thought: thought}
		for _, c := range st.calls {
			one := c.view()
			one.Inquirer = s.inquirer(c)
			item.Calls = append(item.Calls, one)
			if c.result != nil {
				v.Took += c.result.Took
			}
		}
		v.Items = append(v.Items, item)
	}
	v.Status = s.status(t)
	return v
}

func (c *call) view() chat.ToolCall {
	v := chat.ToolCall{ID: c.ID, Tool: c.Tool, Args: c.Args, State: chat.CallPlanned}
	switch {
	case c.result != nil:
		v.State, v.Observation, v.Took = c.result.State, c.result.Text, c.result.Took
	case c.pending():
		v.State = chat.CallAsking
	case c.turnedDown():
		v.State = chat.CallDenied
	default:
		v.State = chat.CallRunning
	}
	return v
}

// status is the current step in a few words.
func (s *state) status(t *turn) string {
	switch {
	case t.stopped != nil:
		return "Stopped"
	case t.failed != nil:
		return "Failed"
	case t.answered(s):
		return "Done"
	}
	last := t.lastStep()
	if last == nil {
		return s.thinking(t)
	}
	var running, asking, now []string
	for _, c := range last.calls {
		switch {
		case c.result != nil, c.turnedDown():
		case c.pending():
			asking = append(asking, c.Tool)
		case s.inquirer(c) != "":
			now = append(now, "Waiting for an answer to "+s.inquirer(c))
		default:
			running = append(running, c.Tool)
		}
	}
	if len(running) > 0 {
		now = append([]string{"Running " + strings.Join(running, ", ")}, now...)
	}
	if len(asking) > 0 {
		now = append(now, "Waiting for approval of "+strings.Join(asking, ", "))
	}
	if len(now) == 0 {
		return s.thinking(t)
	}
	return strings.Join(now, " · ")
}

// exclude names people who may not approve, each of them once.
func exclude(v *chat.Approval, who ...chat.UserID) {
	for _, id := range who {
		if !slices.Contains(v.Exclude, id) {
			v.Exclude = append(v.Exclude, id)
		}
	}
}

// approval is the view of a call's approval.
func (s *state) approval(c *call) chat.Approval {
	r := c.asked.Rules
	v := chat.Approval{
		Call: c.ID, Tool: c.Tool, Args: c.shown(), Digest: c.asked.Digest,
		Requester: c.asked.Requester, Approvers: c.mayNow(), Quorum: r.Quorum,
		Approve: r.Approve, Deny: r.Deny, Deadline: c.deadline(), Why: c.asked.Why, Marks: c.asked.Marks,
	}
	v.Quiet = r.Quiet
	if c.escalated.seq > 0 {
		v.Unheeded = r.Escalate.After
	}
	if r.ExcludeRequester {
		for _, m := range c.turn.msgs {
			exclude(&v, m.From.ID)
		}
		for _, u := range c.turn.voices {
			exclude(&v, u.ID)
		}
		exclude(&v, c.asked.Shown...)
	}
	if v.Editors = c.editors(); len(v.Editors) > 0 {
		v.Was = string(args.Canonical(json.RawMessage(c.wrote())))
		if r.ExcludeRequester {
			for _, u := range v.Editors {
				exclude(&v, u.ID)
			}
		}
	}
	v.Number = c.asked.Number
	if c.decided != nil {
		v.Outcome, v.By = c.decided.Outcome, c.decided.By
		if c.decided.Reason != "" {
			v.Why = c.decided.Reason
		}
		if r := c.reason(); r != nil {
			v.Reason = r.Text
		}
	}
	v.Headline, v.Preview = c.headline(), c.previewView()
	return v
}

// shown is what people approve: the arguments in the one form in which none is
// written otherwise than it must be. An escape that stands there is a character
// of the value.
func (c *call) shown() string { return string(args.Canonical(json.RawMessage(c.Args))) }

// headline is the first line of a card.
func (c *call) headline() string {
	if c.decided == nil {
		return fmt.Sprintf("Approval %d: %s", c.asked.Number, c.Tool)
	}
	text := string(c.decided.Outcome)
	if c.lax {
		if by := chat.Names(c.decided.By); by != "" {
			text += " by " + by
		}
		return fmt.Sprintf("%s · the rules became stricter, asked again as approval %d", text, c.redone)
	}
	if c.decided.Outcome != chat.Approved && c.decided.Outcome != chat.Denied {
		return text
	}
	if len(c.decided.By) > 0 {
		text += " by " + chat.Names(c.decided.By)
	}
	if c.outdated {
		return fmt.Sprintf("%s · the preview changed, asked again as approval %d", text, c.redone)
	}
	if c.redone > 0 {
		return fmt.Sprintf("%s · not begun for %s, asked again as approval %d", text, long(c.asked.Rules.RunWithin), c.redone)
	}
	if c.decided.Outcome == chat.Approved {
		return text + " · " + c.fate()
	}
	if r := c.reason(); r != nil && r.Text != "" {
		text += ": " + r.Text
	}
	return text
}

// fate is what came of an approved call, in a few words.
func (c *call) fate() string {
	r := c.result
	if c.late != nil {
		r = c.late
	}
	switch {
	case r == nil:
		return "running"
	case r.State == chat.CallDone:
		return "done in " + seconds(r.Took)
	case r.State == chat.CallDenied:
		return speak.Clip(oneLine(firstLine(r.Text)), mostFate)
	case r.State == chat.CallFailed:
		return "failed: " + speak.Clip(oneLine(firstLine(r.Text)), mostFate)
	}
	return string(r.State)
}

// mostFate is how much of a failure a card's first line says, in bytes.
const mostFate = 100

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// seconds is a duration as people say it.
func seconds(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return "0.1 s"
	case d < time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// StepsOf gives the steps of a turn, named as in [chat.Steps]; of the newest
// turn that used tools when it is "".
func StepsOf(entries []memory.Entry, turn string) (chat.Steps, bool) {
	s := fold(entries)
	for _, t := range slices.Backward(s.turns) {
		if turn == t.name || turn == "" && t.acts() {
			v := s.steps(t, nil)
			s.offerAgain(v.Items)
			return v, true
		}
	}
	return chat.Steps{}, false
}

// Standing says what an adapter has to know of a thread, with what lies in its inbox
// and was read by nobody yet. It can be asked again and again while the log grows,
// and costs what is new.
func (l *Log) Standing(inbox ...memory.Entry) chat.Standing {
	return stand(l.state.standing(), inbox, l.state.own)
}

// StillStanding is the standing of a log to which nothing was added, with what lies in
// its inbox. It is false where that can't be told without the log.
func StillStanding(st chat.Standing, inbox ...memory.Entry) (chat.Standing, bool) {
	known := true
	st.Callers = slices.Clone(st.Callers)
	st = stand(st, inbox, func(chat.MessageRef) bool {
		known = false
		return false
	})
	return st, known
}

// stand goes on with a standing. own says whether the bot itself made a message.
func stand(st chat.Standing, inbox []memory.Entry, own func(chat.MessageRef) bool) chat.Standing {
	for _, e := range inbox {
		switch b := e.Body.(type) {
		case memory.Message:
			hear(&st, b.Message)
		case memory.Reaction:
			st.Muted = st.Muted || mutes(b) && own(b.On)
		}
	}
	return st
}

// hear takes a message in that nobody has read yet.
func hear(st *chat.Standing, m chat.Message) {
	st.Known = true
	if m.Sent.After(st.Last) {
		st.Last = m.Sent
	}
	st.First = earlier(st.First, m.Sent)
	if m.Aside {
		return
	}
	st.Running = true
	st.Callers = append(st.Callers, m.From.ID)
	if word, _, ok := parseCommand(m.Text); ok && (word == "mute" || word == "unmute") {
		st.Muted = word == "mute"
	}
}

func (s *state) standing() chat.Standing {
	return chat.Standing{
		Known: len(s.people) > 0 || len(s.turns) > 0 || s.trim.Before > 0, Running: s.open != nil || len(s.waiting) > 0,
		Horizon: s.horizon, First: s.first, Last: s.heard, Callers: slices.Clone(s.callers), Muted: s.muted,
	}
}

// AskState is how often a call was asked for before, and whether it waits for an
// approval.
type AskState struct {
	Again int
	Waits bool
}

// Asks tells of the calls in a log that were asked for.
func Asks(entries []memory.Entry) map[string]AskState {
	out := map[string]AskState{}
	for id, c := range fold(entries).calls {
		if c.asked != nil {
			out[id] = AskState{c.asked.Again, c.pending()}
		}
	}
	return out
}

// Pending says what counts so far on the approval of a call, on its card in the
// thread and on those in other places.
func Pending(entries []memory.Entry, id string) []chat.Pending {
	c := fold(entries).calls[id]
	if c == nil || c.asked == nil {
		return []chat.Pending{{}}
	}
	p := chat.Pending{Approve: c.asked.Rules.Approve, Deny: c.asked.Rules.Deny, Votes: len(c.votes), Call: id, Ref: c.ref}
	out := append([]chat.Pending{p}, c.elsewhere(p)...)
	for i := range out {
		out[i].More = i < len(out)-1
	}
	for _, v := range c.standing() {
		for i := range out {
			if k := c.votedOn[v.Reaction]; k == out[i].Ref || i == 0 && c.copyOn(k) == nil {
				out[i].Approved = append(out[i].Approved, chat.Reaction{On: out[i].Ref, By: v.By, Emoji: v.Emoji})
				break
			}
		}
	}
	return out
}

// History lists what a thread has shown so far, for a screen that starts
// empty: what people wrote, the answers, the folded steps, the approvals.
func History(entries []memory.Entry) []chat.Line { return fold(entries).history() }

// History is [History] of a log that is read already.
func (l *Log) History() []chat.Line { return l.state.history() }

func (s *state) history() []chat.Line {
	var out []chat.Line
	for _, t := range s.turns {
		out = append(out, s.lines(t)...)
	}
	for _, m := range s.waiting {
		if m.form != nil {
			continue
		}
		out = append(out, chat.Line{At: m.at, Message: &m.Message, Ref: m.Ref})
	}
	return out
}

func (s *state) lines(t *turn) []chat.Line {
	var out []chat.Line
	for _, m := range t.live() {
		if m.form == nil {
			out = append(out, chat.Line{At: m.at, Message: &m.Message, Ref: m.Ref})
		}
	}
	if t.acts() {
		steps := s.steps(t, nil)
		out = append(out, chat.Line{At: t.at, Post: &chat.Post{Key: t.stepsName(), Steps: &steps}, Ref: s.posted[t.stepsName()]})
	}
	for _, st := range t.steps {
		for _, c := range st.calls {
			if c.asked != nil && !c.ref.IsZero() {
				card := s.card(c)
				out = append(out, chat.Line{At: c.askedAt, Post: &card, Ref: c.ref})
				for _, k := range c.copies {
					card := card
					card.Approval = s.viewElsewhere(c, k.place)
					out = append(out, chat.Line{At: c.askedAt, Post: &card, Ref: k.ref, Elsewhere: k.at})
				}
			}
		}
	}
	files, keys := s.shareable(t)
	for i, key := range keys {
		if ref, ok := s.posted[key]; ok {
			out = append(out, chat.Line{At: t.at, Post: &chat.Post{Key: key, File: &files[i]}, Ref: ref})
		}
	}
	if ref, ok := s.posted[t.reportName()]; ok {
		out = append(out, chat.Line{At: t.at, Post: &chat.Post{Key: t.reportName(), Text: &chat.Text{Markdown: t.steps[0].calls[0].report(), Notice: true}}, Ref: ref})
	}
	if ref, ok := s.posted[t.answerName()]; ok {
		out = append(out, chat.Line{At: t.at, Post: &chat.Post{Key: t.answerName(), Text: s.answerText(t)}, Ref: ref})
	}
	return out
}
