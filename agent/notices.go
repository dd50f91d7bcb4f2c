package agent

import (
	"fmt"
	"strings"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// notices answers the words that are commands.
func (d *decision) notices() Action {
	for _, f := range d.s.Inbox.Forgot {
		key := fmt.Sprintf("forgot/%d", f.Seq)
		if !d.s.Has(key) {
			return d.notice(key, f.Ref, textForgot, f.Seq)
		}
	}
	for _, c := range d.s.Inbox.Commands {
		key := c.Notice()
		if d.s.Has(key) || c.Word == "forget" || c.Word == "edit" && d.changeReply(c) == "" || c.Word == "stop" && d.s.StoppedBy(c.Seq) {
			continue
		}
		if c.Word == "waiting" {
			return d.list(c)
		}
		if act := d.asksFor(c); act != nil {
			return act
		}
		p := d.notice(key, c.Ref, d.reply(c), c.Seq)
		p.Free = d.freed(c)
		return p
	}
	return nil
}

// asksFor asks who somebody is that wants to know which tools they may use.
func (d *decision) asksFor(c *thread.Command) Action {
	rules := d.a.Tools.Groups()
	if c.Word != "help" || c.Is.Who != "" || len(rules) == 0 {
		return nil
	}
	return Identify{Turn: c.Seq, Who: []chat.UserID{c.From.ID}, Rules: rules}
}

// freed lists the blobs that nobody needs any more once a command is answered.
func (d *decision) freed(c *thread.Command) []string {
	a := d.s.Artifact(c.Arg)
	if c.Word != "drop" || a == nil || a.Blob == "" {
		return nil
	}
	for _, other := range d.s.Artifacts {
		if other.Blob == a.Blob && !other.Gone() {
			return nil
		}
	}
	return []string{a.Blob}
}

// forget erases the thread once nothing runs.
func (d *decision) forget() Action {
	if d.s.Open != nil {
		return nil
	}
	for _, c := range d.s.Inbox.Commands {
		if c.Word == "forget" {
			return Record{[]memory.Body{d.forgot(c)}}
		}
	}
	return nil
}

func (d *decision) forgot(c *thread.Command) memory.Forgot {
	return memory.Forgot{By: c.From, Before: c.Seq + 1, Horizon: c.Sent, Ref: c.Ref}
}

// refusals say what the platform did not take.
func (d *decision) refusals() Action {
	for _, r := range d.s.Posts.Refused {
		name := "refused/" + r.Name
		if strings.HasPrefix(r.Name, "refused/") || strings.HasPrefix(r.Name, "steps/") || d.s.Has(name) {
			continue
		}
		p := d.notice(name, chat.MessageRef{}, r.Why, r.Seq)
		// A store that lost it has the next one said too, which may be in other words.
		p.Post.Key = memory.PostKey(name, r.Why+r.At.UTC().String())
		return p
	}
	return nil
}

// corrections say what came of calls after all.
func (d *decision) corrections() Action {
	for _, c := range d.s.Corrections {
		name := "correction/" + c.Call
		if d.s.Has(name) {
			continue
		}
		return d.notice(name, chat.MessageRef{}, textCorrection(c.Result), c.Seq)
	}
	return nil
}

// askWhy asks whoever thinks badly of an answer what was wrong with it: once, and
// not when a form does.
func (d *decision) askWhy() Action {
	for _, t := range d.s.Turns {
		for _, o := range t.Opinions {
			key := "why/" + t.Name + "/" + string(o.By.ID)
			if !o.Good && !o.Asked && o.Text == "" && !d.s.Has(key) {
				return AskWhy{To: o.By, On: o.On, Key: key}
			}
		}
	}
	return nil
}

func (d *decision) notice(name string, to chat.MessageRef, text string, due uint64) Post {
	p := chat.Post{Key: memory.PostKey(name, text), ReplyTo: to, Text: &chat.Text{Markdown: text, Notice: true}}
	return Post{Post: p, Look: d.before(due)}
}
