package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// StepsPost is the steps message of the running turn, as it stands; ok is
// false when there is none to show, since no tool was called yet. posted is
// where it stands on the platform, zero while it does not.
func (a *Agent) StepsPost(log *Log) (p chat.Post, posted chat.MessageRef, look, ok bool) {
	s := log.state
	t := s.Open
	if t == nil || !t.Acts() {
		return chat.Post{}, chat.MessageRef{}, false, false
	}
	steps := viewSteps(s, t, a.Prices)
	name := t.StepsName()
	return chat.Post{Key: name, ReplyTo: t.ReplyTo(), Steps: &steps}, s.Posts.Refs[name], t.ID < log.claim.Since, !s.Has(name) || !s.Posts.Refs[name].IsZero()
}

// viewSteps is the view of a turn.
func viewSteps(s *thread.Thread, t *thread.Turn, prices *Prices) chat.Steps {
	v := chat.Steps{Turn: t.Name, Version: s.Last, Done: t.Ended}
	for _, st := range t.Steps {
		v.Tokens.Prompt += st.Usage.Prompt
		v.Tokens.Cached += st.Usage.Cached
		v.Tokens.Completion += st.Usage.Completion
		v.Cost += prices.Cost(st.Usage)
		v.Took += st.Took
		thought := shownThought(t, st)
		if len(st.Calls) == 0 && thought == "" {
			continue
		}
		item := chat.Step{Thought: thought}
		for _, c := range st.Calls {
			one := viewCall(c)
			one.Inquirer = s.Inquirer(c)
			item.Calls = append(item.Calls, one)
			if c.Result != nil {
				v.Took += c.Result.Took
			}
		}
		v.Items = append(v.Items, item)
	}
	v.Status = viewStatus(s, t)
	return v
}

func viewCall(c *thread.Call) chat.ToolCall {
	v := chat.ToolCall{ID: c.ID, Tool: c.Tool, Args: c.Args, State: chat.CallPlanned}
	switch {
	case c.Result != nil:
		v.State, v.Observation, v.Took = c.Result.State, c.Result.Text, c.Result.Took
	case c.Pending():
		v.State = chat.CallAsking
	case c.TurnedDown():
		v.State = chat.CallDenied
	default:
		v.State = chat.CallRunning
	}
	return v
}

// viewStatus is the current step in a few words.
func viewStatus(s *thread.Thread, t *thread.Turn) string {
	switch {
	case t.Stopped != nil:
		return "Stopped"
	case t.Failed != nil:
		return "Failed"
	case t.Answered(s):
		return "Done"
	}
	last := t.LastStep()
	if last == nil {
		return thinkingStatus(s, t)
	}
	var running, asking, now []string
	for _, c := range last.Calls {
		switch {
		case c.Result != nil, c.TurnedDown():
		case c.Pending():
			asking = append(asking, c.Tool)
		case s.Inquirer(c) != "":
			now = append(now, "Waiting for an answer to "+s.Inquirer(c))
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
		return thinkingStatus(s, t)
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

// viewApproval is the view of a call's approval.
func viewApproval(s *thread.Thread, c *thread.Call) chat.Approval {
	r := c.Asked.Rules
	v := chat.Approval{
		Call: c.ID, Tool: c.Tool, Args: c.Shown(), Digest: c.Asked.Digest,
		Requester: c.Asked.Requester, Approvers: c.MayNow(), Quorum: r.Quorum,
		Approve: r.Approve, Deny: r.Deny, Deadline: c.Deadline(), Why: c.Asked.Why, Marks: c.Asked.Marks,
	}
	v.Quiet = r.Quiet
	if c.Clocks.Escalated.Seq > 0 {
		v.Unheeded = r.Escalate.After
	}
	if r.ExcludeRequester {
		for _, m := range c.Turn.Msgs {
			exclude(&v, m.From.ID)
		}
		for _, u := range c.Turn.Voices {
			exclude(&v, u.ID)
		}
		exclude(&v, c.Asked.Shown...)
	}
	if v.Editors = c.Editors(); len(v.Editors) > 0 {
		v.Was = string(args.Canonical(json.RawMessage(c.Wrote())))
		if r.ExcludeRequester {
			for _, u := range v.Editors {
				exclude(&v, u.ID)
			}
		}
	}
	v.Number = c.Asked.Number
	if c.Decided != nil {
		v.Outcome, v.By = c.Decided.Outcome, c.Decided.By
		if c.Decided.Reason != "" {
			v.Why = c.Decided.Reason
		}
		if r := c.Reason(); r != nil {
			v.Reason = r.Text
		}
	}
	v.Headline, v.Preview = headline(c), viewPreview(c)
	return v
}

// headline is the first line of a card.
func headline(c *thread.Call) string {
	if c.Decided == nil {
		return fmt.Sprintf("Approval %d: %s", c.Asked.Number, c.Tool)
	}
	text := string(c.Decided.Outcome)
	if c.Ask.Lax {
		if by := chat.Names(c.Decided.By); by != "" {
			text += " by " + by
		}
		return fmt.Sprintf("%s · the rules became stricter, asked again as approval %d", text, c.Ask.Redone)
	}
	if c.Decided.Outcome != chat.Approved && c.Decided.Outcome != chat.Denied {
		return text
	}
	if len(c.Decided.By) > 0 {
		text += " by " + chat.Names(c.Decided.By)
	}
	if c.Preview.Outdated {
		return fmt.Sprintf("%s · the preview changed, asked again as approval %d", text, c.Ask.Redone)
	}
	if c.Ask.Redone > 0 {
		return fmt.Sprintf("%s · not begun for %s, asked again as approval %d", text, long(c.Asked.Rules.RunWithin), c.Ask.Redone)
	}
	if c.Decided.Outcome == chat.Approved {
		return text + " · " + fate(c)
	}
	if r := c.Reason(); r != nil && r.Text != "" {
		text += ": " + r.Text
	}
	return text
}

// fate is what came of an approved call, in a few words.
func fate(c *thread.Call) string {
	r := c.Result
	if c.Run.Late != nil {
		r = c.Run.Late
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
	s := thread.Read(entries)
	for _, t := range slices.Backward(s.Turns) {
		if turn == t.Name || turn == "" && t.Acts() {
			v := viewSteps(s, t, nil)
			offerAgain(s, v.Items)
			return v, true
		}
	}
	return chat.Steps{}, false
}

// Standing says what an adapter has to know of a thread, with what lies in its inbox
// and was read by nobody yet. It can be asked again and again while the log grows,
// and costs what is new.
func (l *Log) Standing(inbox ...memory.Entry) chat.Standing {
	return stand(viewStanding(l.state), inbox, l.state.Own)
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
			st.Muted = st.Muted || thread.Mutes(b) && own(b.On)
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
	st.First = thread.Earlier(st.First, m.Sent)
	if m.Aside {
		return
	}
	st.Running = true
	st.Callers = append(st.Callers, m.From.ID)
	if word, _, ok := thread.ParseCommand(m.Text); ok && (word == "mute" || word == "unmute") {
		st.Muted = word == "mute"
	}
}

func viewStanding(s *thread.Thread) chat.Standing {
	return chat.Standing{
		Known: len(s.Folk.People) > 0 || len(s.Turns) > 0 || s.Trim.Before > 0, Running: s.Open != nil || len(s.Inbox.Waiting) > 0,
		Horizon: s.Span.Horizon, First: s.Span.First, Last: s.Span.Last, Callers: slices.Clone(s.Folk.Callers), Muted: s.Folk.Muted,
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
	for id, c := range thread.Read(entries).Calls {
		if c.Asked != nil {
			out[id] = AskState{c.Asked.Again, c.Pending()}
		}
	}
	return out
}

// Pending says what counts so far on the approval of a call, on its card in the
// thread and on those in other places.
func Pending(entries []memory.Entry, id string) []chat.Pending {
	c := thread.Read(entries).Calls[id]
	if c == nil || c.Asked == nil {
		return []chat.Pending{{}}
	}
	p := chat.Pending{Approve: c.Asked.Rules.Approve, Deny: c.Asked.Rules.Deny, Votes: len(c.Votes.Given), Call: id, Ref: c.Card.Ref}
	out := append([]chat.Pending{p}, pendingElsewhere(c, p)...)
	for i := range out {
		out[i].More = i < len(out)-1
	}
	for _, v := range c.Standing() {
		for i := range out {
			if k := c.Votes.On[v.Reaction]; k == out[i].Ref || i == 0 && c.CopyOn(k) == nil {
				out[i].Approved = append(out[i].Approved, chat.Reaction{On: out[i].Ref, By: v.By, Emoji: v.Emoji})
				break
			}
		}
	}
	return out
}

// History lists what a thread has shown so far, for a screen that starts
// empty: what people wrote, the answers, the folded steps, the approvals.
func History(entries []memory.Entry) []chat.Line { return viewHistory(thread.Read(entries)) }

// History is [History] of a log that is read already.
func (l *Log) History() []chat.Line { return viewHistory(l.state) }

func viewHistory(s *thread.Thread) []chat.Line {
	var out []chat.Line
	for _, t := range s.Turns {
		out = append(out, viewLines(s, t)...)
	}
	for _, m := range s.Inbox.Waiting {
		if m.Form != nil {
			continue
		}
		out = append(out, chat.Line{At: m.At, Message: &m.Message, Ref: m.Ref})
	}
	return out
}

func viewLines(s *thread.Thread, t *thread.Turn) []chat.Line {
	var out []chat.Line
	for _, m := range t.Live() {
		if m.Form == nil {
			out = append(out, chat.Line{At: m.At, Message: &m.Message, Ref: m.Ref})
		}
	}
	if t.Acts() {
		steps := viewSteps(s, t, nil)
		out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: t.StepsName(), Steps: &steps}, Ref: s.Posts.Refs[t.StepsName()]})
	}
	for _, st := range t.Steps {
		for _, c := range st.Calls {
			if c.Asked != nil && !c.Card.Ref.IsZero() {
				card := viewCard(s, c)
				out = append(out, chat.Line{At: c.Ask.At, Post: &card, Ref: c.Card.Ref})
				for _, k := range c.Copies.Cards {
					card := card
					card.Approval = viewElsewhere(s, c, k.Place)
					out = append(out, chat.Line{At: c.Ask.At, Post: &card, Ref: k.Ref, Elsewhere: k.At})
				}
			}
		}
	}
	files, keys := shareable(s, t)
	for i, key := range keys {
		if ref, ok := s.Posts.Refs[key]; ok {
			out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: key, File: &files[i]}, Ref: ref})
		}
	}
	if ref, ok := s.Posts.Refs[t.ReportName()]; ok {
		out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: t.ReportName(), Text: &chat.Text{Markdown: report(t.Steps[0].Calls[0]), Notice: true}}, Ref: ref})
	}
	if ref, ok := s.Posts.Refs[t.AnswerName()]; ok {
		out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: t.AnswerName(), Text: answerText(s, t)}, Ref: ref})
	}
	return out
}
