package thread

import (
	"slices"
	"strconv"
	"strings"

	"nod/chat"
	"nod/memory"
)

// Add adds the next entry of the log.
func (s *Thread) Add(e memory.Entry) {
	if s.Last == 0 {
		s.base = e.Seq
	}
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
		s.takeEdit(b.Ref, edit{seq: e.Seq, text: b.Text})
	case memory.Deleted:
		s.takeEdit(b.Ref, edit{seq: e.Seq, deleted: true})
	case memory.Reaction:
		s.takeReaction(e, b)
	case memory.Feedback:
		s.takeFeedback(b)
	case memory.Halt:
		if s.Folk.People[b.By.ID] {
			s.Inbox.Halts = append(s.Inbox.Halts, Halt{b.By, e.Seq})
		}
	case memory.Erased:
		if b.By.ID != "" {
			s.Inbox.Halts = append(s.Inbox.Halts, Halt{b.By, e.Seq})
		}
	case memory.Left:
		for _, c := range s.PendingCalls() {
			c.Ask.Deserted = true
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
	case memory.Scheduled:
		s.takeScheduled(e, b)
	case memory.Slot:
		s.takeSlot(e, b)
	case memory.Unscheduled:
		s.takeUnscheduled(e.Seq, b)
	case memory.Remembered:
		s.Became[b.Message] = b
	case memory.Recalled:
		s.takeRecalled(b)
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
		s.keepGrant(memory.Carried{Granted: b, Until: e.At.Add(b.For)})
	case memory.Used:
		s.useGrant(e, b)
	case memory.Revoked:
		s.Approvals.Revokes = slices.DeleteFunc(s.Approvals.Revokes, func(r memory.Revoked) bool { return r.Grant == b.Grant })
		if g := s.Grant(b.Grant); g != nil {
			g.over = true
		}
	case memory.Vote:
		if b.Grant != nil {
			s.Became[b.Reaction] = b
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
			c.Started, c.Run.By, c.Run.Within, c.Run.Handle = true, b.By, b.Within, nil
		}
	case memory.Held:
		s.takeHeld(e, b)
	case memory.Result:
		s.takeResult(e, b)
	case memory.Lost:
		s.takeLost(e.Seq, b)
	case memory.Restored:
		s.Older.Told = append(s.Older.Told, Restoring{b, e.Seq})
	default:
		s.takeStroke(e)
	}
}

// noteActivity notes when the thread was last active. Deadlines, trims and look-ups are no
// activity.
func (s *Thread) noteActivity(e memory.Entry) {
	switch e.Body.(type) {
	case memory.Due, memory.Unknown, memory.Seen, memory.Trimmed, memory.Lost, memory.Restored, memory.Belongs, memory.Slot, memory.Unscheduled, memory.Recalled:
		return
	}
	if len(s.Inbox.Waiting) == 0 || s.Open != nil {
		s.Active = e.At
	}
}

func (s *Thread) noteTrouble(seq uint64) {
	if s.Broken == nil {
		s.Broken = &Trouble{seq}
	}
}

// openTurn opens a turn with the messages that wait.
func (s *Thread) openTurn(e memory.Entry, b memory.Opened) {
	t := &Turn{ID: b.Turn, Name: b.Name, Requester: b.Requester, At: e.At, Strategy: b.Strategy, Facts: s.Facts}
	t.before = s.Turn(b.Again)
	t.Again, t.Voices, t.To, t.Tries = b.Again, b.Voices, b.To, max(b.Try-1, 0)
	s.Inbox.Reacts = slices.DeleteFunc(slices.Clone(s.Inbox.Reacts), func(r Reaction) bool { return r.Seq == b.Turn })
	t.Msgs, s.Inbox.Asides = slices.Clone(s.Inbox.Asides), nil
	rest := s.Inbox.Waiting
	if b.Turn >= s.base { // else a trim left its messages out, and those that wait are of later turns
		for len(rest) > 0 && rest[0].Seq < b.Turn {
			rest = rest[1:]
		}
		n := together(rest)
		t.Msgs, rest = append(t.Msgs, rest[:n]...), rest[n:]
	}
	inOrder(t.Msgs)
	if n := len(t.Msgs); n > 0 && t.Msgs[n-1].Slot != nil {
		t.Slot = &Occasion{*t.Msgs[n-1].Slot, s.strangersSince(t.Msgs[n-1].Slot)}
	}
	if b.Requester.Bot {
		s.Folk.Bots++
	}
	s.resumeTurn(t, b.From)
	s.Inbox.Waiting, s.Open = slices.Clone(rest), t
	s.Turns = append(s.Turns, t)
}

// takeStep takes a step of the open turn. A step of a process that was replaced comes too
// late, and is ignored.
func (s *Thread) takeStep(e memory.Entry, b memory.Step) {
	if s.Open == nil || s.Open.ID != b.Turn || b.N != len(s.Open.Steps)+1 {
		return
	}
	st := &Step{Step: b, Seq: e.Seq, At: e.At}
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

// takeResult takes the result of a call. The first outcome stands; only a real one that
// comes after "outcome unknown" corrects it.
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

// endTurn closes the turn. Messages that came after its last model call wait for the next
// turn.
func (s *Thread) endTurn(b memory.Ended) {
	t := s.Turn(b.Turn)
	switch {
	case t == nil:
		// The log holds the end of the turn, but not the turn: a trim left it out.
		// Results of its calls correct nothing.
		of := strconv.FormatUint(b.Turn, 10) + "-"
		s.Corrections = slices.DeleteFunc(s.Corrections, func(c *Correction) bool { return strings.HasPrefix(c.Call, of) })
		return
	case t.Ended:
		return
	}
	t.Ended, s.Folk.Worked = true, s.Now
	s.judgeSlot(t)
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

// takePosted notes where a post stands, or that the platform refused it.
func (s *Thread) takePosted(seq uint64, b memory.Posted) {
	name := memory.PostName(b.Key)
	s.Posts.Refs[name] = b.Ref
	if b.Refused != "" && !strings.HasPrefix(name, "copy/") { // such refusals are said together
		s.Posts.Refused = append(s.Posts.Refused, Refusal{name, b.Refused, seq, s.Now})
	}
	s.takeRedrawn(seq, name, b.Unshown)
	s.Folding = slices.DeleteFunc(s.Folding, func(t *Turn) bool { return t.FoldName() == name })
	s.Folk.Lines = slices.DeleteFunc(s.Folk.Lines, func(l Line) bool { return l.Name() == name })
	s.takeCopy(seq, b)
	s.takeQuestionPosted(seq, name, b)
	if call, ok := memory.Asks(b.Key); ok {
		if c := s.Calls[call]; c != nil {
			c.Card.Ref, c.Card.In, c.Card.Stood = b.Ref, seq, b.Stood
			s.Posts.Cards[b.Ref] = c
		}
	}
}
