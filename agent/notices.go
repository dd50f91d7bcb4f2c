package agent

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/schedules"
	"nod/agent/thread"
	"nod/agent/words"
	"nod/chat"
	"nod/memory"
)

// notices answers the words that are commands, and tells of schedules.
func (d *decision) notices() do.Action {
	for _, f := range d.thread.Inbox.Forgot {
		key := fmt.Sprintf("forgot/%d", f.Seq)
		if !d.thread.Has(key) {
			return d.sayNotice(key, f.Ref, textForgot+d.facts().Stay(f.Facts), f.Seq)
		}
	}
	if act := d.schedules().Make(); act != nil {
		return act
	}
	if act := d.facts().Do(); act != nil {
		return act
	}
	for _, c := range d.thread.Inbox.Commands {
		key := c.Notice()
		vote, _ := d.thread.Became[c.Seq].(memory.Vote)
		if d.thread.Has(key) || c.Word == "forget" || c.Word == "edit" && words.Changed(d.thread, c) == "" || c.Word == "stop" && d.thread.StoppedBy(c.Seq) ||
			c.Word == "schedule" && d.schedules().Reply(c) == "" ||
			c.Word == "allow" && vote.Reason == approval.NeedsCode {
			continue
		}
		if c.Word == "waiting" || c.Word == "alerts" {
			return d.listWaiting(c)
		}
		if act := d.identifyAsker(c); act != nil {
			return act
		}
		p := d.sayNotice(key, c.Ref, d.replyTo(c), c.Seq)
		p.Free = d.freedBlobs(c)
		return p
	}
	if act := d.unentitled(); act != nil {
		return act
	}
	if act := d.slotLines(); act != nil {
		return act
	}
	return d.incidents()
}

// identifyAsker looks up the groups of a person who asks for help, since their tools
// depend on them.
func (d *decision) identifyAsker(c *thread.Command) do.Action {
	rules := d.groups()
	if c.Word != "help" && c.Word != "model" || c.Is.Who != "" || len(rules) == 0 {
		return nil
	}
	return do.Identify{Turn: c.Seq, Who: []chat.UserID{c.From.ID}, Rules: rules}
}

// freedBlobs lists the blobs that a `drop` leaves without use.
func (d *decision) freedBlobs(c *thread.Command) []string {
	a := d.thread.Artifact(c.Arg)
	if c.Word != "drop" || a == nil || a.Blob == "" {
		return nil
	}
	for _, other := range d.thread.Artifacts {
		if other.Blob == a.Blob && !other.Gone() {
			return nil
		}
	}
	return []string{a.Blob}
}

// forget erases the thread once nothing runs.
func (d *decision) forget() do.Action {
	if d.thread.Open != nil {
		return nil
	}
	for _, c := range d.thread.Inbox.Commands {
		if c.Word == "forget" {
			if act := d.facts().Recall(); act != nil {
				return act
			}
			return do.Record{Bodies: []memory.Body{d.forgetEntry(c)}}
		}
	}
	return nil
}

// forgetEntry is the entry that erases the thread: all but what people wrote after the word.
func (d *decision) forgetEntry(c *thread.Command) memory.Forgot {
	s, facts := d.thread, 0
	if d.log.Book != nil {
		facts = len(d.log.Book.Facts)
	}
	before := s.Last + 1
	if s.Broken != nil {
		before = c.Seq + 1
	}
	unread := slices.Concat(s.Inbox.Waiting, s.Inbox.Early)
	for _, word := range s.Inbox.Commands {
		unread = append(unread, &word.Message)
	}
	for _, m := range unread {
		if m.Seq > c.Seq {
			before = min(before, m.Seq)
		}
	}
	return memory.Forgot{
		By: c.From, Before: before, Horizon: c.Sent, Ref: c.Ref, Facts: facts,
		Callers: slices.Clone(s.Folk.Callers), Asks: s.Approvals.Asks, Muted: s.Folk.Muted,
	}
}

func (d *decision) refusals() do.Action {
	for _, r := range d.thread.Posts.Refused {
		name := "refused/" + r.Name
		if strings.HasPrefix(r.Name, "refused/") || strings.HasPrefix(r.Name, "steps/") || d.thread.Has(name) {
			continue
		}
		p := d.sayNotice(name, chat.MessageRef{}, r.Why, r.Seq)
		// A store that lost a refusal may say the next one, in other words.
		p.Post.Key = memory.PostKey(name, r.Why+r.At.UTC().String())
		return p
	}
	return nil
}

func (d *decision) corrections() do.Action {
	for _, c := range d.thread.Corrections {
		name := "correction/" + c.Call
		if d.thread.Has(name) {
			continue
		}
		return d.sayNotice(name, chat.MessageRef{}, words.Correction(c.Result), c.Seq)
	}
	return nil
}

// askWhy asks a person who disliked an answer for the reason, once, unless a form does.
func (d *decision) askWhy() do.Action {
	for _, t := range d.thread.Turns {
		for _, o := range t.Opinions {
			key := "why/" + t.Name + "/" + string(o.By.ID)
			if !o.Good && !o.Asked && o.Text == "" && !d.thread.Has(key) {
				return do.AskWhy{To: o.By, On: o.On, Key: key}
			}
		}
	}
	return nil
}

// slotLines tell people which times came, and which schedules ended by themselves.
func (d *decision) slotLines() do.Action {
	for _, l := range d.thread.Folk.Lines {
		if !d.thread.Has(l.Name()) {
			p := d.sayNotice(l.Name(), chat.MessageRef{}, schedules.Line(l), l.Seq)
			if l.Plan.Remind && l.Skipped == 0 {
				p.Post.Text.Summons = &chat.Summons{Approvers: []string{chat.Requester}, Requester: l.By}
			}
			return p
		}
	}
	for _, c := range d.thread.Folk.Schedules {
		if c.Told == 0 || d.thread.Has(c.Notice()) {
			continue
		}
		return d.sayNotice(c.Notice(), chat.MessageRef{}, schedules.Ended(c), c.Told)
	}
	return nil
}

func (d *decision) sayNotice(name string, to chat.MessageRef, text string, due uint64) do.Post {
	p := chat.Post{Key: memory.PostKey(name, text), ReplyTo: to, Text: &chat.Text{Markdown: text, Notice: true}}
	return do.Post{Post: p, Look: d.before(due)}
}
