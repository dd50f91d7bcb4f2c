package agent

import (
	"fmt"
	"strings"

	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// noRoom says which files of a message were not kept, and what helps.
func noRoom(files []chat.File) string {
	var b strings.Builder
	for _, f := range files {
		if f.Refused != "" {
			fmt.Fprintf(&b, "I did not keep `%s`: %s.\n", f.Name, f.Refused)
		}
	}
	return b.String() + "`drop NAME` and `forget` make room; `artifacts` lists what is kept here."
}

// sharing posts the files that the turn's tools made, before its answer.
func (d *decision) sharing(t *thread.Turn, last *thread.Step) Action {
	files, names := view.Shareable(d.s, t)
	for i, name := range names {
		if !d.s.Has(name) {
			p := chat.Post{Key: memory.PostKey(name, files[i].Blob), ReplyTo: t.ReplyTo(), File: &files[i]}
			return Post{Post: p, Look: d.before(last.Seq)}
		}
	}
	return nil
}

// Desk is what lies before a call: what was done in the thread, and what it
// holds. The rest of it is for whoever makes the call to fill in.
func (a *Agent) Desk(log *Log) chat.Desk {
	s := log.Thread
	desk := chat.Desk{Files: s.Held()}
	for _, t := range s.Shown(s.Trim) {
		for _, st := range t.Steps {
			for _, c := range st.Calls {
				if c.Result != nil {
					desk.Past = append(desk.Past, view.Call(c))
				}
			}
		}
	}
	return desk
}

// artifactList answers the word artifacts.
func (d *decision) artifactList() string {
	if len(d.s.Artifacts) == 0 {
		return "This thread holds no files and no long results."
	}
	var b strings.Builder
	b.WriteString("This thread holds:\n")
	for _, a := range d.s.Artifacts {
		fmt.Fprintf(&b, "- `%s`: %s, %d bytes, from %s", a.Name, a.MediaType, a.Size, a.From)
		if a.Gone() {
			b.WriteString(" (dropped: the model does not see it)")
		}
		b.WriteString("\n")
	}
	b.WriteString("`drop NAME` takes one from what I see.")
	return b.String()
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

func (d *decision) dropped(name string) string {
	if d.s.Artifact(name) == nil {
		return fmt.Sprintf("There is no `%s` here. `artifacts` lists what there is.", name)
	}
	return fmt.Sprintf("Dropped `%s`: I don't see it any more.", name)
}
