package agent

import (
	"fmt"
	"strings"

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
		if d.s.Has(key) || c.Word == "forget" || c.Word == "edit" && d.changeReply(c) == "" || c.Word == "stop" && stoppedBy(d.s, c.Seq) {
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

func (d *decision) notice(name string, to chat.MessageRef, text string, due uint64) Post {
	p := chat.Post{Key: memory.PostKey(name, text), ReplyTo: to, Text: &chat.Text{Markdown: text, Notice: true}}
	return Post{Post: p, Look: d.before(due)}
}
