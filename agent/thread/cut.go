package thread

import (
	"maps"
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

// takeCut takes a trim of the log. The cut now names the artifacts of the turns that it
// leaves out.
func (s *Thread) takeCut(b memory.Trimmed) {
	s.Trim, s.Recalled = b, b.Recalled
	if b.Before > 0 && b.Before <= s.Last {
		s.Kept = int(s.Last - b.Before + 1)
	}
	for _, who := range b.People {
		s.Folk.People[who] = true
	}
	for _, who := range b.Callers {
		s.noteCaller(who)
	}
	for _, k := range b.Grants {
		s.keepGrant(k)
	}
	s.takeStanding(b.Schedules, b.Scheduled)
	s.Folk.Models, s.Facts = b.Models, b.Facts
	s.Folk.Muted, s.Approvals.Asks = s.Folk.Muted || b.Muted, max(s.Approvals.Asks, b.Asks)
	s.Span.Last, s.Span.Horizon = later(s.Span.Last, b.Heard), later(s.Span.Horizon, b.Horizon)
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

// mostHeld is how many artifacts outlive their turns.
const mostHeld = 50

// keepFiles adds the artifacts of turns that a cut leaves out to it.
func (s *Thread) keepFiles(cut *memory.Trimmed) {
	cut.Files, cut.Off = nil, s.OffList()
	for _, a := range s.Artifacts {
		if a.seq < cut.Before && !a.Gone() {
			cut.Files = append(cut.Files, a.File)
		}
	}
	cut.Files = cut.Files[max(0, len(cut.Files)-mostHeld):]
}

// Carry copies into a cut everything that older turns left behind.
func (s *Thread) Carry(cut *memory.Trimmed) {
	cut.Horizon = s.Span.Horizon
	s.KeepFolk(cut)
	cut.Summary, cut.Recap, cut.Recalled, cut.Outside, cut.Since = s.Trim.Summary, s.Trim.Recap, s.Recalled, s.Trim.Outside, s.Trim.Since
	s.keepFiles(cut)
}

// KeepFolk copies the people of the thread, and their settlements, into a cut.
func (s *Thread) KeepFolk(cut *memory.Trimmed) {
	cut.People, cut.Callers = slices.Sorted(maps.Keys(s.Folk.People)), s.Folk.Callers
	cut.Grants = s.carriedGrants()
	cut.From = s.textsFrom(cut.Before)
	cut.Schedules, cut.Scheduled = s.standing(), s.Folk.Scheduled
	cut.Models, cut.Facts = s.Folk.Models, s.Facts
	cut.Muted, cut.Asks, cut.Heard = s.Folk.Muted, s.Approvals.Asks, s.Span.Last
}

// Renew brings a cut up to date that was computed before the latest entries.
func (s *Thread) Renew(cut *memory.Trimmed) {
	s.KeepFolk(cut)
	cut.Off = s.OffList()
	cut.Files = slices.DeleteFunc(slices.Clone(cut.Files), s.IsDropped)
	cut.Recalled = cut.Recalled || s.Recalled && cut.Recap == s.Trim.Recap
}

// forgetThread erases everything but words that came after the order to forget.
func (s *Thread) forgetThread(seq uint64, b memory.Forgot) {
	kept := *s
	*s = *Read(nil)
	s.Last, s.Now, s.Active, s.Span.Last = kept.Last, kept.Now, kept.Active, kept.Span.Last
	s.Span.Horizon = later(b.Horizon, kept.Span.Horizon)
	s.Approvals.Asks, s.Folk.Muted = max(kept.Approvals.Asks, b.Asks), kept.Folk.Muted || b.Muted
	s.Inbox.Forgot = append(s.Inbox.Forgot, Forgotten{b, seq})
	older := func(m *Message) bool { return m.Seq < b.Before || s.beyond(m.Sent) }
	s.Inbox.Waiting = slices.DeleteFunc(append(kept.Inbox.Waiting, kept.Inbox.Early...), older) // their cards are gone
	inOrder(s.Inbox.Waiting)
	s.Inbox.Commands = slices.DeleteFunc(kept.Inbox.Commands, func(c *Command) bool { return older(&c.Message) })
	for _, who := range b.Callers {
		s.noteCaller(who)
	}
	for _, m := range s.Inbox.Waiting {
		s.noteCaller(m.From.ID)
	}
	for _, c := range s.Inbox.Commands { // words that came after, and the answers to them
		if ref, ok := kept.Posts.Refs[c.Notice()]; ok {
			s.Posts.Refs[c.Notice()] = ref
		}
		if c.Word == "tools off" || c.Word == "tools on" {
			s.switchTool(c.Word, c.Arg)
		}
		if c.Word == "model" {
			s.chooseModel(c.Arg)
		}
	}
}

// noteCaller notes that a person takes part in the thread, and called the bot.
func (s *Thread) noteCaller(who chat.UserID) {
	s.Folk.People[who] = true
	if !slices.Contains(s.Folk.Callers, who) {
		s.Folk.Callers = append(s.Folk.Callers, who)
	}
}

// beyond says whether a message was sent before the thread was last forgotten. It counts
// for nothing, whenever it arrives.
func (s *Thread) beyond(sent time.Time) bool { return !sent.IsZero() && sent.Before(s.Span.Horizon) }
