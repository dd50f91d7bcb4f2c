package agent

import (
	"nod/agent/do"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
)

// listWaiting answers the words `waiting` and `alerts`. The text depends on other logs, and
// may differ after a crash. So the post is found by the word that it answers.
func (d *decision) listWaiting(c *thread.Command) do.List {
	p := d.sayNotice(c.Notice(), c.Ref, c.Ref.String(), c.Seq)
	p.Post.Text.Markdown = ""
	return do.List{Who: c.From, At: c.At, Post: p, Alerts: c.Word == "alerts"}
}

// Desk is what a call may use of the thread: earlier calls, and files. The caller fills in
// the rest.
func (a *Agent) Desk(log *Log) chat.Desk {
	s := log.Thread
	desk := chat.Desk{Files: s.Held(), Eyes: s.Open.Eyes()}
	for _, t := range s.Shown(s.Trim) {
		for c := range t.EachCall() {
			if c.Result != nil {
				desk.Past = append(desk.Past, view.Call(c))
			}
		}
	}
	return desk
}
