package agent

import (
	"fmt"
	"strings"

	"nod/chat"
	"nod/memory"
)

// notices answers the words that are commands.
func (d *decision) notices() Action {
	for _, f := range d.s.forgot {
		key := fmt.Sprintf("forgot/%d", f.seq)
		if !d.s.has(key) {
			return d.notice(key, f.Ref, textForgot, f.seq)
		}
	}
	for _, c := range d.s.commands {
		key := c.notice()
		if d.s.has(key) || c.word == "forget" || c.word == "edit" && d.changeReply(c) == "" || c.word == "stop" && d.s.stoppedBy(c.seq) {
			continue
		}
		if c.word == "waiting" {
			return d.list(c)
		}
		if act := d.asksFor(c); act != nil {
			return act
		}
		p := d.notice(key, c.Ref, d.reply(c), c.seq)
		p.Free = d.freed(c)
		return p
	}
	return nil
}

// refusals say what the platform did not take.
func (d *decision) refusals() Action {
	for _, r := range d.s.refused {
		name := "refused/" + r.name
		if strings.HasPrefix(r.name, "refused/") || strings.HasPrefix(r.name, "steps/") || d.s.has(name) {
			continue
		}
		p := d.notice(name, chat.MessageRef{}, r.why, r.seq)
		// A store that lost it has the next one said too, which may be in other words.
		p.Post.Key = memory.PostKey(name, r.why+r.at.UTC().String())
		return p
	}
	return nil
}

// corrections say what came of calls after all.
func (d *decision) corrections() Action {
	for _, c := range d.s.late {
		name := "correction/" + c.Call
		if d.s.has(name) {
			continue
		}
		return d.notice(name, chat.MessageRef{}, textCorrection(c.Result), c.seq)
	}
	return nil
}

func (d *decision) notice(name string, to chat.MessageRef, text string, due uint64) Post {
	p := chat.Post{Key: memory.PostKey(name, text), ReplyTo: to, Text: &chat.Text{Markdown: text, Notice: true}}
	return Post{Post: p, Look: d.before(due)}
}
