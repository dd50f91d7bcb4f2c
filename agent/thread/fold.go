package thread

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// takeCut takes over what a cut says. Artifacts of turns that it leaves out are
// now those that it names.
func (s *Thread) takeCut(b memory.Trimmed) {
	s.Trim, s.Recalled = b, b.Recalled
	if b.Before > 0 && b.Before <= s.Last {
		s.Kept = int(s.Last - b.Before + 1)
	}
	for _, who := range b.People {
		s.Folk.People[who] = true
	}
	for _, who := range b.Callers {
		if !slices.Contains(s.Folk.Callers, who) {
			s.Folk.Callers = append(s.Folk.Callers, who)
		}
	}
	s.takeCarried(b.Grants)
	s.Folk.Muted, s.Approvals.Asks = s.Folk.Muted || b.Muted, max(s.Approvals.Asks, b.Asks)
	if b.Heard.After(s.Span.Last) {
		s.Span.Last = b.Heard
	}
	if b.Horizon.After(s.Span.Horizon) {
		s.Span.Horizon = b.Horizon
	}
	var all []*Artifact
	for _, f := range b.Files {
		all = append(all, &Artifact{File: f, From: "earlier"})
	}
	for _, a := range s.Artifacts {
		if a.seq >= b.Before {
			all = append(all, a)
		}
	}
	s.Artifacts, s.Folk.Off = all, map[string]bool{}
	for _, name := range b.Off {
		s.Folk.Off[name] = true
	}
}

// takeBelongs takes what the platform said of somebody.
func (s *Thread) takeBelongs(at time.Time, b memory.Belongs) {
	if c := s.Calls[b.Call]; c != nil {
		c.Use.Givers, c.Use.Identified = known(c.Use.Givers, b), at
	} else if t := s.Turn(b.Turn); t != nil && b.Call == "" {
		t.Belongs = known(t.Belongs, b)
	} else if i := slices.IndexFunc(s.Inbox.Commands, func(c *Command) bool { return c.Seq == b.Turn }); i >= 0 {
		s.Inbox.Commands[i].Is = b
	}
}

func known(m map[chat.UserID]memory.Belongs, b memory.Belongs) map[chat.UserID]memory.Belongs {
	if m == nil {
		m = map[chat.UserID]memory.Belongs{}
	}
	m[b.Who] = b
	return m
}

func (s *Thread) Add(e memory.Entry) {
	s.Last, s.Now = e.Seq, e.At
	s.Kept++
	switch b := e.Body.(type) {
	case memory.Broken:
		s.noteTrouble(e.Seq)
	case memory.Unknown:
		if !b.Skip {
			s.noteTrouble(e.Seq) // this build does not know the kind
		}
	case memory.Message:
		s.takeMessage(e, b)
	case memory.Edited:
		if m := s.unread(b.Ref); m != nil {
			m.takeEdit(edit{seq: e.Seq, text: b.Text})
		}
	case memory.Deleted:
		if m := s.unread(b.Ref); m != nil {
			m.takeEdit(edit{seq: e.Seq, text: m.Text, deleted: true})
		}
	case memory.Reaction:
		s.takeReaction(e, b)
	case memory.Feedback:
		s.takeFeedback(b)
	case memory.Halt:
		if s.Folk.People[b.By.ID] {
			s.Inbox.Halts = append(s.Inbox.Halts, Halt{b.By, e.Seq})
		}
	case memory.Reason:
		if c := s.Calls[b.Call]; c != nil {
			c.Votes.Reasons = append(c.Votes.Reasons, b)
		}
	case memory.Change:
		s.takeProposal(e.Seq, b)
	case memory.Order:
		s.takeOrder(e, b)
	case memory.Trimmed:
		s.takeCut(b)
	case memory.Forgot:
		s.forgetThread(e.Seq, b)
	case memory.Posted:
		s.takePosted(e.Seq, b)
	case memory.Seen:
		s.markSeen(b)
	case memory.Question:
		s.takeQuestion(e, b)
	case memory.Answered:
		s.takeAnswer(b)
	default:
		s.addTurn(e)
	}
	s.judgeEarly()
	s.noteActivity(e)
}

// noteActivity notes activity; a deadline or a reaction that means nothing is none.
func (s *Thread) noteActivity(e memory.Entry) {
	switch e.Body.(type) {
	case memory.Due, memory.Unknown, memory.Seen, memory.Trimmed, memory.Lost, memory.Belongs:
		return
	}
	if len(s.Inbox.Waiting) == 0 || s.Open != nil {
		s.Active = e.At
	}
}

func (s *Thread) addTurn(e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Opened:
		s.openTurn(e, b)
	case memory.Step:
		s.takeStep(e, b)
	case memory.Ran:
		s.takeRan(e, b)
	case memory.Stopped:
		if t := s.Turn(b.Turn); t != nil {
			t.Stopped, t.Over = &b, e.At
			s.unqueue(t, b.Seen)
		}
	case memory.Failed:
		if t := s.Turn(b.Turn); t != nil {
			t.Failed, t.Over = &b, e.At
		}
	case memory.Ended:
		s.endTurn(b)
	default:
		s.addCall(e)
	}
}

func (s *Thread) addCall(e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Asked:
		s.takeAsked(e, b)
	case memory.Belongs:
		s.takeBelongs(e.At, b)
	case memory.Granted:
		s.takeGrant(e.At, b)
	case memory.Used:
		s.useGrant(e, b)
	case memory.Revoked:
		s.Approvals.Revokes = slices.DeleteFunc(s.Approvals.Revokes, func(r memory.Revoked) bool { return r.Grant == b.Grant })
		if g := s.Grant(b.Grant); g != nil {
			g.over = true
		}
	case memory.Vote:
		if b.Grant != nil {
			s.Approvals.Allows[b.Reaction] = b
		}
		s.noteCard(b)
		s.Inbox.Reacts = slices.DeleteFunc(s.Inbox.Reacts, func(r Reaction) bool { return r.Seq == b.Reaction })
		if c := s.Calls[b.Call]; c != nil && b.Counts {
			c.Votes.Given = append(c.Votes.Given, b)
			c.Votes.Button = c.Votes.Button || b.Button && b.Verdict == memory.Deny
		}
	case memory.Changed:
		s.takeChanged(b)
	case memory.Previewed:
		s.takePreviewed(e, b)
	case memory.Decided:
		if c := s.Calls[b.Call]; c != nil && c.Decided == nil {
			c.Decided, c.Votes.Ended = &b, e.At
		}
	case memory.Started:
		if c := s.Calls[b.Call]; c != nil {
			c.Started, c.Run.By, c.Run.Within = true, b.By, b.Within
		}
	case memory.Result:
		s.takeResult(e, b)
	default:
		s.takeStroke(e)
	}
}

// takeResult takes what came of a call. The first outcome is the outcome, but what
// really came of a call corrects that nobody knew.
func (s *Thread) takeResult(e memory.Entry, b memory.Result) {
	c := s.Calls[b.Call]
	switch {
	case c == nil:
		if b.State != chat.CallUnknown {
			s.Corrections = append(s.Corrections, &Correction{b, e.Seq})
		}
	case c.Result == nil:
		b.Artifacts = s.adopt(b.Artifacts, Artifact{seq: e.Seq, From: b.Tool, Outside: b.Origin == Outside})
		c.Result, c.Run.Over, c.Run.Heard = &b, e.At, e.Seq
	case c.Result.State == chat.CallUnknown && c.Run.Late == nil && b.State != chat.CallUnknown:
		b.Artifacts = s.adopt(b.Artifacts, Artifact{seq: e.Seq, From: b.Tool, Outside: b.Origin == Outside})
		c.Run.Late = &b
		s.Corrections = append(s.Corrections, &Correction{b, e.Seq})
	}
}

// Running lists the calls that were begun and have no result yet.
func (s *Thread) Running() []*Call {
	if s.Open == nil {
		return nil
	}
	var out []*Call
	for _, st := range s.Open.Steps {
		for _, c := range st.Calls {
			if c.Started && c.Result == nil {
				out = append(out, c)
			}
		}
	}
	return out
}

func (s *Thread) noteTrouble(seq uint64) {
	if s.Broken == nil {
		s.Broken = &Trouble{seq}
	}
}

func (s *Thread) openTurn(e memory.Entry, b memory.Opened) {
	t := &Turn{ID: b.Turn, Name: b.Name, Requester: b.Requester, At: e.At, Strategy: b.Strategy}
	t.try(b)
	s.Inbox.Reacts = slices.DeleteFunc(slices.Clone(s.Inbox.Reacts), func(r Reaction) bool { return r.Seq == b.Turn })
	t.Msgs, s.Inbox.Asides = slices.Clone(s.Inbox.Asides), nil
	var rest []*Message
	for i, m := range s.Inbox.Waiting {
		if m.Seq >= b.Turn {
			n := i + together(s.Inbox.Waiting[i:])
			t.Msgs, rest = append(t.Msgs, s.Inbox.Waiting[i:n]...), s.Inbox.Waiting[n:]
			break
		}
	}
	slices.SortStableFunc(t.Msgs, func(a, b *Message) int { return cmp.Compare(a.Seq, b.Seq) })
	s.resumeTurn(t, b.From)
	s.Inbox.Waiting, s.Open = slices.Clone(rest), t
	s.Turns = append(s.Turns, t)
}

func (s *Thread) Turn(id uint64) *Turn {
	for _, t := range s.Turns {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// takeStep takes a step of the running turn. One that came too late, of a process
// that was replaced, says nothing.
func (s *Thread) takeStep(e memory.Entry, b memory.Step) {
	if s.Open == nil || s.Open.ID != b.Turn || b.N != len(s.Open.Steps)+1 {
		return
	}
	st := &Step{Step: b, Seq: e.Seq}
	for _, c := range b.Calls {
		k := &Call{Call: c, Turn: s.Open, Step: st}
		st.Calls = append(st.Calls, k)
		s.Calls[c.ID] = k
	}
	s.Open.Steps = append(s.Open.Steps, st)
	for _, m := range s.Open.Msgs {
		if m.Seq <= b.Seen {
			m.freeze(b.Seen)
		}
	}
}

// endTurn closes the turn. Messages that came after its last model call were
// not answered, and wait for the next turn.
func (s *Thread) endTurn(b memory.Ended) {
	t := s.Turn(b.Turn)
	switch {
	case t == nil:
		// It was left out of the log, though not the end of it: something was said
		// meanwhile that opened the next one. What came of its calls corrects nothing.
		of := strconv.FormatUint(b.Turn, 10) + "-"
		s.Corrections = slices.DeleteFunc(s.Corrections, func(c *Correction) bool { return strings.HasPrefix(c.Call, of) })
		return
	case t.Ended:
		return
	}
	t.Ended = true
	if s.Unfolded(t) {
		s.Folding = append(s.Folding, t)
	}
	if s.Open != t {
		return
	}
	s.Open = nil
	s.Inbox.Reacts = slices.DeleteFunc(s.Inbox.Reacts, func(r Reaction) bool { return s.Posts.Cards[r.On] == nil && r.Emoji != chat.EmojiRetry })
	seen := t.DoneWith()
	for i, m := range t.Msgs {
		if m.Seq > seen {
			s.requeue(t.Msgs[i:])
			t.Msgs = t.Msgs[:i:i]
			return
		}
	}
}

func (s *Thread) takePosted(seq uint64, b memory.Posted) {
	name := memory.PostName(b.Key)
	s.Posts.Refs[name] = b.Ref
	if b.Refused != "" && !strings.HasPrefix(name, "copy/") { // what can't be shown elsewhere is said once for all
		s.Posts.Refused = append(s.Posts.Refused, Refusal{name, b.Refused, seq, s.Now})
	}
	s.takeRedrawn(seq, name, b.Unshown)
	s.Folding = slices.DeleteFunc(s.Folding, func(t *Turn) bool { return t.FoldName() == name })
	s.takeCopy(seq, b)
	s.takeQuestionPosted(seq, name, b)
	if call, ok := memory.Asks(b.Key); ok {
		if c := s.Calls[call]; c != nil {
			c.Card.Ref, c.Card.In, c.Card.Stood = b.Ref, seq, b.Stood
			s.Posts.Cards[b.Ref] = c
		}
	}
}

// forgetThread makes the state that of a thread in which nothing was said before.
func (s *Thread) forgetThread(seq uint64, b memory.Forgot) {
	kept := *s
	*s = *Read(nil)
	s.Last, s.Now, s.Active, s.Span.Last = kept.Last, kept.Now, kept.Active, kept.Span.Last
	s.Span.Horizon = b.Horizon
	if kept.Span.Horizon.After(s.Span.Horizon) {
		s.Span.Horizon = kept.Span.Horizon
	}
	s.Approvals.Asks, s.Folk.Muted = kept.Approvals.Asks, kept.Folk.Muted
	s.Inbox.Forgot = append(s.Inbox.Forgot, Forgotten{b, seq})
	older := func(m *Message) bool { return m.Seq < b.Before || s.beyond(m.Sent) }
	s.Inbox.Waiting = slices.DeleteFunc(append(kept.Inbox.Waiting, kept.Inbox.Early...), older) // of no card any more
	slices.SortStableFunc(s.Inbox.Waiting, func(a, b *Message) int { return cmp.Compare(a.Seq, b.Seq) })
	s.Inbox.Commands = slices.DeleteFunc(kept.Inbox.Commands, func(c *Command) bool { return older(&c.Message) })
	for _, m := range s.Inbox.Waiting {
		s.Folk.People[m.From.ID] = true
		s.Folk.Callers = append(s.Folk.Callers, m.From.ID)
	}
	for _, c := range s.Inbox.Commands { // words that came after, and what was said to them
		if ref, ok := kept.Posts.Refs[c.Notice()]; ok {
			s.Posts.Refs[c.Notice()] = ref
		}
		if c.Word == "tools off" || c.Word == "tools on" {
			s.switchTool(c.Word, c.Arg)
		}
	}
}

// beyond says whether a message was sent before the thread was last forgotten,
// whenever it came: it is nobody's message any more.
func (s *Thread) beyond(sent time.Time) bool { return !sent.IsZero() && sent.Before(s.Span.Horizon) }

// Has says whether the post with this name was made, or never will be.
func (s *Thread) Has(name string) bool { _, ok := s.Posts.Refs[name]; return ok }

// Unfolded says whether the steps of a turn stand there as if it ran.
func (s *Thread) Unfolded(t *Turn) bool {
	return !s.Posts.Refs[t.StepsName()].IsZero() && !s.Has(t.FoldName())
}

// takeThumb takes a reaction for what it says of an answer, or no longer says.
func (s *Thread) takeThumb(r memory.Reaction) {
	if r.By.Bot || r.Emoji != chat.EmojiGood && r.Emoji != chat.EmojiBad {
		return
	}
	t := s.AnsweredBy(r.On)
	switch good := r.Emoji == chat.EmojiGood; {
	case t == nil:
	case r.Removed:
		t.Opinions = slices.DeleteFunc(t.Opinions, func(o Opinion) bool {
			return o.By.ID == r.By.ID && o.Good == good && o.Text == ""
		})
	default:
		t.takeOpinion(Opinion{By: r.By, Good: good, On: r.On})
	}
}

// takeFeedback takes what somebody said of an answer by a button, or in the form.
func (s *Thread) takeFeedback(b memory.Feedback) {
	if t := s.AnsweredBy(b.On); t != nil && !b.By.Bot {
		t.takeOpinion(Opinion{By: b.By, Good: b.Good, Text: b.Text, On: b.On, Asked: true})
	}
}

// AnsweredBy finds the turn of which a message is the answer.
func (s *Thread) AnsweredBy(ref chat.MessageRef) *Turn {
	if ref.IsZero() {
		return nil
	}
	for _, t := range slices.Backward(s.Turns) {
		if s.Posts.Refs[t.AnswerName()] == ref {
			return t
		}
	}
	return nil
}

// Shown lists the turns that a cut leaves.
func (s *Thread) Shown(cut memory.Trimmed) []*Turn {
	return slices.DeleteFunc(slices.Clone(s.Turns), func(t *Turn) bool {
		return t.ID < cut.Before && t != s.Open
	})
}
